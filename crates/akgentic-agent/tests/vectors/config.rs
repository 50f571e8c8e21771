//! Topics `agent_config` and `record_schemas`.

use akgentic_agent::{AgentConfig, AgentState, ConfigFault};
use akgentic_core::coerce::schema_of;
use akgentic_core::wire::{Record as _, load_record};
use akgentic_testkit::{Case, same};
use serde_json::{Value, json};

use crate::plain::{Errors, judge_with};

pub(crate) fn agent_config(case: &Case) -> Result<(), String> {
    let loaded = load_record::<AgentConfig>(case.input.clone());
    let loaded = loaded.map(|config| config.to_json()).map_err(Errors::from);
    judge_with(loaded, case, |dump, wanted| {
        let defaults = AgentConfig::default().to_json();
        let mut got = dump.clone();
        // records that are as by default are left out of what is wanted
        if let (Some(got), Some(wanted)) = (got.as_object_mut(), wanted.as_object()) {
            got.retain(|key, value| wanted.contains_key(key) || defaults.get(key) != Some(value));
        }
        same("dump", &got, wanted)
    })?;
    if let Some(wanted) = case.expect.get("deprecations") {
        let faults = AgentConfig::check_json(&case.input);
        let old = faults.iter().filter(|fault| matches!(fault, ConfigFault::Deprecated { .. }));
        // a value that is refused is told of once
        let count = if case.expect["ok"] == true { old.count() } else { old.count().min(1) };
        same("deprecations", &json!(count), wanted)?;
    }
    Ok(())
}

/// Fields the reference does not have.
const OURS: [&str; 3] = ["model_roster", "options", "operator_actions"];

pub(crate) fn record_schemas(case: &Case) -> Result<(), String> {
    let schema = match case.input["schema"].as_str() {
        Some("AgentConfig") => schema_of::<AgentConfig>(),
        Some("AgentState") => schema_of::<AgentState>(),
        other => return Err(format!("unknown schema {other:?}")),
    };
    let properties = schema["properties"].as_object().expect("properties");
    let order: Vec<&str> =
        properties.keys().map(String::as_str).filter(|key| !OURS.contains(key)).collect();
    same("order", &json!(order), &case.expect["order"])?;
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    same("required", &required, &case.expect["required"])?;
    for (name, wanted) in case.expect["properties"].as_object().expect("properties") {
        let got = &properties[name];
        same(name, &kind(got), &kind(wanted))?;
        if let Some(default) = wanted.get("default") {
            same(
                &format!("default of {name}"),
                got.get("default").unwrap_or(&Value::Null),
                default,
            )?;
        }
    }
    Ok(())
}

/// What a property holds: types, and the names of records. A record of a family is named in words of
/// our own.
fn kind(schema: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return json!(name.trim_start_matches("#/$defs/"));
    }
    if let Some(family) = schema.pointer("/x-akgentic/family") {
        let default = schema.pointer("/x-akgentic/default").and_then(Value::as_str);
        let last = default.and_then(|path| path.rsplit('.').next());
        return last.map_or_else(|| named(family), |last| json!(last));
    }
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().map(kind).collect();
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => json!([kind(&schema["items"])]),
        Value::Array(types) => {
            types.iter().map(|name| json!({"type": name})).map(|one| kind(&one)).collect()
        }
        other => other.clone(),
    }
}

fn named(family: &Value) -> Value {
    match family.as_str() {
        Some("card") => json!("ToolCard"),
        _ => family.clone(),
    }
}
