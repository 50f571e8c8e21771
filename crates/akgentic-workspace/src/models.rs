//! Wire models of the workspace actor: its configuration and state, and what a change answers.

use std::path::PathBuf;

use akgentic_core::config::BaseConfig;
use akgentic_core::{config, payload, state};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::GateLimits;
use crate::tree::Stop;

/// Configures the actor of one workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceConfig {
    /// Name, role and squad.
    #[serde(flatten)]
    pub base: BaseConfig,
    /// Name of the workspace.
    pub workspace_name: String,
    /// Files per agent of which it is remembered what the agent saw.
    #[serde(default = "observations")]
    #[schemars(range(min = 0))]
    pub max_observations_per_agent: usize,
    /// Files whose last writer is remembered.
    #[serde(default = "writers")]
    #[schemars(range(min = 0))]
    pub max_tracked_writers: usize,
    /// Whether changes are recorded with git.
    #[serde(default)]
    pub git_journal: bool,
    /// Seconds that one step of the journal may take.
    #[serde(default = "git_timeout_s")]
    #[schemars(range(min = 0))]
    pub git_timeout_s: f64,
    /// Whether commits of the journal name agent and run by their ids; written only when set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub git_trailers: bool,
    /// Whether pages that together show a whole file count as the whole; written only when set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub join_pages: bool,
    /// The folder itself, in place of one below the base directory; written only when set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}
config!(WorkspaceConfig = "akgentic.tool.workspace.models.WorkspaceConfig", base: base);

impl WorkspaceConfig {
    /// The usual configuration of the workspace `name`.
    pub(crate) fn with_base(base: BaseConfig, name: &str) -> Self {
        Self {
            base,
            workspace_name: name.to_owned(),
            max_observations_per_agent: observations(),
            max_tracked_writers: writers(),
            git_journal: false,
            git_timeout_s: git_timeout_s(),
            git_trailers: false,
            join_pages: false,
            root: None,
        }
    }

    /// What of it the gate goes by.
    pub fn gate_limits(&self) -> GateLimits {
        GateLimits {
            observations_per_agent: self.max_observations_per_agent,
            writers: self.max_tracked_writers,
            join_pages: self.join_pages,
        }
    }
}

fn observations() -> usize {
    GateLimits::default().observations_per_agent
}

fn writers() -> usize {
    GateLimits::default().writers
}

fn git_timeout_s() -> f64 {
    15.0
}

/// What the actor of a workspace tells of it; nothing of it matters after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceState {
    /// Whether the journal is on, or why it is off; written only when there is to be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
}
state!(WorkspaceState = "akgentic.tool.workspace.models.WorkspaceState");

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditItem {
    /// Path of the file, relative to the workspace.
    #[serde(deserialize_with = "crate::spelling::given")]
    pub path: String,
    /// The text to replace, as it stands in the file.
    pub old_string: String,
    /// The text that takes its place.
    pub new_string: String,
    /// Replace every place where the text stands, not the first one alone.
    #[serde(default)]
    pub replace_all: bool,
}

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MutationStatus {
    /// It was made.
    Accepted,
    /// It was refused: the caller is to react and try again.
    Rejected,
    /// It did not work out; nothing was written.
    Failed,
}

/// What came of a change, with the text for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MutationOutcome {
    /// What came of it.
    pub status: MutationStatus,
    /// What the model reads.
    pub message: String,
}
payload!(MutationOutcome = "akgentic.tool.workspace.models.MutationOutcome");

impl MutationOutcome {
    /// The outcome of a change; nothing of one that nobody waits for any more.
    pub fn of(outcome: Result<String, Stop>) -> Option<Self> {
        let (status, message) = match outcome {
            Ok(message) => (MutationStatus::Accepted, message),
            Err(Stop::Refused(refusal)) => (MutationStatus::Rejected, refusal.to_string()),
            Err(Stop::Failed(failure)) => (MutationStatus::Failed, failure.to_string()),
            Err(Stop::Cancelled) => return None,
        };
        Some(Self { status, message })
    }
}
