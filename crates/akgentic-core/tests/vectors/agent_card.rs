use akgentic_core::card::AgentCard;
use akgentic_core::wire::{Record as _, TypeEntry, load_record};
use serde_json::json;

use akgentic_testkit::{Case, same};

use super::rejection::same_rejection;

pub(crate) fn agent_card(case: &Case) -> Result<(), String> {
    let loaded = load_record::<AgentCard>(case.input["card"].clone());
    let expect = &case.expect;
    let card = match loaded {
        Ok(card) if expect["ok"] == true => card,
        Ok(card) => return Err(format!("accepted as {card:?}")),
        Err(error) if expect["ok"] == true => return Err(format!("rejected: {error}")),
        Err(error) => return same_rejection(&error, expect),
    };
    same("dump", &card.to_json(), &expect["dump"])?;
    let class = card.get_agent_class().ok().map(TypeEntry::path);
    let read = json!([card.role(), card.config.type_path(), class]);
    let wanted = json!([expect["role"], expect["config_model"], expect["agent_class_resolves"]]);
    same("role, config_model, agent_class_resolves", &read, &wanted)
}
