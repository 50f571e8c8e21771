//! Plain data: messages, state, outputs, schemas.

use std::collections::BTreeSet;

use akgentic_agent::{
    AgentMessage, AgentState, Intent, LlmRenderable, MailboxMessage, Request, StructuredOutput,
    TriageOutput,
};
use akgentic_core::coerce::{FieldError, Loc};
use akgentic_core::wire::{LoadError, Record as _, dump, load_record};
use akgentic_core::{ActorAddress, AddressInfo, Message, message::load_message};
use akgentic_testkit::{Case, same};
use serde_json::{Value, json};
use uuid::Uuid;

fn intent(value: &Value) -> Intent {
    serde_json::from_value(value.clone()).expect("an intent")
}

fn sender(name: &str) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::nil(),
        name: name.to_owned(),
        role: "Member".to_owned(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: String::new(),
        extra: serde_json::Map::new(),
    })
}

pub(crate) fn rendering(case: &Case) -> Result<(), String> {
    let content = case.input["content"].as_str().expect("content");
    let mut message: Message = AgentMessage::new(intent(&case.input["type"]), content).into();
    message.sender = case.input["sender"].as_str().map(sender);
    let renderable = message.facet::<dyn LlmRenderable>().expect("agent messages render");
    same("text", &json!(renderable.rendering(&message)), &case.expect["text"])
}

pub(crate) fn preview(case: &Case) -> Result<(), String> {
    let content = case.input["content"].as_str().expect("content");
    let mut message: Message = AgentMessage::new(intent(&case.input["type"]), content).into();
    message.sender = case.input["sender"].as_str().map(sender);
    let mail = message.facet::<dyn MailboxMessage>().expect("agent messages are mail");
    same("text", &json!(mail.rendering_preview(&message)), &case.expect["text"])
}

pub(crate) fn reply_protocols(case: &Case) -> Result<(), String> {
    let sender = case.input["sender"].as_str().expect("sender");
    let guidance = intent(&case.input["type"]).reply_protocol(sender);
    same("names", &json!(guidance.contains(sender)), &case.expect["names_sender"])?;
    same("guidance", &json!(guidance), &case.expect["guidance"])
}

pub(crate) fn agent_message(case: &Case) -> Result<(), String> {
    let mut input = case.input.clone();
    let marker = json!("akgentic.agent.messages.AgentMessage");
    if let Some(map) = input.as_object_mut() {
        map.entry("__model__").or_insert(marker);
    }
    verdict(load_message(input).map(|message| dump(&message).expect("written")), case)
}

pub(crate) fn agent_state(case: &Case) -> Result<(), String> {
    let loaded = load_record::<AgentState>(case.input.clone());
    verdict(loaded.map(|state| state.to_json()), case)
}

fn verdict(loaded: Result<Value, LoadError>, case: &Case) -> Result<(), String> {
    judge(loaded.map_err(Errors::from), case)
}

/// Why a value was refused: everything that is wrong, and the fields that are named.
pub(crate) struct Errors {
    text: String,
    fields: Vec<String>,
}

impl From<LoadError> for Errors {
    fn from(error: LoadError) -> Self {
        Self { text: error.to_string(), ..error.errors().to_vec().into() }
    }
}

impl From<Vec<FieldError>> for Errors {
    fn from(errors: Vec<FieldError>) -> Self {
        let first = |error: &FieldError| error.loc.first().map_or_else(String::new, Loc::to_string);
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        Self { text, fields: errors.iter().map(first).collect() }
    }
}

pub(crate) fn judge(loaded: Result<Value, Errors>, case: &Case) -> Result<(), String> {
    judge_with(loaded, case, |dump, wanted| same("dump", dump, wanted))
}

/// Compares what was loaded, or the fields that were refused by their first step.
pub(crate) fn judge_with(
    loaded: Result<Value, Errors>,
    case: &Case,
    compare: impl Fn(&Value, &Value) -> Result<(), String>,
) -> Result<(), String> {
    match loaded {
        Ok(dump) if case.expect["ok"] == true => compare(&dump, &case.expect["dump"]),
        Ok(dump) => Err(format!("accepted as {dump}")),
        Err(error) if case.expect["ok"] == true => Err(format!("rejected: {}", error.text)),
        Err(error) => {
            let first = |text: &str| text.split(['.', ':']).next().unwrap_or("").to_owned();
            let wanted = case.expect["errors"].as_array().into_iter().flatten();
            let wanted: BTreeSet<String> =
                wanted.map(|text| first(text.as_str().expect("text"))).collect();
            // what is wrong as a whole has no path; what the reference raises raw is located here
            let is_field = |name: &String| !name.starts_with('<');
            let wanted: Vec<&String> = wanted.iter().filter(|name| is_field(name)).collect();
            let missing = wanted.iter().find(|field| !error.fields.contains(field));
            missing.map_or(Ok(()), |field| Err(format!("{field} is not named: {}", error.text)))
        }
    }
}

pub(crate) fn structured_output(case: &Case) -> Result<(), String> {
    if let Some(name) = case.input["schema"].as_str() {
        let schema = match name {
            "StructuredOutput" => akgentic_core::coerce::schema_of::<StructuredOutput>(),
            "Request" => akgentic_core::coerce::schema_of::<Request>(),
            "TriageOutput" => akgentic_core::coerce::schema_of::<TriageOutput>(),
            other => return Err(format!("unknown schema {other}")),
        };
        return same("schema", &plain(&schema), &plain(&case.expect["schema"]));
    }
    // The type alone; inside a run the engine first takes a Markdown fence off.
    let raw = case.input["raw"].as_str().expect("raw");
    let parsed = serde_json::from_str::<serde_json::Map<String, Value>>(raw)
        .and_then(|map| serde_json::from_value::<StructuredOutput>(Value::Object(map)));
    match parsed {
        Ok(output) if case.expect["ok"] == true => {
            same("dump", &json!(output), &case.expect["dump"])
        }
        Ok(_) => Err("accepted".to_owned()),
        Err(error) if case.expect["ok"] == true => Err(format!("rejected: {error}")),
        Err(_) => Ok(()),
    }
}

/// A schema without words, definitions put in place.
fn plain(schema: &Value) -> Value {
    fn walk(value: &Value, defs: &Value) -> Value {
        match value {
            Value::Object(map) => {
                if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                    let name = name.trim_start_matches("#/$defs/");
                    let mut named = walk(&defs[name], defs);
                    if let Some(default) = map.get("default") {
                        named["default"] = default.clone();
                    }
                    return named;
                }
                let kept = map.iter().filter(|(key, item)| {
                    let is_word =
                        matches!(key.as_str(), "description" | "title") && item.is_string();
                    !is_word && !matches!(key.as_str(), "$defs" | "$schema")
                });
                let mut kept: serde_json::Map<String, Value> =
                    kept.map(|(key, item)| (key.clone(), walk(item, defs))).collect();
                if let Some(words) = words_of(&kept) {
                    kept = words;
                }
                if kept.get("default") == Some(&json!([])) {
                    kept.shift_remove("default");
                }
                Value::Object(kept)
            }
            Value::Array(items) => items.iter().map(|item| walk(item, defs)).collect(),
            other => other.clone(),
        }
    }
    walk(schema, &schema["$defs"])
}

/// `oneOf` constants with words of their own are an `enum`.
fn words_of(map: &serde_json::Map<String, Value>) -> Option<serde_json::Map<String, Value>> {
    let words: Option<Vec<Value>> =
        map.get("oneOf")?.as_array()?.iter().map(|one| one.get("const").cloned()).collect();
    json!({"type": "string", "enum": words?}).as_object().cloned()
}
