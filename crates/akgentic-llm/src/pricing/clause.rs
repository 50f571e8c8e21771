//! Conditions on the name of a model or a provider.

use regex::Regex;
use serde::{Deserialize, Deserializer};

/// A condition on a name in lower case.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Clause {
    Equals(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    /// Matches anywhere.
    Regex(Pattern),
    /// Matches nowhere.
    NotRegex(Pattern),
    Or(Vec<Self>),
    And(Vec<Self>),
}

/// A regular expression, compiled when it is read.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        Regex::new(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Clause {
    pub(super) fn holds(&self, name: &str) -> bool {
        match self {
            Self::Equals(text) => name == text,
            Self::StartsWith(text) => name.starts_with(text.as_str()),
            Self::EndsWith(text) => name.ends_with(text.as_str()),
            Self::Contains(text) => name.contains(text.as_str()),
            Self::Regex(pattern) => pattern.0.is_match(name),
            Self::NotRegex(pattern) => !pattern.0.is_match(name),
            Self::Or(clauses) => clauses.iter().any(|clause| clause.holds(name)),
            Self::And(clauses) => clauses.iter().all(|clause| clause.holds(name)),
        }
    }
}
