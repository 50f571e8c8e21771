//! What configures each capability of the mailbox card.

use akgentic_tool_core::{Channel, Exposure, tool_param};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configures reading in the middle of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReadMailbox {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is offered; the model by default.
    pub expose: Exposure,
}
tool_param!(ReadMailbox = "akgentic.tool.mailbox.params.ReadMailbox",
    aliases: ["akgentic.tool.mailbox.ReadMailbox"], served: [ToolCall]);

/// Configures the command that cancels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stop {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is offered; as a command by default.
    pub expose: Exposure,
}
tool_param!(Stop = "akgentic.tool.mailbox.params.Stop",
    aliases: ["akgentic.tool.mailbox.Stop"], served: [Command]);

impl Default for Stop {
    fn default() -> Self {
        Self { instructions: None, expose: Exposure::of(&[Channel::Command]) }
    }
}
