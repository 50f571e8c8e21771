//! The mailbox around the runs of an agent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use akgentic_core::{ActorAddress, ActorHandle, Context, Message, PendingMail};
use akgentic_llm::run::{CallOutcome, ModelStep, Node};
use akgentic_llm::{
    BoxError, Hook, HookFuture, LimitBreach, Output, Priority, QueuedId, RunContext, RunError,
    RunQueue, ToolCallPart,
};
use akgentic_mailbox::{
    CancelPolicy, HookOptions, InjectionQueue, MailboxAccess, MailboxError, MailboxHook,
    MailboxTool,
};
use akgentic_tool_core::{BoxFuture, CommandRegistry};
use uuid::Uuid;

use crate::cancel::CancelGranularity;

/// Connects the [`MailboxHook`] of an agent to its runs; every agent has one, before all other
/// hooks.
pub(crate) struct MailboxCapability {
    mail: Mail,
    hook: Mutex<MailboxHook<QueuedId>>,
    granularity: CancelGranularity,
    /// The limit that the first run of a turn reached.
    breach: Mutex<Option<LimitBreach>>,
}

impl MailboxCapability {
    /// The hook of the agent of `ctx` with this card.
    pub(crate) fn new(
        ctx: &Context,
        card: &MailboxTool,
        commands: CommandRegistry,
        options: HookOptions,
    ) -> Self {
        let mail = Mail {
            owner: ctx.handle(),
            orchestrator: ctx.orchestrator().cloned(),
            commands,
            policy: CancelPolicy::default(),
        };
        Self {
            mail,
            hook: Mutex::new(MailboxHook::new(card, options)),
            granularity: CancelGranularity::default(),
            breach: Mutex::new(None),
        }
    }

    /// The same with other rules for cancelling.
    pub(crate) fn cancelled_by(
        mut self,
        policy: CancelPolicy,
        granularity: CancelGranularity,
    ) -> Self {
        self.mail.policy = policy;
        self.granularity = granularity;
        self
    }

    pub(crate) fn granularity(&self) -> CancelGranularity {
        self.granularity
    }

    pub(crate) fn mail(&self) -> &impl MailboxAccess {
        &self.mail
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&self) {
        *lock(&self.breach) = None;
    }

    pub(crate) fn take_breach(&self) -> Option<LimitBreach> {
        lock(&self.breach).take()
    }
}

impl Hook for MailboxCapability {
    fn name(&self) -> &'static str {
        "mailbox"
    }

    fn before_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        lock(&self.hook).before_run();
        done(Ok(()))
    }

    /// Cancelling comes before what led to this point is stored, and before compaction.
    fn before_step(&self, _: &RunContext) -> Result<(), BoxError> {
        Ok(lock(&self.hook).check_cancel(&self.mail)?)
    }

    fn before_model_request<'a>(
        &'a self,
        run: &'a RunContext,
        _: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        let queue = Injection(&run.queue);
        let allowed = lock(&self.hook).before_model_request(&self.mail, &queue);
        done(allowed.map_err(|error| match error {
            MailboxError::Interrupted(interrupted) => interrupted.into(),
            error => error.into(),
        }))
    }

    fn after_node<'a>(&'a self, run: &'a RunContext, _: Node, next: Node) -> HookFuture<'a> {
        lock(&self.hook).after_node_run(next == Node::End, &Injection(&run.queue));
        done(Ok(()))
    }

    fn after_tool<'a>(
        &'a self,
        run: &'a RunContext,
        call: &'a ToolCallPart,
        outcome: &'a mut CallOutcome,
    ) -> HookFuture<'a> {
        if call.tool_name == akgentic_mailbox::READ_MAILBOX {
            let args = call.args.parse().unwrap_or_default();
            let mut hook = lock(&self.hook);
            let queue = Injection(&run.queue);
            let read = hook.after_tool_execute(&call.tool_name, &args, &self.mail, &queue);
            if hook.options().tell_failed_reads
                && let Some(text) = read.failure()
            {
                *outcome = CallOutcome::Returned(text.into());
            }
        }
        done(Ok(()))
    }

    fn on_run_error<'a>(
        &'a self,
        _: &'a RunContext,
        error: &'a RunError,
    ) -> BoxFuture<'a, Option<Output>> {
        if let RunError::RunUsageLimit(breach) = error {
            lock(&self.breach).get_or_insert(*breach);
        }
        Box::pin(std::future::ready(None))
    }
}

fn done<'a>(result: Result<(), BoxError>) -> HookFuture<'a> {
    Box::pin(std::future::ready(result))
}

/// The inbox of an agent, with its commands and its rules for cancelling.
struct Mail {
    owner: ActorHandle,
    orchestrator: Option<ActorAddress>,
    commands: CommandRegistry,
    policy: CancelPolicy,
}

impl MailboxAccess for Mail {
    fn get_mailbox(&self) -> Vec<PendingMail> {
        self.owner.get_mailbox()
    }

    fn consume_mailbox(&self, ids: &[Uuid]) -> Vec<Arc<Message>> {
        self.owner.consume_mailbox(ids)
    }

    fn current_message(&self) -> Option<Arc<Message>> {
        self.owner.current_message()
    }

    fn is_command(&self, message: &Message) -> bool {
        let text = message.body.content_text();
        text.is_some_and(|text| text.starts_with('/') && self.commands.recognizes(text))
    }

    fn may_cancel(&self, message: &Message) -> bool {
        self.policy.allows(message.sender.as_ref(), self.orchestrator.as_ref())
    }

    fn arrivals(&self) -> Option<u64> {
        self.owner.arrivals()
    }
}

/// The queue of a run.
struct Injection<'a>(&'a RunQueue);

impl InjectionQueue for Injection<'_> {
    type Id = QueuedId;

    fn enqueue(&self, text: String) -> Option<QueuedId> {
        self.0.enqueue(text, Priority::Asap).ok()
    }

    fn remove(&self, ids: &[QueuedId]) {
        for id in ids {
            self.0.remove(*id);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
