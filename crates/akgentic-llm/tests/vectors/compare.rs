//! Comparison by meaning: key order is free, `1` is `1.0`, `$TEXT:…` stands for free wording.

use serde_json::{Map, Value};

/// Says where the two differ.
pub(crate) fn same(expected: &Value, found: &Value) -> Result<(), String> {
    differ("", expected, found)
}

fn differ(place: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let unequal = || Err(format!("{place}: expected {expected}, found {found}"));
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                let Some(other) = b.get(key) else {
                    return Err(format!("{place}.{key}: missing, expected {value}; found {found}"));
                };
                differ(&format!("{place}.{key}"), value, other)?;
            }
            match b.keys().find(|key| !a.contains_key(*key)) {
                Some(extra) => Err(format!("{place}.{extra}: not expected: {}", b[extra])),
                None => Ok(()),
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Err(format!(
                    "{place}: expected {} items, found {}: {expected} | {found}",
                    a.len(),
                    b.len()
                ));
            }
            a.iter()
                .zip(b)
                .enumerate()
                .try_for_each(|(index, (a, b))| differ(&format!("{place}[{index}]"), a, b))
        }
        (Value::String(pattern), Value::String(text)) => {
            if fits(pattern, text) {
                Ok(())
            } else {
                unequal()
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            if a.as_f64() == b.as_f64() {
                Ok(())
            } else {
                unequal()
            }
        }
        _ if expected == found => Ok(()),
        _ => unequal(),
    }
}

/// Literal pieces of the pattern must occur in order; what a placeholder names must be told.
fn fits(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    let mut pieces = pattern.split("$TEXT:");
    let Some(after) = rest.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    rest = after;
    let mut free = false;
    for piece in pieces {
        let name_end = piece
            .find(|next: char| !(next.is_alphanumeric() || "_=[], ()+".contains(next)))
            .unwrap_or(piece.len());
        let (name, literal) = piece.split_at(name_end);
        if let Some((_, told)) = name.split_once("name=") {
            let words = told.split(|next: char| "=[], ".contains(next));
            let told = words.filter(|word| !word.is_empty() && *word != "available");
            if !told.clone().all(|word| text.contains(word)) {
                return false;
            }
        }
        free = literal.is_empty();
        if free {
            continue;
        }
        let Some(at) = rest.find(literal) else { return false };
        if at == 0 {
            return false;
        }
        rest = &rest[at + literal.len()..];
    }
    free || rest.is_empty()
}

/// The compact notation of messages: no nulls, stamps, ids of runs or defaults.
pub(crate) fn compact(message: &Value) -> Value {
    const KEPT: &[&str] = &[
        "kind",
        "parts",
        "finish_reason",
        "state",
        "content",
        "part_kind",
        "dynamic_ref",
        "tool_name",
        "tool_call_id",
        "args",
        "outcome",
        "retry",
        "metadata",
    ];
    let Value::Object(fields) = message else { return message.clone() };
    let mut kept = Map::new();
    for (key, value) in fields {
        let default =
            (key == "state" && value == "complete") || (key == "outcome" && value == "success");
        if !KEPT.contains(&key.as_str()) || default || value.is_null() {
            continue;
        }
        let value = if key == "parts" {
            Value::Array(value.as_array().unwrap().iter().map(compact).collect())
        } else {
            value.clone()
        };
        kept.insert(key.clone(), value);
    }
    Value::Object(kept)
}
