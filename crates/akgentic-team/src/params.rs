//! What configures each capability of the team card.

use akgentic_tool_core::{Channel, Exposure, normalized_exposure, tool_param};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

fn called() -> Exposure {
    Exposure::of(&[Channel::ToolCall, Channel::Command])
}

fn told() -> Exposure {
    Exposure::of(&[Channel::Command, Channel::LlmContext])
}

/// Configures hiring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HireTeamMember {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is offered; the model and commands by default.
    pub expose: Exposure,
}
tool_param!(HireTeamMember = "akgentic.tool.team.team.HireTeamMember",
    aliases: ["akgentic.tool.team.HireTeamMember"], served: [ToolCall, Command]);

impl Default for HireTeamMember {
    fn default() -> Self {
        Self { instructions: None, expose: called() }
    }
}

/// Configures firing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FireTeamMember {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is offered; the model and commands by default.
    pub expose: Exposure,
}
tool_param!(FireTeamMember = "akgentic.tool.team.team.FireTeamMember",
    aliases: ["akgentic.tool.team.FireTeamMember"], served: [ToolCall, Command]);

impl Default for FireTeamMember {
    fn default() -> Self {
        Self { instructions: None, expose: called() }
    }
}

/// Configures the list of members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GetTeamRoster {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is offered; the model's context and commands by default. A stored `system_prompt`
    /// becomes `llm_context`.
    #[serde(deserialize_with = "normalized_exposure")]
    pub expose: Exposure,
}
tool_param!(GetTeamRoster = "akgentic.tool.team.team.GetTeamRoster",
    aliases: ["akgentic.tool.team.GetTeamRoster"], served: [Command, LlmContext]);

impl Default for GetTeamRoster {
    fn default() -> Self {
        Self { instructions: None, expose: told() }
    }
}

/// Configures the list of roles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GetRoleProfiles {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is offered; the model's context and commands by default. A stored `system_prompt`
    /// becomes `llm_context`.
    #[serde(deserialize_with = "normalized_exposure")]
    pub expose: Exposure,
}
tool_param!(GetRoleProfiles = "akgentic.tool.team.team.GetRoleProfiles",
    aliases: ["akgentic.tool.team.GetRoleProfiles"], served: [Command, LlmContext]);

impl Default for GetRoleProfiles {
    fn default() -> Self {
        Self { instructions: None, expose: told() }
    }
}

/// Configures the report of what members are doing.
///
/// This version keeps the setting of a stored card and does not offer the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GetTeamActivity {
    /// Text that goes after the description.
    pub instructions: Option<String>,
    /// Where it is to be offered.
    pub expose: Exposure,
    /// Who shortens long tasks.
    pub summarizer: Option<ActivitySummarizer>,
    /// Seconds after which a busy entry counts as stale.
    pub stale_after_seconds: f64,
    /// Characters of a task that are shown.
    pub max_task_chars: i64,
}
tool_param!(GetTeamActivity = "akgentic.tool.team.activity.GetTeamActivity",
    aliases: ["akgentic.tool.team.GetTeamActivity"], served: []);

impl Default for GetTeamActivity {
    fn default() -> Self {
        Self {
            instructions: None,
            expose: called(),
            summarizer: None,
            stale_after_seconds: 300.0,
            max_task_chars: 200,
        }
    }
}

/// Who shortens the tasks of an activity report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, tag = "__model__", rename = "akgentic.tool.team.activity.ActivitySummarizer")]
pub struct ActivitySummarizer {
    /// The model, as `provider:model`.
    pub model: String,
    /// How often a summary is looked for.
    pub poll_attempts: i64,
    /// Seconds between two looks.
    pub poll_delay_seconds: f64,
}
akgentic_core::payload!(ActivitySummarizer = "akgentic.tool.team.activity.ActivitySummarizer",
    aliases: ["akgentic.tool.team.ActivitySummarizer"]);

impl Default for ActivitySummarizer {
    fn default() -> Self {
        Self { model: "openai:gpt-5.2-mini".to_owned(), poll_attempts: 5, poll_delay_seconds: 0.4 }
    }
}
