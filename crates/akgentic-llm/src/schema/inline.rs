//! Definitions put where they are used.

use serde_json::{Map, Value};

use super::walk::definition;

/// How many schemas inlining may make; definitions that use each other grow fast.
const BUDGET: usize = 20_000;

/// The schema without definitions; as it is when definitions contain themselves, or when the
/// result would be huge.
pub(super) fn definitions(schema: &Value) -> Value {
    let Some(Value::Object(known)) = schema.get("$defs") else { return schema.clone() };
    let mut inliner = Inliner { known, open: Vec::new(), budget: BUDGET };
    let mut bare = schema.clone();
    if let Some(fields) = bare.as_object_mut() {
        fields.shift_remove("$defs");
    }
    inliner.inline(&bare).unwrap_or_else(|| schema.clone())
}

struct Inliner<'a> {
    known: &'a Map<String, Value>,
    open: Vec<String>,
    budget: usize,
}

impl Inliner<'_> {
    /// `None` when it cannot be done.
    fn inline(&mut self, schema: &Value) -> Option<Value> {
        self.budget = self.budget.checked_sub(1)?;
        match schema {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(definition) {
                    return self.referred(name, fields);
                }
                let mut inlined = Map::new();
                for (key, value) in fields {
                    inlined.insert(key.clone(), self.inline(value)?);
                }
                Some(Value::Object(inlined))
            }
            Value::Array(items) => {
                let items: Option<Vec<Value>> =
                    items.iter().map(|item| self.inline(item)).collect();
                items.map(Value::Array)
            }
            other => Some(other.clone()),
        }
    }

    /// A definition in the place of a reference to it; what stands beside the reference wins.
    fn referred(&mut self, name: &str, beside: &Map<String, Value>) -> Option<Value> {
        if self.open.iter().any(|open| open == name) {
            return None;
        }
        let known = self.known.get(name)?;
        self.open.push(name.to_owned());
        let mut inlined = self.inline(known)?;
        self.open.pop();
        if let Some(fields) = inlined.as_object_mut() {
            for (key, value) in beside.iter().filter(|(key, _)| *key != "$ref") {
                fields.insert(key.clone(), value.clone());
            }
        }
        Some(inlined)
    }
}
