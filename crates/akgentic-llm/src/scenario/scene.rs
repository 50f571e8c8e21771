//! What a scripted model sees of a conversation.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::Value;
use minijinja::value::Serde;
use serde_json::json;

use super::template::{ToolResult, ToolResults};
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::part::{Outcome, RequestPart, ToolCallPart};

/// Key under which a scripted response notes its place in the scenario.
const PLACE: &str = "scenario";

/// The turn a model is in: one run, from its prompt on.
#[derive(Debug)]
pub(super) struct Scene {
    /// Text of the prompt.
    pub message: String,
    /// Text of the latest prompt, injected ones included.
    pub latest: String,
    /// How many runs there were, this one included.
    pub turn: u64,
    /// Turn and step of the scenario that were played last in this run.
    pub played: Option<(usize, usize)>,
    results: IndexMap<String, Vec<Arc<ToolResult>>>,
}

impl Scene {
    pub(super) fn read(messages: &[Arc<ModelMessage>]) -> Self {
        let start = start_of_turn(messages);
        let mut scene = Self {
            message: String::new(),
            latest: String::new(),
            turn: count_turns(messages),
            played: None,
            results: IndexMap::new(),
        };
        let mut calls: HashMap<&str, &ToolCallPart> = HashMap::new();
        for (index, message) in messages.iter().enumerate().skip(start) {
            match &**message {
                ModelMessage::Request(request) => {
                    scene.read_request(request, &calls, index == start);
                }
                ModelMessage::Response(response) => {
                    scene.played = place(response).or(scene.played);
                    let made = response.tool_calls();
                    calls.extend(made.map(|call| (call.tool_call_id.as_str(), call)));
                }
            }
        }
        scene
    }

    fn read_request(
        &mut self,
        request: &ModelRequest,
        calls: &HashMap<&str, &ToolCallPart>,
        first: bool,
    ) {
        for part in &request.parts {
            match part {
                RequestPart::UserPrompt(prompt) => {
                    self.latest = prompt.content.text();
                    if first {
                        self.message.clone_from(&self.latest);
                    }
                }
                RequestPart::ToolReturn(answer) => {
                    let args = calls.get(answer.tool_call_id.as_str());
                    let args = args.and_then(|call| call.args.parse().ok());
                    let result = ToolResult {
                        text: answer.content.to_text(),
                        args: Value::from(Serde(args.unwrap_or_default())),
                        ok: answer.outcome == Outcome::Success,
                    };
                    let results = self.results.entry(answer.tool_name.clone()).or_default();
                    results.push(Arc::new(result));
                }
                _ => {}
            }
        }
    }

    /// The names templates can use.
    pub(super) fn context(&self, role: &str, extra: &[(&str, Value)]) -> Value {
        let tools = self.results.iter().map(|(name, results)| {
            (name.clone(), Value::from_object(ToolResults(results.clone())))
        });
        let names = [
            ("message", Value::from(self.message.as_str())),
            ("latest", Value::from(self.latest.as_str())),
            ("turn", Value::from(self.turn)),
            ("role", Value::from(role)),
            ("tool", Value::from_pairs(tools)),
        ];
        Value::from_pairs(names.into_iter().chain(extra.iter().cloned()))
    }
}

/// Notes in a response where in the scenario it comes from.
pub(super) fn note_place(response: &mut ModelResponse, turn: usize, step: usize) {
    let details = response.provider_details.get_or_insert_default();
    details.insert(PLACE.to_owned(), json!({"turn": turn, "step": step}));
}

fn place(response: &ModelResponse) -> Option<(usize, usize)> {
    let place = response.provider_details.as_ref()?.get(PLACE)?;
    let number = |key: &str| usize::try_from(place.get(key)?.as_u64()?).ok();
    Some((number("turn")?, number("step")?))
}

/// The request that began the run of the last message; without run ids, the last prompt.
fn start_of_turn(messages: &[Arc<ModelMessage>]) -> usize {
    match messages.last().and_then(|message| message.run_id()) {
        Some(run) => messages
            .iter()
            .rposition(|message| message.run_id() != Some(run))
            .map_or(0, |before| before + 1),
        None => messages.iter().rposition(|message| has_prompt(message)).unwrap_or(0),
    }
}

fn count_turns(messages: &[Arc<ModelMessage>]) -> u64 {
    let mut run = None;
    let mut turns = 0;
    for message in messages.iter().filter(|message| has_prompt(message)) {
        if message.run_id().is_none() || message.run_id() != run {
            turns += 1;
        }
        run = message.run_id();
    }
    turns
}

fn has_prompt(message: &ModelMessage) -> bool {
    message.as_request().is_some_and(|request| {
        request.parts.iter().any(|part| matches!(part, RequestPart::UserPrompt(_)))
    })
}
