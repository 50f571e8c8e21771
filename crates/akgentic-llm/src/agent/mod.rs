//! The agent: a model, tools, system prompts and a conversation that outlives its runs.

mod builder;
mod models;
mod session;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use akgentic_tool_core::Tool;
use tokio_util::sync::CancellationToken;

pub use builder::ReactAgentBuilder;

use crate::compaction::Compactor;
use crate::config::{ReactAgentConfig, RunUsageLimits};
use crate::content::UserContent;
use crate::context::{ContextManager, ObserverId};
use crate::drive::Stopping;
use crate::error::RunError;
use crate::event::{ContextObserver, LlmEvent};
use crate::hook::Hooks;
use crate::limits::LimitBreach;
use crate::model::Model;
use crate::output::{Output, OutputSpec};
use crate::prompt::SystemPrompts;
use crate::roster::BuildModel;
use crate::run::{Stamps, ToolSet};
use crate::usage::Usage;
use session::{Sent, Terms};

/// An agent that reasons and acts: asks its model, executes the tools the model calls, and goes on
/// until the model gives its output.
///
/// One run at a time; the conversation and the usage carry over from run to run.
pub struct ReactAgent {
    model: Arc<dyn Model>,
    config: ReactAgentConfig,
    build_model: Option<Arc<BuildModel>>,
    compactor: Compactor,
    tools: Arc<ToolSet>,
    prompts: SystemPrompts,
    hooks: Hooks,
    recovery: Arc<Recovery>,
    conclusion: Conclusion,
    bounded_by_budget: bool,
    final_answer_may_exceed: bool,
    stopping: Stopping,
    tool_timeout: Duration,
    stamps: Stamps,
    context: ContextManager,
    usage: Usage,
    runs: u64,
    closed: bool,
    sent: Option<Sent>,
}

/// Decides whether a run that reached a limit gets one more answer without tools: the text that
/// asks for it, or `None`.
pub type Recovery = dyn Fn(&LimitBreach) -> Option<String> + Send + Sync;

/// How a run that reached a limit is concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// How many model requests it may take; more than one leaves room to correct an output.
    pub requests: u64,
    /// Whether it counts as one more run of the agent, as a run of its own does.
    pub charged: bool,
}

impl Default for Conclusion {
    fn default() -> Self {
        Self { requests: 1, charged: true }
    }
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The output.
    pub output: Output,
    /// What the run consumed; of a run that was concluded, the conclusion only.
    pub usage: Usage,
    /// Identity of the run.
    pub run_id: String,
    /// Whether this is the conclusion of a run that reached a limit.
    pub concluded: bool,
}

impl ReactAgent {
    /// An agent on `model`, to be equipped.
    pub fn builder(model: impl Model + 'static) -> ReactAgentBuilder {
        ReactAgentBuilder::new(Arc::new(model))
    }

    /// Puts other tools in place of those it has, for the runs to come. Two of one name are refused
    /// and nothing changes.
    pub fn set_tools(&mut self, tools: impl IntoIterator<Item = Tool>) -> Result<(), RunError> {
        self.tools = Arc::new(ToolSet::new(tools)?);
        Ok(())
    }

    /// Runs the agent on a prompt until there is an output.
    ///
    /// Prompts that waited for the first run go in front. Whatever happens, the conversation
    /// keeps what the run added, and the next run starts from a consistent history. A run that
    /// reaches a limit of its own is concluded by one request without tools, if the recovery
    /// policy wants that. Cancel-safe: dropping the future acts like cancelling.
    ///
    /// # Errors
    /// See [`RunError`]. [`RunError::AgentUsageLimit`] means that nothing has started.
    pub async fn run(
        &mut self,
        prompt: impl Into<UserContent>,
        output: &OutputSpec,
        cancel: CancellationToken,
    ) -> Result<RunResult, RunError> {
        let terms = Terms {
            tools: Arc::clone(&self.tools),
            limits: self.config.run_usage_limits.clone(),
            counts: true,
        };
        let result = self.run_once(prompt.into(), output, cancel.clone(), terms).await;
        let Err(RunError::RunUsageLimit(breach)) = result else { return result };
        let Some(reason) = (self.recovery)(&breach) else { return result };
        let counts = self.conclusion.charged;
        match self.conclude(&reason, output, cancel.clone(), counts).await {
            Ok(conclusion) if !conclusion.output.is_blank() => {
                Ok(RunResult { concluded: true, ..conclusion })
            }
            Err(RunError::Cancelled) => Err(RunError::Cancelled),
            _ => result,
        }
    }

    /// Asks for an output once more, without tools and in as many requests as [`Conclusion`]
    /// allows.
    pub async fn conclude_without_tools(
        &mut self,
        reason: &str,
        output: &OutputSpec,
        cancel: CancellationToken,
    ) -> Result<RunResult, RunError> {
        self.conclude(reason, output, cancel, true).await
    }

    async fn conclude(
        &mut self,
        reason: &str,
        output: &OutputSpec,
        cancel: CancellationToken,
        counts: bool,
    ) -> Result<RunResult, RunError> {
        let limits = RunUsageLimits {
            run_request_limit: Some(self.conclusion.requests),
            ..RunUsageLimits::default()
        };
        let terms = Terms { tools: Arc::new(ToolSet::empty()), limits, counts };
        self.run_once(reason.into(), output, cancel, terms).await
    }

    /// Adds a user prompt to the conversation without running; see
    /// [`ContextManager::append_user_prompt`].
    pub fn append_user_prompt(&mut self, text: impl Into<String>) -> Result<(), RunError> {
        let now = (self.stamps.now)();
        self.context.append_user_prompt(text, now).map_err(RunError::Observer)
    }

    /// Shortens the conversation now and says in words what became of it. Cancel-safe: dropping the
    /// future leaves the conversation as it is.
    pub async fn compact(&mut self) -> Result<String, RunError> {
        if self.closed {
            return Err(RunError::Closed);
        }
        let now = (self.stamps.now)();
        let (context, model) = (&mut self.context, &self.config.model_cfg);
        let compacted = self.compactor.compact(context, model, &mut self.usage, now).await;
        compacted.map(|compacted| compacted.status()).map_err(RunError::Observer)
    }

    /// Drops the conversation and says so in words.
    pub fn clear_context(&mut self) -> Result<String, RunError> {
        let count = self.context.clear_context().map_err(RunError::Observer)?;
        Ok(format!("Cleared {count} message(s); system prompt regenerates on the next run."))
    }

    /// Rebuilds conversation and usage from stored events, in their order. Observers are not told;
    /// doing it twice gives the same.
    pub fn restore_context<'a>(&mut self, events: impl IntoIterator<Item = &'a LlmEvent>) {
        let restored = self.context.restore_from(events, (self.stamps.now)());
        self.usage = restored.usage;
        self.runs = restored.runs;
    }

    /// Tells `observer` about everything that happens in the conversation.
    pub fn subscribe_context(&mut self, observer: Arc<dyn ContextObserver>) -> ObserverId {
        self.context.subscribe(observer)
    }

    /// The conversation.
    pub fn context(&self) -> &ContextManager {
        &self.context
    }

    /// The conversation, to change between runs.
    pub fn context_mut(&mut self) -> &mut ContextManager {
        &mut self.context
    }

    /// What all runs consumed, failed ones included.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How many runs were started.
    pub fn runs(&self) -> u64 {
        self.runs
    }
}

impl fmt::Debug for ReactAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReactAgent")
            .field("model", &self.model.name())
            .field("context", &self.context)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}
