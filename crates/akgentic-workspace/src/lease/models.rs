//! What is said about runs on the wire.

use akgentic_core::payload;
use akgentic_sandbox::{AUTO, Registry};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

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
    /// What held the command, and what did not; written only when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<String>,
    /// What whoever uses the workspace next should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}
payload!(ExecOutcome = "akgentic.tool.workspace.execution.ExecOutcome");

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
payload!(ExecStatus = "akgentic.tool.workspace.execution.ExecStatus");

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
    /// Whether the command has begun; before, its sandbox is being started.
    pub begun: bool,
    /// Whether something is at work that will report.
    pub worker_alive: bool,
}

/// How commands of a workspace are run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecConfig {
    /// Name of a registered sandbox backend.
    #[serde(deserialize_with = "backend")]
    pub mode: String,
    /// The team.
    pub team_id: String,
    /// The workspace; the team's own unless said otherwise.
    #[serde(default)]
    pub workspace_id: Option<String>,
    /// Seconds a command may take.
    #[serde(default = "timeout_s")]
    #[schemars(range(min = 0))]
    pub timeout_s: f64,
}
payload!(ExecConfig = "akgentic.tool.workspace.execution.ExecConfig");

fn timeout_s() -> f64 {
    15.0
}

/// Reads the name of a backend: one that is registered, and not the request for any.
fn backend<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let mode = String::deserialize(deserializer)?;
    if mode == AUTO {
        return Err(D::Error::custom("a backend has to be named"));
    }
    Registry::global().check_mode(&mode).map_err(D::Error::custom)?;
    Ok(mode)
}

/// What a worker is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecPayload {
    /// The run's id.
    pub deferred_key: String,
    /// The command line.
    pub cmd: String,
    /// The directory it runs in, relative to the tree.
    #[serde(default)]
    pub cwd: String,
    /// Name of a registered sandbox backend.
    #[serde(deserialize_with = "backend")]
    pub mode: String,
    /// The team.
    pub team_id: String,
    /// The workspace; the team's own unless said otherwise.
    #[serde(default)]
    pub workspace_id: Option<String>,
    /// Seconds the command may take.
    #[schemars(range(min = 0))]
    pub timeout_s: f64,
}
payload!(ExecPayload = "akgentic.tool.workspace.execution.ExecPayload");

/// A lease as it is written down; times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecLease {
    /// The run's id.
    pub run_id: String,
    /// Who asked for it.
    pub agent_id: String,
    /// Its command.
    pub cmd: String,
    /// When it was asked for.
    pub started_at: f64,
    /// How long the command may take.
    pub budget: f64,
    /// When the tree may be taken from a run whose worker is gone.
    pub deadline: f64,
}
payload!(ExecLease = "akgentic.tool.workspace.execution.ExecLease");

impl From<&Lease> for ExecLease {
    fn from(lease: &Lease) -> Self {
        Self {
            run_id: lease.run_id.clone(),
            agent_id: lease.agent.clone(),
            cmd: lease.cmd.clone(),
            started_at: lease.started_at.as_secs_f64(),
            budget: lease.budget.as_secs_f64(),
            deadline: lease.deadline.as_secs_f64(),
        }
    }
}

/// The answer to a request for a run: its id, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "StartFields")]
pub struct ExecStart {
    /// The run's id.
    #[serde(default)]
    pub run_id: String,
    /// Why there is no run.
    #[serde(default)]
    pub refusal: String,
}
payload!(ExecStart = "akgentic.tool.workspace.execution.ExecStart");

#[derive(Deserialize, JsonSchema)]
struct StartFields {
    #[serde(default)]
    run_id: String,
    #[serde(default)]
    refusal: String,
}

impl TryFrom<StartFields> for ExecStart {
    type Error = &'static str;

    fn try_from(StartFields { run_id, refusal }: StartFields) -> Result<Self, Self::Error> {
        if run_id.is_empty() == refusal.is_empty() {
            return Err("either a run or a refusal");
        }
        Ok(Self { run_id, refusal })
    }
}
