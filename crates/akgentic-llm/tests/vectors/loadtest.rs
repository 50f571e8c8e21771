//! Scenarios that replace the loop.

use std::sync::{Arc, Mutex};

use akgentic_llm::loadtest::{LoadScenario, MockAgent};
use akgentic_llm::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::compare::{compact, same};
use crate::notation::short_event;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Routed {
    messages: Vec<Sent>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sent {
    message_type: String,
    recipient: String,
    message: String,
}

pub(crate) fn loadtest(case: &Value) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(play(case))
}

async fn play(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let scenario =
        LoadScenario::parse(&input["scenario"].to_string()).map_err(|e| e.to_string())?;
    let mut mock = MockAgent::new(scenario);
    let events: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&events);
    mock.context_mut().subscribe(Arc::new(move |event: &LlmEvent| {
        seen.lock().unwrap().push(shown(event));
        Ok(())
    }));
    let mut turns = Vec::new();
    for turn in input["turns"].as_array().unwrap() {
        let agent = turn.get("agent").and_then(Value::as_str).unwrap_or("@A");
        let structured = turn.get("structured") == Some(&json!(true));
        let output = if structured { OutputSpec::of::<Routed>() } else { OutputSpec::text() };
        let cancel = CancellationToken::new();
        let result = if turn.get("conclude") == Some(&json!(true)) {
            let reason = turn["prompt"].as_str().unwrap();
            mock.conclude_without_tools(agent, reason, &output, cancel).await
        } else {
            let prompt = match &turn["prompt"] {
                Value::String(text) => UserContent::from(text.as_str()),
                list => {
                    let texts = list.as_array().unwrap().iter();
                    let texts = texts.map(|text| UserItem::Text(text.as_str().unwrap().to_owned()));
                    texts.collect::<Vec<_>>().into()
                }
            };
            mock.run(agent, prompt, &output, cancel).await
        };
        turns.push(match result {
            Ok(Output::Text(text)) => json!({"result": text}),
            Ok(Output::Json(value)) => json!({"result": value}),
            Err(RunError::Usage(text)) if text.contains("has no agent") => {
                json!({"error": "unknown_agent"})
            }
            Err(other) => json!({"error": other.to_string()}),
        });
    }
    same(&case["expect"], &json!({"turns": turns, "events": *events.lock().unwrap()}))
}

/// An event with its whole message, and of ids only what is stable.
fn shown(event: &LlmEvent) -> Value {
    let mut shown = match event {
        LlmEvent::Message(event) => {
            json!(["message", compact(&event.message.to_json(Form::Adapter).unwrap())])
        }
        other => short_event(other),
    };
    stable(&mut shown);
    shown
}

fn stable(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("mock-") => {
            let (prefix, unique) = text.rsplit_once('-').unwrap();
            assert!(unique.len() > 8, "{text}");
            *text = format!("{prefix}-*");
        }
        Value::Array(items) => items.iter_mut().for_each(stable),
        Value::Object(fields) => fields.values_mut().for_each(stable),
        _ => {}
    }
}
