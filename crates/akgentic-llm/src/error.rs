//! How models and runs fail.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::limits::LimitBreach;

/// Any error, behind a pointer.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Failure of one model request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider refused or failed with a status.
    #[error("{model} answered {status}: {body}")]
    Status {
        /// The model that was asked.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's body.
        body: String,
    },
    /// The provider could not be reached, or the connection broke.
    #[error("cannot reach {model}: {message}")]
    Connection {
        /// The model that was asked.
        model: String,
        /// What broke.
        message: String,
    },
    /// The reply did not come in time.
    #[error("{model} did not answer within {} s", after.as_secs_f64())]
    Timeout {
        /// The model that was asked.
        model: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The reply is not what its API promises.
    #[error("unexpected reply of {model}: {message}")]
    UnexpectedReply {
        /// The model that was asked.
        model: String,
        /// What is wrong with it.
        message: String,
    },
    /// Every model of a chain failed.
    #[error("all {} models failed: {}", causes.len(), reasons(causes))]
    AllFailed {
        /// Why, in the order the models were asked.
        causes: Vec<ModelError>,
    },
    /// The request cannot be made as it is.
    #[error("{0}")]
    Usage(String),
}

fn reasons(causes: &[ModelError]) -> String {
    let reasons: Vec<String> = causes.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}

impl ModelError {
    /// The model that failed; empty when no single one did.
    pub fn model(&self) -> &str {
        match self {
            Self::Status { model, .. }
            | Self::Connection { model, .. }
            | Self::Timeout { model, .. }
            | Self::UnexpectedReply { model, .. } => model,
            Self::AllFailed { .. } | Self::Usage(_) => "",
        }
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ModelErrorKind {
        match self {
            Self::AllFailed { .. } => ModelErrorKind::AllFailed,
            Self::Status { status: 401 | 403, .. } => ModelErrorKind::Authentication,
            Self::Status { status: 404, .. } => ModelErrorKind::NotFound,
            Self::Status { status: 429, .. } => ModelErrorKind::RateLimit,
            Self::Status { status: 503, .. } => ModelErrorKind::Unavailable,
            Self::Status { status: 500.., .. } => ModelErrorKind::Server,
            Self::Status { .. } => ModelErrorKind::RequestRejected,
            Self::Connection { .. } => ModelErrorKind::Connection,
            Self::Timeout { .. } => ModelErrorKind::Timeout,
            Self::UnexpectedReply { .. } => ModelErrorKind::UnexpectedReply,
            Self::Usage(_) => ModelErrorKind::Usage,
        }
    }
}

/// Kinds of model failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The provider finds the request wrong.
    RequestRejected,
    /// The key is wrong or not allowed.
    Authentication,
    /// No such model or address.
    NotFound,
    /// Too many requests or too little quota.
    RateLimit,
    /// The provider broke.
    Server,
    /// The provider is not there for now.
    Unavailable,
    /// Transport.
    Connection,
    /// No reply in time.
    Timeout,
    /// The reply is not what its API promises.
    UnexpectedReply,
    /// Every model of a chain failed.
    AllFailed,
    /// The request cannot be made as it is.
    Usage,
}

impl ModelErrorKind {
    /// Whether another model may be asked instead.
    pub fn advances_chain(self) -> bool {
        !matches!(self, Self::UnexpectedReply | Self::Usage)
    }
}

/// Why a run ended without an output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model request failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A limit of the run was reached.
    #[error("the run reached its {0}")]
    RunUsageLimit(LimitBreach),
    /// A limit of the agent was reached; the run did not start.
    #[error("the agent reached its {0}")]
    AgentUsageLimit(LimitBreach),
    /// The model does something that cannot be worked with.
    #[error("unexpected model behaviour: {0}")]
    UnexpectedModelBehavior(UnexpectedBehavior),
    /// The provider withheld its answer.
    #[error("the provider's content filter withheld the answer")]
    ContentFilter,
    /// A tool failed in a way no corrected call can mend.
    #[error("tool {tool} failed: {source}")]
    Tool {
        /// The tool.
        tool: String,
        /// Why.
        source: BoxError,
    },
    /// A tool panicked; the run ends, the process lives on.
    #[error("tool {tool} panicked: {message}")]
    ToolPanicked {
        /// The tool.
        tool: String,
        /// What it said.
        message: String,
    },
    /// A hook stopped the run.
    #[error("{0}")]
    Hook(#[source] BoxError),
    /// An observer refused an event.
    #[error("an observer failed: {0}")]
    Observer(#[source] BoxError),
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// The agent is closed.
    #[error("the agent is closed")]
    Closed,
    /// The run was set up wrongly.
    #[error("{0}")]
    Usage(String),
}

/// What the model does that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnexpectedBehavior {
    /// Its output stayed unusable.
    OutputRetries {
        /// How many retries it had.
        max: u32,
    },
    /// Its calls of one tool kept failing.
    ToolRetries {
        /// The tool.
        tool: String,
        /// How many retries it had.
        max: u32,
    },
    /// Two calls of one response have one id.
    DuplicateToolCallIds {
        /// The id.
        id: String,
    },
    /// A reply has more tool calls than [a run takes](crate::run::MOST_CALLS); none was executed.
    TooManyToolCalls {
        /// How many it has.
        calls: usize,
    },
    /// The output cap cut the reply before it held anything.
    Length,
}

impl fmt::Display for UnexpectedBehavior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutputRetries { max } => write!(f, "no usable output after {max} retries"),
            Self::ToolRetries { tool, max } => {
                write!(f, "no working call of tool {tool} after {max} retries")
            }
            Self::DuplicateToolCallIds { id } => write!(f, "two tool calls have the id {id}"),
            Self::TooManyToolCalls { calls } => {
                let most = crate::run::MOST_CALLS;
                write!(
                    f,
                    "a reply has {calls} tool calls, and {most} are the most; none was executed"
                )
            }
            Self::Length => f.write_str("the output cap cut the reply before it held anything"),
        }
    }
}
