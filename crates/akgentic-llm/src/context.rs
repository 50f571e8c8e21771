//! The conversation of an agent: history, observers, pending prompts.

use std::fmt;
use std::sync::Arc;

use akgentic_core::wire::Timestamp;

use crate::compaction::{COMPACTION_RUN, Spent};
use crate::error::BoxError;
use crate::event::{
    ContextObserver, LlmContextClearedEvent, LlmContextCompactedEvent, LlmEvent, LlmMessageEvent,
    LlmSystemPromptEvent, LlmUsageEvent, ONE_SHOT_RUN, SystemPromptPartSnapshot, ToolCallEvent,
    ToolReturnEvent, system_prompt_hash,
};
use crate::fold::fold;
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::output::OUTPUT_TOOL;
use crate::part::{Outcome, RequestPart, ResponsePart, ToolReturnPart, UserPromptPart};
use crate::pricing::CostMeter;
use crate::usage::{RequestUsage, Usage};

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
    compaction: CompactionMemory,
    system_prompt: Vec<SystemPromptPartSnapshot>,
    meter: CostMeter,
    generation: u64,
}

/// What is remembered of compactions, so that none follows another for nothing.
#[derive(Clone, Copy, Debug, Default)]
struct CompactionMemory {
    /// Whether no reply has told its tokens since the last one.
    settled: bool,
    /// Whether the next reply tells what the last one left.
    just_folded: bool,
    /// Input tokens of the first reply after the last one.
    left: Option<u64>,
}

impl CompactionMemory {
    fn on_reply(&mut self, input_tokens: u64) {
        self.settled = false;
        if std::mem::take(&mut self.just_folded) {
            self.left = Some(input_tokens);
        }
    }

    fn on_fold(&mut self) {
        self.settled = true;
        self.just_folded = true;
    }
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

    /// A number that changes whenever the history changes otherwise than by being added to.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Input tokens of the last response, when there was one since the context was cleared.
    pub fn last_input_tokens(&self) -> Option<u64> {
        self.last_input_tokens
    }

    /// Input tokens of the last response, unless the history was compacted since.
    pub(crate) fn input_to_compact(&self) -> Option<u64> {
        self.last_input_tokens.filter(|_| !self.compaction.settled)
    }

    /// Input tokens of the first response after the last compaction.
    pub(crate) fn input_after_compaction(&self) -> Option<u64> {
        self.compaction.left
    }

    /// Nothing is to be compacted until the next response.
    pub(crate) fn settle_compaction(&mut self) {
        self.compaction.settled = true;
    }

    /// The system prompts as the last run rendered them.
    ///
    /// The history keeps their first rendering, so this is what was really sent.
    pub fn system_prompt(&self) -> &[SystemPromptPartSnapshot] {
        &self.system_prompt
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
        self.generation += 1;
        self.last_system_prompt_hash = None;
        self.last_input_tokens = None;
        self.compaction = CompactionMemory::default();
        self.system_prompt.clear();
        self.notify(&LlmEvent::Cleared(LlmContextClearedEvent {
            run_id: None,
            cleared_message_count: u64::try_from(count).unwrap_or(u64::MAX),
        }))?;
        Ok(count)
    }

    /// Replaces the history; nobody is told.
    pub fn restore(&mut self, messages: Vec<Arc<ModelMessage>>) {
        self.messages = messages;
        self.generation += 1;
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
        self.system_prompt.clone_from(&parts);
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
        self.generation += 1;
        self.compaction.on_fold();
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
        let mut compaction = CompactionMemory::default();
        let mut system_prompt: &[SystemPromptPartSnapshot] = &[];
        let mut restored = RestoredUsage::default();
        let mut runs: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for event in events {
            match event {
                LlmEvent::Message(event) => messages.push(Arc::clone(&event.message)),
                LlmEvent::Compacted(event) => {
                    messages = fold(&messages, event, now);
                    compaction.on_fold();
                }
                LlmEvent::Cleared(_) => {
                    messages.clear();
                    hash = None;
                    input_tokens = None;
                    compaction = CompactionMemory::default();
                    system_prompt = &[];
                }
                LlmEvent::SystemPrompt(event) => {
                    hash = Some(event.content_hash.clone());
                    system_prompt = &event.parts;
                }
                LlmEvent::Usage(event) if event.run_id == ONE_SHOT_RUN => {}
                LlmEvent::Usage(event) => {
                    // what a summary cost is no run and says nothing about the history
                    if event.run_id != COMPACTION_RUN {
                        runs.insert(&event.run_id);
                        input_tokens = Some(event.input_tokens);
                        compaction.on_reply(event.input_tokens);
                    }
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
        self.generation += 1;
        self.last_system_prompt_hash = hash;
        self.last_input_tokens = input_tokens;
        self.compaction = compaction;
        self.system_prompt = system_prompt.to_vec();
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
        self.compaction.on_reply(response.usage.input_tokens);
        let model_name = response.model_name.clone().unwrap_or_default();
        let provider_name = response.provider_name.clone().unwrap_or_default();
        self.tell_usage(run_id, model_name, provider_name, &response.usage)
    }

    /// Tells observers what a compaction consumed; it counts as no run.
    pub(crate) fn record_spent(&mut self, spent: &Spent) -> Result<(), BoxError> {
        let (model, provider) = (spent.model_name.clone(), spent.provider_name.clone());
        self.tell_usage(COMPACTION_RUN.to_owned(), model, provider, &spent.usage)
    }

    fn tell_usage(
        &mut self,
        run_id: String,
        model_name: String,
        provider_name: String,
        usage: &RequestUsage,
    ) -> Result<(), BoxError> {
        let estimated_cost_usd = self.meter.cost(&provider_name, &model_name, usage);
        let event =
            LlmUsageEvent::new(run_id, model_name, provider_name, usage, estimated_cost_usd);
        self.notify(&LlmEvent::Usage(event))
    }

    fn apply_window(&mut self) {
        let Some(max) = self.max_messages.filter(|max| self.messages.len() > *max) else { return };
        let (mut kept, others): (Vec<_>, Vec<_>) =
            self.messages.drain(..).partition(|message| message.bears_system_prompt());
        let room = max.saturating_sub(kept.len());
        let dropped = others.len().saturating_sub(room);
        kept.extend(others.into_iter().skip(dropped));
        self.messages = kept;
        self.generation += 1;
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
