//! What is wrong with a value, and where.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// One step of the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Loc {
    /// A field of a map.
    Key(String),
    /// An element of a list.
    Index(usize),
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

/// One value that does not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldError {
    /// What kind of misfit, in the vocabulary models are shown: `missing`, `int_parsing`, …
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where, from the outside in.
    pub loc: Vec<Loc>,
    /// What would have fitted, for people and models.
    pub msg: String,
    /// The rejected value; for a missing field the object that lacks it.
    pub input: Value,
}

impl FieldError {
    /// An error about the whole value.
    pub fn whole(kind: &'static str, msg: impl Into<String>, input: Value) -> Self {
        Self { kind, loc: Vec::new(), msg: msg.into(), input }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.loc.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            write!(f, "{step}")?;
        }
        if !self.loc.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.msg)
    }
}

/// Several errors on one line.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a>(pub &'a [FieldError]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}
