//! The records that are stored and sent: configuration, state, result.

use std::path::PathBuf;

use akgentic_core::wire::no_addresses;
use akgentic_core::{BaseConfig, config, state};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::place::{ACTOR_ROLE, actor_name, workspace_name};
use crate::registry::Registry;

/// Mode of a configuration that names none.
pub const DEFAULT_MODE: &str = "local";

/// What a sandbox actor is configured with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxConfig {
    /// Name, role and squad.
    #[serde(flatten)]
    pub base: BaseConfig,
    /// The team; also the workspace's name when there is no other.
    pub team_id: String,
    /// Name of the workspace.
    #[serde(default)]
    pub workspace_id: Option<String>,
    /// Name of a registered backend, or `auto`.
    #[serde(default = "default_mode", deserialize_with = "known_mode")]
    pub mode: String,
    /// The workspace directory itself, in place of one below the base directory; written only when set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

config!(SandboxConfig = "akgentic.tool.sandbox.actor.SandboxConfig", base: base,
    snapshot: no_addresses);

impl SandboxConfig {
    /// The configuration of the sandbox of a workspace; the same for everybody who asks for it.
    pub fn of(mode: &str, team_id: &str, workspace_id: Option<&str>) -> Self {
        let workspace = workspace_name(workspace_id, team_id);
        Self {
            base: BaseConfig::new(actor_name(workspace), ACTOR_ROLE),
            team_id: team_id.to_owned(),
            workspace_id: workspace_id.map(str::to_owned),
            mode: mode.to_owned(),
            root: None,
        }
    }

    /// The same for a workspace in the directory `root`.
    #[must_use]
    pub fn at(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// The workspace's name.
    pub fn workspace(&self) -> &str {
        workspace_name(self.workspace_id.as_deref(), &self.team_id)
    }
}

fn default_mode() -> String {
    DEFAULT_MODE.to_owned()
}

fn known_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let mode = String::deserialize(deserializer)?;
    Registry::global().check_mode(&mode).map_err(serde::de::Error::custom)?;
    Ok(mode)
}

/// What a sandbox actor publishes about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxState {
    /// Where the workspace lies, once the backend has it.
    pub workspace_path: Option<PathBuf>,
    /// The container, once there is one.
    pub container_name: Option<String>,
    /// The run that goes on; written only when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
}

state!(SandboxState = "akgentic.tool.sandbox.actor.SandboxState", snapshot: no_addresses);

/// What a command gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecResult {
    /// Its standard output as text.
    pub stdout: String,
    /// Its standard error as text.
    pub stderr: String,
    /// Its exit code.
    pub exit_code: i64,
}
