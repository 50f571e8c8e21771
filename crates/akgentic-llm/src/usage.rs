//! What models consume.

use std::ops::AddAssign;

use indexmap::IndexMap;
use rust_decimal::Decimal;
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;

use crate::form::{self, Form, Written, persisted};

/// Usage that one response reports; every count is in tokens unless it says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RequestUsage {
    /// Input, cached tokens included.
    pub input_tokens: u64,
    /// Of the input, written to the cache.
    pub cache_write_tokens: u64,
    /// Of the input, written to the long-lived cache.
    pub cache_write_1h_tokens: u64,
    /// Of the input, read from the cache.
    pub cache_read_tokens: u64,
    /// Output, reasoning included.
    pub output_tokens: u64,
    /// Requests whose usage the provider did not report.
    pub unmeasured_requests: u64,
    /// Of the output, spent on reasoning.
    pub output_reasoning_tokens: u64,
    /// Of the input, audio.
    pub input_audio_tokens: u64,
    /// Of the cached input, audio.
    pub cache_audio_read_tokens: u64,
    /// Of the output, audio.
    pub output_audio_tokens: u64,
    /// Audio in seconds.
    pub audio_seconds: f64,
    /// Counters of the provider.
    #[serde(deserialize_with = "counters")]
    pub details: IndexMap<String, i64>,
    /// What the provider charged, when it says so.
    #[serde(deserialize_with = "decimal")]
    pub cost: Option<Decimal>,
}

impl RequestUsage {
    /// Usage of so many tokens in and out.
    pub fn tokens(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }
}

/// Usage summed over requests: of a run, or of an agent's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Of the input, read from the cache.
    pub cache_read_tokens: u64,
    /// Of the input, written to the cache.
    pub cache_write_tokens: u64,
    /// Answered model requests.
    pub requests: u64,
    /// Function tools that succeeded.
    pub tool_calls: u64,
}

impl Usage {
    /// Input and output tokens.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Counts one answered request.
    pub fn add_response(&mut self, usage: &RequestUsage) {
        *self += Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            requests: 1,
            tool_calls: 0,
        };
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let sum = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.cache_read_tokens, other.cache_read_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.requests, other.requests);
        sum(&mut self.tool_calls, other.tool_calls);
    }
}

impl Written for RequestUsage {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("input_tokens", &self.input_tokens)?;
        map.serialize_entry("cache_write_tokens", &self.cache_write_tokens)?;
        map.serialize_entry("cache_write_1h_tokens", &self.cache_write_1h_tokens)?;
        map.serialize_entry("cache_read_tokens", &self.cache_read_tokens)?;
        map.serialize_entry("output_tokens", &self.output_tokens)?;
        if form == Form::Persisted {
            map.serialize_entry("unmeasured_requests", &self.unmeasured_requests)?;
        }
        map.serialize_entry("output_reasoning_tokens", &self.output_reasoning_tokens)?;
        map.serialize_entry("input_audio_tokens", &self.input_audio_tokens)?;
        map.serialize_entry("cache_audio_read_tokens", &self.cache_audio_read_tokens)?;
        map.serialize_entry("output_audio_tokens", &self.output_audio_tokens)?;
        map.serialize_entry("audio_seconds", &self.audio_seconds)?;
        map.serialize_entry("details", &self.details)?;
        map.serialize_entry("cost", &self.cost.map(|cost| cost.to_string()))?;
        form::close(map, form, "pydantic_ai.usage.RequestUsage")
    }
}

persisted!(RequestUsage);

/// Counters by name; what is no whole number is not a counter.
fn counters<'de, D: Deserializer<'de>>(input: D) -> Result<IndexMap<String, i64>, D::Error> {
    let all: Option<IndexMap<String, Value>> = Option::deserialize(input)?;
    let counters = all.unwrap_or_default().into_iter();
    Ok(counters.filter_map(|(name, count)| Some((name, count.as_i64()?))).collect())
}

/// A decimal, written as text, read from text or a number.
fn decimal<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Decimal>, D::Error> {
    let text = match Value::deserialize(input)? {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        _ => return Err(D::Error::custom("a cost is a decimal number")),
    };
    let read = text.parse().or_else(|_| Decimal::from_scientific(&text));
    read.map(Some).map_err(|error| D::Error::custom(format_args!("cost {text}: {error}")))
}
