//! The shared half of an actor: what addresses, relatives and the runner hold of it.

use std::any::TypeId;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::actor::ActorType;
use crate::address::{ActorAddress, AddressInfo};
use crate::config::Config;
use crate::context::Context;
use crate::error::{ActorError, CallError};
use crate::inbox::{Inbox, InboxEntry, Refused, Wake};
use crate::message::{HandledMessage, Message};
use crate::orchestrator::{Orchestrator, TeamView};
use crate::runner::{Hosted, Waker};
use crate::state::AnyState;
use crate::system::SystemInner;
use crate::wire::AnyValue;

/// Where the answer to an asked message goes.
pub(crate) type Reply = oneshot::Sender<Result<AnyValue, ActorError>>;

/// One entry of an inbox.
pub(crate) enum Entry {
    /// A message, perhaps awaited.
    Message(Arc<Message>, Option<Reply>),
    /// A value that is no message.
    Value(AnyValue, Option<Reply>),
    /// A typed request.
    Call(Box<dyn Call>),
    /// Stop in order: children first, then what is queued, then this actor.
    StopRequest,
    /// Stop when everything queued before this entry is done.
    Stop,
    /// Stop before anything else; what is queued is left.
    StopNow,
}

impl InboxEntry for Entry {
    fn message(&self) -> Option<&Arc<Message>> {
        match self {
            Self::Message(message, _) => Some(message),
            _ => None,
        }
    }

    fn is_awaited(&self) -> bool {
        matches!(self, Self::Message(_, Some(_)))
    }

    fn is_mail(&self) -> bool {
        matches!(self, Self::Message(..) | Self::Value(..))
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Message(..) => "Message",
            Self::Value(..) => "Value",
            Self::Call(_) => "Call",
            Self::StopRequest => "StopRequest",
            Self::Stop => "Stop",
            Self::StopNow => "StopNow",
        })
    }
}

/// A typed request on its way.
pub(crate) trait Call: Send {
    /// Runs the request on the actor; an error is one that nobody waits for.
    fn run<'a>(
        self: Box<Self>,
        actor: &'a mut dyn Hosted,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), ActorError>>;
}

/// Where an actor is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Life {
    /// Created; `on_start` may be running.
    Starting,
    /// Serving its inbox.
    Running,
    /// Serving its inbox although `on_start` failed.
    Failed,
    /// No more entries are taken.
    Stopped,
}

/// Relations and identity an actor is created with.
pub(crate) struct Lineage {
    pub(crate) user_id: Option<String>,
    pub(crate) user_email: Option<String>,
    pub(crate) parent: Option<ActorAddress>,
    pub(crate) orchestrator: Option<ActorAddress>,
    pub(crate) restoring: bool,
}

/// What a restored actor gets back before it serves its inbox.
#[derive(Default)]
pub(crate) struct Memory {
    /// The state it published last.
    pub(crate) state: Option<AnyState>,
    /// What it announced, in order.
    pub(crate) events: Vec<AnyValue>,
}

/// The shared half of an actor.
pub(crate) struct ActorCell {
    info: Arc<AddressInfo>,
    pub(crate) config: Arc<dyn Config>,
    pub(crate) lineage: Lineage,
    pub(crate) system: Weak<SystemInner>,
    pub(crate) inbox: Inbox<Entry>,
    pub(crate) cancel: CancellationToken,
    type_id: TypeId,
    class: &'static str,
    life: AtomicU8,
    quiet: AtomicBool,
    stopping: AtomicBool,
    start_error: Mutex<Option<ActorError>>,
    started: watch::Sender<bool>,
    down: watch::Sender<bool>,
    current: Mutex<Option<Arc<Message>>>,
    children: Mutex<Vec<ActorAddress>>,
    waker: OnceLock<Waker>,
    team_view: OnceLock<Arc<TeamView>>,
    caught_up: Notify,
    mail_arrived: Notify,
}

/// How many records an orchestrator may be behind before its members wait for it.
const RECORDS_BEHIND: usize = 16_384;

/// How long a member waits before a turn for records to be written.
const CATCH_UP: Duration = Duration::from_secs(1);

impl ActorCell {
    pub(crate) fn new<A: ActorType + 'static>(
        info: AddressInfo,
        config: Arc<dyn Config>,
        lineage: Lineage,
        system: &Arc<SystemInner>,
    ) -> Self {
        Self {
            info: Arc::new(info),
            config,
            lineage,
            system: Arc::downgrade(system),
            inbox: Inbox::new(system.options.inbox_capacity),
            cancel: CancellationToken::new(),
            type_id: TypeId::of::<A>(),
            class: A::CLASS,
            life: AtomicU8::new(Life::Starting as u8),
            quiet: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            start_error: Mutex::new(None),
            started: watch::Sender::new(false),
            down: watch::Sender::new(false),
            current: Mutex::new(None),
            children: Mutex::new(Vec::new()),
            waker: OnceLock::new(),
            team_view: OnceLock::new(),
            caught_up: Notify::new(),
            mail_arrived: Notify::new(),
        }
    }

    pub(crate) fn info(&self) -> &Arc<AddressInfo> {
        &self.info
    }

    pub(crate) fn address(self: &Arc<Self>) -> ActorAddress {
        ActorAddress::live(Arc::clone(&self.info), Arc::downgrade(self))
    }

    pub(crate) fn class(&self) -> &'static str {
        self.class
    }

    pub(crate) fn type_id(&self) -> TypeId {
        self.type_id
    }

    pub(crate) fn is_orchestrator(&self) -> bool {
        self.type_id == TypeId::of::<Orchestrator>()
    }

    /// What the orchestrator in this cell publishes.
    pub(crate) fn team_view(&self) -> Option<Arc<TeamView>> {
        self.team_view.get().cloned()
    }

    pub(crate) fn set_team_view(&self, view: Arc<TeamView>) {
        // Set once, when the orchestrator starts.
        self.team_view.get_or_init(|| view);
    }

    pub(crate) fn ask_timeout(&self) -> Duration {
        self.system.upgrade().map_or(Duration::ZERO, |system| system.options.ask_timeout)
    }

    pub(crate) fn life(&self) -> Life {
        match self.life.load(Ordering::Acquire) {
            0 => Life::Starting,
            1 => Life::Running,
            2 => Life::Failed,
            _ => Life::Stopped,
        }
    }

    pub(crate) fn set_life(&self, life: Life) {
        self.life.store(life as u8, Ordering::Release);
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.life() != Life::Stopped
    }

    /// Whether states are not published for now.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire)
    }

    pub(crate) fn set_quiet(&self, quiet: bool) {
        self.quiet.store(quiet, Ordering::Release);
    }

    /// Whether it was asked to stop and has told its children so.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn set_waker(&self, waker: Waker) {
        // Set once, right after the cell was made.
        self.waker.get_or_init(|| waker);
    }

    /// Adds an entry; see [`Queue::push`](crate::inbox::Queue::push).
    pub(crate) fn push(&self, entry: Entry, exempt: bool) -> Result<(), Refused<Entry>> {
        let is_message = matches!(entry, Entry::Message(..));
        let (wake, is_watched) = {
            let mut inbox = self.inbox.lock();
            (inbox.push(entry, exempt)?, is_message && inbox.take_watch())
        };
        if wake == Wake::Needed {
            self.wake();
        }
        if is_watched {
            self.mail_arrived.notify_waiters();
        }
        Ok(())
    }

    /// Waits until more than `seen` messages have ever come in, and gives their number.
    pub(crate) async fn mail_after(&self, seen: u64) -> u64 {
        loop {
            // Made before the look, so that nothing is missed between the two.
            let arrived = self.mail_arrived.notified();
            let more = self.inbox.lock().arrivals_after(seen);
            if let Some(arrivals) = more {
                return arrivals;
            }
            arrived.await;
        }
    }

    /// Hands out mail that was held back while the team was restored.
    pub(crate) fn release(&self) {
        let wake = self.inbox.lock().release();
        if wake == Wake::Needed {
            self.wake();
        }
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    /// Adds an entry that does not wait behind others; `false` when the actor has stopped.
    pub(crate) fn push_urgent(&self, entry: Entry) -> bool {
        let pushed = self.inbox.lock().push_urgent(entry);
        if let Ok(Wake::Needed) = pushed {
            self.wake();
        }
        pushed.is_ok()
    }

    /// Waits while the orchestrator is far behind with its records, at most [`CATCH_UP`].
    ///
    /// Records are never refused; this is what keeps them from filling the memory.
    pub(crate) async fn let_records_catch_up(&self) {
        let Some(orchestrator) = self.lineage.orchestrator.as_ref() else { return };
        let Some(cell) = orchestrator.cell() else { return };
        if cell.inbox.lock().len() <= RECORDS_BEHIND {
            return;
        }
        let caught_up = cell.caught_up.notified();
        if cell.inbox.lock().len() > RECORDS_BEHIND {
            // After that time the turn begins all the same: nobody waits for ever.
            let _in_time = tokio::time::timeout(CATCH_UP, caught_up).await.is_ok();
        }
    }

    /// Tells those who wait for records that there is room again.
    pub(crate) fn note_progress(&self) {
        if self.is_orchestrator() && self.inbox.lock().len() <= RECORDS_BEHIND {
            self.caught_up.notify_waiters();
        }
    }

    /// The same as [`ActorCell::push`], with the error a caller sees.
    pub(crate) fn deliver(&self, entry: Entry) -> Result<(), CallError> {
        self.push(entry, false).map_err(|refused| match refused {
            Refused::Full(_) => CallError::Overloaded(self.info.name.clone()),
            Refused::Closed(_) => CallError::Dead(self.info.name.clone()),
        })
    }

    pub(crate) fn current(&self) -> Option<Arc<Message>> {
        lock(&self.current).clone()
    }

    pub(crate) fn set_current(&self, message: Option<Arc<Message>>) {
        *lock(&self.current) = message;
    }

    /// Tells the orchestrator something about this actor; without one nothing happens.
    pub(crate) fn telemetry(self: &Arc<Self>, message: impl Into<Message>) {
        let Some(orchestrator) = &self.lineage.orchestrator else { return };
        let Some(cell) = orchestrator.cell() else { return };
        let mut message = message.into();
        let current = lock(&self.current).as_ref().map(|message| message.id);
        message.stamp(self.address(), self.info.team_id, current);
        if cell.push(Entry::Message(Arc::new(message), None), true).is_err() {
            tracing::debug!(agent = %self.info.name, "the orchestrator has stopped; a record is lost");
        }
    }

    pub(crate) fn children(&self) -> Vec<ActorAddress> {
        lock(&self.children).clone()
    }

    pub(crate) fn add_child(&self, child: &ActorAddress) {
        lock(&self.children).push(child.clone());
        // A child may be down before its creator comes here; nobody takes it out then.
        if child.cell().is_none_or(|cell| cell.is_down()) {
            self.remove_child(child.agent_id());
        }
    }

    pub(crate) fn remove_child(&self, agent_id: Uuid) {
        lock(&self.children).retain(|child| child.agent_id() != agent_id);
    }

    /// Records how `on_start` ended.
    pub(crate) fn finish_start(&self, error: Option<ActorError>) {
        self.set_life(if error.is_some() { Life::Failed } else { Life::Running });
        *lock(&self.start_error) = error;
        self.started.send_replace(true);
    }

    pub(crate) fn start_error(&self) -> Option<ActorError> {
        lock(&self.start_error).clone()
    }

    /// Waits until `on_start` has ended.
    pub(crate) async fn wait_started(&self) {
        // The sender lives in self: waiting cannot fail.
        let _started = self.started.subscribe().wait_for(|started| *started).await.is_ok();
    }

    /// Waits until the actor is completely down.
    pub(crate) async fn wait_down(&self) {
        let _down = self.down.subscribe().wait_for(|down| *down).await.is_ok();
    }

    fn is_down(&self) -> bool {
        *self.down.borrow()
    }

    /// Takes no more entries; what is left is closed in the ledger or answered.
    pub(crate) fn close(self: &Arc<Self>) {
        let left = self.inbox.lock().close();
        for entry in left {
            if let Entry::Message(message, None) = entry {
                self.telemetry(HandledMessage { message_id: message.id });
            }
        }
    }

    /// The actor is completely down.
    pub(crate) fn finish(&self) {
        self.started.send_replace(true);
        self.down.send_replace(true);
        self.cancel.cancel();
        if let Some(parent) = self.lineage.parent.as_ref().and_then(ActorAddress::cell) {
            parent.remove_child(self.info.agent_id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
