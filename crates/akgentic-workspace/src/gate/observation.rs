//! What one agent last saw of one file.

use akgentic_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;

/// What an agent saw of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The digest of the whole file, also when only a page of it was shown.
    pub sha: Digest,
    /// Whether the whole of it was shown.
    pub full: bool,
}
payload!(Observation = "akgentic.tool.workspace.models.Observation");

/// The agent that last wrote a file through the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastWrite {
    /// Its id.
    pub agent_id: String,
    /// The digest of what it wrote.
    pub sha: Digest,
}
payload!(LastWrite = "akgentic.tool.workspace.models.LastWrite");
