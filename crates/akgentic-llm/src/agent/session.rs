//! One run of an agent: admitted, driven, recorded, charged.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tokio_util::sync::CancellationToken;

use super::{ReactAgent, RunResult};
use crate::compaction::{Compacted, Compactor};
use crate::config::{AgentUsageLimits, ModelConfig, RunUsageLimits};
use crate::content::UserContent;
use crate::context::ContextManager;
use crate::drive::{Deadlines, Drivers, MessageSink, drive};
use crate::error::{BoxError, RunError};
use crate::history::Outgoing;
use crate::hook::{Hook, Hooks};
use crate::message::ModelMessage;
use crate::model::{ModelSettings, OutputRequest};
use crate::output::OutputSpec;
use crate::run::{Run, RunOptions, RunSpec, Stamps, ToolSet};
use crate::usage::Usage;

/// What the last run sent.
pub(super) struct Sent {
    outgoing: Outgoing,
    /// How many messages of the context it covers.
    stored: usize,
    generation: u64,
}

/// What a run may use.
pub(super) struct Terms {
    pub(super) tools: Arc<ToolSet>,
    pub(super) limits: RunUsageLimits,
    /// Whether it counts as a run of the agent.
    pub(super) counts: bool,
}

impl ReactAgent {
    pub(super) async fn run_once(
        &mut self,
        prompt: UserContent,
        output: &OutputSpec,
        cancel: CancellationToken,
        mut terms: Terms,
    ) -> Result<RunResult, RunError> {
        if self.closed {
            return Err(RunError::Closed);
        }
        self.admit(terms.counts)?;
        if self.bounded_by_budget {
            tighten(&mut terms.limits, &self.config.agent_usage_limits, &self.usage);
        }
        self.compact_if_due(&cancel).await?;
        let pending = self.context.drain_pending_user_prompts();
        let prompt =
            if pending.is_empty() { prompt } else { prompt.preceded_by(pending.join("\n\n")) };
        let (outgoing, begins) = self.outgoing();
        let generation = self.context.generation();
        let spec = RunSpec {
            history: Vec::new(),
            system_prompts: self.prompts.render(),
            prompt,
            tools: terms.tools,
            output: self.output_request(output),
            hooks: self.hooks_for_run(),
            options: self.options(terms.limits, &cancel),
            stamps: self.stamps.clone(),
        };
        let (run, first) = Run::begin_after(outgoing, begins, spec);
        let drivers = Drivers {
            model: Arc::clone(&self.model),
            cancel,
            stopping: self.stopping,
            deadlines: Deadlines {
                model_request: self.chain_deadline(),
                tool_call: self.tool_timeout,
            },
        };
        let mut session =
            Session { run, context: &mut self.context, total: &mut self.usage, open: true };
        let mut ledger = Ledger {
            context: &mut *session.context,
            total: &mut *session.total,
            compactor: &self.compactor,
            model: &self.config.model_cfg,
            now: &self.stamps,
        };
        let result = drive(&mut session.run, first, &drivers, &mut ledger).await;
        let recorded = session.close();
        let output = result?;
        recorded.map_err(RunError::Observer)?;
        let (usage, run_id) = (session.run.usage(), session.run.run_id().to_owned());
        let outgoing = session.run.take_outgoing();
        drop(session);
        if self.context.generation() == generation {
            self.keep_outgoing(outgoing);
        }
        Ok(RunResult { output, usage, run_id, concluded: false })
    }

    /// The conversation as it is sent, and whether it has not begun. What the last run sent is gone
    /// on with when nothing but additions happened since, so that a run costs the same however long
    /// the conversation is.
    fn outgoing(&mut self) -> (Outgoing, bool) {
        let now = (self.stamps.now)();
        let messages = self.context.messages();
        let known = self.sent.take().filter(|sent| sent.generation == self.context.generation());
        let Some(Sent { mut outgoing, stored, .. }) = known else {
            return (Outgoing::new(messages, now), messages.is_empty());
        };
        for message in messages.iter().skip(stored) {
            outgoing.push(Arc::clone(message), now);
        }
        (outgoing, messages.is_empty())
    }

    /// Keeps what was sent for the next run, when it ended with an answer and nothing is open.
    fn keep_outgoing(&mut self, outgoing: Option<Outgoing>) {
        let messages = self.context.messages();
        let last = messages.last().and_then(|last| last.as_response());
        let ended = last.is_some_and(|last| last.tool_calls().next().is_none());
        let (stored, generation) = (messages.len(), self.context.generation());
        self.sent =
            outgoing.filter(|_| ended).map(|outgoing| Sent { outgoing, stored, generation });
    }

    /// Compacts the conversation before a run, if it is time.
    async fn compact_if_due(&mut self, cancel: &CancellationToken) -> Result<(), RunError> {
        let mut ledger = Ledger {
            context: &mut self.context,
            total: &mut self.usage,
            compactor: &self.compactor,
            model: &self.config.model_cfg,
            now: &self.stamps,
        };
        tokio::select! {
            biased;
            // the run itself finds out and keeps its prompt
            () = cancel.cancelled() => Ok(()),
            shortened = ledger.shorten() => shortened.map(drop).map_err(RunError::Observer),
        }
    }

    /// Checks the budget of the agent and counts the run.
    fn admit(&mut self, counts: bool) -> Result<(), RunError> {
        let limits = &self.config.agent_usage_limits;
        let runs = if counts { self.runs } else { 0 };
        limits.check_run(&self.usage, runs).map_err(RunError::AgentUsageLimit)?;
        self.runs += u64::from(counts);
        Ok(())
    }

    fn hooks_for_run(&self) -> Hooks {
        let own = |hook: &Arc<dyn Hook>| hook.for_run().unwrap_or_else(|| Arc::clone(hook));
        self.hooks.iter().map(own).collect()
    }

    /// No single result may fill more than half of the window.
    fn result_characters(&self) -> usize {
        let half = self
            .config
            .model_cfg
            .context_length
            .map_or(u64::MAX, |window| window.saturating_mul(2));
        usize::try_from(half).map_or(RESULT_CHARACTERS, |half| half.min(RESULT_CHARACTERS))
    }

    fn output_request(&self, output: &OutputSpec) -> OutputRequest {
        let native = self.model.native_output();
        let native = native.unwrap_or_else(|| self.config.model_cfg.native_output());
        OutputRequest { mode: output.resolve_mode(native), schema: output.schema().cloned() }
    }

    fn options(&self, limits: RunUsageLimits, cancel: &CancellationToken) -> RunOptions {
        let runtime = &self.config.runtime_cfg;
        let mut settings = ModelSettings::from(&self.config.model_cfg);
        if !runtime.parallel_tool_calls {
            settings.parallel_tool_calls = Some(false);
        }
        RunOptions {
            limits,
            result_characters: Some(self.result_characters()),
            retries: runtime.retries,
            final_answer_may_exceed: self.final_answer_may_exceed,
            end_strategy: runtime.end_strategy,
            settings,
            cancel: cancel.clone(),
        }
    }
}

/// Characters of a tool result, where the window does not ask for fewer; a token has about four.
const RESULT_CHARACTERS: usize = 400_000;

/// Where the messages of a run go: into the conversation, which is compacted when it is time.
struct Ledger<'a> {
    context: &'a mut ContextManager,
    total: &'a mut Usage,
    compactor: &'a Compactor,
    model: &'a ModelConfig,
    now: &'a Stamps,
}

impl MessageSink for Ledger<'_> {
    fn store(&mut self, message: Arc<ModelMessage>) -> Result<(), BoxError> {
        self.context.add_message(message)
    }

    fn shorten(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<ModelMessage>>>, BoxError>> {
        if !self.compactor.is_due(self.context, self.model) {
            return ready(Ok(None)).boxed();
        }
        async {
            let now = (self.now.now)();
            let compacted = self.compactor.compact(self.context, self.model, self.total, now);
            Ok(match compacted.await? {
                Compacted::Replaced(_) => Some(self.context.messages().to_vec()),
                Compacted::Nothing | Compacted::Kept(_) => None,
            })
        }
        .boxed()
    }
}

/// Lowers the limits of a run to what the agent has left.
fn tighten(run: &mut RunUsageLimits, agent: &AgentUsageLimits, used: &Usage) {
    let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
    let lower = |mine: &mut Option<u64>, left: Option<u64>| {
        *mine = match (*mine, left) {
            (Some(mine), Some(left)) => Some(mine.min(left)),
            (mine, left) => mine.or(left),
        };
    };
    lower(&mut run.input_tokens_limit, left(agent.input_tokens_limit, used.input_tokens));
    lower(&mut run.output_tokens_limit, left(agent.output_tokens_limit, used.output_tokens));
    lower(&mut run.total_tokens_limit, left(agent.total_tokens_limit, used.total_tokens()));
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
