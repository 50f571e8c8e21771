//! Where a history may be cut.

use std::collections::HashSet;
use std::sync::Arc;

use crate::message::{ModelMessage, ModelRequest};
use crate::part::RequestPart;

/// A history in three: system prompts, what may go, what stays. Indexes into the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Requests with a system prompt; they stay.
    pub system: Vec<usize>,
    /// What may go.
    pub middle: Vec<usize>,
    /// The newest messages; they stay.
    pub tail: Vec<usize>,
}

/// Splits a history so that about the newest `keep` messages stay, and never a tool result without
/// its call.
pub fn split(messages: &[Arc<ModelMessage>], keep: usize) -> Split {
    let (system, mut middle): (Vec<usize>, Vec<usize>) = messages
        .iter()
        .enumerate()
        .map(|(index, _)| index)
        .partition(|index| at(messages, *index).is_some_and(ModelMessage::bears_system_prompt));
    let cut = middle.len().saturating_sub(keep);
    let tail = middle.split_off(cut);
    let mut ids = Ids::default();
    for index in &tail {
        ids.add(messages, *index);
    }
    let mut moved = Vec::new();
    while !ids.is_closed()
        && let Some(last) = middle.pop()
    {
        ids.add(messages, last);
        moved.push(last);
    }
    while let Some(last) = middle.pop_if(|last| ids.needs_calls_of(messages, *last)) {
        moved.push(last);
    }
    let tail = moved.into_iter().rev().chain(tail).collect();
    Split { system, middle, tail }
}

fn at(messages: &[Arc<ModelMessage>], index: usize) -> Option<&ModelMessage> {
    messages.get(index).map(|message| &**message)
}

/// Ids of the calls that a stretch of messages needs and has.
#[derive(Default)]
struct Ids<'a> {
    needed: HashSet<&'a str>,
    issued: HashSet<&'a str>,
    /// How many of the needed ones are not issued.
    open: usize,
}

impl<'a> Ids<'a> {
    fn add(&mut self, messages: &'a [Arc<ModelMessage>], index: usize) {
        match at(messages, index) {
            Some(ModelMessage::Request(request)) => {
                for id in request.parts.iter().filter_map(RequestPart::answers) {
                    if self.needed.insert(id) && !self.issued.contains(id) {
                        self.open += 1;
                    }
                }
            }
            Some(ModelMessage::Response(response)) => {
                for call in response.tool_calls() {
                    let id = call.tool_call_id.as_str();
                    if self.issued.insert(id) && self.needed.contains(id) {
                        self.open -= 1;
                    }
                }
            }
            None => {}
        }
    }

    fn is_closed(&self) -> bool {
        self.open == 0
    }

    fn needs_calls_of(&self, messages: &[Arc<ModelMessage>], index: usize) -> bool {
        let response = at(messages, index).and_then(ModelMessage::as_response);
        response.is_some_and(|response| {
            response.tool_calls().any(|call| self.needed.contains(call.tool_call_id.as_str()))
        })
    }
}

/// The history with every system prompt in a request of its own: what else was in that request
/// follows as one more message, which may go like any other.
pub fn split_fused(messages: &[Arc<ModelMessage>]) -> Vec<Arc<ModelMessage>> {
    let mut apart = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        let fused = message.as_request().filter(|_| message.bears_system_prompt());
        let Some(request) = fused else {
            apart.push(Arc::clone(message));
            continue;
        };
        let (system, others): (Vec<RequestPart>, Vec<RequestPart>) = request
            .parts
            .iter()
            .cloned()
            .partition(|part| matches!(part, RequestPart::SystemPrompt(_)));
        if others.is_empty() {
            apart.push(Arc::clone(message));
            continue;
        }
        apart.push(ModelRequest { parts: system, ..request.clone() }.into());
        apart.push(ModelRequest { parts: others, ..request.clone() }.into());
    }
    apart
}
