//! Strategies by id.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use super::summarize::{Summarize, Summarizer, SummaryInstructions};
use super::window::{Keep, SlidingWindow};
use super::{CompactionStrategy, NONE, SLIDING_WINDOW, SLIDING_WINDOW_SPLIT, SUMMARIZE};
use crate::config::CompactionConfig;

/// What a strategy is made from.
pub struct StrategyParts<'a> {
    /// Its settings.
    pub config: &'a CompactionConfig,
    /// The model that may sum up.
    pub summarizer: &'a Summarizer,
    /// What that model is told.
    pub instructions: &'a SummaryInstructions,
}

type Make = dyn Fn(&StrategyParts<'_>) -> Arc<dyn CompactionStrategy> + Send + Sync;

/// No strategy has this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no compaction strategy {id:?}; there are {}", known.join(", "))]
pub struct UnknownStrategy {
    /// What was asked for.
    pub id: String,
    /// The ids there are.
    pub known: Vec<String>,
}

/// The strategies agents may be configured with, and the instructions for summaries.
///
/// Ids with dots, as programs in other languages name classes, are ids like any other.
#[derive(Clone)]
pub struct Strategies {
    makers: IndexMap<String, Arc<Make>>,
    /// What summarising models are told.
    pub instructions: SummaryInstructions,
}

impl Default for Strategies {
    fn default() -> Self {
        let mut strategies =
            Self { makers: IndexMap::new(), instructions: SummaryInstructions::default() };
        strategies.register(NONE, |_| Arc::new(Keep));
        for (id, split_first) in [(SLIDING_WINDOW, false), (SLIDING_WINDOW_SPLIT, true)] {
            strategies.register(id, move |parts| Arc::new(window(parts.config, split_first)));
        }
        strategies.register(SUMMARIZE, |parts| {
            let version = &parts.config.summarizer_prompt_version;
            Arc::new(Summarize {
                summarizer: parts.summarizer.clone(),
                instructions: parts.instructions.of(version).to_owned(),
                target_tokens: parts.config.summary_target_tokens,
            })
        });
        strategies
    }
}

impl Strategies {
    /// Adds a strategy, or replaces one. Histories fold by count under any id but `summarize`.
    pub fn register<F>(&mut self, id: impl Into<String>, make: F)
    where
        F: Fn(&StrategyParts<'_>) -> Arc<dyn CompactionStrategy> + Send + Sync + 'static,
    {
        self.makers.insert(id.into(), Arc::new(make));
    }

    /// The ids there are.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.makers.keys().map(String::as_str)
    }

    /// The strategy of a configuration.
    pub fn make(
        &self,
        config: &CompactionConfig,
        summarizer: &Summarizer,
    ) -> Result<Arc<dyn CompactionStrategy>, UnknownStrategy> {
        let Some(make) = self.makers.get(&config.strategy) else {
            let known = self.ids().map(str::to_owned).collect();
            return Err(UnknownStrategy { id: config.strategy.clone(), known });
        };
        Ok(make(&StrategyParts { config, summarizer, instructions: &self.instructions }))
    }
}

/// The window of a configuration.
pub(super) fn window(config: &CompactionConfig, split_first: bool) -> SlidingWindow {
    let keep = usize::try_from(config.keep_recent_messages).unwrap_or(usize::MAX);
    SlidingWindow { keep, split_first }
}

impl fmt::Debug for Strategies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.makers.keys()).finish()
    }
}
