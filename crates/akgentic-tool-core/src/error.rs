//! How a tool fails.

use std::any::Any;
use std::error::Error;

use akgentic_core::{CallError, CreateError};

use crate::observer::ObserverError;

/// Failure of a tool or a command body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The caller may try again with corrected input; the text says what to change.
    #[error("{0}")]
    Retriable(String),
    /// Something is in use that will be free again; the caller did nothing wrong, and may make the
    /// same call later.
    #[error("{0}")]
    Busy(String),
    /// Trying again cannot help.
    #[error("{0}")]
    Fatal(#[source] Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A failure that corrected input can mend.
    pub fn retriable(text: impl Into<String>) -> Self {
        Self::Retriable(text.into())
    }

    /// A failure that passes by itself.
    pub fn busy(text: impl Into<String>) -> Self {
        Self::Busy(text.into())
    }

    /// A failure that no input can mend.
    pub fn fatal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Fatal(source.into())
    }

    /// Whether the caller may try again.
    pub fn is_retriable(&self) -> bool {
        matches!(self, Self::Retriable(_) | Self::Busy(_))
    }

    /// The cause of a fatal failure, as `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Retriable(_) | Self::Busy(_) => None,
            Self::Fatal(source) => source.downcast_ref(),
        }
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        Self::fatal(error)
    }
}

impl From<CreateError> for ToolError {
    fn from(error: CreateError) -> Self {
        Self::fatal(error)
    }
}

impl From<ObserverError> for ToolError {
    fn from(error: ObserverError) -> Self {
        Self::fatal(error)
    }
}

impl From<CallStopped> for ToolError {
    fn from(error: CallStopped) -> Self {
        Self::fatal(error)
    }
}

/// Why a call ended before its body did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallStopped {
    /// Nobody waits for the answer any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// The time the caller gave was over.
    #[error("the call did not finish in the time it was given")]
    DeadlinePassed,
}

/// The body of a tool, a command or a provider panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {0}")]
pub struct Panicked(pub String);

impl Panicked {
    /// What a caught panic says.
    pub fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self(text.unwrap_or_else(|| "no text".to_owned()))
    }
}
