//! What a context tells its observers, as events that stores keep.

use std::sync::Arc;

use akgentic_core::payload;
use akgentic_core::wire::{AnyValue, WireType as _, no_addresses};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::error::BoxError;
use crate::message::ModelMessage;
use crate::usage::RequestUsage;

/// A message was added to the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LlmMessageEvent {
    /// The message, in the persisted form.
    pub message: Arc<ModelMessage>,
}
payload!(LlmMessageEvent = "akgentic.llm.event.LlmMessageEvent",
    aliases: ["akgentic.llm.LlmMessageEvent"], snapshot: no_addresses);

/// A model asked for a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallEvent {
    /// The run; empty outside one.
    pub run_id: String,
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_call_id: String,
    /// The arguments as the model gave them.
    pub arguments: String,
}
payload!(ToolCallEvent = "akgentic.llm.event.ToolCallEvent",
    aliases: ["akgentic.llm.ToolCallEvent"], snapshot: no_addresses);

/// A tool call was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolReturnEvent {
    /// The run; empty outside one.
    pub run_id: String,
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_call_id: String,
    /// Whether it gave a result.
    pub success: bool,
}
payload!(ToolReturnEvent = "akgentic.llm.event.ToolReturnEvent",
    aliases: ["akgentic.llm.ToolReturnEvent"], snapshot: no_addresses);

/// Stands for the run in the usage of questions that cards put to a model outside of any run; they
/// count against no budget.
pub const ONE_SHOT_RUN: &str = "one-shot";

/// A response consumed tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LlmUsageEvent {
    /// The run; empty outside one,
    /// [`COMPACTION_RUN`](crate::compaction::COMPACTION_RUN) for a summary, [`ONE_SHOT_RUN`] for a
    /// question of a card.
    pub run_id: String,
    /// The model, as the provider names it.
    pub model_name: String,
    /// The provider.
    pub provider_name: String,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Of the input, read from the cache.
    pub cache_read_tokens: u64,
    /// Of the input, written to the cache.
    pub cache_write_tokens: u64,
    /// Requests, always 1.
    pub requests: u64,
    /// What it cost in US dollars, about; 0 when unknown.
    #[serde(default)]
    pub estimated_cost_usd: f64,
}

impl LlmUsageEvent {
    /// What one response consumed, and what that cost.
    pub fn new(
        run_id: impl Into<String>,
        model_name: impl Into<String>,
        provider_name: impl Into<String>,
        usage: &RequestUsage,
        estimated_cost_usd: f64,
    ) -> Self {
        Self {
            run_id: run_id.into(),
            model_name: model_name.into(),
            provider_name: provider_name.into(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            requests: 1,
            estimated_cost_usd,
        }
    }
}

payload!(LlmUsageEvent = "akgentic.llm.event.LlmUsageEvent",
    aliases: ["akgentic.llm.LlmUsageEvent"], snapshot: no_addresses);

/// The system prompts as a run rendered them; sent when they differ from the last time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmSystemPromptEvent {
    /// The run.
    pub run_id: String,
    /// The prompts in order.
    #[serde(serialize_with = "marked_snapshots")]
    pub parts: Vec<SystemPromptPartSnapshot>,
    /// Their digest, see [`system_prompt_hash`].
    pub content_hash: String,
}
payload!(LlmSystemPromptEvent = "akgentic.llm.event.LlmSystemPromptEvent",
    aliases: ["akgentic.llm.LlmSystemPromptEvent"], snapshot: no_addresses);

/// One rendered system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemPromptPartSnapshot {
    /// Name of the function that rendered it.
    pub dynamic_ref: Option<String>,
    /// The text.
    pub content: String,
}
payload!(SystemPromptPartSnapshot = "akgentic.llm.event.SystemPromptPartSnapshot",
    aliases: ["akgentic.llm.SystemPromptPartSnapshot"], snapshot: no_addresses);

/// The conversation was shortened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmContextCompactedEvent {
    /// Nothing in practice; compaction happens between runs.
    pub run_id: Option<String>,
    /// Id of the strategy; decides how the history is folded.
    pub strategy_id: String,
    /// What stands for the removed messages.
    pub summary: String,
    /// How many messages were removed.
    pub replaced_message_count: i64,
    /// Which instructions the summariser had.
    pub summarizer_prompt_version: String,
    /// Input tokens of the last response before.
    pub tokens_before: Option<u64>,
    /// Estimated tokens after.
    pub tokens_after: Option<u64>,
}
payload!(LlmContextCompactedEvent = "akgentic.llm.event.LlmContextCompactedEvent",
    aliases: ["akgentic.llm.LlmContextCompactedEvent"], snapshot: no_addresses);

/// The conversation was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmContextClearedEvent {
    /// Nothing in practice; clearing happens between runs.
    pub run_id: Option<String>,
    /// How many messages there were.
    pub cleared_message_count: u64,
}
payload!(LlmContextClearedEvent = "akgentic.llm.event.LlmContextClearedEvent",
    aliases: ["akgentic.llm.LlmContextClearedEvent"], snapshot: no_addresses);

/// Any event of a context.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the event of its name")]
pub enum LlmEvent {
    Message(LlmMessageEvent),
    ToolCall(ToolCallEvent),
    ToolReturn(ToolReturnEvent),
    Usage(LlmUsageEvent),
    SystemPrompt(LlmSystemPromptEvent),
    Compacted(LlmContextCompactedEvent),
    Cleared(LlmContextClearedEvent),
}

impl LlmEvent {
    /// The event as a value that messages carry and stores keep.
    pub fn into_value(self) -> AnyValue {
        match self {
            Self::Message(event) => AnyValue::record(event),
            Self::ToolCall(event) => AnyValue::record(event),
            Self::ToolReturn(event) => AnyValue::record(event),
            Self::Usage(event) => AnyValue::record(event),
            Self::SystemPrompt(event) => AnyValue::record(event),
            Self::Compacted(event) => AnyValue::record(event),
            Self::Cleared(event) => AnyValue::record(event),
        }
    }

    /// The event that a value is; `None` for any other value.
    pub fn from_value(value: &AnyValue) -> Option<Self> {
        macro_rules! first_of {
            ($($variant:ident: $event:ty),* $(,)?) => {
                None$(.or_else(|| value.downcast::<$event>().cloned().map(Self::$variant)))*
            };
        }
        first_of!(
            Message: LlmMessageEvent,
            ToolCall: ToolCallEvent,
            ToolReturn: ToolReturnEvent,
            Usage: LlmUsageEvent,
            SystemPrompt: LlmSystemPromptEvent,
            Compacted: LlmContextCompactedEvent,
            Cleared: LlmContextClearedEvent,
        )
    }
}

/// Gets every event of the contexts it observes, while they happen.
pub trait ContextObserver: Send + Sync {
    /// Takes an event. An error goes to whoever caused the event.
    fn on_event(&self, event: &LlmEvent) -> Result<(), BoxError>;
}

impl<F> ContextObserver for F
where
    F: Fn(&LlmEvent) -> Result<(), BoxError> + Send + Sync,
{
    fn on_event(&self, event: &LlmEvent) -> Result<(), BoxError> {
        self(event)
    }
}

/// The digest of rendered system prompts: SHA-256 over each name (or that there is none) and text
/// with their lengths, in hexadecimal.
pub fn system_prompt_hash(parts: &[SystemPromptPartSnapshot]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        match &part.dynamic_ref {
            None => digest.update(b"0"),
            Some(name) => digest.update(format!("1{}:{name}", name.len())),
        }
        digest.update(format!("{}:{}", part.content.len(), part.content));
    }
    let hex = digest.finalize();
    hex.iter().fold(String::with_capacity(64), |mut text, byte| {
        use std::fmt::Write as _;
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Snapshots carry their own markers.
fn marked_snapshots<S: Serializer>(
    parts: &[SystemPromptPartSnapshot],
    out: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Marked<'a> {
        #[serde(flatten)]
        snapshot: &'a SystemPromptPartSnapshot,
        __model__: &'static str,
    }
    out.collect_seq(
        parts.iter().map(|snapshot| Marked { snapshot, __model__: SystemPromptPartSnapshot::PATH }),
    )
}
