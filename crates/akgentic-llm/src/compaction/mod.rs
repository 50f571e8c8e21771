//! Shortening a history: what goes, what stays, and what stands for what went.
//!
//! A [`CompactionStrategy`] looks at a history and says how many messages give way to which text;
//! [`fold`](crate::fold) does it, in the live conversation and when one is restored. Strategies are
//! looked up by id in [`Strategies`], which programs extend before they build agents.

mod compactor;
mod estimate;
mod registry;
mod split;
mod summarize;
mod transcript;
mod window;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub(crate) use compactor::{Compacted, Compactor};
pub use estimate::estimate_tokens;
pub use registry::{Strategies, StrategyParts, UnknownStrategy};
pub use split::{Split, split, split_fused};
pub use summarize::{Summarize, Summarizer, SummaryInstructions};
pub use transcript::transcript;
pub use window::{Keep, SlidingWindow};

use crate::message::ModelMessage;
use crate::usage::RequestUsage;

/// Id of the strategy that drops old messages and keeps the first prompt beside the system prompt.
pub const SLIDING_WINDOW: &str = "sliding_window";

/// Id of the strategy that drops old messages, the first prompt among them.
pub const SLIDING_WINDOW_SPLIT: &str = "sliding_window_split";

/// Id of the strategy that has a model sum up the whole conversation.
pub const SUMMARIZE: &str = "summarize";

/// Id of the strategy that changes nothing.
pub const NONE: &str = "none";

/// Stands as run in the usage events of summaries; it is no run and counts as none.
pub const COMPACTION_RUN: &str = "compaction";

/// Decides what becomes of a history that is too long.
pub trait CompactionStrategy: Send + Sync {
    /// Looks at the history. Never fails: what could not be done well is
    /// [`degraded`](Compaction::degraded).
    fn compact<'a>(&'a self, messages: &'a [Arc<ModelMessage>]) -> BoxFuture<'a, Compaction>;
}

/// What a strategy decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compaction {
    /// What stands for the messages that go.
    pub summary: String,
    /// How many messages go; 0 leaves the history as it is.
    pub replaced: usize,
    /// How many tokens are left, estimated.
    pub tokens_after: Option<u64>,
    /// Why this is not what the strategy is meant to give, when it is not.
    pub degraded: Option<String>,
    /// What the strategy consumed.
    pub spent: Option<Spent>,
}

/// What a model request of a strategy consumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The model, as the provider names it.
    pub model_name: String,
    /// The provider.
    pub provider_name: String,
    /// The tokens.
    pub usage: RequestUsage,
}
