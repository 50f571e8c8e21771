//! Actors and helpers the tests share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::message::{
    HandledMessage, ProcessedMessage, SentMessage, StateChangedMessage, UserMessage,
};
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot;
use akgentic_core::wire::AnyValue;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

pub(crate) const WAIT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Seen {
    pub(crate) texts: Vec<String>,
}
state!(Seen = "it.Seen");

/// Remembers what it was told; some texts make it do something.
pub(crate) struct Member {
    pub(crate) seen: Tracked<Seen>,
    pub(crate) restored_events: usize,
}
agent_type!(Member = "it.Member");

impl Actor for Member {
    type Config = BaseConfig;

    fn create(config: &BaseConfig) -> Result<Self, ActorError> {
        if config.role == "Unbuildable" {
            return Err(ActorError::new("ValueError", "cannot be built"));
        }
        Ok(Self { seen: Tracked::new(Seen::default()), restored_events: 0 })
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|this, message, ctx| {
            Box::pin(async move {
                let text = message.body().content.as_str();
                this.seen.texts.push(text.to_owned());
                match text.split_once(' ').unwrap_or((text, "")) {
                    ("panic", what) => panic!("{what}"),
                    ("fail", what) => return Err(ActorError::new("ValueError", what)),
                    ("event", what) => ctx.notify_event(what),
                    ("forward", name) => {
                        let team = ctx.team()?;
                        let to = team.get_team_member(name).await?.expect("a member");
                        ctx.send(&to, UserMessage { content: format!("from {}", ctx.name()) })?;
                    }
                    ("block", _) => tokio::time::sleep(Duration::from_hours(1)).await,
                    _ => {}
                }
                Ok(Outcome::Handled(AnyValue::from(text)))
            })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.observe(&mut self.seen);
        if ctx.role() == "Unstartable" {
            return Err(ActorError::new("ValueError", "cannot start"));
        }
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        Some(&mut self.seen)
    }

    async fn restore(&mut self, events: Vec<AnyValue>, _: &mut Context) -> Result<(), ActorError> {
        self.restored_events = events.len();
        Ok(())
    }
}

/// Request: what was seen, and how many events came back with a restore.
pub(crate) struct Report;

impl Handle<Report> for Member {
    type Reply = (Vec<String>, usize);

    async fn handle(&mut self, _: Report, _: &mut Context) -> Result<Self::Reply, ActorError> {
        Ok((self.seen.texts.clone(), self.restored_events))
    }
}

/// Request: create a child of this name.
pub(crate) struct Hire(pub(crate) &'static str);

impl Handle<Hire> for Member {
    type Reply = ActorAddress;

    async fn handle(&mut self, hire: Hire, ctx: &mut Context) -> Result<ActorAddress, ActorError> {
        Ok(ctx.create_actor::<Member>(BaseConfig::new(hire.0, "Child"))?.address().clone())
    }
}

/// A request that runs a closure inside a [`Member`].
pub(crate) struct Act<R>(Box<ActFn<R>>);

type ActFn<R> = dyn for<'a> FnOnce(&'a mut Member, &'a mut Context) -> BoxFuture<'a, Result<R, ActorError>>
    + Send;

pub(crate) fn act<R>(
    run: impl for<'a> FnOnce(&'a mut Member, &'a mut Context) -> BoxFuture<'a, Result<R, ActorError>>
    + Send
    + 'static,
) -> Act<R> {
    Act(Box::new(run))
}

impl<R: Send + 'static> Handle<Act<R>> for Member {
    type Reply = R;

    async fn handle(&mut self, request: Act<R>, ctx: &mut Context) -> Result<R, ActorError> {
        (request.0)(self, ctx).await
    }
}

/// What lets a [`Waiting`] actor go on, one message at a time.
#[derive(Clone)]
pub(crate) struct Gate {
    entered: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn closed() -> Self {
        Self { entered: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// Lets so many through.
    pub(crate) fn open(&self, count: usize) {
        self.open.add_permits(count);
    }

    /// Waits until somebody stands before the gate, or has gone through.
    pub(crate) async fn entered(&self) {
        self.entered.acquire().await.expect("never closed").forget();
    }

    pub(crate) async fn pass(&self) {
        self.entered.add_permits(1);
        self.open.acquire().await.expect("never closed").forget();
    }
}

/// An actor whose handler waits until it is let go.
pub(crate) struct Waiting {
    pub(crate) gate: Gate,
}
agent_type!(Waiting = "it.Waiting");

impl Actor for Waiting {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { gate: Gate::closed() })
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|this, _, _| {
            Box::pin(async {
                this.gate.pass().await;
                Ok(Outcome::done())
            })
        });
    }
}

impl Handle<Report> for Waiting {
    type Reply = ();

    async fn handle(&mut self, _: Report, _: &mut Context) -> Result<(), ActorError> {
        Ok(())
    }
}

impl Waiting {
    /// A member of the team and its gate.
    pub(crate) async fn member(
        team: &ActorRef<Orchestrator>,
        name: &str,
    ) -> (ActorRef<Self>, Gate) {
        let gate = Gate::closed();
        let shared = gate.clone();
        let waiting = team
            .create_actor_with(BaseConfig::new(name, "W"), move |_| Ok(Self { gate: shared }))
            .await
            .expect("a member");
        (waiting, gate)
    }
}

/// What a [`Scripted`] actor does at one point of its life.
pub(crate) type Step =
    Box<dyn for<'a> FnMut(&'a mut Context) -> BoxFuture<'a, Result<(), ActorError>> + Send>;

/// A step from a closure.
#[expect(clippy::unnecessary_wraps, reason = "it is what the fields of `Scripted` take")]
pub(crate) fn step(
    run: impl for<'a> FnMut(&'a mut Context) -> BoxFuture<'a, Result<(), ActorError>> + Send + 'static,
) -> Option<Step> {
    Some(Box::new(run))
}

/// An actor that does what a test says.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) start: Option<Step>,
    pub(crate) message: Option<Step>,
    pub(crate) stop: Option<Step>,
}
agent_type!(Scripted = "it.Scripted");

async fn take_step(step: &mut Option<Step>, ctx: &mut Context) -> Result<(), ActorError> {
    match step {
        Some(step) => step(ctx).await,
        None => Ok(()),
    }
}

impl Actor for Scripted {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self::default())
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|this, _, ctx| {
            Box::pin(async {
                take_step(&mut this.message, ctx).await?;
                Ok(Outcome::done())
            })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        take_step(&mut self.start, ctx).await
    }

    async fn on_stop(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        take_step(&mut self.stop, ctx).await
    }
}

impl Scripted {
    /// Makes this a member of the team.
    pub(crate) async fn join(self, team: &ActorRef<Orchestrator>, name: &str) -> ActorRef<Self> {
        team.create_actor_with(BaseConfig::new(name, "S"), move |_| Ok(self))
            .await
            .expect("a member")
    }
}

pub(crate) async fn a_team() -> (ActorSystem, ActorRef<Orchestrator>) {
    let system = ActorSystem::new();
    let team = system
        .create_team(BaseConfig::new("@Orchestrator", "Orchestrator"), Origin::default())
        .expect("a team");
    (system, team)
}

/// Writes a file of JSON lines.
pub(crate) fn write_lines(path: &std::path::Path, lines: &[serde_json::Value]) {
    let mut text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    text.push('\n');
    std::fs::write(path, text).expect("written");
}

pub(crate) fn text(content: &str) -> UserMessage {
    UserMessage { content: content.to_owned() }
}

/// What a team recorded, in order.
#[derive(Clone, Default)]
pub(crate) struct Records(pub(crate) Arc<Mutex<Vec<Arc<Message>>>>);

impl Records {
    pub(crate) async fn of(team: &ActorRef<Orchestrator>) -> Self {
        let records = Self::default();
        team.subscribe(Arc::new(records.clone())).await.expect("subscribed");
        records
    }

    pub(crate) fn all(&self) -> Vec<Arc<Message>> {
        self.0.lock().expect("lock").clone()
    }

    pub(crate) fn classes_of(&self, name: &str) -> Vec<&'static str> {
        let from = |message: &&Arc<Message>| {
            message.sender.as_ref().is_some_and(|sender| sender.name() == name)
        };
        self.all().iter().filter(from).map(|message| message.class_name()).collect()
    }

    /// Every message that was sent was closed exactly once.
    pub(crate) fn assert_closed(&self) {
        let mut open = std::collections::HashMap::new();
        for message in self.all() {
            if let Some(sent) = message.body::<SentMessage>() {
                *open.entry(sent.message.id).or_insert(0_i32) += 1;
            }
        }
        for message in self.all() {
            let closed = message
                .body::<ProcessedMessage>()
                .map(|body| body.message_id)
                .or_else(|| message.body::<HandledMessage>().map(|body| body.message_id));
            if let Some(count) = closed.and_then(|id| open.get_mut(&id)) {
                *count -= 1;
            }
        }
        open.retain(|_, count| *count != 0);
        assert!(open.is_empty(), "{} messages are not closed exactly once: {open:?}", open.len());
    }

    pub(crate) fn states_of(&self, name: &str) -> usize {
        let from = |message: &&Arc<Message>| {
            message.body::<StateChangedMessage>().is_some()
                && message.sender.as_ref().is_some_and(|sender| sender.name() == name)
        };
        self.all().iter().filter(from).count()
    }
}

impl Subscriber for Records {
    fn on_message(&self, message: &Arc<Message>) -> akgentic_core::orchestrator::Watched {
        self.0.lock().expect("lock").push(Arc::clone(message));
        Ok(())
    }
}
