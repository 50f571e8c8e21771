//! Equipping an agent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use akgentic_tool_core::Tool;

use super::models::summarizer;
use super::{Conclusion, ReactAgent, Recovery};
use crate::compaction::{Compactor, Strategies};
use crate::config::{
    AgentUsageLimits, CompactionConfig, ModelConfig, ReactAgentConfig, RunUsageLimits,
    RuntimeConfig,
};
use crate::context::ContextManager;
use crate::drive::{Stopping, TOOL_TIMEOUT};
use crate::error::RunError;
use crate::hook::{Hook, sorted};
use crate::limits::LimitBreach;
use crate::model::Model;
use crate::prompt::SystemPrompts;
use crate::roster::BuildModel;
use crate::run::{Stamps, ToolSet};
use crate::usage::Usage;

/// Equips a [`ReactAgent`].
pub struct ReactAgentBuilder {
    model: Arc<dyn Model>,
    config: ReactAgentConfig,
    build_model: Option<Arc<BuildModel>>,
    strategies: Strategies,
    tools: Vec<Tool>,
    prompts: SystemPrompts,
    hooks: Vec<Arc<dyn Hook>>,
    recovery: Arc<Recovery>,
    conclusion: Conclusion,
    bounded_by_budget: bool,
    final_answer_may_exceed: bool,
    stopping: Stopping,
    tool_timeout: Duration,
    stamps: Stamps,
}

impl ReactAgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            config: ReactAgentConfig::default(),
            build_model: None,
            strategies: Strategies::default(),
            tools: Vec::new(),
            prompts: SystemPrompts::default(),
            hooks: Vec::new(),
            recovery: Arc::new(|_| Some(CONCLUSION_REASON.to_owned())),
            conclusion: Conclusion::default(),
            bounded_by_budget: false,
            final_answer_may_exceed: false,
            stopping: Stopping::default(),
            tool_timeout: TOOL_TIMEOUT,
            stamps: Stamps::default(),
        }
    }

    /// Takes over a whole configuration.
    #[must_use]
    pub fn config(mut self, config: ReactAgentConfig) -> Self {
        self.config = config;
        self
    }

    /// How the models of the roster, and a summariser of its own, are built.
    #[must_use]
    pub fn models(mut self, build: Arc<BuildModel>) -> Self {
        self.build_model = Some(build);
        self
    }

    /// How the history is shortened.
    #[must_use]
    pub fn compaction(mut self, config: CompactionConfig) -> Self {
        self.config.compaction_cfg = config;
        self
    }

    /// The strategies the configuration may name, [`Strategies::default`] without it.
    #[must_use]
    pub fn strategies(mut self, strategies: Strategies) -> Self {
        self.strategies = strategies;
        self
    }

    /// Settings of the model and, where the model does not say, whether it has native output.
    #[must_use]
    pub fn model_config(mut self, config: ModelConfig) -> Self {
        self.config.model_cfg = config;
        self
    }

    /// Retries, end strategy, parallel calls.
    #[must_use]
    pub fn runtime(mut self, config: RuntimeConfig) -> Self {
        self.config.runtime_cfg = config;
        self
    }

    /// What one run may consume.
    #[must_use]
    pub fn run_limits(mut self, limits: RunUsageLimits) -> Self {
        self.config.run_usage_limits = limits;
        self
    }

    /// What the agent may consume in its life.
    #[must_use]
    pub fn agent_limits(mut self, limits: AgentUsageLimits) -> Self {
        self.config.agent_usage_limits = limits;
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets the system prompts.
    #[must_use]
    pub fn system_prompts(mut self, prompts: SystemPrompts) -> Self {
        self.prompts = prompts;
        self
    }

    /// Mounts a hook inside those mounted before, unless its place says otherwise.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Mounts hooks, each inside the one before it.
    #[must_use]
    pub fn hooks(mut self, hooks: impl IntoIterator<Item = Arc<dyn Hook>>) -> Self {
        self.hooks.extend(hooks);
        self
    }

    /// Decides about runs that reach a limit; see [`Recovery`]. Without it each gets a conclusion.
    #[must_use]
    pub fn recovery<F>(mut self, recovery: F) -> Self
    where
        F: Fn(&LimitBreach) -> Option<String> + Send + Sync + 'static,
    {
        self.recovery = Arc::new(recovery);
        self
    }

    /// How a run that reached a limit is concluded.
    #[must_use]
    pub fn conclusion(mut self, conclusion: Conclusion) -> Self {
        self.conclusion = conclusion;
        self
    }

    /// Whether a run ends, too, when it has used up the tokens the agent may consume in its life;
    /// without this the lifetime limits only keep runs from starting.
    #[must_use]
    pub fn bounded_by_budget(mut self, bounded: bool) -> Self {
        self.bounded_by_budget = bounded;
        self
    }

    /// Whether a final answer stands although its own tokens are above a limit of the run; without
    /// this it is dropped and asked for once more, as a conclusion.
    #[must_use]
    pub fn final_answer_may_exceed(mut self, may: bool) -> Self {
        self.final_answer_may_exceed = may;
        self
    }

    /// How cancelling goes.
    #[must_use]
    pub fn stopping(mut self, stopping: Stopping) -> Self {
        self.stopping = stopping;
        self
    }

    /// How long one tool call may take, [`TOOL_TIMEOUT`] without it.
    #[must_use]
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.tool_timeout = timeout;
        self
    }

    /// Where times and ids come from.
    #[must_use]
    pub fn stamps(mut self, stamps: Stamps) -> Self {
        self.stamps = stamps;
        self
    }

    /// Keeps system prompts and only the newest other messages, so many in all.
    #[must_use]
    pub fn max_messages(mut self, max: Option<u64>) -> Self {
        self.config.max_messages = max;
        self
    }

    /// The agent. Two tools of one name, a compaction strategy nobody knows, and hooks that cannot
    /// stand where they ask to are refused.
    pub fn build(self) -> Result<ReactAgent, RunError> {
        let summarizer = summarizer(&self.config, &self.model, self.build_model.as_ref());
        let compaction = self.config.compaction_cfg.clone();
        let compactor = Compactor::new(compaction, self.strategies, &summarizer)
            .map_err(|error| RunError::Usage(error.to_string()))?;
        let window = self.config.max_messages.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
        let hooks = sorted(self.hooks).map_err(|error| RunError::Usage(error.to_string()))?;
        Ok(ReactAgent {
            model: self.model,
            config: self.config,
            build_model: self.build_model,
            compactor,
            tools: Arc::new(ToolSet::new(self.tools)?),
            prompts: self.prompts,
            hooks,
            recovery: self.recovery,
            conclusion: self.conclusion,
            bounded_by_budget: self.bounded_by_budget,
            final_answer_may_exceed: self.final_answer_may_exceed,
            stopping: self.stopping,
            tool_timeout: self.tool_timeout,
            stamps: self.stamps,
            context: ContextManager::new(window),
            usage: Usage::default(),
            runs: 0,
            closed: false,
            sent: None,
        })
    }
}

impl fmt::Debug for ReactAgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReactAgentBuilder").field("tools", &self.tools).finish_non_exhaustive()
    }
}

const CONCLUSION_REASON: &str = "Your budget for this task is spent: no tools can be called any \
    more and this is your last answer. Answer now with what you have found so far, name what is \
    missing, and do not promise to follow up.";
