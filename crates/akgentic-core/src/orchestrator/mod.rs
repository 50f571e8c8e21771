//! The orchestrator: root of a team, keeper of its records, conductor of its stop.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::actor::{Actor, Handle};
use crate::address::ActorAddress;
use crate::agent_type;
use crate::config::BaseConfig;
use crate::context::Context;
use crate::dispatch::{Outcome, dispatch};
use crate::error::ActorError;
use crate::message::{
    EventMessage, HandledMessage, Message, NotificationMessage, ProcessedMessage, ReceivedMessage,
    SentMessage, StartMessage, StateChangedMessage, StopMessage, TeamStoppingEvent,
};
use crate::state::AnyState;
use crate::wire::{AnyValue, Dyn};

mod catalog;
mod history;
mod queries;
mod roster;
mod stop;
mod subscriber;
mod view;

pub use catalog::Catalog;
pub use history::{History, HistoryFilter};
pub use queries::Stopping;
pub use roster::Roster;
pub use stop::{StopPlan, is_tool_actor};
pub use subscriber::{Subscriber, TeamData, Watched};
pub use view::TeamView;

use subscriber::tell_all;

/// How long a team may take to stop before it is ended all the same.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// Root of a team: knows its members, keeps what they said, ends them in order.
///
/// Reach it through [`ActorRef<Orchestrator>`](crate::ActorRef), which has the queries as methods.
pub struct Orchestrator {
    history: History,
    states: IndexMap<Uuid, AnyState>,
    view: Arc<TeamView>,
    subscribers: Vec<Arc<dyn Subscriber>>,
    reserved: HashSet<String>,
    restoring: bool,
    stop: Option<StopPlan<ActorAddress>>,
    backstop: Option<AbortHandle>,
    stopped: watch::Sender<bool>,
}
agent_type!(Orchestrator = "akgentic.core.orchestrator.Orchestrator",
    aliases: ["akgentic.core.Orchestrator"]);

/// What a message of a member means to the records.
enum Telemetry {
    Start,
    Stop,
    Record,
    State(AnyState),
    Event,
    Other,
}

impl Telemetry {
    fn of(message: &Message) -> Self {
        let body = message.body.as_any();
        if body.is::<SentMessage>()
            || body.is::<ReceivedMessage>()
            || body.is::<ProcessedMessage>()
            || body.is::<HandledMessage>()
        {
            Self::Record
        } else if let Some(changed) = message.body::<StateChangedMessage>() {
            Self::State(changed.state.clone())
        } else if message.body::<EventMessage>().is_some() {
            Self::Event
        } else if message.body::<StartMessage>().is_some() {
            Self::Start
        } else if message.body::<StopMessage>().is_some() {
            Self::Stop
        } else if message.body::<NotificationMessage>().is_some() {
            Self::Record
        } else {
            Self::Other
        }
    }
}

impl Actor for Orchestrator {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self {
            history: History::default(),
            states: IndexMap::new(),
            view: Arc::default(),
            subscribers: Vec::new(),
            reserved: HashSet::new(),
            restoring: false,
            stop: None,
            backstop: None,
            stopped: watch::Sender::new(false),
        })
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        self.history = History::new(ctx.system().options().history_capacity);
        self.restoring = ctx.is_restoring();
        ctx.cell().set_team_view(Arc::clone(&self.view));
        let mut start: Message =
            StartMessage { config: Dyn(Arc::clone(ctx.config())), parent: None }.into();
        start.stamp(ctx.address(), ctx.team_id(), None);
        self.history.push(Arc::new(start));
        Ok(())
    }

    async fn receive(
        &mut self,
        message: Arc<Message>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        match Telemetry::of(&message) {
            Telemetry::Start | Telemetry::Event => {
                self.record(&message, ctx);
                self.fan_out(&message);
            }
            Telemetry::Stop => {
                self.record(&message, ctx);
                if self.stop.is_none() {
                    self.fan_out(&message);
                }
                self.continue_stop(message.sender.as_ref(), ctx);
            }
            Telemetry::Record => {
                if message.sender.as_ref() != Some(&ctx.address()) {
                    self.record(&message, ctx);
                    self.fan_out(&message);
                }
            }
            Telemetry::State(state) => {
                if let Some(sender) = &message.sender {
                    self.states.insert(sender.agent_id(), state);
                }
                self.fan_out(&message);
            }
            Telemetry::Other => return self.mail(message, ctx).await,
        }
        Ok(Outcome::done())
    }

    async fn stop(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        self.begin_stop(DEFAULT_GRACE, ctx);
        Ok(())
    }

    async fn on_stop(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        if let Some(backstop) = self.backstop.take() {
            backstop.abort();
        }
        let team_id = ctx.team_id();
        tell_all(&self.subscribers, "on_stop", |subscriber| subscriber.on_stop(team_id));
        self.subscribers.clear();
        self.stopped.send_replace(true);
        Ok(())
    }
}

impl Orchestrator {
    /// Adds a message to the records.
    fn record(&mut self, message: &Arc<Message>, ctx: &Context) {
        if let Some(sender) = message.sender.as_ref().filter(|sender| **sender != ctx.address()) {
            if message.body::<StartMessage>().is_some() {
                self.reserved.remove(sender.name());
                self.view.lock().roster.started(sender.clone());
            } else if message.body::<StopMessage>().is_some() {
                self.view.lock().roster.stopped(sender.agent_id());
            }
        }
        self.history.push(Arc::clone(message));
    }

    /// Handles a message that is no record, and keeps its entry in the ledger as members do: mail
    /// that nobody closes would come again with every restore.
    async fn mail(
        &mut self,
        message: Arc<Message>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        let message_id = message.id;
        self.emit_about(Some(message_id), ReceivedMessage { message_id }, ctx);
        let outcome = dispatch(self, message, ctx).await;
        self.emit_about(Some(message_id), ProcessedMessage { message_id }, ctx);
        outcome
    }

    /// Shows a message to the subscribers.
    fn fan_out(&self, message: &Arc<Message>) {
        if self.subscribers.is_empty() {
            return;
        }
        let snapshot = catch_unwind(AssertUnwindSafe(|| message.snapshot()));
        let shown = match snapshot {
            Ok(None) => Arc::clone(message),
            Ok(Some(copy)) => Arc::new(copy),
            Err(_) => {
                tracing::error!(class = message.class_name(), "a record cannot be shown");
                Arc::new(message.without_body())
            }
        };
        tell_all(&self.subscribers, "on_message", |subscriber| subscriber.on_message(&shown));
    }

    /// Records and shows a message of the orchestrator itself; nobody handles it.
    fn emit(&mut self, message: impl Into<Message>, ctx: &Context) {
        self.emit_about(None, message, ctx);
    }

    fn emit_about(&mut self, parent: Option<Uuid>, message: impl Into<Message>, ctx: &Context) {
        let mut message = message.into();
        message.stamp(ctx.address(), ctx.team_id(), parent);
        let message = Arc::new(message);
        self.record(&message, ctx);
        self.fan_out(&message);
    }

    /// Begins the two-phase stop, unless it has begun.
    fn begin_stop(&mut self, grace: Duration, ctx: &mut Context) {
        if self.stop.is_some() {
            return;
        }
        self.emit(EventMessage { event: AnyValue::record(TeamStoppingEvent {}) }, ctx);
        let team_id = ctx.team_id();
        tell_all(&self.subscribers, "on_stop_request", |subscriber| {
            subscriber.on_stop_request(team_id)
        });
        let children: Vec<_> = ctx.children().into_iter().filter(ActorAddress::is_alive).collect();
        let (plan, now) =
            StopPlan::begin(children.iter().map(|child| (child.clone(), child.name())));
        self.stop = Some(plan);
        for child in now {
            child.request_stop();
        }
        self.arm_backstop(grace, ctx);
        self.continue_stop(None, ctx);
    }

    /// Goes on with the stop after a member stopped; nothing happens when none has begun.
    fn continue_stop(&mut self, stopped: Option<&ActorAddress>, ctx: &Context) {
        let Some(plan) = &mut self.stop else { return };
        if let Some(stopped) = stopped {
            plan.stopped(stopped);
        }
        let view = self.view.lock();
        let names = view.roster.iter().map(ActorAddress::name);
        let next = plan.next(names, ActorAddress::is_alive);
        let is_empty = view.roster.is_empty();
        drop(view);
        if let Some(next) = next {
            next.request_stop();
        }
        if is_empty {
            if let Some(backstop) = self.backstop.take() {
                backstop.abort();
            }
            ctx.stop_now();
        }
    }

    /// A child that came while the team stops has to go like the others.
    fn joined(&mut self, child: &ActorAddress) {
        let Some(plan) = &mut self.stop else { return };
        // Without backstop nobody is waited for any more.
        if self.backstop.is_some() && is_tool_actor(child.name()) {
            plan.add(child.clone());
        } else {
            child.request_stop();
        }
    }

    fn arm_backstop(&mut self, grace: Duration, ctx: &Context) {
        let team = ctx.address();
        let backstop = tokio::spawn(async move {
            tokio::time::sleep(grace).await;
            if let Ok(team) = crate::typed::ActorRef::<Self>::new(&team) {
                let _told = team.tell_control(GiveUp).is_ok();
                tracing::warn!(team = %team.address(), ?grace, "the team did not stop in time");
            }
        });
        self.backstop = Some(backstop.abort_handle());
    }
}

/// The grace of a stop has passed.
struct GiveUp;

impl Handle<GiveUp> for Orchestrator {
    type Reply = ();

    async fn handle(&mut self, _: GiveUp, ctx: &mut Context) -> Result<(), ActorError> {
        self.backstop = None;
        if let Some(plan) = &mut self.stop {
            for tool in plan.give_up() {
                tool.request_stop();
            }
        }
        for member in self.view.lock().roster.iter() {
            tracing::warn!(member = %member, "abandoned at the stop of its team");
            if let Some(cell) = member.cell() {
                cell.cancel.cancel();
            }
        }
        // Records of members that do not stop would never end: what is queued is left.
        let left = ctx.cell().inbox.lock().len();
        if left > 0 {
            tracing::warn!(left, "records were not taken in any more");
        }
        let _told = ctx.cell().push_urgent(crate::cell::Entry::StopNow);
        Ok(())
    }
}
