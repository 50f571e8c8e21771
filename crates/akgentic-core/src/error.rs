//! How calls and handlers fail.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a tell, an ask or a typed call gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The actor has stopped, or stopped before it answered.
    #[error("{0} has stopped")]
    Dead(String),
    /// No answer in time; the work was not cancelled and its answer is dropped.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The address names an actor of another type.
    #[error("{name} is a {found}, not a {wanted}")]
    WrongActorType {
        /// The actor.
        name: String,
        /// The type asked for.
        wanted: &'static str,
        /// Its type.
        found: &'static str,
    },
    /// The address is a snapshot; resolve it through the team first.
    #[error("{0} is a snapshot and cannot deliver")]
    NotDeliverable(String),
    /// The inbox is full; nothing was enqueued.
    #[error("the inbox of {0} is full")]
    Overloaded(String),
    /// The handler failed; its error is unchanged.
    #[error("{0}")]
    Failed(ActorError),
}

/// How bad a handler failure is for those who watch the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Reported as an `ErrorMessage`.
    Error,
    /// Already dealt with; reported as a `WarningMessage`.
    Warning,
}

/// Failure of a handler: a class name, a text, and where it came from.
///
/// Any error converts with `?`; its type name becomes the class name.
#[derive(Clone)]
pub struct ActorError {
    content_type: Arc<str>,
    message: Arc<str>,
    severity: Severity,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ActorError {
    /// A failure with an explicit class name.
    pub fn new(content_type: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self {
            content_type: content_type.into(),
            message: message.into(),
            severity: Severity::Error,
            source: None,
        }
    }

    /// A condition that was already dealt with: observers are told, nobody else.
    pub fn warning(message: impl Into<Arc<str>>) -> Self {
        Self { severity: Severity::Warning, ..Self::new("WarningError", message) }
    }

    /// The same failure with another severity.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same failure under another class name.
    #[must_use]
    pub fn with_content_type(mut self, content_type: impl Into<Arc<str>>) -> Self {
        self.content_type = content_type.into();
        self
    }

    /// What a caught panic becomes.
    pub(crate) fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a handler panicked".to_owned());
        Self::new("Panic", text)
    }

    /// The class name.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How it is reported.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The error it was made from.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// The error it was made from, as `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        let source: &(dyn Error + 'static) = self.source.as_deref()?;
        source.downcast_ref()
    }

    /// The chain of causes, outermost first, one per line; `None` without causes.
    pub fn trace(&self) -> Option<String> {
        let mut text = String::new();
        let mut next: Option<&(dyn Error + 'static)> = Some(self.source.as_deref()?);
        while let Some(error) = next {
            if !text.is_empty() {
                text.push_str("\ncaused by: ");
            }
            text.push_str(&error.to_string());
            next = error.source();
        }
        Some(text)
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ActorError {
    fn from(error: E) -> Self {
        if let Some(CallError::Failed(inner)) = (&error as &dyn Any).downcast_ref::<CallError>() {
            return inner.clone();
        }
        Self {
            content_type: short_type_name::<E>().into(),
            message: error.to_string().into(),
            severity: Severity::Error,
            source: Some(Arc::new(error)),
        }
    }
}

impl fmt::Display for ActorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ActorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.content_type, self.message)
    }
}

/// The last segment of a type's name, without its parameters.
pub(crate) fn short_type_name<T: ?Sized>() -> &'static str {
    let full = std::any::type_name::<T>();
    let bare = full.split_once('<').map_or(full, |(bare, _)| bare);
    bare.rsplit_once("::").map_or(bare, |(_, last)| last)
}
