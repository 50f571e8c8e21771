//! What a tool host is made of.

use akgentic_core::{BaseConfig, config, state};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::card::AnyCard;
use crate::state::{ToolStateCarrier, ToolStateCell};

/// Configuration of a [`ToolHost`](super::ToolHost).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolHostConfig {
    /// Name, role and squad.
    #[serde(flatten)]
    pub base: BaseConfig,
    /// The cards it hosts.
    #[serde(default)]
    pub cards: Vec<AnyCard>,
}
config!(ToolHostConfig = "akgentic.tool.host.ToolHostConfig", base: base,
    snapshot: akgentic_core::wire::no_addresses);

impl ToolHostConfig {
    /// A host with this name and these cards; its role is `ToolHost`.
    pub fn new(name: impl Into<String>, cards: Vec<AnyCard>) -> Self {
        Self { base: BaseConfig::new(name, "ToolHost"), cards }
    }
}

/// Published state of a [`ToolHost`](super::ToolHost).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolHostState {
    /// What it keeps for its tools.
    pub tool_state: ToolStateCell,
}
state!(ToolHostState = "akgentic.tool.host.ToolHostState",
    snapshot: akgentic_core::wire::no_addresses);

impl ToolStateCarrier for ToolHostState {
    fn tool_state(&mut self) -> &mut ToolStateCell {
        &mut self.tool_state
    }
}
