//! Topics `cards` and `tool_schemas`.

use std::collections::BTreeSet;

use akgentic_core::wire::{LoadError, Record as _, WireType, load_record};
use akgentic_team::{
    ActivitySummarizer, FireTeamMember, GetRoleProfiles, GetTeamActivity, GetTeamRoster,
    HireTeamMember, TeamTool,
};
use akgentic_testkit::{Case, same};
use akgentic_tool_core::{CommandDescriptor, ContextProvider, ToolFactory};
use serde_json::{Value, json};

use crate::world::World;

pub(crate) fn cards(case: &Case) -> Result<(), String> {
    let payload = case.input["payload"].clone();
    let loaded = match case.input["type"].as_str().expect("a type") {
        "TeamTool" => dumped::<TeamTool>(payload),
        "HireTeamMember" => dumped::<HireTeamMember>(payload),
        "FireTeamMember" => dumped::<FireTeamMember>(payload),
        "GetTeamRoster" => dumped::<GetTeamRoster>(payload),
        "GetRoleProfiles" => dumped::<GetRoleProfiles>(payload),
        "GetTeamActivity" => dumped::<GetTeamActivity>(payload),
        "ActivitySummarizer" => dumped::<ActivitySummarizer>(payload),
        other => return Err(format!("unknown type {other}")),
    };
    match (loaded, case.expect.get("ok")) {
        (Ok(dump), Some(wanted)) => same("dump", &sets_sorted(dump), &sets_sorted(wanted.clone())),
        (Ok(dump), None) => Err(format!("accepted as {dump}")),
        (Err(error), Some(_)) => Err(format!("rejected: {error}")),
        (Err(error), None) => {
            let fields: BTreeSet<String> = error
                .errors()
                .iter()
                .map(|error| error.loc.first().map_or_else(String::new, ToString::to_string))
                .collect();
            let wanted = case.expect["error"]["fields"].as_array().expect("fields");
            let wanted = wanted.iter().map(|field| field.as_str().expect("text").to_owned());
            same("fields", &fields, &wanted.collect())
        }
    }
}

fn dumped<T: WireType>(payload: Value) -> Result<Value, LoadError> {
    let dump = load_record::<T>(payload)?.to_json();
    let again = load_record::<T>(dump.clone())?.to_json();
    assert_eq!(again, dump, "a dump loads as itself");
    Ok(dump)
}

/// The lists under `expose` are sets.
fn sets_sorted(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        for (key, item) in map.iter_mut() {
            if let (true, Value::Array(items)) = (key == "expose", &mut *item) {
                items.sort_by_key(Value::to_string);
            }
            *item = sets_sorted(item.take());
        }
    }
    value
}

pub(crate) fn tool_schemas(case: &Case) -> Result<(), String> {
    crate::block_on(async {
        let card: TeamTool = load_record(case.input["card"].clone()).expect("a card");
        let world = World::new(&json!({"catalog": [], "team": []})).await;
        let bound = ToolFactory::new(vec![card.into()]).bind(&world.observer).await;
        let bound = bound.map_err(|error| error.to_string())?;
        let tools: Vec<Value> = bound
            .tools()
            .iter()
            .map(|tool| {
                let mut parameters = tool.definition().parameters.clone();
                without_descriptions(&mut parameters);
                json!({"name": tool.name(), "parameters": parameters})
            })
            .collect();
        same("tools", &json!(tools), &without_activity(&case.expect["tools"]))?;
        let commands: Vec<Value> = bound.commands().descriptors().iter().map(shown).collect();
        same("commands", &json!(commands), &without_activity(&case.expect["commands"]))?;
        let providers: Vec<&str> =
            bound.updater().providers().iter().map(ContextProvider::name).collect();
        same("context states", &json!(providers), &case.expect["context_states"])?;
        same("system prompts", &bound.system_prompts().len(), &0)
    })
}

fn shown(descriptor: &CommandDescriptor) -> Value {
    let args = descriptor
        .args
        .iter()
        .map(|arg| json!({"name": arg.name, "type": arg.kind, "required": arg.required}));
    json!({
        "name": descriptor.name,
        "tool_card": descriptor.tool_card,
        "args": args.collect::<Vec<_>>(),
    })
}

fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.shift_remove("description");
            map.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}

/// The activity report is not offered in this version.
fn without_activity(list: &Value) -> Value {
    let list = list.as_array().expect("a list");
    let kept = list.iter().filter(|entry| entry["name"] != "team_activity");
    Value::Array(kept.cloned().collect())
}
