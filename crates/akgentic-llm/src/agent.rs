//! The agent: a model, tools, system prompts and a conversation that outlives its runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use akgentic_tool_core::Tool;
use tokio_util::sync::CancellationToken;

use crate::config::{AgentUsageLimits, ModelConfig, RunUsageLimits, RuntimeConfig};
use crate::content::UserContent;
use crate::context::{ContextManager, ObserverId};
use crate::drive::{Deadlines, Drivers, Stopping, TOOL_TIMEOUT, drive};
use crate::error::{BoxError, RunError};
use crate::event::{ContextObserver, LlmEvent};
use crate::hook::Hook;
use crate::limits::LimitBreach;
use crate::message::ModelMessage;
use crate::model::{Model, ModelSettings, OutputRequest};
use crate::output::{Output, OutputSpec};
use crate::prompt::SystemPrompts;
use crate::run::{Run, RunOptions, RunSpec, Stamps, ToolSet};
use crate::usage::Usage;

/// An agent that reasons and acts: asks its model, executes the tools the model calls, and goes on
/// until the model gives its output.
///
/// One run at a time; the conversation and the usage carry over from run to run.
pub struct ReactAgent {
    model: Arc<dyn Model>,
    model_config: ModelConfig,
    runtime: RuntimeConfig,
    run_limits: RunUsageLimits,
    agent_limits: AgentUsageLimits,
    tools: Arc<ToolSet>,
    prompts: SystemPrompts,
    hooks: Arc<[Arc<dyn Hook>]>,
    recovery: Arc<Recovery>,
    stopping: Stopping,
    tool_timeout: Duration,
    stamps: Stamps,
    context: ContextManager,
    usage: Usage,
    runs: u64,
}

/// Decides whether a run that reached a limit gets one more answer without tools: the text that
/// asks for it, or `None`.
pub type Recovery = dyn Fn(&LimitBreach) -> Option<String> + Send + Sync;

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The output.
    pub output: Output,
    /// What the run consumed; of a run that was concluded, the conclusion only.
    pub usage: Usage,
    /// Identity of the run.
    pub run_id: String,
}

impl ReactAgent {
    /// An agent on `model`, to be equipped.
    pub fn builder(model: impl Model + 'static) -> ReactAgentBuilder {
        ReactAgentBuilder {
            model: Arc::new(model),
            model_config: ModelConfig::default(),
            runtime: RuntimeConfig::default(),
            run_limits: RunUsageLimits::default(),
            agent_limits: AgentUsageLimits::default(),
            tools: Vec::new(),
            prompts: SystemPrompts::default(),
            hooks: Vec::new(),
            recovery: Arc::new(|_| Some(CONCLUSION_REASON.to_owned())),
            stopping: Stopping::default(),
            tool_timeout: TOOL_TIMEOUT,
            stamps: Stamps::default(),
            max_messages: None,
        }
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
        let tools = Arc::clone(&self.tools);
        let limits = self.run_limits.clone();
        let result = self.run_once(prompt.into(), output, cancel.clone(), tools, limits).await;
        let Err(RunError::RunUsageLimit(breach)) = result else { return result };
        let Some(reason) = (self.recovery)(&breach) else { return result };
        match self.conclude_without_tools(&reason, output, cancel.clone()).await {
            Ok(conclusion) if !conclusion.output.is_blank() => Ok(conclusion),
            Err(RunError::Cancelled) => Err(RunError::Cancelled),
            _ => result,
        }
    }

    /// Asks for an output once more, in one request and without tools.
    pub async fn conclude_without_tools(
        &mut self,
        reason: &str,
        output: &OutputSpec,
        cancel: CancellationToken,
    ) -> Result<RunResult, RunError> {
        let limits = RunUsageLimits { run_request_limit: Some(1), ..unlimited() };
        let tools = Arc::new(ToolSet::empty());
        self.run_once(reason.into(), output, cancel, tools, limits).await
    }

    /// Adds a user prompt to the conversation without running; see
    /// [`ContextManager::append_user_prompt`].
    pub fn append_user_prompt(&mut self, text: impl Into<String>) -> Result<(), RunError> {
        let now = (self.stamps.now)();
        self.context.append_user_prompt(text, now).map_err(RunError::Observer)
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

    /// The configuration of the model.
    pub fn active_model(&self) -> &ModelConfig {
        &self.model_config
    }

    async fn run_once(
        &mut self,
        prompt: UserContent,
        output: &OutputSpec,
        cancel: CancellationToken,
        tools: Arc<ToolSet>,
        limits: RunUsageLimits,
    ) -> Result<RunResult, RunError> {
        self.agent_limits.check_run(&self.usage, self.runs).map_err(RunError::AgentUsageLimit)?;
        self.runs += 1;
        let pending = self.context.drain_pending_user_prompts();
        let prompt =
            if pending.is_empty() { prompt } else { prompt.preceded_by(pending.join("\n\n")) };
        let (run, first) = Run::begin(RunSpec {
            history: self.context.messages().to_vec(),
            system_prompts: self.prompts.render(),
            prompt,
            tools,
            output: self.output_request(output),
            options: self.options(limits, &cancel),
            stamps: self.stamps.clone(),
        });
        let drivers = Drivers {
            model: Arc::clone(&self.model),
            hooks: Arc::clone(&self.hooks),
            cancel,
            stopping: self.stopping,
            deadlines: Deadlines {
                model_request: self.runtime.http_client_config.request_deadline(),
                tool_call: self.tool_timeout,
            },
        };
        let mut session =
            Session { run, context: &mut self.context, total: &mut self.usage, open: true };
        let context = &mut *session.context;
        let mut store = |message: Arc<ModelMessage>| context.add_message(message);
        let result = drive(&mut session.run, first, &drivers, &mut store).await;
        let recorded = session.close();
        let output = result?;
        recorded.map_err(RunError::Observer)?;
        Ok(RunResult {
            output,
            usage: session.run.usage(),
            run_id: session.run.run_id().to_owned(),
        })
    }

    fn output_request(&self, output: &OutputSpec) -> OutputRequest {
        let native = self.model.native_output();
        let native = native.unwrap_or_else(|| self.model_config.native_output());
        OutputRequest { mode: output.resolve_mode(native), schema: output.schema().cloned() }
    }

    fn options(&self, limits: RunUsageLimits, cancel: &CancellationToken) -> RunOptions {
        let mut settings = ModelSettings::from(&self.model_config);
        if !self.runtime.parallel_tool_calls {
            settings.parallel_tool_calls = Some(false);
        }
        RunOptions {
            limits,
            retries: self.runtime.retries,
            end_strategy: self.runtime.end_strategy,
            settings,
            cancel: cancel.clone(),
        }
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

/// Equips a [`ReactAgent`].
pub struct ReactAgentBuilder {
    model: Arc<dyn Model>,
    model_config: ModelConfig,
    runtime: RuntimeConfig,
    run_limits: RunUsageLimits,
    agent_limits: AgentUsageLimits,
    tools: Vec<Tool>,
    prompts: SystemPrompts,
    hooks: Vec<Arc<dyn Hook>>,
    recovery: Arc<Recovery>,
    stopping: Stopping,
    tool_timeout: Duration,
    stamps: Stamps,
    max_messages: Option<usize>,
}

impl ReactAgentBuilder {
    /// Settings of the model and, where the model does not say, whether it has native output.
    #[must_use]
    pub fn model_config(mut self, config: ModelConfig) -> Self {
        self.model_config = config;
        self
    }

    /// Retries, end strategy, parallel calls.
    #[must_use]
    pub fn runtime(mut self, config: RuntimeConfig) -> Self {
        self.runtime = config;
        self
    }

    /// What one run may consume.
    #[must_use]
    pub fn run_limits(mut self, limits: RunUsageLimits) -> Self {
        self.run_limits = limits;
        self
    }

    /// What the agent may consume in its life.
    #[must_use]
    pub fn agent_limits(mut self, limits: AgentUsageLimits) -> Self {
        self.agent_limits = limits;
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

    /// Mounts a hook inside those mounted before.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
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
    pub fn max_messages(mut self, max: Option<usize>) -> Self {
        self.max_messages = max;
        self
    }

    /// The agent. Two tools of one name are refused.
    pub fn build(self) -> Result<ReactAgent, RunError> {
        Ok(ReactAgent {
            model: self.model,
            model_config: self.model_config,
            runtime: self.runtime,
            run_limits: self.run_limits,
            agent_limits: self.agent_limits,
            tools: Arc::new(ToolSet::new(self.tools)?),
            prompts: self.prompts,
            hooks: self.hooks.into(),
            recovery: self.recovery,
            stopping: self.stopping,
            tool_timeout: self.tool_timeout,
            stamps: self.stamps,
            context: ContextManager::new(self.max_messages),
            usage: Usage::default(),
            runs: 0,
        })
    }
}

impl fmt::Debug for ReactAgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReactAgentBuilder").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// A run on its agent: however it ends, its usage is charged and its prompts are recorded.
struct Session<'a> {
    run: Run,
    context: &'a mut ContextManager,
    total: &'a mut Usage,
    open: bool,
}

impl Session<'_> {
    fn close(&mut self) -> Result<(), BoxError> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        *self.total += self.run.usage();
        self.context.record_system_prompt(self.run.run_id(), self.run.outgoing())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the system prompts of a dropped run were not recorded");
        }
    }
}

fn unlimited() -> RunUsageLimits {
    RunUsageLimits { run_request_limit: None, ..RunUsageLimits::default() }
}

const CONCLUSION_REASON: &str = "Your budget for this task is spent: no tools can be called any \
    more and this is your last answer. Answer now with what you have found so far, name what is \
    missing, and do not promise to follow up.";
