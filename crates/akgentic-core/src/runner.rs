//! The loop of one actor: takes entries from its inbox and runs them, one at a time.

use std::any::Any;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kameo::actor::Spawn as _;
use kameo::mailbox;

use crate::actor::Actor;
use crate::cell::{ActorCell, Entry, Life, Memory, Reply};
use crate::context::Context;
use crate::dispatch::Outcome;
use crate::error::{ActorError, Severity};
use crate::message::{
    ErrorMessage, Message, NotificationMessage, ProcessedMessage, ReceivedMessage,
    StateChangedMessage, StopMessage, StopRecursively, WarningMessage,
};
use crate::state::{AnyState, StateSlot};
use crate::system::ActorSystem;
use crate::wire::AnyValue;

/// How many entries an actor handles before it lets others run.
const BATCH: usize = 64;

/// An actor of any type, as its runner sees it.
pub(crate) trait Hosted: Send {
    fn on_start<'a>(&'a mut self, ctx: &'a mut Context) -> BoxFuture<'a, Result<(), ActorError>>;
    fn receive<'a>(
        &'a mut self,
        message: Arc<Message>,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<Outcome, ActorError>>;
    fn receive_value<'a>(
        &'a mut self,
        value: AnyValue,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<Outcome, ActorError>>;
    fn restore<'a>(
        &'a mut self,
        events: Vec<AnyValue>,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), ActorError>>;
    fn resume_turn<'a>(
        &'a mut self,
        message: Arc<Message>,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<bool, ActorError>>;
    fn stop<'a>(&'a mut self, ctx: &'a mut Context) -> BoxFuture<'a, Result<(), ActorError>>;
    fn on_stop<'a>(&'a mut self, ctx: &'a mut Context) -> BoxFuture<'a, Result<(), ActorError>>;
    fn state(&mut self) -> Option<&mut dyn StateSlot>;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// Every future is built when it is polled: an actor that panics before its first await, in a method
/// that is no `async fn`, is caught like any other.
impl<A: Actor> Hosted for A {
    fn on_start<'a>(&'a mut self, ctx: &'a mut Context) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move { Actor::on_start(self, ctx).await })
    }

    fn receive<'a>(
        &'a mut self,
        message: Arc<Message>,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<Outcome, ActorError>> {
        Box::pin(async move { Actor::receive(self, message, ctx).await })
    }

    fn receive_value<'a>(
        &'a mut self,
        value: AnyValue,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<Outcome, ActorError>> {
        Box::pin(async move { Actor::receive_value(self, value, ctx).await })
    }

    fn restore<'a>(
        &'a mut self,
        events: Vec<AnyValue>,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move { Actor::restore(self, events, ctx).await })
    }

    fn resume_turn<'a>(
        &'a mut self,
        message: Arc<Message>,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<bool, ActorError>> {
        Box::pin(async move { Actor::resume_turn(self, message, ctx).await })
    }

    fn stop<'a>(&'a mut self, ctx: &'a mut Context) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move { Actor::stop(self, ctx).await })
    }

    fn on_stop<'a>(&'a mut self, ctx: &'a mut Context) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move { Actor::on_stop(self, ctx).await })
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        Actor::state(self)
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Wakes a sleeping actor.
pub(crate) struct Waker(kameo::actor::ActorRef<Runner>);

impl Waker {
    pub(crate) fn wake(&self) {
        // At most one wake-up is on its way, so the mailbox of one has room; an actor that is
        // already down needs none.
        let _sent = self.0.tell(Work).try_send().is_ok();
    }
}

/// Starts the loop of an actor.
pub(crate) fn launch(
    system: &ActorSystem,
    cell: &Arc<ActorCell>,
    actor: Box<dyn Hosted>,
    memory: Option<Memory>,
) {
    let prepared = Runner::prepare_with_mailbox(mailbox::bounded(2));
    cell.set_waker(Waker(prepared.actor_ref().clone()));
    let ctx = Context::new(Arc::clone(cell));
    let runner = Runner { ctx, actor, memory, _system: system.clone() };
    drop(prepared.spawn(runner));
}

/// The runtime's actor: it owns ours and carries wake-ups only.
pub(crate) struct Runner {
    ctx: Context,
    actor: Box<dyn Hosted>,
    memory: Option<Memory>,
    /// As long as an actor runs its system is there.
    _system: ActorSystem,
}

/// There is work in the inbox.
struct Work;

/// Whatever ended the loop, the actor is down and nobody waits for it.
impl Drop for Runner {
    fn drop(&mut self) {
        let cell = self.ctx.cell();
        if cell.is_alive() {
            if let Some(system) = cell.system.upgrade() {
                system.unregister(cell.info().agent_id);
            }
            cell.set_life(Life::Stopped);
            cell.close();
            cell.telemetry(StopMessage {});
        }
        cell.finish();
    }
}

impl kameo::Actor for Runner {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(
        mut runner: Self,
        me: kameo::actor::ActorRef<Self>,
    ) -> Result<Self, Infallible> {
        runner.start().await;
        // Entries may have arrived before the first wake-up could be sent.
        let _sent = me.tell(Work).try_send().is_ok();
        Ok(runner)
    }

    /// Handlers are guarded one by one; whatever else panics does not end the actor either.
    async fn on_panic(
        &mut self,
        _: kameo::actor::WeakActorRef<Self>,
        error: kameo::error::PanicError,
    ) -> Result<ControlFlow<kameo::error::ActorStopReason>, Infallible> {
        self.cell().wake();
        // Logging itself may be what panics; it must not end the actor.
        let name = self.ctx.name();
        let log = || tracing::error!(agent = %name, %error, "the runner panicked");
        if let Err(payload) = std::panic::catch_unwind(AssertUnwindSafe(log)) {
            std::mem::forget(payload);
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl kameo::message::Message<Work> for Runner {
    type Reply = ();

    async fn handle(&mut self, _: Work, kameo_ctx: &mut kameo::message::Context<Self, ()>) {
        for _ in 0..BATCH {
            let entry = self.cell().inbox.lock().pop();
            let Some(entry) = entry else {
                self.cell().note_progress();
                return;
            };
            if matches!(entry, Entry::Stop | Entry::StopNow) {
                self.shut_down().await;
                kameo_ctx.stop();
                return;
            }
            self.handle_entry(entry).await;
        }
        self.cell().note_progress();
        // Still awake: come back after others had a chance.
        self.cell().wake();
    }
}

impl Runner {
    fn cell(&self) -> &Arc<ActorCell> {
        self.ctx.cell()
    }

    async fn start(&mut self) {
        let memory = self.memory.take();
        // The state it starts with must not take the place of the one it gets back in the records.
        self.cell().set_quiet(memory.as_ref().is_some_and(|memory| memory.state.is_some()));
        let cancel = self.cell().cancel.clone();
        let start = guarded(self.actor.on_start(&mut self.ctx));
        let started = cancel.run_until_cancelled(start).await.unwrap_or_else(|| {
            Err(ActorError::new("StartCancelled", "the actor was ended while it started"))
        });
        let restored = match memory {
            Some(memory) => guarded(Box::pin(self.remember(memory))).await,
            None => Ok(()),
        };
        self.cell().set_quiet(false);
        let error = started.and(restored).err();
        self.cell().finish_start(error.clone());
        if let Some(error) = &error {
            self.report_failure(error);
        }
    }

    /// Gives a restored actor its state, then what it announced, also when its start failed: what it
    /// knew is not lost with it.
    async fn remember(&mut self, memory: Memory) -> Result<(), ActorError> {
        let actor = &mut self.actor;
        let replaced =
            std::panic::catch_unwind(AssertUnwindSafe(|| match (&memory.state, actor.state()) {
                (Some(state), Some(slot)) => slot.replace_any(state),
                _ => Ok(None),
            }));
        if let Some(state) = replaced.unwrap_or_else(|payload| Err(ActorError::panic(&*payload)))? {
            self.publish(state);
        }
        guarded(self.actor.restore(memory.events, &mut self.ctx)).await
    }

    async fn handle_entry(&mut self, entry: Entry) {
        match entry {
            Entry::Message(message, reply) => {
                self.cell().let_records_catch_up().await;
                self.turn(message, reply).await;
            }
            Entry::Value(value, reply) if value.downcast::<StopRecursively>().is_some() => {
                self.begin_stop().await;
                if let Some(reply) = reply {
                    answer(reply, Ok(Outcome::done()));
                }
            }
            Entry::Value(value, reply) => {
                let outcome = guarded(self.actor.receive_value(value, &mut self.ctx)).await;
                if matches!(outcome, Ok(Outcome::Decline)) {
                    tracing::warn!(agent = %self.ctx.name(), "no handler for this value");
                }
                match (reply, outcome) {
                    (Some(reply), outcome) => answer(reply, outcome),
                    (None, Ok(_)) => {}
                    (None, Err(error)) => self.report_failure(&error),
                }
            }
            Entry::Call(call) => {
                if let Err(error) = guarded(call.run(&mut *self.actor, &mut self.ctx)).await {
                    self.emit_failure(&error, None);
                    self.log(&error);
                }
            }
            Entry::StopRequest => self.begin_stop().await,
            Entry::Stop | Entry::StopNow => {}
        }
    }

    async fn begin_stop(&mut self) {
        self.checkpoint();
        self.cell().set_stopping();
        if let Err(error) = guarded(self.actor.stop(&mut self.ctx)).await {
            self.report_failure(&error);
            self.ctx.stop_now();
        }
    }

    /// Handles one message: records it, runs the handler, closes the ledger whatever happened.
    async fn turn(&mut self, message: Arc<Message>, reply: Option<Reply>) {
        let message_id = message.id;
        self.cell().set_current(Some(Arc::clone(&message)));
        self.cell().telemetry(ReceivedMessage { message_id });
        let outcome = guarded(self.actor.receive(Arc::clone(&message), &mut self.ctx)).await;
        match outcome {
            Ok(outcome) => {
                let unknown = matches!(outcome, Outcome::Decline);
                self.cell().telemetry(ProcessedMessage { message_id });
                self.checkpoint();
                self.cell().set_current(None);
                if let Some(reply) = reply {
                    answer(reply, Ok(outcome));
                }
                if unknown {
                    let (agent, message) = (self.ctx.name(), message.class_name());
                    tracing::warn!(%agent, message, "unknown message");
                }
            }
            Err(error) => {
                self.checkpoint();
                self.cell().telemetry(ProcessedMessage { message_id });
                self.cell().set_current(None);
                match reply {
                    Some(reply) => answer(reply, Err(error.clone())),
                    None => self.emit_failure(&error, Some(message)),
                }
                self.log(&error);
            }
        }
    }

    async fn shut_down(&mut self) {
        let cell = Arc::clone(self.cell());
        if let Some(system) = cell.system.upgrade() {
            system.unregister(cell.info().agent_id);
        }
        cell.set_life(Life::Stopped);
        cell.close();
        self.checkpoint();
        if let Err(error) = guarded(self.actor.on_stop(&mut self.ctx)).await {
            self.report_failure(&error);
        }
        self.checkpoint();
        cell.telemetry(StopMessage {});
        cell.finish();
    }

    /// Publishes the state if it changed.
    fn checkpoint(&mut self) {
        let actor = &mut self.actor;
        let changed = std::panic::catch_unwind(AssertUnwindSafe(|| {
            actor.state().and_then(StateSlot::notify_if_changed)
        }));
        match changed {
            Ok(Some(state)) => self.publish(state),
            Ok(None) => {}
            Err(payload) => {
                let error = ActorError::panic(&*payload);
                tracing::warn!(agent = %self.ctx.name(), ?error, "the state was not published");
            }
        }
    }

    fn publish(&self, state: AnyState) {
        self.cell().telemetry(StateChangedMessage { state });
    }

    /// The failure hook outside of a turn: checkpoint, log, record.
    fn report_failure(&mut self, error: &ActorError) {
        self.checkpoint();
        self.emit_failure(error, None);
        self.log(error);
    }

    fn log(&self, error: &ActorError) {
        let agent = self.ctx.name();
        match error.severity() {
            Severity::Error => tracing::error!(%agent, ?error, "a handler failed"),
            Severity::Warning => tracing::warn!(%agent, ?error, "a handler gave a warning"),
        }
    }

    fn emit_failure(&self, error: &ActorError, current_message: Option<Arc<Message>>) {
        let notification = NotificationMessage {
            content_type: Some(error.content_type().to_owned()),
            content: error.message().to_owned(),
            current_message,
        };
        match error.severity() {
            Severity::Error => {
                self.cell().telemetry(ErrorMessage { notification, traceback: error.trace() });
            }
            Severity::Warning => self.cell().telemetry(WarningMessage { notification }),
        }
    }
}

/// Runs a handler; a panic becomes its error.
pub(crate) async fn guarded<T>(
    future: BoxFuture<'_, Result<T, ActorError>>,
) -> Result<T, ActorError> {
    match AssertUnwindSafe(future).catch_unwind().await {
        Ok(result) => result,
        Err(payload) => {
            let error = ActorError::panic(&*payload);
            // The payload may panic in turn when it goes; then it stays.
            if let Err(again) = std::panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                std::mem::forget(again);
            }
            Err(error)
        }
    }
}

fn answer(reply: Reply, outcome: Result<Outcome, ActorError>) {
    let answer = outcome.map(|outcome| match outcome {
        Outcome::Handled(value) => value,
        Outcome::Decline => AnyValue::Null,
    });
    // The asker may have given up; its answer is dropped then.
    drop(reply.send(answer));
}
