//! When the history of an agent is shortened, and how the result is applied.

use std::sync::Arc;

use akgentic_core::wire::Timestamp;

use super::registry::window;
use super::window::Keep;
use super::{Compaction, CompactionStrategy, Strategies, Summarizer, UnknownStrategy};
use crate::config::{CompactionConfig, ModelConfig};
use crate::context::ContextManager;
use crate::error::BoxError;
use crate::event::LlmContextCompactedEvent;
use crate::usage::Usage;

/// Shortens the history of one agent.
pub(crate) struct Compactor {
    config: CompactionConfig,
    strategies: Strategies,
    strategy: Arc<dyn CompactionStrategy>,
}

/// What became of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compacted {
    /// So many messages went.
    Replaced(usize),
    /// There was nothing to shorten.
    Nothing,
    /// It was kept, since no good summary could be had.
    Kept(String),
}

impl Compactor {
    pub(crate) fn new(
        config: CompactionConfig,
        strategies: Strategies,
        summarizer: &Summarizer,
    ) -> Result<Self, UnknownStrategy> {
        let strategy = strategies.make(&config, summarizer)?;
        Ok(Self { config, strategies, strategy })
    }

    /// Makes the strategy anew, on another summarising model.
    pub(crate) fn rebuild(&mut self, summarizer: &Summarizer) -> Result<(), UnknownStrategy> {
        self.strategy = self.strategies.make(&self.config, summarizer)?;
        Ok(())
    }

    /// Lets go of the strategy and its model.
    pub(crate) fn close(&mut self) {
        self.strategy = Arc::new(Keep);
    }

    /// Whether the last reply had so much input that the history is to be shortened.
    pub(crate) fn is_due(&self, context: &ContextManager, model: &ModelConfig) -> bool {
        let Some(threshold) = self.config.threshold(model) else { return false };
        let Some(tokens) = context.input_to_compact() else { return false };
        // what an earlier compaction could not remove, no later one will: prompts, tools, the tail
        let fixed = context.input_after_compaction().unwrap_or(0);
        if fixed <= threshold {
            return tokens > threshold;
        }
        let room = model.context_length.unwrap_or(0).saturating_sub(fixed);
        tokens > fixed + room / 2
    }

    /// Shortens the history as the strategy decides. Cancel-safe: nothing changes before it has
    /// decided.
    ///
    /// A degraded result is applied only when the window is full, and a sliding window then does
    /// it. What the strategy consumed is charged to `total` and told.
    pub(crate) async fn compact(
        &self,
        context: &mut ContextManager,
        model: &ModelConfig,
        total: &mut Usage,
        now: Timestamp,
    ) -> Result<Compacted, BoxError> {
        let messages = context.messages().to_vec();
        let mut decided = self.strategy.compact(&messages).await;
        context.settle_compaction();
        if let Some(spent) = decided.spent.take() {
            total.add_response(&spent.usage);
            context.record_spent(&spent)?;
        }
        let mut strategy_id = self.config.strategy.as_str();
        if let Some(reason) = decided.degraded.take() {
            tracing::warn!(strategy_id, reason, "a compaction failed");
            let full = context.last_input_tokens() >= model.context_length;
            if model.context_length.is_none() || !full {
                return Ok(Compacted::Kept(reason));
            }
            strategy_id = super::SLIDING_WINDOW;
            decided = window(&self.config, false).decide(&messages);
        }
        self.apply(decided, strategy_id, context, now)
    }

    fn apply(
        &self,
        decided: Compaction,
        strategy_id: &str,
        context: &mut ContextManager,
        now: Timestamp,
    ) -> Result<Compacted, BoxError> {
        if decided.replaced == 0 {
            return Ok(Compacted::Nothing);
        }
        let event = LlmContextCompactedEvent {
            run_id: None,
            strategy_id: strategy_id.to_owned(),
            summary: decided.summary,
            replaced_message_count: i64::try_from(decided.replaced).unwrap_or(i64::MAX),
            summarizer_prompt_version: self.config.summarizer_prompt_version.clone(),
            tokens_before: context.last_input_tokens(),
            tokens_after: decided.tokens_after,
        };
        context.compact(event, now)?;
        Ok(Compacted::Replaced(decided.replaced))
    }
}

impl Compacted {
    /// What happened, in words.
    pub(crate) fn status(&self) -> String {
        match self {
            Self::Replaced(count) => {
                format!("Compacted: replaced {count} earlier message(s) with a summary.")
            }
            Self::Nothing => "Nothing to compact.".to_owned(),
            Self::Kept(reason) => {
                format!("Nothing was compacted, the conversation is as it was: {reason}.")
            }
        }
    }
}
