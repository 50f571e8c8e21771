//! The list of messages that is sent, and the cleaning that keeps it well formed.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use serde_json::json;

use crate::message::{MessageState, ModelMessage, ModelRequest, ModelResponse};
use crate::part::{RequestPart, ToolCallPart, ToolReturnPart};

/// Messages in order; clones share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History(Arc<Vec<Arc<ModelMessage>>>);

impl History {
    /// Adds a message; copies pointers only when the list is shared.
    pub fn push(&mut self, message: impl Into<Arc<ModelMessage>>) {
        Arc::make_mut(&mut self.0).push(message.into());
    }

    /// The list, to change.
    pub fn make_mut(&mut self) -> &mut Vec<Arc<ModelMessage>> {
        Arc::make_mut(&mut self.0)
    }
}

impl Deref for History {
    type Target = [Arc<ModelMessage>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Vec<Arc<ModelMessage>>> for History {
    fn from(messages: Vec<Arc<ModelMessage>>) -> Self {
        Self(Arc::new(messages))
    }
}

impl FromIterator<Arc<ModelMessage>> for History {
    fn from_iter<I: IntoIterator<Item = Arc<ModelMessage>>>(messages: I) -> Self {
        Self(Arc::new(messages.into_iter().collect()))
    }
}

/// The copy of `history` that may be sent: results without a call dropped, calls without a result
/// closed as interrupted, neighbours of one kind merged.
///
/// The stored history stays as it is. Results stay in the order they came; [`sendable`] puts them
/// in the order of their calls as well.
pub fn clean(history: &[Arc<ModelMessage>], now: Timestamp) -> History {
    let mut outgoing = Outgoing { ordered: false, ..Outgoing::empty() };
    outgoing.extend(history, now);
    outgoing.close_calls(now);
    outgoing.messages
}

/// The copy of `history` that is sent: [`clean`], with exactly one result for each call, in the
/// order of the calls.
pub fn sendable(history: &[Arc<ModelMessage>], now: Timestamp) -> History {
    let mut outgoing = Outgoing::new(history, now);
    outgoing.make_ready(now);
    outgoing.messages
}

/// A history that stays clean while messages are added; adding costs the same however long it is.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    messages: History,
    ordered: bool,
    /// The messages that bear system prompts; unknown once others had their hands on the list.
    prompted: Option<Vec<usize>>,
}

impl Outgoing {
    pub(crate) fn new(history: &[Arc<ModelMessage>], now: Timestamp) -> Self {
        let mut outgoing = Self::empty();
        outgoing.extend(history, now);
        outgoing
    }

    fn empty() -> Self {
        Self { messages: History::default(), ordered: true, prompted: Some(Vec::new()) }
    }

    pub(crate) fn messages(&self) -> &History {
        &self.messages
    }

    /// Puts the list back as somebody else left it.
    pub(crate) fn replace(&mut self, messages: History) {
        if !Arc::ptr_eq(&self.messages.0, &messages.0) {
            self.messages = messages;
            self.prompted = None;
        }
    }

    /// Whether it still is what its messages make.
    pub(crate) fn is_own(&self) -> bool {
        self.prompted.is_some()
    }

    /// Changes the messages for which `wanted` holds, among those that bear system prompts.
    pub(crate) fn change_prompts(
        &mut self,
        wanted: impl Fn(&ModelRequest) -> bool,
        change: impl Fn(&mut ModelRequest),
    ) {
        let all = 0..self.messages.len();
        let prompted = self.prompted.clone().unwrap_or_else(|| all.collect());
        let is_wanted = |index: &usize| {
            let request = self.messages.get(*index).and_then(|message| message.as_request());
            request.is_some_and(&wanted)
        };
        let wanted: Vec<usize> = prompted.into_iter().filter(is_wanted).collect();
        for index in wanted {
            let Some(message) = self.messages.make_mut().get_mut(index) else { continue };
            if let ModelMessage::Request(request) = Arc::make_mut(message) {
                change(request);
            }
        }
    }

    /// Adds a message. `now` stamps returns that have to be made up.
    pub(crate) fn push(&mut self, message: Arc<ModelMessage>, now: Timestamp) {
        let bears_prompt = message.bears_system_prompt();
        self.add(message, now);
        let last = self.messages.len().saturating_sub(1);
        if let Some(prompted) = self.prompted.as_mut().filter(|_| bears_prompt)
            && prompted.last() != Some(&last)
        {
            prompted.push(last);
        }
    }

    fn add(&mut self, message: Arc<ModelMessage>, now: Timestamp) {
        match &*message {
            ModelMessage::Request(request) => match self.admissible(request) {
                None => self.push_request(message),
                Some(admissible) => self.push_request(Arc::new(admissible.into())),
            },
            ModelMessage::Response(response) => self.push_response(response, &message, now),
        }
    }

    fn extend(&mut self, history: &[Arc<ModelMessage>], now: Timestamp) {
        for message in history {
            self.push(Arc::clone(message), now);
        }
    }

    /// Closes unanswered calls of the last response and puts results in the order of their calls.
    pub(crate) fn make_ready(&mut self, now: Timestamp) {
        self.close_calls(now);
        if self.ordered {
            self.order_returns();
        }
    }

    fn push_request(&mut self, message: Arc<ModelMessage>) {
        let merged = match (self.messages.last().map(|last| &**last), &*message) {
            (Some(ModelMessage::Request(last)), ModelMessage::Request(next))
                if may_merge(last, next) =>
            {
                merge_requests(last, next)
            }
            _ => return self.messages.push(message),
        };
        let messages = self.messages.make_mut();
        messages.pop();
        messages.push(merged.into());
    }

    fn push_response(
        &mut self,
        response: &ModelResponse,
        message: &Arc<ModelMessage>,
        now: Timestamp,
    ) {
        if let Some(ModelMessage::Request(last)) = self.messages.last().map(|last| &**last) {
            if last.parts.is_empty() && self.unanswered().is_empty() {
                self.messages.make_mut().pop();
            } else {
                self.make_ready(now);
            }
        }
        let merged = match self.messages.last().map(|last| &**last) {
            Some(ModelMessage::Response(last)) => merge_responses(last, response),
            _ => return self.messages.push(Arc::clone(message)),
        };
        let messages = self.messages.make_mut();
        messages.pop();
        messages.push(merged.into());
    }

    /// The request without results that answer no call; `None` when it can stay as it is.
    fn admissible(&self, request: &ModelRequest) -> Option<ModelRequest> {
        if request.parts.iter().all(|part| part.answers().is_none()) {
            return None;
        }
        let calls: HashSet<&str> = self.last_calls().map(|call| &*call.tool_call_id).collect();
        let fits = |part: &RequestPart| part.answers().is_none_or(|id| calls.contains(id));
        if request.parts.iter().all(fits) {
            return None;
        }
        let parts = request.parts.iter().filter(|part| fits(part)).cloned().collect();
        Some(ModelRequest { parts, ..request.clone() })
    }

    /// Index of the first message after the last response.
    fn tail(&self) -> usize {
        let response = self.messages.iter().rposition(|message| message.as_response().is_some());
        response.map_or(0, |index| index + 1)
    }

    fn last_calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        let response = self.tail().checked_sub(1).and_then(|index| self.messages.get(index));
        response
            .and_then(|message| message.as_response())
            .into_iter()
            .flat_map(ModelResponse::tool_calls)
    }

    fn unanswered(&self) -> Vec<&ToolCallPart> {
        let tail = self.messages.get(self.tail()..).unwrap_or_default();
        let requests = tail.iter().filter_map(|message| message.as_request());
        let answered: HashSet<&str> =
            requests.flat_map(|request| &request.parts).filter_map(RequestPart::answers).collect();
        self.last_calls().filter(|call| !answered.contains(&*call.tool_call_id)).collect()
    }

    fn close_calls(&mut self, now: Timestamp) {
        let made_up: Vec<RequestPart> = self
            .unanswered()
            .into_iter()
            .map(|call| {
                let mut part = ToolReturnPart::interrupted(call, INTERRUPTED, now);
                part.metadata = Some(json!({"pydantic_ai_synthesized_tool_return": true}));
                RequestPart::ToolReturn(part)
            })
            .collect();
        if made_up.is_empty() {
            return;
        }
        let tail = self.tail();
        let messages = self.messages.make_mut();
        if let Some(message) = messages.get_mut(tail) {
            let ModelMessage::Request(request) = Arc::make_mut(message) else { return };
            let returns = request.parts.iter().take_while(|part| part.answers().is_some());
            let place = returns.count();
            request.parts.splice(place..place, made_up);
        } else {
            let timestamp = Some(now);
            let request = ModelRequest { parts: made_up, timestamp, ..ModelRequest::default() };
            messages.push(request.into());
        }
    }

    /// Results first, in the order of their calls and one for each call, then everything else.
    fn order_returns(&mut self) {
        let tail = self.tail();
        let mut calls: HashMap<&str, usize> = HashMap::new();
        for call in self.last_calls() {
            let next = calls.len();
            calls.entry(&call.tool_call_id).or_insert(next);
        }
        let others = calls.len() + 1;
        let Some(message) = self.messages.get(tail) else { return };
        let Some(request) = message.as_request() else { return };
        let rank = |part: &RequestPart| match part.answers() {
            Some(id) => calls.get(id).copied().unwrap_or(others - 1),
            None => others,
        };
        let ranks: Vec<usize> = request.parts.iter().map(rank).collect();
        let in_order = ranks.windows(2).all(|pair| match pair {
            [first, second] => first < second || (first == second && *first == others),
            _ => true,
        });
        if in_order {
            return;
        }
        let mut parts: Vec<(usize, RequestPart)> =
            ranks.into_iter().zip(request.parts.iter().cloned()).collect();
        parts.sort_by_key(|(rank, _)| *rank);
        // only results are unique; everything else has the last rank
        parts.dedup_by(|second, first| first.0 == second.0 && first.0 < others);
        let request = ModelRequest {
            parts: parts.into_iter().map(|(_, part)| part).collect(),
            ..request.clone()
        };
        if let Some(slot) = self.messages.make_mut().get_mut(tail) {
            *slot = request.into();
        }
    }
}

/// What a model is told about a call that was cut off before anybody wrote down how it ended.
pub(crate) const INTERRUPTED: &str =
    "The call was interrupted and produced no result; it may have had effects.";

fn may_merge(first: &ModelRequest, second: &ModelRequest) -> bool {
    match (&first.instructions, &second.instructions) {
        (Some(first), Some(second)) => first == second,
        _ => true,
    }
}

fn merge_requests(first: &ModelRequest, second: &ModelRequest) -> ModelRequest {
    let all = || first.parts.iter().chain(&second.parts);
    let returns = all().filter(|part| part.answers().is_some());
    let others = all().filter(|part| part.answers().is_none());
    let latest = |a: &Option<String>, b: &Option<String>| b.clone().or_else(|| a.clone());
    ModelRequest {
        parts: returns.chain(others).cloned().collect(),
        timestamp: second.timestamp.or(first.timestamp),
        instructions: latest(&first.instructions, &second.instructions),
        run_id: latest(&first.run_id, &second.run_id),
        conversation_id: latest(&first.conversation_id, &second.conversation_id),
        metadata: second.metadata.clone().or_else(|| first.metadata.clone()),
        state: MessageState::Complete,
    }
}

fn merge_responses(first: &ModelResponse, second: &ModelResponse) -> ModelResponse {
    let parts = first.parts.iter().chain(&second.parts).cloned().collect();
    ModelResponse { parts, ..second.clone() }
}
