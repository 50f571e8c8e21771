//! Schemas for OpenAI and those who speak its language.

use serde_json::{Map, Value, json};

use super::SchemaError;
use super::walk::{all, definition, is_type, literal, requires_all, rewrite};

/// Formats of texts that strict mode knows.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Keywords that strict mode does not know.
const UNSUPPORTED: [&str; 10] = [
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
];

const LENGTHS: [&str; 2] = ["minLength", "maxLength"];

/// The schema of a tool: closed where it does not say otherwise.
pub(super) fn loose(schema: &Value) -> Value {
    let mut schema = prepared(schema);
    rewrite(&mut schema, &mut |node| {
        if is_type(node, "object") {
            node.entry("additionalProperties").or_insert(Value::Bool(false));
        }
    });
    schema
}

/// Whether a model can be held to the schema without changing what it says.
pub(super) fn is_strict_as_it_is(schema: &Value, lengths: bool) -> bool {
    all(schema, &|node| {
        let closed = !is_type(node, "object")
            || (node.contains_key("required")
                && node.get("additionalProperties").is_none_or(|rest| *rest == Value::Bool(false)));
        let typed_items = !is_type(node, "array") || node.get("items").is_none_or(is_typed);
        closed
            && typed_items
            && requires_all(node)
            && !node.contains_key("default")
            && !node.contains_key("oneOf")
            && node.iter().all(|(key, value)| is_supported(key, value, lengths))
    })
}

/// The schema of output that a model is held to.
pub(super) fn strict(schema: &Value, lengths: bool) -> Result<Value, SchemaError> {
    let mut schema = prepared(schema);
    let mut problem = None;
    rewrite(&mut schema, &mut |node| {
        if is_type(node, "array") && !node.get("items").is_none_or(is_typed) {
            problem = Some("the items of a list need a type");
        }
        node.shift_remove("default");
        if let Some(alternatives) = node.shift_remove("oneOf") {
            node.insert("anyOf".to_owned(), alternatives);
        }
        move_unsupported(node, lengths);
        if is_type(node, "object") {
            let properties = node.get("properties").and_then(Value::as_object);
            let names: Vec<String> = properties
                .map(|properties| properties.keys().cloned().collect())
                .unwrap_or_default();
            node.insert("required".to_owned(), json!(names));
            node.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
    });
    match problem {
        Some(problem) => Err(SchemaError { place: "items".to_owned(), problem }),
        None => Ok(schema),
    }
}

fn prepared(schema: &Value) -> Value {
    let mut schema = expanded(schema);
    rewrite(&mut schema, &mut |node| {
        for key in ["title", "$schema", "discriminator"] {
            node.shift_remove(key);
        }
        if node.len() > 1
            && let Some(reference) = node.shift_remove("$ref")
        {
            node.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
        }
        if is_type(node, "object") {
            node.entry("properties").or_insert_with(|| json!({}));
        }
    });
    schema
}

/// The schema with a reference at its top expanded; references to the same become `#`.
fn expanded(schema: &Value) -> Value {
    let Some(name) = schema.get("$ref").and_then(definition) else { return schema.clone() };
    let Some(Value::Object(body)) = schema.get("$defs").and_then(|known| known.get(name)) else {
        return schema.clone();
    };
    let mut fields: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    fields.shift_remove("$ref");
    for (key, value) in body {
        fields.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut expanded = Value::Object(fields);
    rewrite(&mut expanded, &mut |node| {
        if node.get("$ref").and_then(definition) == Some(name) {
            node.insert("$ref".to_owned(), Value::from("#"));
        }
    });
    expanded
}

/// Tells in the description what strict mode has no keyword for.
fn move_unsupported(node: &mut Map<String, Value>, lengths: bool) {
    let moved: Vec<String> = node
        .iter()
        .filter(|(key, value)| !is_supported(key, value, lengths))
        .map(|(key, _)| key.clone())
        .collect();
    let notes: Vec<String> = moved
        .into_iter()
        .filter_map(|key| {
            let value = node.shift_remove(&key)?;
            Some(format!("{key}={}", literal(&value)))
        })
        .collect();
    if notes.is_empty() {
        return;
    }
    let notes = notes.join(", ");
    let description = match node.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} ({notes})"),
        None => notes,
    };
    node.insert("description".to_owned(), Value::from(description));
}

fn is_supported(key: &str, value: &Value, lengths: bool) -> bool {
    match key {
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        "pattern" => value.as_str().is_some_and(|pattern| {
            !["(?=", "(?!", "(?<"].iter().any(|look| pattern.contains(look))
        }),
        _ => !UNSUPPORTED.contains(&key) && (lengths || !LENGTHS.contains(&key)),
    }
}

fn is_typed(schema: &Value) -> bool {
    const SAYS_TYPE: [&str; 7] = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"];
    schema.as_object().is_some_and(|node| SAYS_TYPE.iter().any(|key| node.contains_key(*key)))
}
