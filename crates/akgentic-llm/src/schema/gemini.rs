//! Schemas for Gemini, at home and behind OpenRouter.

use serde_json::{Map, Value, json};

use super::walk::{is_type, literal, rewrite};

const DROPPED: [&str; 6] =
    ["title", "$schema", "discriminator", "examples", "exclusiveMinimum", "exclusiveMaximum"];

/// The schema of a tool or an output.
pub(super) fn schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut |node| {
        for key in DROPPED {
            node.shift_remove(key);
        }
        if let Some(constant) = node.shift_remove("const") {
            node.insert("enum".to_owned(), json!([constant]));
        }
        if is_type(node, "string")
            && let Some(format) = node.shift_remove("format")
        {
            let format = literal(&format);
            let description = match node.get("description").and_then(Value::as_str) {
                Some(text) => format!("{text} (format: {format})"),
                None => format!("Format: {format}"),
            };
            node.insert("description".to_owned(), Value::from(description));
        }
    });
    schema
}

/// The schema with `nullable` instead of an alternative to null, and values of enums as texts.
pub(super) fn nullable(schema: &Value) -> Value {
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut |node| {
        if let Some(other) = other_than_null(node) {
            node.shift_remove("anyOf");
            for (key, value) in other {
                node.entry(key).or_insert(value);
            }
            node.insert("nullable".to_owned(), Value::Bool(true));
        }
        if let Some(Value::Array(values)) = node.get_mut("enum") {
            for value in values {
                *value = Value::from(literal(value));
            }
            node.insert("type".to_owned(), Value::from("string"));
        }
    });
    schema
}

/// The one alternative to null.
fn other_than_null(node: &Map<String, Value>) -> Option<Map<String, Value>> {
    let [first, second] = node.get("anyOf")?.as_array()?.as_slice() else { return None };
    let is_null = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("null");
    match (is_null(first), is_null(second)) {
        (true, false) => second.as_object().cloned(),
        (false, true) => first.as_object().cloned(),
        _ => None,
    }
}
