//! Going through the schemas inside a schema.

use serde_json::{Map, Value};

/// Keywords that hold schemas by name.
const NAMED: [&str; 5] =
    ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Keywords that hold a list of schemas.
const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords that hold one schema.
const SINGLE: [&str; 8] =
    ["items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"];

/// Changes every schema inside a schema, the innermost first and the outermost last.
pub(super) fn rewrite(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(node) = schema else { return };
    for key in NAMED {
        if let Some(Value::Object(named)) = node.get_mut(key) {
            for schema in named.values_mut() {
                rewrite(schema, change);
            }
        }
    }
    for key in LISTED {
        if let Some(Value::Array(list)) = node.get_mut(key) {
            for schema in list {
                rewrite(schema, change);
            }
        }
    }
    for key in SINGLE {
        if let Some(single) = node.get_mut(key) {
            rewrite(single, change);
        }
    }
    change(node);
}

/// Whether all schemas inside a schema, itself included, are as `fits` wants them.
pub(super) fn all(schema: &Value, fits: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let Value::Object(node) = schema else { return true };
    let named = NAMED.iter().filter_map(|key| node.get(*key)?.as_object());
    let listed = LISTED.iter().filter_map(|key| node.get(*key)?.as_array());
    let single = SINGLE.iter().filter_map(|key| node.get(*key));
    fits(node)
        && named.flat_map(Map::values).all(|schema| all(schema, fits))
        && listed.flatten().all(|schema| all(schema, fits))
        && single.into_iter().all(|schema| all(schema, fits))
}

/// A value as models read it: texts bare, everything else as JSON.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn is_type(node: &Map<String, Value>, name: &str) -> bool {
    match node.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

/// The name of the definition a reference leads to.
pub(super) fn definition(reference: &Value) -> Option<&str> {
    let reference = reference.as_str()?;
    reference.strip_prefix("#/$defs/").or_else(|| reference.strip_prefix("#/definitions/"))
}

/// The names a schema requires, when they are all its properties.
pub(super) fn requires_all(node: &Map<String, Value>) -> bool {
    let Some(Value::Object(properties)) = node.get("properties") else { return true };
    let required = node.get("required").and_then(Value::as_array);
    properties.keys().all(|name| {
        required.is_some_and(|required| required.iter().any(|known| known == name.as_str()))
    })
}
