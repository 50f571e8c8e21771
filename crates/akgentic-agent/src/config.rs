//! What an agent is configured with and what it keeps.

use akgentic_core::wire::{no_addresses, snapshot_addresses};
use akgentic_core::{BaseConfig, config, state};
use akgentic_llm::{
    AgentUsageLimits, CompactionConfig, ModelConfig, PromptTemplate, ReactAgentConfig,
    RunUsageLimits, RuntimeConfig,
};
use akgentic_team::TeamTool;
use akgentic_tool_core::{AnyCard, ToolStateCarrier, ToolStateCell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config_check::refine;
use crate::options::AgentOptions;

/// Configuration of an LLM agent.
///
/// What older configurations call `usage_limits` is read as `run_usage_limits`, and a list as
/// `model_cfg` is the roster with the active model in front. Keys nobody knows are ignored:
/// [`AgentConfig::check_json`] tells them.
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
    /// The models it may switch to, its own among them; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_roster: Vec<ModelConfig>,
    /// What it does beyond the common behaviour.
    #[serde(default, skip_serializing_if = "AgentOptions::is_default")]
    pub options: AgentOptions,
}
config!(AgentConfig = "akgentic.agent.config.AgentConfig",
    aliases: ["akgentic.agent.AgentConfig"], base: base, snapshot: AgentConfig::snapshot,
    refined: refine);

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

    /// The limits of a run under their old name.
    #[deprecated = "read run_usage_limits; usage_limits goes with version 2.0.0"]
    pub fn usage_limits(&self) -> &RunUsageLimits {
        tracing::warn!("usage_limits is deprecated; read run_usage_limits");
        &self.run_usage_limits
    }

    /// Addresses can be in the cards of others only.
    fn snapshot(&self) -> Option<Self> {
        let own = |card: &AnyCard| card.as_any().is::<TeamTool>();
        if self.tools.iter().all(own) { None } else { snapshot_addresses(self) }
    }

    /// The part of it that the model loop is made from.
    pub fn react(&self) -> ReactAgentConfig {
        ReactAgentConfig {
            model_cfg: self.model_cfg.clone(),
            model_roster: self.model_roster.clone(),
            runtime_cfg: self.runtime_cfg.clone(),
            run_usage_limits: self.run_usage_limits.clone(),
            agent_usage_limits: self.agent_usage_limits.clone(),
            compaction_cfg: self.compaction_cfg.clone(),
            max_messages: None,
        }
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
    /// Commands that people ran and that no turn has told the model yet, when they are to be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_actions: Vec<String>,
}
state!(AgentState = "akgentic.agent.config.AgentState", aliases: ["akgentic.agent.AgentState"],
    snapshot: no_addresses);

impl AgentState {
    /// The state of an agent that starts.
    pub fn new(backstory: impl Into<String>) -> Self {
        Self {
            backstory: backstory.into(),
            tool_state: ToolStateCell::default(),
            operator_actions: Vec::new(),
        }
    }
}

impl ToolStateCarrier for AgentState {
    fn tool_state(&mut self) -> &mut ToolStateCell {
        &mut self.tool_state
    }
}
