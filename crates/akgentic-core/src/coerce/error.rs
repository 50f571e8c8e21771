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

/// More errors than this are counted, not kept.
const MAX_ERRORS: usize = 100;

/// The errors of one value: the first hundred and how many more there are.
#[derive(Debug, Default)]
pub(super) struct Errors {
    kept: Vec<FieldError>,
    more: usize,
}

impl Errors {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more == 0
    }

    /// Whether further errors are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_ERRORS
    }

    pub(super) fn push(&mut self, error: FieldError) {
        self.push_with(|| error);
    }

    /// Adds an error that is made only when there is room for it.
    pub(super) fn push_with(&mut self, error: impl FnOnce() -> FieldError) {
        if self.is_full() {
            self.more = self.more.saturating_add(1);
        } else {
            self.kept.push(error());
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        for error in other.kept {
            self.push(error);
        }
        self.more = self.more.saturating_add(other.more);
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut FieldError> {
        self.kept.iter_mut()
    }

    /// The errors; the last one says how many are left out.
    pub(super) fn into_vec(mut self) -> Vec<FieldError> {
        if self.more > 0 {
            let msg = format!("{} more errors are left out", self.more);
            self.kept.push(FieldError::whole("too_many_errors", msg, Value::Null));
        }
        self.kept
    }
}
