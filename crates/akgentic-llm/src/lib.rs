#![doc = include_str!("../README.md")]

mod agent;
mod chain;
pub mod compaction;
mod config;
mod content;
mod context;
mod drive;
mod error;
mod event;
mod feedback;
mod fold;
mod foreign;
mod form;
mod function_model;
mod history;
mod hook;
mod limits;
pub mod loadtest;
mod merge;
mod message;
mod model;
mod output;
mod part;
mod pricing;
mod prompt;
mod provider;
mod queue;
pub mod recording;
pub mod retry;
mod roster;
pub mod run;
pub mod scenario;
pub mod schema;
mod usage;

pub use agent::{Conclusion, ReactAgent, ReactAgentBuilder, Recovery, RunResult};
pub use chain::FallbackModel;
pub use config::{
    AgentUsageLimits, CompactionConfig, ConfigRecord, DataCollection, EffortStyle, EndStrategy,
    GeneralProvider, HttpClientConfig, ModelConfig, ModelNameError, OpenRouterRouting, Provider,
    Quantization, ReactAgentConfig, ReasoningEffort, RoutingSort, RunUsageLimits, RuntimeConfig,
    UsageLimits,
};
pub use content::{BinaryContent, ToolContent, ToolItem, UserContent, UserItem};
pub use context::{ContextManager, ObserverId, RestoredUsage};
pub use drive::{Deadlines, Drivers, MessageSink, Stopping, TOOL_TIMEOUT, drive};
pub use error::{BoxError, ModelError, ModelErrorKind, RunError, UnexpectedBehavior};
pub use event::{
    ContextObserver, LlmContextClearedEvent, LlmContextCompactedEvent, LlmEvent, LlmMessageEvent,
    LlmSystemPromptEvent, LlmUsageEvent, ONE_SHOT_RUN, SystemPromptPartSnapshot, ToolCallEvent,
    ToolReturnEvent, system_prompt_hash,
};
pub use feedback::{
    Feedback, RetryCause, RetryInfo, ValidationError, escape_framing, feedback_text,
};
pub use fold::fold;
pub use foreign::{ForeignThinking, for_provider};
pub use form::Form;
pub use function_model::FunctionModel;
pub use history::{History, clean, sendable};
pub use hook::{
    Hook, HookFuture, HookOrderError, Hooks, Place, Repetition, RepetitionGuard, RunContext,
};
pub use limits::{LimitBreach, UsageLimit};
pub use merge::{Mergeable, explain_unreadable};
pub use message::{FinishReason, MessageState, ModelMessage, ModelRequest, ModelResponse};
pub use model::{Model, ModelInput, ModelSettings, OutputRequest, StreamEvent, ToolCallDelta};
pub use output::{OUTPUT_TOOL, Output, OutputMode, OutputSchema, OutputSpec, strip_fence};
pub use part::{
    Outcome, RequestPart, ResponsePart, RetryFeedbackPart, RetryPromptPart, SystemPromptPart,
    TextPart, ThinkingPart, ToolArgs, ToolCallPart, ToolReturnPart, UserPromptPart,
};
pub use pricing::{
    InconsistentCounts, ModelPrices, ModelUsage, PriceTable, PriceTableError, RunUsage,
    TokenCounts, UsageSummary, summarize_usage,
};
pub use prompt::{
    JSON_ONLY_PROMPT, PromptTemplate, SystemPrompts, TemplateError, current_date_prompt,
};
#[cfg(feature = "providers")]
pub use provider::{ANTHROPIC_VERSION, Providers};
pub use provider::{AuthHeader, Endpoint, EnvironmentError, Variables};
pub use queue::{Priority, QueueClosed, Queued, QueuedId, RunQueue};
pub use roster::{BuildModel, ModelSwitch, ModelSwitchError, RosterFault};
pub use run::{Run, ToolSet};
pub use scenario::{Scenario, ScenarioError, ScriptedModel};
pub use usage::{RequestUsage, Usage};

/// Makes the types of this crate known to the registry.
///
/// Types register themselves when the program loads, but the linker leaves out a crate nothing
/// refers to. A program that only reads data naming these types calls this once.
pub fn register() {
    std::hint::black_box(<LlmMessageEvent as akgentic_core::wire::WireType>::PATH);
}
