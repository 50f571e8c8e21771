//! What runs and agents may consume.

use akgentic_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one run may consume; none is unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "wire names")]
pub struct RunUsageLimits {
    /// Input tokens.
    #[schemars(range(min = 1))]
    pub input_tokens_limit: Option<u64>,
    /// Output tokens.
    #[schemars(range(min = 1))]
    pub output_tokens_limit: Option<u64>,
    /// Input and output tokens.
    #[schemars(range(min = 1))]
    pub total_tokens_limit: Option<u64>,
    /// Model requests.
    #[schemars(range(min = 1))]
    pub run_request_limit: Option<u64>,
    /// Tool calls.
    #[schemars(range(min = 1))]
    pub tool_calls_limit: Option<u64>,
}

impl Default for RunUsageLimits {
    fn default() -> Self {
        Self {
            input_tokens_limit: None,
            output_tokens_limit: None,
            total_tokens_limit: None,
            run_request_limit: Some(50),
            tool_calls_limit: None,
        }
    }
}

/// What an agent may consume in its life; none is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "wire names")]
pub struct AgentUsageLimits {
    /// Input tokens.
    #[schemars(range(min = 1))]
    pub input_tokens_limit: Option<u64>,
    /// Output tokens.
    #[schemars(range(min = 1))]
    pub output_tokens_limit: Option<u64>,
    /// Input and output tokens.
    #[schemars(range(min = 1))]
    pub total_tokens_limit: Option<u64>,
    /// Runs.
    #[schemars(range(min = 1))]
    pub agent_request_limit: Option<u64>,
}

/// Limits of a run as older configurations write them; the old name `request_limit` is accepted
/// beside the new one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsageLimits(pub RunUsageLimits);

payload!(RunUsageLimits = "akgentic.llm.config.RunUsageLimits",
    aliases: ["akgentic.llm.RunUsageLimits", "akgentic.llm.config.UsageLimits",
        "akgentic.llm.UsageLimits"]);
payload!(AgentUsageLimits = "akgentic.llm.config.AgentUsageLimits",
    aliases: ["akgentic.llm.AgentUsageLimits"]);
