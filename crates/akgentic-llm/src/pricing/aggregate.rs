//! Usage summed up by model and by run.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost::TokenCounts;
use super::table::PriceTable;
use crate::event::LlmUsageEvent;

/// Usage of any number of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageSummary {
    /// By name of the model, in the order they were first used.
    pub by_model: IndexMap<String, ModelUsage>,
    /// By run, in the order they started; empty unless asked for.
    pub runs: Vec<RunUsage>,
    /// Input tokens of all.
    pub total_input_tokens: u64,
    /// Output tokens of all.
    pub total_output_tokens: u64,
    /// Tokens read from caches.
    pub total_cache_read_tokens: u64,
    /// Tokens written to caches.
    pub total_cache_write_tokens: u64,
    /// Model requests.
    pub total_requests: u64,
    /// Costs in US dollars, about.
    pub total_cost_usd: f64,
}

/// Usage of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// The model, as the provider names it.
    pub model_name: String,
    /// The provider; the first one when there were several.
    pub provider_name: String,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Of the input, read from the cache.
    pub cache_read_tokens: u64,
    /// Of the input, written to the cache.
    pub cache_write_tokens: u64,
    /// Requests.
    pub requests: u64,
    /// Costs in US dollars, about.
    pub estimated_cost_usd: f64,
}

/// Usage of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunUsage {
    /// The run.
    pub run_id: String,
    /// By model, in the order they were first used.
    pub models: Vec<ModelUsage>,
    /// Input tokens of all models.
    pub total_input_tokens: u64,
    /// Output tokens of all models.
    pub total_output_tokens: u64,
    /// Costs of all models in US dollars, about.
    pub total_cost_usd: f64,
}

/// Sums up usage by model and, when `by_run` says so, by run.
///
/// Costs are those of the events; where a model has none of them, they are found anew from its
/// tokens.
pub fn summarize_usage<'a>(
    events: impl IntoIterator<Item = &'a LlmUsageEvent>,
    by_run: bool,
) -> UsageSummary {
    let mut models = Models::default();
    let mut runs: IndexMap<&str, Models<'a>> = IndexMap::new();
    for event in events {
        models.add(event);
        if by_run {
            runs.entry(&event.run_id).or_default().add(event);
        }
    }
    let by_model = models.priced();
    let sum = |count: fn(&ModelUsage) -> u64| {
        by_model.iter().fold(0, |sum: u64, model| sum.saturating_add(count(model)))
    };
    UsageSummary {
        total_input_tokens: sum(|model| model.input_tokens),
        total_output_tokens: sum(|model| model.output_tokens),
        total_cache_read_tokens: sum(|model| model.cache_read_tokens),
        total_cache_write_tokens: sum(|model| model.cache_write_tokens),
        total_requests: sum(|model| model.requests),
        total_cost_usd: cost_of(&by_model),
        runs: runs.into_iter().map(|(run_id, models)| models.of_run(run_id)).collect(),
        by_model: by_model.into_iter().map(|model| (model.model_name.clone(), model)).collect(),
    }
}

/// Usage by name of the model.
#[derive(Default)]
struct Models<'a>(IndexMap<&'a str, ModelUsage>);

impl<'a> Models<'a> {
    fn add(&mut self, event: &'a LlmUsageEvent) {
        let model = self.0.entry(&event.model_name).or_default();
        if model.provider_name.is_empty() {
            model.provider_name.clone_from(&event.provider_name);
        }
        let add = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        add(&mut model.input_tokens, event.input_tokens);
        add(&mut model.output_tokens, event.output_tokens);
        add(&mut model.cache_read_tokens, event.cache_read_tokens);
        add(&mut model.cache_write_tokens, event.cache_write_tokens);
        add(&mut model.requests, event.requests);
        model.estimated_cost_usd += event.estimated_cost_usd;
    }

    fn priced(self) -> Vec<ModelUsage> {
        let priced = self.0.into_iter().map(|(name, mut model)| {
            name.clone_into(&mut model.model_name);
            model.find_cost();
            model
        });
        priced.collect()
    }

    fn of_run(self, run_id: &str) -> RunUsage {
        let models = self.priced();
        RunUsage {
            run_id: run_id.to_owned(),
            total_input_tokens: models.iter().map(|model| model.input_tokens).sum(),
            total_output_tokens: models.iter().map(|model| model.output_tokens).sum(),
            total_cost_usd: cost_of(&models),
            models,
        }
    }
}

impl ModelUsage {
    /// Finds the cost when no event had one.
    fn find_cost(&mut self) {
        let counts = TokenCounts {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cache_read_tokens,
            cache_write: self.cache_write_tokens,
        };
        // a cost of exactly nothing is one that was never found
        if self.estimated_cost_usd == 0.0 && counts != TokenCounts::default() {
            self.estimated_cost_usd =
                PriceTable::builtin().cost(&self.provider_name, &self.model_name, counts);
        }
    }
}

fn cost_of(models: &[ModelUsage]) -> f64 {
    // an empty sum of floats is -0
    models.iter().fold(0.0, |sum, model| sum + model.estimated_cost_usd)
}
