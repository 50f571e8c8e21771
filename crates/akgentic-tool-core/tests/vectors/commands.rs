//! Words, commands, dispatch, descriptors.

use std::sync::{Arc, Mutex};

use akgentic_core::wire::Record as _;
use akgentic_testkit::{Case, block_on, known_keys, same};
use akgentic_tool_core::{
    AnyCard, BindError, BoundArgs, BoundValue, Command, CommandFailure, CommandRegistry,
    DispatchOutcome, FailureReason, OWN_COMMANDS, Observer, QuotingError, ToolError, ToolFactory,
    tokenize,
};
use serde_json::{Map, Value, json};

use super::cards::{DataCard, texts};

type Checked = Result<(), String>;

pub(super) fn without_parameters(name: &str) -> Command {
    Command::from_schema(name, "", &json!({"type": "object"}), |_| Box::pin(async { Ok(None) }))
}

pub(crate) fn tokens(case: &Case) -> Checked {
    known_keys("expect", &case.expect, &["tokens", "error"])?;
    let got = match tokenize(case.input["line"].as_str().ok_or("no line")?) {
        Ok(tokens) => json!({"tokens": tokens}),
        Err(QuotingError::NoClosingQuotation) => json!({"error": "no_closing_quotation"}),
        Err(QuotingError::NoEscapedCharacter) => json!({"error": "no_escaped_character"}),
        Err(other) => return Err(other.to_string()),
    };
    same("words", &got, &case.expect)?;
    Ok(())
}

fn nullable(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn schema_of(kind: &str) -> Result<Value, String> {
    Ok(match kind {
        "str" => json!({"type": "string"}),
        "int" => json!({"type": "integer"}),
        "float" => json!({"type": "number"}),
        "bool" => json!({"type": "boolean"}),
        "uuid" => json!({"type": "string", "format": "uuid"}),
        "opt_enum_status" => nullable(&json!({
            "type": "string", "enum": ["pending", "started", "completed"],
        })),
        "list_str" => json!({"type": "array", "items": {"type": "string"}}),
        "list" => json!({"type": "array"}),
        "object" => json!({
            "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"],
        }),
        "dict" => json!({"type": "object"}),
        "any" => json!({}),
        "enum_mode" => json!({"type": "string", "enum": ["hybrid", "vector", "keyword"]}),
        "enum_ints" => json!({"type": "integer", "enum": [1, 2, 3]}),
        other => match other.strip_prefix("opt_") {
            Some(inner) => nullable(&schema_of(inner)?),
            None => return Err(format!("nobody claims the parameter type {other:?}")),
        },
    })
}

fn schema(command: &Value) -> Result<Value, String> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for param in command["params"].as_array().into_iter().flatten() {
        known_keys("parameter", param, &["name", "type", "default", "star", "description"])?;
        let name = param["name"].as_str().ok_or("a parameter without a name")?;
        properties.insert(name.to_owned(), schema_of(param["type"].as_str().unwrap_or_default())?);
        if param.get("default").is_none() {
            required.push(name);
        }
    }
    Ok(json!({"type": "object", "properties": properties, "required": required}))
}

type Seen = Arc<Mutex<Option<BoundArgs>>>;

fn command(description: &Value, seen: &Seen) -> Result<Command, String> {
    known_keys("command", description, &["name", "params", "returns", "doc"])?;
    let name = description["name"].as_str().ok_or("a command without a name")?.to_owned();
    let returns = description
        .get("returns")
        .cloned()
        .unwrap_or_else(|| json!({"text": format!("{name} done")}));
    known_keys("returns", &returns, &["text", "int", "none", "raise", "raise_retriable"])?;
    let seen = Arc::clone(seen);
    let doc = description.get("doc").and_then(Value::as_str).unwrap_or_default();
    Ok(Command::from_schema(name, doc, &schema(description)?, move |args| {
        *seen.lock().unwrap() = Some(args);
        let text = |key: &str| returns.get(key).and_then(Value::as_str).map(str::to_owned);
        let answer = if let Some(text) = text("raise_retriable") {
            Err(ToolError::retriable(text))
        } else if let Some(text) = text("raise") {
            Err(ToolError::fatal(text))
        } else if let Some(int) = returns.get("int") {
            Ok(Some(int.to_string()))
        } else {
            Ok(text("text"))
        };
        Box::pin(std::future::ready(answer))
    }))
}

fn bound_json(seen: &Seen, command: &Value) -> Value {
    let params = command["params"].as_array().into_iter().flatten();
    let kinds: Vec<_> = params.map(|param| (&param["name"], &param["type"])).collect();
    let args = seen.lock().unwrap().take().unwrap_or_default();
    let pairs = args.0.into_iter().map(|(name, value)| {
        let kind = kinds.iter().find(|(known, _)| **known == name);
        let kind = kind.and_then(|(_, kind)| kind.as_str()).unwrap_or_default();
        let value = match value {
            BoundValue::Float(float) if float.is_nan() => json!({"float": "nan"}),
            BoundValue::Float(float) if float > 0.0 => json!({"float": "inf"}),
            BoundValue::Float(_) => json!({"float": "-inf"}),
            BoundValue::Json(value) if kind.ends_with("float") => json!({"float": value}),
            BoundValue::Json(value) if kind.ends_with("uuid") => json!({"uuid": value}),
            BoundValue::Json(value) => value,
        };
        (name, value)
    });
    Value::Object(pairs.collect())
}

fn failure_json(failure: &CommandFailure) -> Value {
    match &failure.reason {
        FailureReason::PositionalAfterKeyword { token } => {
            json!({"reason": "positional_after_keyword", "token": token})
        }
        FailureReason::TooMany { max, got } => {
            json!({"reason": "too_many", "max": max, "got": got})
        }
        FailureReason::Duplicate { param } => json!({"reason": "duplicate", "param": param}),
        FailureReason::Missing { params } => json!({"reason": "missing", "params": params}),
        FailureReason::Coercion { param, value, .. } => {
            json!({"reason": "coercion", "param": param, "value": value})
        }
        other => json!({"reason": format!("{other:?}")}),
    }
}

pub(crate) fn dispatch(case: &Case) -> Checked {
    let seen = Seen::default();
    let descriptions = case.file["commands"].as_array().ok_or("no commands")?;
    let commands: Result<Vec<_>, _> =
        descriptions.iter().map(|description| command(description, &seen)).collect();
    let registry =
        CommandRegistry::new(commands?.into_iter().map(|command| (OWN_COMMANDS, command)))
            .map_err(|error| error.to_string())?;
    let line = case.input["line"].as_str().ok_or("no line")?;
    let outcome = block_on(registry.dispatch(line));
    let name = case.expect["command"].as_str().unwrap_or_default();
    let description = descriptions.iter().find(|known| known["name"] == name);
    let bound = || bound_json(&seen, description.unwrap_or(&Value::Null));
    let mut got = match &outcome {
        DispatchOutcome::Reply(text) => json!({"outcome": "ok", "bound": bound(), "text": text}),
        DispatchOutcome::Silent => json!({"outcome": "ok", "bound": bound(), "text": null}),
        DispatchOutcome::Failed(failure) if matches!(failure.reason, FailureReason::Body(_)) => {
            json!({"outcome": "body_failed", "bound": bound(), "text": failure.to_string()})
        }
        DispatchOutcome::Failed(failure) => {
            let mut facts = failure_json(failure);
            facts["outcome"] = json!("failed");
            let prefix = case.expect["prefix"].as_str().unwrap_or_default();
            if !failure.to_string().starts_with(prefix) {
                return Err(format!("the reply is {failure}"));
            }
            facts["prefix"] = json!(prefix);
            facts
        }
        DispatchOutcome::NotRecognized(token) => {
            json!({"outcome": "not_recognized", "token": token})
        }
        DispatchOutcome::Syntax(_) => json!({"outcome": "syntax"}),
    };
    if let DispatchOutcome::Failed(failure) = &outcome {
        same("command", &failure.command, &name.to_owned())?;
    }
    let mut expect = case.expect.clone();
    if let (Some(got), Some(expect)) = (got.as_object_mut(), expect.as_object_mut()) {
        expect.remove("command");
        if matches!(outcome, DispatchOutcome::Syntax(_)) {
            expect.retain(|key, _| key == "outcome");
        }
        sort(got);
        sort(expect);
    }
    same("outcome", &got, &expect)?;
    Ok(())
}

fn sort(map: &mut Map<String, Value>) {
    map.sort_keys();
}

pub(crate) fn descriptors(case: &Case) -> Checked {
    known_keys("input", &case.input, &["command", "tool_card"])?;
    if case.expect["ok"] == false {
        return match case.expect["kind"].as_str() {
            Some("var_positional" | "var_keyword" | "unannotated") => {
                case.not_applicable("typed commands have no such signature")
            }
            other => Err(format!("nobody claims the refusal {other:?}")),
        };
    }
    let command = command(&case.input["command"], &Seen::default())?;
    let owner = case.input["tool_card"].as_str().unwrap_or_default();
    let mut got = command.descriptor(owner).to_json();
    akgentic_core::wire::dump(&command.descriptor(owner)).map_err(|error| error.to_string())?;
    // Members the vectors do not carry.
    for arg in got["args"].as_array_mut().into_iter().flatten() {
        if let Some(arg) = arg.as_object_mut() {
            arg.retain(|key, _| !matches!(key.as_str(), "value_type" | "nullable"));
        }
    }
    same("descriptor", &got.to_string(), &case.expect["descriptor"].to_string())?;
    Ok(())
}

pub(crate) fn registry(case: &Case) -> Checked {
    known_keys("input", &case.input, &["cards", "extra"])?;
    let mut cards = Vec::new();
    for card in case.input["cards"].as_array().ok_or("no cards")? {
        known_keys("card", card, &["card", "commands", "depends_on"])?;
        cards.push(AnyCard::from(DataCard::read(card, card["card"].as_str().unwrap_or_default())));
    }
    let own = texts(&case.input["extra"]);
    let own = own.iter().map(|name| without_parameters(name));
    let observer = Observer::unattached().build();
    let got = match block_on(ToolFactory::new(cards).commands(own).bind(&observer)) {
        Ok(tools) => {
            let owners = tools.commands().owners();
            let commands: Vec<_> = owners.map(|(name, owner)| json!([name, owner])).collect();
            json!({"ok": true, "commands": commands})
        }
        Err(BindError::DuplicateCommand(error)) => {
            let of_agent = error.second == OWN_COMMANDS;
            let owners = (!of_agent).then(|| json!([error.first, error.second]));
            json!({"ok": false, "kind": "collision", "command": error.command, "owners": owners})
        }
        Err(error) => return Err(error.to_string()),
    };
    same("registry", &got, &case.expect)?;
    Ok(())
}
