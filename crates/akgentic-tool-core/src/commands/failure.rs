//! What people are told when a command fails.

use std::fmt;

/// A command was recognised and failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Command '{command}' failed: {reason}{}", Advice(self))]
#[non_exhaustive]
pub struct CommandFailure {
    /// The command.
    pub command: String,
    /// Why.
    pub reason: FailureReason,
    /// A word that looks like a mistyped `name=value`, and the name it may have been meant for.
    pub near_miss: Option<(String, String)>,
    /// How the command is typed.
    pub usage: String,
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailureReason {
    /// A positional argument follows a `name=value`.
    #[error("'{token}' stands after a named argument; give it a name or put it first")]
    PositionalAfterKeyword {
        /// The argument.
        token: String,
    },
    /// More arguments than parameters.
    #[error("it takes at most {max} arguments and got {got}")]
    TooMany {
        /// How many it takes.
        max: usize,
        /// How many were given.
        got: usize,
    },
    /// A parameter is given by position and by name.
    #[error("'{param}' is given twice, by position and by name")]
    Duplicate {
        /// The parameter.
        param: String,
    },
    /// Parameters without which it cannot run are not given.
    #[error("missing: {}", params.join(", "))]
    Missing {
        /// They, in order.
        params: Vec<String>,
    },
    /// A word does not stand for a value of the parameter.
    #[error("'{param}' takes {takes}, not '{value}'")]
    Coercion {
        /// The parameter.
        param: String,
        /// The word.
        value: String,
        /// What it takes, in words.
        takes: String,
    },
    /// The command ran and failed.
    #[error("{0}")]
    Body(String),
}

/// What to do next; a command that ran needs no help with its arguments.
struct Advice<'a>(&'a CommandFailure);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.0.reason, FailureReason::Body(_)) {
            return Ok(());
        }
        if let Some((token, name)) = &self.0.near_miss {
            write!(f, " ('{token}' was read as a value; was '{name}=' meant?)")?;
        }
        write!(f, "\nUsage: {}", self.0.usage)
    }
}
