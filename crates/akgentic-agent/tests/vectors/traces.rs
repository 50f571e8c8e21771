//! Topic `traces`: whole conversations through real actors.

use std::collections::HashMap;

use akgentic_core::message::EventMessage;
use akgentic_llm::{LlmEvent, LlmMessageEvent};
use akgentic_testkit::{Case, known_keys};
use serde_json::{Map, Value, json};

use crate::notation::{events, outline, with_labels};
use crate::world::{Records, Shared, World};

pub(crate) fn traces(case: &Case) -> Result<(), String> {
    known_keys("input", &case.input, &["team", "catalog", "script", "inbox", "sort_requests"])?;
    known_keys("expect", &case.expect, &["events", "history", "requests", "audit"])?;
    crate::block_on(replay(case))
}

async fn replay(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    let silence = json!({"respond": [{"output": {"messages": []}}]});
    let shared = Shared::new(&input["script"], silence);
    let world = World::new(input, shared.clone(), None).await;
    world.play(&input["inbox"]).await;
    let records = world.records.0.lock().expect("lock").clone();
    let audit = world.audit.0.lock().expect("lock").clone();
    let (found, mut requests) = {
        let mut script = shared.lock();
        let found = events(&records, &mut script.labels);
        let requests = std::mem::take(&mut script.requests);
        let shown = |list: Vec<Value>| -> Vec<Value> {
            list.iter().map(|request| with_labels(request, &script.labels)).collect()
        };
        let requests: HashMap<String, Vec<Value>> =
            requests.into_iter().map(|(model, list)| (model, shown(list))).collect();
        (with_labels(&Value::Object(found), &script.labels), requests)
    };
    world.end().await;
    for (sender, wanted) in expect["events"].as_object().into_iter().flatten() {
        same_list(&format!("events of {sender}"), &found[sender], wanted)?;
    }
    for model in input["sort_requests"].as_array().into_iter().flatten() {
        let model = model.as_str().expect("a model");
        requests.entry(model.to_owned()).or_default().sort_by_key(Value::to_string);
    }
    let mut requests: Map<String, Value> =
        requests.into_iter().map(|(model, list)| (model, Value::Array(list))).collect();
    for (model, wanted) in expect["requests"].as_object().into_iter().flatten() {
        let got = requests.remove(model).unwrap_or_else(|| json!([]));
        same_list(&format!("requests of {model}"), &got, wanted)?;
    }
    if !requests.is_empty() {
        return Err(format!("models nobody expected were asked: {requests:?}"));
    }
    let mut histories = histories(&world.records);
    for (agent, wanted) in expect["history"].as_object().into_iter().flatten() {
        let got = histories.remove(agent).unwrap_or_else(|| json!([]));
        same_list(&format!("history of {agent}"), &got, wanted)?;
    }
    if let Some(wanted) = expect.get("audit") {
        same_list("audit", &json!(audit), wanted)?;
    }
    Ok(())
}

/// The histories of all agents, as those who keep the records can rebuild them. What was cleared is gone.
fn histories(records: &Records) -> HashMap<String, Value> {
    let mut by_agent: HashMap<String, Value> = HashMap::new();
    for record in records.0.lock().expect("lock").iter() {
        let Some(event) = record.body::<EventMessage>() else { continue };
        let Some(sender) = &record.sender else { continue };
        let history = by_agent.entry(sender.name().to_owned()).or_insert_with(|| json!([]));
        let history = history.as_array_mut().expect("a list");
        match LlmEvent::from_value(&event.event) {
            Some(LlmEvent::Message(LlmMessageEvent { message })) => history.push(outline(&message)),
            Some(LlmEvent::Cleared(_)) => history.clear(),
            _ => {}
        }
    }
    by_agent
}

/// Compares two lists and shows the first entry that differs.
pub(crate) fn same_list(what: &str, got: &Value, wanted: &Value) -> Result<(), String> {
    let empty = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
    let (got, wanted) = (list(got), list(wanted));
    for index in 0..got.len().max(wanted.len()) {
        let (got, wanted) = (got.get(index), wanted.get(index));
        if got != wanted {
            let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            return Err(format!(
                "{what}, entry {index}:\n   got {}\nwanted {}",
                show(got),
                show(wanted)
            ));
        }
    }
    Ok(())
}
