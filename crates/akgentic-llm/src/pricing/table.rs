//! The table of prices: read from data, searched by provider and model.

use std::sync::LazyLock;

use jiff::civil::{Date, Time};
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer};

use super::clause::Clause;

/// Prices by provider and model, with their date.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PriceTable {
    source: String,
    date: String,
    providers: Vec<ProviderPrices>,
}

/// The table is no table.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the table of prices: {0}")]
pub struct PriceTableError(#[from] serde_json::Error);

#[derive(Clone, Debug, Deserialize)]
struct ProviderPrices {
    id: String,
    provider_match: Option<Clause>,
    model_match: Option<Clause>,
    #[serde(default)]
    fallback: Vec<String>,
    models: Vec<ModelPrices>,
}

/// The prices of one model.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "(String, Clause, PriceList)")]
pub struct ModelPrices {
    id: String,
    clause: Clause,
    prices: Vec<Dated>,
}

impl From<(String, Clause, PriceList)> for ModelPrices {
    fn from((id, clause, list): (String, Clause, PriceList)) -> Self {
        let prices = match list {
            PriceList::One(price) => vec![Dated { price: *price, when: None }],
            PriceList::Many(prices) => prices,
        };
        Self { id, clause, prices }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum PriceList {
    Many(Vec<Dated>),
    One(Box<Price>),
}

#[derive(Clone, Debug, Deserialize)]
struct Dated {
    price: Price,
    #[serde(default)]
    when: Option<When>,
}

/// When a price holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum When {
    From { start_date: Date },
    Daily { start_time: UtcTime, end_time: UtcTime },
}

/// A time of day in UTC.
#[derive(Clone, Copy, Debug)]
struct UtcTime(Time);

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let time = text.trim_end_matches("+00:00").trim_end_matches('Z');
        time.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

/// Prices of the classes of tokens.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Price {
    pub(super) input: Option<Rate>,
    pub(super) output: Option<Rate>,
    pub(super) cache_read: Option<Rate>,
    pub(super) cache_write: Option<Rate>,
    /// For a thousand requests.
    pub(super) requests_kcount: Option<Rate>,
}

/// The price of a million tokens, by how many input tokens the request has.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Rate {
    Flat(Decimal),
    Tiered { base: Decimal, tiers: Vec<(u64, Decimal)> },
}

impl Rate {
    pub(super) fn at(&self, input_tokens: u64) -> Decimal {
        match self {
            Self::Flat(rate) => *rate,
            Self::Tiered { base, tiers } => {
                let reached = tiers.iter().filter(|(start, _)| *start < input_tokens);
                reached.max_by_key(|(start, _)| *start).map_or(*base, |(_, rate)| *rate)
            }
        }
    }
}

/// The table in the program.
static BUILTIN: LazyLock<PriceTable> = LazyLock::new(|| {
    PriceTable::from_json(include_str!("../../data/prices.json")).unwrap_or_else(|error| {
        tracing::error!(%error, "nothing has a price");
        PriceTable::default()
    })
});

impl PriceTable {
    /// The table that comes with the program; [`date`](Self::date) says how old it is.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Reads a table. Regular expressions with look-around are refused.
    pub fn from_json(text: &str) -> Result<Self, PriceTableError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Where the prices come from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The day the prices were taken, `YYYY-MM-DD`.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Ids of the providers, in the order they are searched.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|provider| provider.id.as_str())
    }

    /// How many models a provider has; none when it is not known.
    pub fn model_count(&self, provider: &str) -> Option<usize> {
        self.by_name(provider).map(|provider| provider.models.len())
    }

    /// The prices of a model. An empty provider is found by the name of the model.
    pub fn find(&self, provider_name: &str, model_name: &str) -> Option<&ModelPrices> {
        let model = model_name.to_lowercase();
        let (provider, model) = self.provider(provider_name, &model)?;
        self.find_model(provider, model)
            .or_else(|| self.find_model(provider, &with_dashed_dates(model)?))
    }

    fn provider<'m>(&self, name: &str, model: &'m str) -> Option<(&ProviderPrices, &'m str)> {
        let name = name.trim().to_lowercase();
        if name.is_empty() {
            let accepts = |provider: &&ProviderPrices| {
                provider.model_match.as_ref().is_some_and(|clause| clause.holds(model))
            };
            return Some((self.providers.iter().find(accepts)?, model));
        }
        if let Some((vendor, rest)) = model.split_once('/').filter(|_| name == "litellm")
            && let Some(provider) = self.by_name(vendor)
        {
            return Some((provider, rest));
        }
        // what nvidia serves is asked for in OpenAI's ways and recorded so by older versions
        let found = self.by_name(&name);
        let found = found.or_else(|| self.by_name("openai").filter(|_| name == "nvidia"));
        Some((found?, model))
    }

    fn by_name(&self, name: &str) -> Option<&ProviderPrices> {
        let accepts = |provider: &&ProviderPrices| {
            provider.provider_match.as_ref().is_some_and(|clause| clause.holds(name))
        };
        self.by_id(name).or_else(|| self.providers.iter().find(accepts))
    }

    fn by_id(&self, id: &str) -> Option<&ProviderPrices> {
        self.providers.iter().find(|provider| provider.id == id)
    }

    fn find_model<'t>(
        &'t self,
        provider: &'t ProviderPrices,
        name: &str,
    ) -> Option<&'t ModelPrices> {
        let others = provider.fallback.iter().filter_map(|id| self.by_id(id));
        let mut searched = std::iter::once(provider).chain(others);
        searched.find_map(|provider| provider.models.iter().find(|model| model.clause.holds(name)))
    }
}

impl ModelPrices {
    /// The model in the table.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The price that holds at a moment: the last whose condition does, or the first.
    pub(super) fn at(&self, moment: jiff::Timestamp) -> Option<&Price> {
        let utc = jiff::tz::Offset::UTC.to_datetime(moment);
        let holds = |dated: &&Dated| match &dated.when {
            None => false,
            Some(When::From { start_date }) => utc.date() >= *start_date,
            Some(When::Daily { start_time, end_time }) => {
                let (time, start, end) = (utc.time(), start_time.0, end_time.0);
                if start <= end { start <= time && time < end } else { time >= start || time < end }
            }
        };
        let dated = self.prices.iter().rev().find(holds).or_else(|| self.prices.first());
        dated.map(|dated| &dated.price)
    }
}

/// The name with dates such as `-20250929` written as `-2025-09-29`; `None` when it has none.
fn with_dashed_dates(name: &str) -> Option<String> {
    let mut dashed = String::with_capacity(name.len() + 2);
    let mut rest = name;
    let mut found = false;
    while let Some(at) = rest.find("-20") {
        let (before, date) = rest.split_at(at);
        dashed.push_str(before);
        if let Some((text, after)) = leading_date(date) {
            dashed.push_str(&text);
            rest = after;
            found = true;
        } else {
            let (dash, after) = date.split_at(1);
            dashed.push_str(dash);
            rest = after;
        }
    }
    dashed.push_str(rest);
    found.then_some(dashed)
}

/// A dash and eight digits that are a date and end a word, rewritten; and what follows.
fn leading_date(text: &str) -> Option<(String, &str)> {
    let (date, after) = text.split_at_checked(9)?;
    if !(after.is_empty() || after.starts_with(['-', ':'])) {
        return None;
    }
    let digits = date.strip_prefix('-')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    let parsed = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    parsed.ok().map(|_| (format!("-{year}-{month}-{day}"), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_table_is_read_and_dated() {
        let table = PriceTable::builtin();
        assert!(table.date().parse::<Date>().is_ok());
        assert!(table.source().contains("genai-prices"));
        assert!(table.providers().count() > 40);
    }

    #[test]
    fn dates_are_dashed_where_they_are_dates() {
        assert_eq!(with_dashed_dates("a-20250929").as_deref(), Some("a-2025-09-29"));
        assert_eq!(with_dashed_dates("a-20250929-b:c").as_deref(), Some("a-2025-09-29-b:c"));
        assert_eq!(with_dashed_dates("a-20251399"), None);
        assert_eq!(with_dashed_dates("a-202509291"), None);
        assert_eq!(with_dashed_dates("a-20é"), None);
    }

    #[test]
    fn prices_hold_from_their_day_and_in_their_hours() {
        let table = PriceTable::from_json(
            r#"{"source": "", "date": "", "providers": [{"id": "p", "models": [
                ["m", {"equals": "m"}, [
                    {"price": {"input": "1"}},
                    {"price": {"input": "2"}, "when": {"start_date": "2026-01-02"}},
                    {"price": {"input": "3"},
                     "when": {"start_time": "22:00:00+00:00", "end_time": "02:00:00Z"}}]]]}]}"#,
        )
        .unwrap();
        let at = |moment: &str| {
            let prices = table.find("p", "M").unwrap();
            let price = prices.at(moment.parse().unwrap()).unwrap();
            price.input.as_ref().unwrap().at(0).to_string()
        };
        assert_eq!(at("2026-01-01T12:00:00Z"), "1");
        assert_eq!(at("2026-01-02T12:00:00Z"), "2");
        assert_eq!(at("2026-01-02T22:00:00Z"), "3");
        assert_eq!(at("2026-01-02T01:59:59Z"), "3");
        assert_eq!(at("2026-01-02T02:00:00Z"), "2");
    }

    #[test]
    fn look_around_is_refused_when_a_table_is_read() {
        let table = r#"{"source": "", "date": "", "providers": [{"id": "p", "models": [
            ["m", {"regex": "^a(?!b)"}, {"input": "1"}]]}]}"#;
        assert!(PriceTable::from_json(table).is_err());
    }
}
