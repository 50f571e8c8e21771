//! What an agent is configured with and what it keeps.

use akgentic_core::{BaseConfig, config, state};
use akgentic_llm::{
    AgentUsageLimits, CompactionConfig, ModelConfig, PromptTemplate, RunUsageLimits, RuntimeConfig,
};
use akgentic_tool_core::{AnyCard, ToolStateCarrier, ToolStateCell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of an LLM agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentConfig {
    /// Name, role and squad.
    #[serde(flatten)]
    pub base: BaseConfig,
    /// Who the agent is: the start of its system prompt.
    #[serde(default)]
    pub prompt: PromptTemplate,
    /// Its model.
    #[serde(default)]
    pub model_cfg: ModelConfig,
    /// Retries and the like.
    #[serde(default)]
    pub runtime_cfg: RuntimeConfig,
    /// What one run may consume.
    #[serde(default)]
    pub run_usage_limits: RunUsageLimits,
    /// What the agent may consume in its life.
    #[serde(default)]
    pub agent_usage_limits: AgentUsageLimits,
    /// How its history is shortened.
    #[serde(default)]
    pub compaction_cfg: CompactionConfig,
    /// Its tools.
    #[serde(default)]
    pub tools: Vec<AnyCard>,
}
config!(AgentConfig = "akgentic.agent.config.AgentConfig",
    aliases: ["akgentic.agent.AgentConfig"], base: base);

impl AgentConfig {
    /// An agent of this name and role whose system prompt starts with `prompt`.
    pub fn new(
        name: impl Into<String>,
        role: impl Into<String>,
        prompt: impl Into<String>,
    ) -> Self {
        let template = prompt.into();
        let prompt = PromptTemplate { template, ..PromptTemplate::default() };
        Self { base: BaseConfig::new(name, role), prompt, ..Self::default() }
    }

    /// The same with one more tool card.
    #[must_use]
    pub fn with_tool(mut self, card: impl Into<AnyCard>) -> Self {
        self.tools.push(card.into());
        self
    }
}

/// What an agent publishes and gets back after a restart.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    /// The rendered prompt; after a restart it wins over the configuration.
    pub backstory: String,
    /// What its tools keep.
    #[serde(default)]
    pub tool_state: ToolStateCell,
}
state!(AgentState = "akgentic.agent.config.AgentState", aliases: ["akgentic.agent.AgentState"]);

impl ToolStateCarrier for AgentState {
    fn tool_state(&mut self) -> &mut ToolStateCell {
        &mut self.tool_state
    }
}
