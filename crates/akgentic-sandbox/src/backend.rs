//! What a backend is: something that can be probed, started for one workspace, and told to run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::enforcement::Enforcement;
use crate::error::{BackendError, RunError};
use crate::run::{Outcome, Run};

/// One way of running commands, registered under the name that cards ask for.
///
/// ```
/// use std::sync::Arc;
///
/// use akgentic_sandbox::{Backend, BackendError, Place, Registry, Session};
/// use futures_util::future::BoxFuture;
///
/// struct Remote;
///
/// impl Backend for Remote {
///     fn name(&self) -> &str {
///         "remote"
///     }
///
///     fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
///         Box::pin(async { Err(BackendError::Unsupported("not on a Sunday".to_owned())) })
///     }
///
///     fn start(&self, _: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
///         Box::pin(async { Err(BackendError::Unsupported("not on a Sunday".to_owned())) })
///     }
/// }
///
/// let registry = Registry::standard();
/// assert!(!registry.accepts("remote"));
/// registry.register(Arc::new(Remote));
/// assert!(registry.accepts("remote"));
/// ```
pub trait Backend: Send + Sync {
    /// The mode that selects it.
    fn name(&self) -> &str;

    /// Whether commands are kept apart from the host; `auto` takes one that does not only on request.
    fn isolates(&self) -> bool {
        true
    }

    /// Its place among the candidates of `auto`, lowest first; nothing keeps it out.
    fn auto_rank(&self) -> Option<u8> {
        None
    }

    /// Runs a confined command that does nothing; says what was found, or why it does not work.
    ///
    /// Ends by itself within a few seconds.
    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>>;

    /// Gets ready for one workspace.
    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>>;
}

/// What a backend is started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The team.
    pub team_id: String,
    /// The workspace asked for by name, when one was.
    pub workspace_id: Option<String>,
    /// Where the workspace lies.
    pub directory: PathBuf,
}

/// A backend that is ready for one workspace.
///
/// Runs of one session are independent; the sandbox actor allows one at a time. Dropping the future
/// of a run ends everything it started.
pub trait Session: Send + Sync {
    /// The workspace directory, when this process has it.
    fn workspace_path(&self) -> Option<&Path> {
        None
    }

    /// The container, when there is one.
    fn container_name(&self) -> Option<&str> {
        None
    }

    /// The workspace's own absolute path as commands see it, when it has a fixed one.
    fn inside(&self) -> Option<&str> {
        None
    }

    /// What every run is held by.
    fn enforcement(&self) -> Enforcement;

    /// Runs one command; when this returns everything it started is gone.
    fn run(&self, run: Run) -> BoxFuture<'_, Result<Outcome, RunError>>;

    /// Lets go of what was made at the start.
    fn stop(&self) -> BoxFuture<'_, Result<(), BackendError>> {
        Box::pin(async { Ok(()) })
    }
}

/// How long a probe may take.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
