//! Schemas for Anthropic.

use serde_json::{Map, Value, json};

use super::SchemaError;
use super::walk::{is_type, literal, rewrite};

/// Formats of texts that output may have.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The schema of a tool.
pub(super) fn tool(schema: &Value) -> Value {
    let mut schema = schema.clone();
    rewrite(&mut schema, &mut |node| {
        for key in ["title", "$schema"] {
            node.shift_remove(key);
        }
    });
    schema
}

/// The schema of output that a model is held to.
pub(super) fn output(schema: &Value) -> Result<Value, SchemaError> {
    node(schema, &mut Vec::new())
}

fn node(schema: &Value, place: &mut Vec<String>) -> Result<Value, SchemaError> {
    let wrong = |place: &[String], problem| SchemaError { place: place.join("/"), problem };
    let Value::Object(fields) = schema else {
        return Err(wrong(place, "everything needs a type"));
    };
    let mut fields = fields.clone();
    let mut kept = Map::new();
    if let Some(Value::Object(definitions)) = fields.shift_remove("$defs") {
        kept.insert("$defs".to_owned(), named(definitions, "$defs", place)?);
    }
    if let Some(reference) = fields.shift_remove("$ref") {
        kept.insert("$ref".to_owned(), reference);
        return Ok(Value::Object(kept));
    }
    fields.shift_remove("title");
    fields.shift_remove("$schema");
    let description = fields.shift_remove("description");
    let mut has_type = take_alternatives(&mut fields, &mut kept, place)?;
    if let Some(constant) = fields.shift_remove("const") {
        fields.insert("enum".to_owned(), json!([constant]));
    }
    let values = fields.shift_remove("enum");
    let kind = fields.shift_remove("type");
    if let Some(values) = values {
        kept.insert("enum".to_owned(), values);
        has_type = true;
    } else if let Some(kind) = kind {
        kept.insert("type".to_owned(), kind);
        has_type = true;
        take_details(&mut fields, &mut kept, place)?;
    }
    if !has_type {
        return Err(wrong(place, "everything needs a type"));
    }
    if let Some(description) = describe(description.as_ref(), &fields) {
        kept.insert("description".to_owned(), description);
    }
    Ok(Value::Object(kept))
}

fn take_alternatives(
    fields: &mut Map<String, Value>,
    kept: &mut Map<String, Value>,
    place: &mut Vec<String>,
) -> Result<bool, SchemaError> {
    let mut any = false;
    for (from, to) in [("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")] {
        let Some(Value::Array(alternatives)) = fields.shift_remove(from) else { continue };
        place.push(from.to_owned());
        let alternatives: Result<Vec<Value>, _> =
            alternatives.iter().map(|alternative| node(alternative, place)).collect();
        place.pop();
        kept.insert(to.to_owned(), Value::Array(alternatives?));
        any = true;
    }
    Ok(any)
}

/// What belongs to a type: members, items, formats.
fn take_details(
    fields: &mut Map<String, Value>,
    kept: &mut Map<String, Value>,
    place: &mut Vec<String>,
) -> Result<(), SchemaError> {
    if is_type(kept, "object") {
        fields.shift_remove("additionalProperties");
        let properties = match fields.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        kept.insert("properties".to_owned(), named(properties, "properties", place)?);
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
        if let Some(required) = fields.shift_remove("required") {
            kept.insert("required".to_owned(), required);
        }
    }
    if is_type(kept, "array") {
        if let Some(items) = fields.shift_remove("items") {
            place.push("items".to_owned());
            kept.insert("items".to_owned(), node(&items, place)?);
            place.pop();
        }
        // other numbers of items are not understood
        if let Some(least) =
            fields.get("minItems").and_then(Value::as_u64).filter(|least| *least < 2)
        {
            fields.shift_remove("minItems");
            kept.insert("minItems".to_owned(), Value::from(least));
        }
    }
    let format = fields.get("format").and_then(Value::as_str);
    if is_type(kept, "string") && format.is_some_and(|format| FORMATS.contains(&format)) {
        let format = fields.shift_remove("format").unwrap_or_default();
        kept.insert("format".to_owned(), format);
    }
    Ok(())
}

fn named(
    schemas: Map<String, Value>,
    keyword: &str,
    place: &mut Vec<String>,
) -> Result<Value, SchemaError> {
    place.push(keyword.to_owned());
    let mut rewritten = Map::new();
    for (name, schema) in schemas {
        place.push(name.clone());
        let schema = node(&schema, place)?;
        place.pop();
        rewritten.insert(name, schema);
    }
    place.pop();
    Ok(Value::Object(rewritten))
}

/// The description, and after a blank line everything that has no keyword.
fn describe(description: Option<&Value>, rest: &Map<String, Value>) -> Option<Value> {
    let text = description.and_then(Value::as_str).unwrap_or_default();
    let rest: Vec<String> =
        rest.iter().map(|(key, value)| format!("{key}: {}", literal(value))).collect();
    match (text, rest.is_empty()) {
        ("", true) => None,
        (text, true) => Some(Value::from(text)),
        ("", false) => Some(Value::from(format!("{{{}}}", rest.join(", ")))),
        (text, false) => Some(Value::from(format!("{text}\n\n{{{}}}", rest.join(", ")))),
    }
}
