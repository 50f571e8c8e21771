//! What the sandbox actor can be asked.

use std::path::PathBuf;

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::enforcement::Enforcement;
use crate::error::RunError;
use crate::run::{Outcome, Run};

/// Request: answered once the start has finished, with what was started or why it was not.
#[derive(Clone, Copy, Debug)]
pub struct Ready;

/// Request: start a command; the answer comes at once, the outcome later.
#[derive(Debug)]
pub struct StartRun(pub Run);

/// Request: end the run with this id; whether there was one.
#[derive(Clone, Debug)]
pub struct StopRun(pub String);

/// Request: the id of the run that goes on.
#[derive(Clone, Copy, Debug)]
pub struct Running;

/// Request: the configuration the actor was created with.
#[derive(Clone, Copy, Debug)]
pub struct Describe;

/// A sandbox that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandboxed {
    /// The mode it was configured with.
    pub mode: String,
    /// The workspace directory, when this process has it.
    pub workspace_path: Option<PathBuf>,
    /// The container, when there is one.
    pub container_name: Option<String>,
    /// The workspace's path as commands see it, when it has a fixed one.
    pub inside: Option<String>,
    /// What every run is held by.
    pub enforcement: Enforcement,
}

/// A run that goes on; dropping it ends the run.
#[derive(Debug)]
pub struct StartedRun {
    id: String,
    outcome: oneshot::Receiver<Result<Outcome, RunError>>,
    cancel: CancellationToken,
    _ends: DropGuard,
}

impl StartedRun {
    pub(crate) fn new(
        id: String,
        outcome: oneshot::Receiver<Result<Outcome, RunError>>,
        cancel: CancellationToken,
    ) -> Self {
        let ends = cancel.clone().drop_guard();
        Self { id, outcome, cancel, _ends: ends }
    }

    /// Its id, as [`StopRun`] takes it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Ends it; the outcome still comes.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// What came of it, once everything it started is gone. Cancel-safe.
    ///
    /// To be awaited once: a second outcome never comes.
    pub async fn outcome(&mut self) -> Result<Outcome, RunError> {
        (&mut self.outcome).await.unwrap_or(Err(RunError::Stopped))
    }
}
