use akgentic_core::ActorAddress;
use akgentic_core::wire::{AnyValue, load_value};
use serde_json::json;

use akgentic_testkit::{Case, same};

pub(crate) fn address(case: &Case) -> Result<(), String> {
    let fields = case.expect["fields"].as_object().unwrap();
    let strict = fields.values().any(|value| value.get("error").is_some());
    let address = match load_value(case.input["address"].clone()) {
        Ok(AnyValue::Address(address)) if !strict => address,
        Ok(other) => return Err(format!("loaded as {other:?}")),
        Err(_) if strict => return Ok(()),
        Err(error) => return Err(format!("rejected: {error}")),
    };
    let read = json!({
        "agent_id": address.agent_id(),
        "name": address.name(),
        "role": address.role(),
        "team_id": address.team_id(),
        "squad_id": address.squad_id(),
        "is_user_proxy": address.is_user_proxy(),
    });
    same("fields", &read, &case.expect["fields"])?;
    let dump = serde_json::to_value(&address).unwrap();
    same("dump", &dump, &case.expect["dump"])?;
    let stopped = ActorAddress::stopped(address.info().clone());
    let alive = json!([address.is_alive(), stopped.is_alive()]);
    let wanted = json!([case.expect["alive_as_proxy"], case.expect["alive_as_stopped"]]);
    same("alive", &alive, &wanted)
}
