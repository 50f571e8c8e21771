//! The inside of an agent: cards bound, model loop equipped, turns composed.
//!
//! Actor types with messages of their own build on this: they start an [`Engine`], hand their
//! messages to [`Engine::act`] and route what comes back.

mod mind;
mod model_desk;
mod own_commands;
mod start;

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use akgentic_core::wire::AnyValue;
use akgentic_core::{ActorAddress, ActorError, Context, Message, Severity};
use akgentic_llm::{
    ContextManager, LlmEvent, LlmUsageEvent, ModelMessage, ModelSwitchError, OutputSpec,
    RequestPart, RunError, UsageSummary, UserContent, summarize_usage,
};
use akgentic_mailbox::{RUN_INTERRUPTED, StopRun, asks_to_stop};
use akgentic_team::{HireMember, TeamManagement};
use akgentic_tool_core::{
    BoundTools, CarriedState, CommandArgs, CommandError, DispatchOutcome, ExpandMediaRefs,
    MarkerScan, Observer,
};
use tokio::sync::mpsc;

pub(crate) use model_desk::closest;
pub use model_desk::{ModelDesk, ModelEntry};
pub use own_commands::{Clear, Compact};

use crate::cancel::is_interruption;
use crate::config::AgentState;
use crate::errors::actor_error;
use crate::hops;
use crate::human::notify_human;
use crate::mailbox_capability::MailboxCapability;
use crate::message::{AgentMessage, Intent, LlmRenderable};
use crate::one_shot::user_content;
use crate::options::AgentOptions;
use crate::output::AgentOutput;
use crate::usage_guard::guard_usage_limits;
use mind::{Mind, Thought};
use own_commands::{Chore, ChoreRequest};

/// How long the toolsets of an agent may take to connect before a turn.
const CONNECT_BUDGET: Duration = Duration::from_mins(1);

/// How long the media that a message refers to may take to be read.
const MEDIA_BUDGET: Duration = Duration::from_mins(1);

/// The command that says that nothing runs.
const STOP_LINE: &str = "/stop";

/// What the model is told after a turn of its was cancelled.
const CANCELLED_TURN: &str = "**Cancelled** - the work on the message before this was cancelled \
    before it was finished. Do not take it up again unless you are asked to.";

/// What an agent is made of, once it has started.
pub struct Engine {
    state: CarriedState<AgentState>,
    observer: Observer,
    tools: BoundTools,
    mind: Mind,
    mailbox: Arc<MailboxCapability>,
    desk: ModelDesk,
    chores: mpsc::Receiver<ChoreRequest>,
    options: AgentOptions,
    team: Arc<TeamHooks>,
    outputs: HashMap<TypeId, OutputSpec>,
    scan: MarkerScan,
    /// The last message that was searched for context updates.
    scanned: Option<Arc<ModelMessage>>,
    backstory: Arc<Mutex<String>>,
    /// The prompt of the configuration.
    own_backstory: String,
    /// Whether the tools of all toolsets are with the model.
    connected: bool,
    /// Whether the last output was the conclusion of a run that reached a limit.
    concluded: bool,
}

/// Counts hires on their way to the hooks of the agent's type.
#[derive(Default)]
struct TeamHooks {
    hired: AtomicUsize,
    own: Option<Arc<dyn TeamManagement>>,
}

impl TeamManagement for TeamHooks {
    fn on_hire(&self, member: &ActorAddress) {
        self.hired.fetch_add(1, Ordering::Relaxed);
        if let Some(own) = &self.own {
            own.on_hire(member);
        }
    }

    fn on_fire(&self, member: &ActorAddress) {
        if let Some(own) = &self.own {
            own.on_fire(member);
        }
    }
}

impl Engine {
    /// The agent's published state.
    pub fn state(&mut self) -> &mut CarriedState<AgentState> {
        &mut self.state
    }

    /// What its cards offer.
    pub fn tools(&self) -> &BoundTools {
        &self.tools
    }

    /// Its conversation.
    pub fn context(&self) -> &ContextManager {
        self.mind.context()
    }

    /// What it does beyond the common behaviour.
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// The models it may switch to.
    pub fn models(&self) -> &ModelDesk {
        &self.desk
    }

    /// Has a model of the roster used from the next turn on, also after a restart.
    pub fn switch_model(&mut self, key: &str) -> Result<String, ModelSwitchError> {
        let told = self.desk.switch(key)?;
        self.state.handle().with(|state| state.active_model = Some(key.to_owned()));
        Ok(told)
    }

    /// Adds something to the conversation that the model reads with the next turn.
    pub fn tell_model(&mut self, text: impl Into<String>) -> Result<(), ActorError> {
        self.mind.append_user_prompt(text.into()).map_err(actor_error)
    }

    /// Puts a message before the model and waits for its output: the only way to the model.
    ///
    /// Toolsets are connected before the first turn; when that fails the turn fails, and the next
    /// one tries again. A limit that is reached is told to the human once and ends the turn with a
    /// warning. A run that is interrupted is told to the human, too, and gives the output's default.
    pub async fn act<O: AgentOutput>(
        &mut self,
        message: &Message,
        ctx: &mut Context,
    ) -> Result<O, ActorError> {
        self.concluded = false;
        self.team.hired.store(0, Ordering::Relaxed);
        hops::check(self.options.max_hops, message, ctx).await?;
        self.connect_toolsets(ctx).await?;
        self.switch_if_wanted(ctx);
        self.tell_what_changed().await?;
        let prompt = self.prompt(message, ctx).await?;
        let output = self.output_spec::<O>();
        let cancel = ctx.cancellation().child_token();
        let kept = self.options.keep_refused_messages.then(|| prompt.text());
        self.mailbox.begin_turn();
        let run = self.mind.run(prompt, &output, cancel.clone());
        let outcome = self.mailbox.cancellable(run, &cancel, ctx).await;
        self.forget_told_actions();
        match outcome {
            Ok(Thought { output, concluded }) => {
                self.concluded = concluded;
                Ok(output.parse()?)
            }
            Err(error) if is_interruption(&error) && !ctx.cancellation().is_cancelled() => {
                tracing::info!(agent = %ctx.name(), "the run was interrupted");
                notify_human(ctx, RUN_INTERRUPTED).await;
                if self.options.tell_cancelled_turns {
                    self.tell_model(CANCELLED_TURN)?;
                }
                O::default_output().ok_or_else(|| actor_error(error))
            }
            Err(error) => {
                if let (RunError::AgentUsageLimit(_), Some(prompt)) = (&error, kept) {
                    self.tell_model(format!(
                        "**Not answered** - the budget was spent.\n\n{prompt}"
                    ))?;
                }
                let ended = guard_usage_limits(&*ctx, Err(error)).await;
                if let Err(error) = &ended {
                    self.tell_failure(error, ctx).await;
                }
                ended
            }
        }
    }

    /// Tells the human about a turn that failed, when that is wanted and nobody was told yet.
    async fn tell_failure(&self, error: &ActorError, ctx: &Context) {
        let is_failure = error.severity() == Severity::Error && !ctx.cancellation().is_cancelled();
        if self.options.notify_on_failure && is_failure {
            let text = format!(
                "{} could not finish its work on a message: {error}. \
                 Please look at it and tell it how to go on.",
                ctx.name()
            );
            notify_human(ctx, &text).await;
        }
    }

    /// Whether the last output was the conclusion of a run that reached a limit.
    pub fn concluded(&self) -> bool {
        self.concluded
    }

    /// How many members were hired since the turn began.
    pub fn hired(&self) -> usize {
        self.team.hired.load(Ordering::Relaxed)
    }

    /// The prompt a message makes: its rendering, with the media it refers to in their places.
    async fn prompt(&self, message: &Message, ctx: &Context) -> Result<UserContent, ActorError> {
        let Some(renderable) = message.facet::<dyn LlmRenderable>() else {
            let text = format!("a {} cannot be put before a model", message.class_name());
            return Err(ActorError::new("TypeError", text));
        };
        let text = renderable.rendering(message);
        let commands = self.tools.commands();
        if !commands.has(<ExpandMediaRefs as CommandArgs>::NAME) {
            return Ok(UserContent::Text(text));
        }
        let expand = commands.call(ExpandMediaRefs { prompt: text.clone() });
        let parts = tokio::select! {
            biased;
            () = ctx.cancellation().cancelled() => return Err(actor_error(RunError::Cancelled)),
            parts = tokio::time::timeout(MEDIA_BUDGET, expand) => parts,
        };
        Ok(match parts {
            Ok(Ok(parts)) => user_content(parts),
            Ok(Err(error)) => {
                tracing::warn!(agent = %ctx.name(), %error, "media of a message cannot be read");
                UserContent::Text(text)
            }
            Err(_) => {
                tracing::warn!(agent = %ctx.name(), "media of a message were not read in time");
                UserContent::Text(text)
            }
        })
    }

    /// Appends what the model does not know yet of the team and its tools.
    async fn tell_what_changed(&mut self) -> Result<(), ActorError> {
        let visible = self.visible_update();
        match self.tools.updater().compose_update(visible).await {
            Some(block) => self.tell_model(block),
            None => Ok(()),
        }
    }

    pub(crate) fn output_spec<O: AgentOutput>(&mut self) -> OutputSpec {
        self.outputs.entry(TypeId::of::<O>()).or_insert_with(OutputSpec::of::<O>).clone()
    }

    fn switch_if_wanted(&mut self, ctx: &Context) {
        let Some(key) = self.desk.take_wanted() else { return };
        if let Err(error) = self.mind.switch_model(&key) {
            tracing::warn!(agent = %ctx.name(), key, %error, "the model stays as it is");
            if let Mind::React(react) = &self.mind {
                self.desk.stay_with(react.active_model().key());
            }
        }
    }

    /// Runs `/` text as a command; `false` when it is none.
    ///
    /// The answer goes to the sender and is put on record for the model. A command that is cut off
    /// because the agent goes down answers nothing.
    pub async fn command(
        &mut self,
        text: &str,
        sender: Option<&ActorAddress>,
        ctx: &mut Context,
    ) -> Result<bool, ActorError> {
        if sender.is_some_and(|from| !self.options.may_command(from.name(), from.role())) {
            tracing::info!(agent = %ctx.name(), ?sender, "commands of this sender are not run");
            return Ok(false);
        }
        // What cancels a run while there is one says, while there is none, that there is none.
        let stops = asks_to_stop(text) && self.tools.commands().has(<StopRun as CommandArgs>::NAME);
        let outcome = self.dispatch(if stops { STOP_LINE } else { text }, ctx).await?;
        let Some(reply) = outcome.reply() else { return Ok(outcome.is_command()) };
        if let Some(sender) = sender {
            ctx.send(sender, AgentMessage::new(Intent::Notification, reply.clone()))?;
        }
        self.record_action(text, sender, &reply)?;
        Ok(true)
    }

    /// Runs a command, and what it wants done to the conversation.
    async fn dispatch(&mut self, text: &str, ctx: &Context) -> Result<DispatchOutcome, ActorError> {
        let cancel = ctx.cancellation().clone();
        let Self { tools, mind, chores, scan, scanned, .. } = self;
        let mut dispatch = std::pin::pin!(tools.commands().dispatch(text));
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(actor_error(RunError::Cancelled)),
                outcome = &mut dispatch => return Ok(outcome),
                Some((chore, reply)) = chores.recv() => {
                    let status = match chore {
                        Chore::Compact => {
                            let compacted = cancel.run_until_cancelled(mind.compact()).await;
                            let compacted = compacted.unwrap_or(Err(RunError::Cancelled));
                            guard_usage_limits(ctx, compacted).await
                        }
                        Chore::Clear => {
                            let cleared = mind.clear().map_err(actor_error);
                            cleared.inspect(|_| tools.updater().reset())
                        }
                    };
                    (*scan, *scanned) = (MarkerScan::default(), None);
                    // the command may have been given up
                    let _answered = reply.send(status).is_ok();
                }
            }
        }
    }

    /// Puts a command that was run on record for the model.
    pub(crate) fn record_action(
        &mut self,
        text: &str,
        sender: Option<&ActorAddress>,
        reply: &str,
    ) -> Result<(), ActorError> {
        let who = match sender {
            Some(sender) if !sender.is_user_proxy() => sender.name(),
            _ => "The human",
        };
        let record = format!("**User action** - {who} ran \"{text}\". \nResult:\n{reply}");
        if self.options.persist_operator_actions && self.context().messages().is_empty() {
            self.state.operator_actions.push(record.clone());
        }
        self.tell_model(record)
    }

    /// Kept actions that a run has told the model need not be kept any more.
    fn forget_told_actions(&mut self) {
        if !self.state.operator_actions.is_empty()
            && self.context().pending_user_prompts().is_empty()
        {
            self.state.operator_actions.clear();
        }
    }

    /// Hires a member of this role below the agent, through the command of the team card.
    pub async fn hire_member(&self, role: &str) -> Result<ActorAddress, CommandError> {
        self.hire(HireMember { role: role.to_owned(), name: None }).await
    }

    /// Hires a member below the agent, with a name of the caller's choice if it gives one.
    pub async fn hire(&self, hire: HireMember) -> Result<ActorAddress, CommandError> {
        Ok(self.tools.commands().call(hire).await?.0)
    }

    /// What the agent consumed, by model and, when `by_run` says so, by run.
    pub async fn usage_summary(
        &self,
        by_run: bool,
        ctx: &Context,
    ) -> Result<UsageSummary, ActorError> {
        use akgentic_core::wire::WireType as _;
        let team = ctx.team()?;
        let events = team.get_events(Some(ctx.agent_id()), Some(LlmUsageEvent::PATH)).await?;
        let used = events.iter().filter_map(|record| {
            let event = record.body::<akgentic_core::message::EventMessage>()?;
            event.event.downcast::<LlmUsageEvent>()
        });
        Ok(summarize_usage(used, by_run))
    }

    /// Takes back what the agent announced before a restart; its state is back already.
    ///
    /// The stored backstory wins over the one of the configuration, unless the options say
    /// otherwise. A stored model that the agent cannot use any more is forgotten.
    pub fn restore(&mut self, events: &[AnyValue]) {
        if self.options.refresh_backstory_on_restore && self.state.backstory != self.own_backstory {
            self.own_backstory.clone_into(&mut self.state.backstory);
        }
        self.state.backstory.clone_into(&mut lock(&self.backstory));
        let events: Vec<LlmEvent> = events.iter().filter_map(LlmEvent::from_value).collect();
        self.mind.restore(&events);
        (self.scan, self.scanned) = (MarkerScan::default(), None);
        self.tools.updater().prune();
        self.restore_model();
        self.restore_actions();
    }

    fn restore_model(&mut self) {
        let Some(key) = self.state.handle().read(|state| state.active_model.clone()) else {
            return;
        };
        if self.desk.active().key() == key {
            return;
        }
        if let Err(error) = self.desk.switch(&key) {
            tracing::warn!(key, %error, "the stored model cannot be used; the declared one is");
            self.state.handle().with(|state| state.active_model = None);
        }
    }

    fn restore_actions(&mut self) {
        let kept = self.state.operator_actions.clone();
        if self.context().messages().is_empty() {
            for action in kept {
                if let Err(error) = self.mind.append_user_prompt(action) {
                    tracing::warn!(%error, "a kept action was not told");
                }
            }
        } else if !kept.is_empty() {
            // the history is newer than the state and holds them
            self.state.operator_actions.clear();
        }
    }

    async fn connect_toolsets(&mut self, ctx: &Context) -> Result<(), ActorError> {
        if self.connected {
            return Ok(());
        }
        let connecting = tokio::time::timeout(CONNECT_BUDGET, self.tools.connect());
        let tools = tokio::select! {
            biased;
            () = ctx.cancellation().cancelled() => return Err(actor_error(RunError::Cancelled)),
            tools = connecting => tools.map_err(|_| {
                let text = format!("no connection in {} s", CONNECT_BUDGET.as_secs());
                ActorError::new("ToolsetUnavailable", text)
            })?,
        };
        let tools =
            tools.map_err(|error| ActorError::new("ToolsetUnavailable", error.to_string()))?;
        self.mind.set_tools(tools).map_err(actor_error)?;
        self.connected = true;
        Ok(())
    }

    /// Lets go of the model and closes what the cards opened.
    pub async fn stop(&mut self) {
        self.mind.close();
        self.tools.close().await;
    }

    /// The highest context update that the model will see; only messages that were added since
    /// the last look are searched, unless the history was shortened in between.
    fn visible_update(&mut self) -> i64 {
        let messages = self.mind.context().messages();
        let last = self.scan.len().checked_sub(1).and_then(|last| messages.get(last));
        let same = match (last, &self.scanned) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (now, then) => now.is_none() && then.is_none() && self.scan.is_empty(),
        };
        if !same {
            self.scan = MarkerScan::default();
        }
        for message in messages.iter().skip(self.scan.len()) {
            self.scan.push(user_texts(message));
        }
        self.scanned = messages.last().cloned();
        self.scan.highest()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("observer", &self.observer).finish_non_exhaustive()
    }
}

/// Whether a run ended because somebody wanted it to.
fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The texts of a message that stand on the user's side.
fn user_texts(message: &ModelMessage) -> Vec<&str> {
    let ModelMessage::Request(request) = message else { return Vec::new() };
    let parts = request.parts.iter().filter_map(|part| match part {
        RequestPart::UserPrompt(prompt) => Some(prompt.content.texts()),
        _ => None,
    });
    parts.flatten().collect()
}
