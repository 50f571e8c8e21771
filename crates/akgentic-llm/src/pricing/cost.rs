//! What one response costs.

use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::table::{ModelPrices, Price, PriceTable, Rate};
use crate::usage::RequestUsage;

/// Tokens of a response that have a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Input, cached tokens included.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Of the input, read from the cache.
    pub cache_read: u64,
    /// Of the input, written to the cache.
    pub cache_write: u64,
}

/// More cached input than input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cached} cached input tokens of {input} input tokens")]
pub struct InconsistentCounts {
    /// Input tokens that were cached.
    pub cached: u64,
    /// All input tokens.
    pub input: u64,
}

impl From<&RequestUsage> for TokenCounts {
    fn from(usage: &RequestUsage) -> Self {
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
        }
    }
}

impl PriceTable {
    /// What one response costs in US dollars: 0 when nobody knows, and, with a log line, when its
    /// counts contradict each other.
    pub fn cost(&self, provider: &str, model: &str, counts: TokenCounts) -> f64 {
        let prices = self.find(provider, model);
        dollars(prices, provider, model, counts)
    }
}

impl ModelPrices {
    /// What one response costs at a moment, exactly.
    pub fn cost(
        &self,
        counts: TokenCounts,
        moment: Timestamp,
    ) -> Result<Decimal, InconsistentCounts> {
        self.at(moment).map_or(Ok(Decimal::ZERO), |price| price.cost(counts))
    }
}

impl Price {
    fn cost(&self, counts: TokenCounts) -> Result<Decimal, InconsistentCounts> {
        let priced = |rate: &Option<Rate>, count| if rate.is_some() { count } else { 0 };
        let cached = priced(&self.cache_read, counts.cache_read)
            .saturating_add(priced(&self.cache_write, counts.cache_write));
        let fresh = counts
            .input
            .checked_sub(cached)
            .ok_or(InconsistentCounts { cached, input: counts.input })?;
        let of = |rate: &Option<Rate>, count: u64| {
            let rate = rate.as_ref().map(|rate| rate.at(counts.input)).unwrap_or_default();
            rate.saturating_mul(Decimal::from(count))
        };
        let tokens = [
            of(&self.input, fresh),
            of(&self.output, counts.output),
            of(&self.cache_read, counts.cache_read),
            of(&self.cache_write, counts.cache_write),
        ];
        let tokens = tokens.into_iter().fold(Decimal::ZERO, Decimal::saturating_add);
        let request = of(&self.requests_kcount, 1);
        Ok(tokens / Decimal::from(1_000_000) + request / Decimal::from(1000))
    }
}

fn dollars(prices: Option<&ModelPrices>, provider: &str, model: &str, counts: TokenCounts) -> f64 {
    let Some(prices) = prices else { return 0.0 };
    match prices.cost(counts, Timestamp::now()) {
        Ok(cost) => cost.to_f64().unwrap_or(0.0),
        Err(error) => {
            tracing::warn!(provider, model, %error, "a response has no price");
            0.0
        }
    }
}

/// Prices responses one after the other; a model is looked up when it differs from the last one.
#[derive(Debug, Default)]
pub(crate) struct CostMeter {
    last: Option<Known>,
}

#[derive(Debug)]
struct Known {
    provider: String,
    model: String,
    prices: Option<&'static ModelPrices>,
}

impl CostMeter {
    /// What a response costs, by the table of the program.
    pub(crate) fn cost(&mut self, provider: &str, model: &str, usage: &RequestUsage) -> f64 {
        let known =
            self.last.as_ref().filter(|last| last.model == model && last.provider == provider);
        let prices = if let Some(known) = known {
            known.prices
        } else {
            let prices = PriceTable::builtin().find(provider, model);
            let (provider, model) = (provider.to_owned(), model.to_owned());
            self.last = Some(Known { provider, model, prices });
            prices
        };
        dollars(prices, provider, model, usage.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_have_a_price_of_its_own() {
        let table = PriceTable::from_json(
            r#"{"source": "", "date": "", "providers": [{"id": "p", "models": [
                ["m", {"equals": "m"}, {"input": "2", "requests_kcount": "5"}]]}]}"#,
        )
        .unwrap();
        let counts = TokenCounts { input: 1_000_000, cache_read: 10, ..TokenCounts::default() };
        // cached tokens without a price are billed as input
        let cost = table.find("p", "m").unwrap().cost(counts, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(cost.to_string(), "2.005");
    }

    #[test]
    fn odd_counts_cost_nothing() {
        let counts = TokenCounts { input: 10, cache_read: 18, ..TokenCounts::default() };
        let table = PriceTable::builtin();
        let prices = table.find("openai", "gpt-4o").unwrap();
        let error = prices.cost(counts, Timestamp::now()).unwrap_err();
        assert_eq!(error, InconsistentCounts { cached: 18, input: 10 });
        assert!(table.cost("openai", "gpt-4o", counts).abs() < f64::EPSILON);
    }
}
