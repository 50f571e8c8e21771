//! The table of prices, costs and sums.

use akgentic_llm::*;
use serde_json::{Map, Value, json};

use crate::compare::same;

/// The table in the program knows each provider of the reference's table, with as many models, in
/// the same order, and reads the reference's own entries.
pub(crate) fn price_table(case: &Value) -> Result<(), String> {
    let id = case["name"].as_str().unwrap();
    let models = case["expect"]["models"].as_array().unwrap();
    let table = PriceTable::builtin();
    same(&json!(models.len()), &json!(table.model_count(id)))?;
    let mut provider: Map<String, Value> = case["expect"].as_object().unwrap().clone();
    provider.insert("id".to_owned(), json!(id));
    let theirs = json!({"source": "", "date": "", "providers": [provider]}).to_string();
    let theirs = PriceTable::from_json(&theirs).map_err(|error| error.to_string())?;
    let counts = TokenCounts { input: 300_000, output: 70_000, cache_read: 1000, cache_write: 500 };
    for model in models {
        let name = model[0].as_str().unwrap().to_lowercase();
        // without the others, its own entries are all there is to find
        let Some(expected) = theirs.find(id, &name) else { continue };
        let found = table.find(id, &name).ok_or_else(|| format!("{name} has no price"))?;
        same(&json!(expected.id()), &json!(found.id()))?;
        let costs = (theirs.cost(id, &name, counts), table.cost(id, &name, counts));
        close(&name, costs.0, costs.1)?;
    }
    Ok(())
}

pub(crate) fn pricing(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let count = |key: &str| input[key].as_u64().unwrap();
    let counts = TokenCounts {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_tokens"),
        cache_write: count("cache_write_tokens"),
    };
    let text = |key: &str| input[key].as_str().unwrap();
    let cost = PriceTable::builtin().cost(text("provider_name"), text("model_name"), counts);
    close("cost_usd", case["expect"]["cost_usd"].as_f64().unwrap_or(0.0), cost)
}

pub(crate) fn usage_aggregation(case: &Value) -> Result<(), String> {
    let events: Vec<LlmUsageEvent> = case["input"]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| serde_json::from_value(event.clone()).unwrap())
        .collect();
    let summary = summarize_usage(&events, case["input"]["by_run"].as_bool().unwrap());
    let mut found = serde_json::to_value(&summary).unwrap();
    let mut expect = case["expect"].clone();
    round(&mut found);
    round(&mut expect);
    same(&expect, &found)?;
    let order = |value: &Value| {
        value["by_model"].as_object().unwrap().keys().cloned().collect::<Vec<String>>()
    };
    same(&json!(order(&expect)), &json!(order(&found)))
}

/// Numbers that are equal to nine digits become equal.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = json!(format!("{:.9e}", number.as_f64().unwrap()));
        }
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

fn close(what: &str, expected: f64, found: f64) -> Result<(), String> {
    if (expected - found).abs() <= 1e-9 * expected.abs() {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}, found {found}"))
    }
}
