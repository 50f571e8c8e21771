//! What is said about runs on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecOutcome {
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// Its exit code; 124 when its budget killed it.
    pub exit_code: i64,
    /// Whether its budget killed it.
    #[serde(default)]
    pub timed_out: bool,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecState {
    /// It ended and its outcome is kept.
    Done,
    /// It did not come to an outcome.
    Failed,
    /// It has not reported yet.
    Running,
    /// Nobody knows it, or not any more.
    Unknown,
}

/// What is known of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecStatus {
    /// Where it stands.
    pub state: ExecState,
    /// Its id.
    pub run_id: String,
    /// What it left behind.
    #[serde(default)]
    pub outcome: Option<ExecOutcome>,
    /// Why it failed.
    #[serde(default)]
    pub reason: String,
    /// The asking agent's latest runs, the oldest first.
    #[serde(default)]
    pub recent_run_ids: Vec<String>,
}

impl ExecStatus {
    pub(crate) fn new(state: ExecState, run_id: &str) -> Self {
        Self {
            state,
            run_id: run_id.to_owned(),
            outcome: None,
            reason: String::new(),
            recent_run_ids: Vec::new(),
        }
    }

    /// Whether nothing more is to be expected.
    pub fn is_settled(&self) -> bool {
        matches!(self.state, ExecState::Done | ExecState::Failed)
    }
}

/// The run that holds the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run's id.
    pub run_id: String,
    /// Who asked for it.
    pub agent: String,
    /// Its command.
    pub cmd: String,
    /// When it was asked for.
    pub started_at: std::time::Duration,
    /// How long the command may take.
    pub budget: std::time::Duration,
    /// When the tree may be taken from a run whose worker is gone.
    pub deadline: std::time::Duration,
    /// Whether something is at work that will report.
    pub worker_alive: bool,
}
