//! How backends and runs fail.

use std::io;
use std::time::Duration;

use akgentic_core::CallError;

use crate::command::CommandError;
use crate::folder::FolderError;

/// Why a backend cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// A program is not installed.
    #[error("{program} was not found; {advice}")]
    MissingProgram {
        /// The program.
        program: String,
        /// What to do about it.
        advice: String,
    },
    /// The platform or this build cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A confined command that does nothing did not work.
    #[error("a confined trial command failed: {0}")]
    ProbeFailed(String),
    /// Less would be enforced than was asked for.
    #[error("{0}")]
    NotEnforced(String),
    /// The image cannot be had.
    #[error("the image {image} cannot be used: {reason}")]
    Image {
        /// The image.
        image: String,
        /// Why.
        reason: String,
    },
    /// The container engine refused or did not answer.
    #[error("the container engine failed: {0}")]
    Engine(String),
    /// The workspace cannot be used.
    #[error("the workspace {path} cannot be used: {reason}")]
    Workspace {
        /// Where it lies.
        path: String,
        /// Why.
        reason: String,
    },
    /// Nothing came back in time.
    #[error("{what} took longer than {}s", .after.as_secs_f64())]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
    },
    /// The system refused.
    #[error("{0}")]
    System(String),
}

impl BackendError {
    /// A stable name for the kind of failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingProgram { .. } => "missing_tool",
            Self::Unsupported(_) => "unsupported",
            Self::ProbeFailed(_) => "probe_failed",
            Self::NotEnforced(_) => "not_enforced",
            Self::Image { .. } => "image_failed",
            Self::Engine(_) => "engine_failed",
            Self::Workspace { .. } => "workspace_failed",
            Self::TimedOut { .. } => "start_timed_out",
            Self::System(_) => "start_failed",
        }
    }

    pub(crate) fn system(what: &str, error: &io::Error) -> Self {
        Self::System(format!("{what}: {error}"))
    }
}

/// Why a command was not run, or nothing can be said about its run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The command line is refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A word of the command holds a character no argument can.
    #[error("the command holds a NUL character, so nothing was run; spell it without")]
    Nul,
    /// More than a system takes.
    #[error(
        "the command is too long, so nothing was run: {what}: {size}, at most {most} are possible; put the text into a file and name the file"
    )]
    TooLong {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        size: usize,
        /// What is possible.
        most: usize,
    },
    /// There are more repositories than can be protected.
    #[error(
        "the command was not run: the workspace holds {found} entries called .git, and at most {most} can be kept from being changed by a command; delete some with the file tools, the last found is {one:?}"
    )]
    Repositories {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
        /// One of them.
        one: String,
    },
    /// The working directory is refused.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A time limit that is no time.
    #[error("{0} is no time limit in seconds: give a number above 0")]
    Timeout(f64),
    /// Another run holds the sandbox.
    #[error("run {0} is still going on in this workspace; wait for it or stop it, then try again")]
    Busy(String),
    /// The backend did not start.
    #[error("the sandbox did not start ({code}): {source}", code = .source.code())]
    Start {
        /// Why.
        source: BackendError,
    },
    /// The confined process could not be set up; the command did not run.
    #[error("the command was not run, since its confinement could not be set up: {0}")]
    Launch(String),
    /// The system failed in the middle.
    #[error("the run failed: {0}")]
    System(#[from] io::Error),
    /// The sandbox stopped while the command ran.
    #[error("the sandbox stopped while the command ran; what it wrote so far stays")]
    Stopped,
    /// The sandbox actor did not answer.
    #[error("the sandbox did not answer: {0}")]
    Call(#[source] CallError),
    /// The backend failed in the middle.
    #[error("the run failed: {0}")]
    Backend(#[source] BackendError),
}

impl RunError {
    /// A stable name for the kind of failure.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Command(CommandError::Empty { .. }) => "not_allowed",
            Self::Command(error) => error.code(),
            Self::Nul => "nul_in_command",
            Self::TooLong { .. } => "command_too_long",
            Self::Repositories { .. } => "too_many_repositories",
            Self::Folder(FolderError::Escapes(_)) => "cwd_escapes_workspace",
            Self::Folder(FolderError::Missing(_)) => "cwd_missing",
            Self::Folder(FolderError::NotADirectory(_)) => "cwd_not_a_directory",
            Self::Folder(FolderError::Io { .. }) => "cwd_failed",
            Self::Timeout(_) => "bad_timeout",
            Self::Busy(_) => "busy",
            Self::Start { source } | Self::Backend(source) => source.code(),
            Self::Launch(_) => "launch_failed",
            Self::System(_) => "failed",
            Self::Stopped => "stopped",
            Self::Call(_) => "no_answer",
        }
    }
}
