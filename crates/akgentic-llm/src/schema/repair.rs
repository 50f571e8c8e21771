//! Tool schemas that no provider would take, made into ones that all take.

use serde_json::{Map, Value, json};

use super::walk::{is_type, literal};

/// Keywords that providers refuse at the top of a tool's schema.
const NOT_AT_TOP: [&str; 7] = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];

/// The schema with an object at its top, and what had to be changed for that.
pub(super) fn object_at_top(schema: &Value) -> (Value, Vec<String>) {
    let mut repairs = Vec::new();
    let Value::Object(fields) = schema else {
        repairs.push("the schema is no object; the tool takes no arguments".to_owned());
        return (json!({"type": "object", "properties": {}}), repairs);
    };
    let mut fields = fields.clone();
    if fields.contains_key("$ref") {
        return (Value::Object(fields), repairs);
    }
    let mut rules = Vec::new();
    for key in NOT_AT_TOP {
        if let Some(rule) = fields.shift_remove(key) {
            repairs.push(format!("{key} may not stand at the top; it is told in the description"));
            take_properties(&mut fields, &rule);
            rules.push(format!("{key}: {}", literal(&rule)));
        }
    }
    if !rules.is_empty() {
        let rules = format!("Also holds for the arguments: {}", rules.join("; "));
        let told = match fields.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text}\n\n{rules}"),
            None => rules,
        };
        fields.insert("description".to_owned(), Value::from(told));
    }
    if fields.get("type") != Some(&Value::from("object")) {
        if fields.contains_key("type") && !is_type(&fields, "object") {
            repairs.push("the arguments are no object; the tool takes none".to_owned());
            fields = Map::new();
        } else {
            repairs.push("the type is missing; it is an object".to_owned());
        }
        fields.insert("type".to_owned(), Value::from("object"));
    }
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
    }
    if fields.get("required").is_some_and(|required| !required.is_array()) {
        repairs.push("required is no list; nothing is required".to_owned());
        fields.shift_remove("required");
    }
    (Value::Object(fields), repairs)
}

/// Properties that only the alternatives of a rule name stay known, as optional ones.
fn take_properties(fields: &mut Map<String, Value>, rule: &Value) {
    let alternatives = rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice);
    let named = alternatives.iter().filter_map(|part| part.get("properties")?.as_object());
    let named: Vec<(String, Value)> =
        named.flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect();
    if named.is_empty() {
        return;
    }
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for (name, schema) in named {
            properties.entry(name).or_insert(schema);
        }
    }
}
