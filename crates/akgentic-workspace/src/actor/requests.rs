//! What the workspace actor can be asked.

use akgentic_sandbox::{CommandPolicy, Sandbox};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::gate::Refusal;
use crate::journal::JournalState;

/// Request: the owner of the tree, or why there is none.
#[derive(Clone, Copy, Debug)]
pub struct OwnedTree;

/// Request: give the tree to a run of a command; answered at once.
#[derive(Clone, Debug)]
pub struct StartRun {
    /// Who asks.
    pub agent: String,
    /// The command line.
    pub cmd: String,
    /// The folder it runs in, relative to the tree.
    pub cwd: String,
    /// What it runs in.
    pub sandbox: Sandbox,
    /// Programs it may start.
    pub policy: CommandPolicy,
    /// Seconds it may take.
    pub timeout_s: f64,
}

/// A run that goes on. Dropped before [`StartedRun::leave`], it is ended.
#[derive(Debug)]
pub struct StartedRun {
    id: String,
    ends: DropGuard,
}

impl StartedRun {
    pub(super) fn new(id: String, cancel: CancellationToken) -> Self {
        Self { id, ends: cancel.drop_guard() }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Lets it go on by itself.
    pub fn leave(self) {
        drop(self.ends.disarm());
    }
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRun {
    /// It is refused: the caller is to react.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The workspace cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// The journal went on or off.
#[derive(Debug)]
pub(super) struct JournalTurned(pub JournalState);
