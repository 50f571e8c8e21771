//! The conversation of an agent: history, observers, pending prompts.

use std::fmt;
use std::sync::Arc;

use akgentic_core::wire::Timestamp;

use crate::error::BoxError;
use crate::event::{
    ContextObserver, LlmContextClearedEvent, LlmContextCompactedEvent, LlmEvent, LlmMessageEvent,
    LlmSystemPromptEvent, LlmUsageEvent, SystemPromptPartSnapshot, ToolCallEvent, ToolReturnEvent,
    system_prompt_hash,
};
use crate::fold::fold;
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::output::OUTPUT_TOOL;
use crate::part::{Outcome, RequestPart, ResponsePart, ToolReturnPart, UserPromptPart};
use crate::pricing::CostMeter;
use crate::usage::Usage;

/// History of a conversation and everybody who is told about it.
#[derive(Default)]
pub struct ContextManager {
    messages: Vec<Arc<ModelMessage>>,
    observers: Vec<(ObserverId, Arc<dyn ContextObserver>)>,
    next_observer: u64,
    max_messages: Option<usize>,
    last_system_prompt_hash: Option<String>,
    pending_user_prompts: Vec<String>,
    last_input_tokens: Option<u64>,
    meter: CostMeter,
}

/// Identity of an observer at its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverId(u64);

/// What a stream of stored events amounts to beside the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredUsage {
    /// How many runs there were.
    pub runs: u64,
    /// What they consumed.
    pub usage: Usage,
}

impl ContextManager {
    /// An empty context. With `max_messages`, only system prompts and the newest others are kept.
    pub fn new(max_messages: Option<usize>) -> Self {
        Self { max_messages, ..Self::default() }
    }

    /// The history.
    pub fn messages(&self) -> &[Arc<ModelMessage>] {
        &self.messages
    }

    /// Input tokens of the last response, when there was one since the context was cleared.
    pub fn last_input_tokens(&self) -> Option<u64> {
        self.last_input_tokens
    }

    /// Digest of the system prompts that observers were told last.
    pub fn last_system_prompt_hash(&self) -> Option<&str> {
        self.last_system_prompt_hash.as_deref()
    }

    /// Tells `observer` about everything that happens from now on.
    pub fn subscribe(&mut self, observer: Arc<dyn ContextObserver>) -> ObserverId {
        let id = ObserverId(self.next_observer);
        self.next_observer += 1;
        self.observers.push((id, observer));
        id
    }

    /// Ends a subscription; one that does not exist is no error.
    pub fn unsubscribe(&mut self, id: ObserverId) {
        self.observers.retain(|(known, _)| *known != id);
    }

    /// Adds a message and tells observers: the message, its tool calls or returns in order, and
    /// for a response its usage.
    pub fn add_message(&mut self, message: impl Into<Arc<ModelMessage>>) -> Result<(), BoxError> {
        let message = message.into();
        self.messages.push(Arc::clone(&message));
        self.apply_window();
        self.notify(&LlmEvent::Message(LlmMessageEvent { message: Arc::clone(&message) }))?;
        match &*message {
            ModelMessage::Request(request) => self.tell_returns(request),
            ModelMessage::Response(response) => self.tell_response(response),
        }
    }

    /// Adds a user prompt outside a run; while the history is empty it waits for the first run,
    /// so that the system prompts come first.
    pub fn append_user_prompt(
        &mut self,
        text: impl Into<String>,
        now: Timestamp,
    ) -> Result<(), BoxError> {
        let text = text.into();
        if self.messages.is_empty() {
            self.pending_user_prompts.push(text);
            return Ok(());
        }
        self.add_message(ModelRequest::user(UserPromptPart::new(text, now)))
    }

    /// The prompts that wait for the first run, in order.
    pub fn pending_user_prompts(&self) -> &[String] {
        &self.pending_user_prompts
    }

    /// Takes the prompts that wait for the first run.
    pub fn drain_pending_user_prompts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pending_user_prompts)
    }

    /// Drops the history and says how many messages there were. Waiting prompts stay.
    pub fn clear_context(&mut self) -> Result<usize, BoxError> {
        let count = self.messages.len();
        self.messages.clear();
        self.last_system_prompt_hash = None;
        self.last_input_tokens = None;
        self.notify(&LlmEvent::Cleared(LlmContextClearedEvent {
            run_id: None,
            cleared_message_count: u64::try_from(count).unwrap_or(u64::MAX),
        }))?;
        Ok(count)
    }

    /// Replaces the history; nobody is told.
    pub fn restore(&mut self, messages: Vec<Arc<ModelMessage>>) {
        self.messages = messages;
    }

    /// Sets the digest of the system prompts as if observers had been told.
    pub fn seed_system_prompt_hash(&mut self, hash: Option<String>) {
        self.last_system_prompt_hash = hash;
    }

    /// Tells observers the system prompts in the first request of `messages`, unless they were
    /// the last ones told.
    pub fn record_system_prompt(
        &mut self,
        run_id: &str,
        messages: &[Arc<ModelMessage>],
    ) -> Result<(), BoxError> {
        let first = messages.iter().find_map(|message| message.as_request());
        let parts: Vec<SystemPromptPartSnapshot> = first
            .into_iter()
            .flat_map(|request| &request.parts)
            .filter_map(|part| match part {
                RequestPart::SystemPrompt(part) => Some(SystemPromptPartSnapshot {
                    dynamic_ref: part.dynamic_ref.clone(),
                    content: part.content.clone(),
                }),
                _ => None,
            })
            .collect();
        if parts.is_empty() {
            return Ok(());
        }
        let content_hash = system_prompt_hash(&parts);
        if self.last_system_prompt_hash.as_ref() == Some(&content_hash) {
            return Ok(());
        }
        self.last_system_prompt_hash = Some(content_hash.clone());
        self.notify(&LlmEvent::SystemPrompt(LlmSystemPromptEvent {
            run_id: run_id.to_owned(),
            parts,
            content_hash,
        }))
    }

    /// Shortens the history as the event says and tells observers.
    pub fn compact(
        &mut self,
        event: LlmContextCompactedEvent,
        now: Timestamp,
    ) -> Result<(), BoxError> {
        self.messages = fold(&self.messages, &event, now);
        self.notify(&LlmEvent::Compacted(event))
    }

    /// Rebuilds the context from stored events and says what they amount to; nobody is told, and
    /// doing it twice gives the same.
    pub fn restore_from<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a LlmEvent>,
        now: Timestamp,
    ) -> RestoredUsage {
        let mut messages: Vec<Arc<ModelMessage>> = Vec::new();
        let mut hash = None;
        let mut input_tokens = None;
        let mut restored = RestoredUsage::default();
        let mut runs: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for event in events {
            match event {
                LlmEvent::Message(event) => messages.push(Arc::clone(&event.message)),
                LlmEvent::Compacted(event) => messages = fold(&messages, event, now),
                LlmEvent::Cleared(_) => {
                    messages.clear();
                    hash = None;
                    input_tokens = None;
                }
                LlmEvent::SystemPrompt(event) => hash = Some(event.content_hash.clone()),
                LlmEvent::Usage(event) => {
                    runs.insert(&event.run_id);
                    input_tokens = Some(event.input_tokens);
                    restored.usage += Usage {
                        input_tokens: event.input_tokens,
                        output_tokens: event.output_tokens,
                        cache_read_tokens: event.cache_read_tokens,
                        cache_write_tokens: event.cache_write_tokens,
                        requests: event.requests,
                        tool_calls: 0,
                    };
                }
                LlmEvent::ToolReturn(event) => {
                    let counts = event.success && event.tool_name != OUTPUT_TOOL;
                    restored.usage.tool_calls += u64::from(counts);
                }
                LlmEvent::ToolCall(_) => {}
            }
        }
        restored.runs = u64::try_from(runs.len()).unwrap_or(u64::MAX);
        self.messages = messages;
        self.last_system_prompt_hash = hash;
        self.last_input_tokens = input_tokens;
        restored
    }

    fn tell_returns(&self, request: &ModelRequest) -> Result<(), BoxError> {
        for part in &request.parts {
            if let RequestPart::ToolReturn(ToolReturnPart {
                tool_name,
                tool_call_id,
                outcome,
                ..
            }) = part
            {
                self.notify(&LlmEvent::ToolReturn(ToolReturnEvent {
                    run_id: request.run_id.clone().unwrap_or_default(),
                    tool_name: tool_name.clone(),
                    tool_call_id: tool_call_id.clone(),
                    success: *outcome == Outcome::Success,
                }))?;
            }
        }
        Ok(())
    }

    fn tell_response(&mut self, response: &ModelResponse) -> Result<(), BoxError> {
        let run_id = response.run_id.clone().unwrap_or_default();
        for part in &response.parts {
            if let ResponsePart::ToolCall(call) = part {
                self.notify(&LlmEvent::ToolCall(ToolCallEvent {
                    run_id: run_id.clone(),
                    tool_name: call.tool_name.clone(),
                    tool_call_id: call.tool_call_id.clone(),
                    arguments: call.args.to_text(),
                }))?;
            }
        }
        self.last_input_tokens = Some(response.usage.input_tokens);
        let model_name = response.model_name.clone().unwrap_or_default();
        let provider_name = response.provider_name.clone().unwrap_or_default();
        let estimated_cost_usd = self.meter.cost(&provider_name, &model_name, &response.usage);
        self.notify(&LlmEvent::Usage(LlmUsageEvent {
            run_id,
            model_name,
            provider_name,
            input_tokens: response.usage.input_tokens,
            output_tokens: response.usage.output_tokens,
            cache_read_tokens: response.usage.cache_read_tokens,
            cache_write_tokens: response.usage.cache_write_tokens,
            requests: 1,
            estimated_cost_usd,
        }))
    }

    fn apply_window(&mut self) {
        let Some(max) = self.max_messages.filter(|max| self.messages.len() > *max) else { return };
        let (mut kept, others): (Vec<_>, Vec<_>) =
            self.messages.drain(..).partition(|message| message.bears_system_prompt());
        let room = max.saturating_sub(kept.len());
        let dropped = others.len().saturating_sub(room);
        kept.extend(others.into_iter().skip(dropped));
        self.messages = kept;
    }

    fn notify(&self, event: &LlmEvent) -> Result<(), BoxError> {
        self.observers.iter().try_for_each(|(_, observer)| observer.on_event(event))
    }
}

impl fmt::Debug for ContextManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextManager")
            .field("messages", &self.messages.len())
            .field("observers", &self.observers.len())
            .finish_non_exhaustive()
    }
}
