//! Actors and helpers the tests share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::message::{
    HandledMessage, ProcessedMessage, SentMessage, StateChangedMessage, UserMessage,
};
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot;
use akgentic_core::wire::AnyValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

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

/// An actor whose handler waits until it is let go.
pub(crate) struct Waiting {
    pub(crate) gate: Arc<Notify>,
}
agent_type!(Waiting = "it.Waiting");

impl Actor for Waiting {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { gate: Arc::default() })
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|this, _, _| {
            Box::pin(async {
                this.gate.notified().await;
                Ok(Outcome::done())
            })
        });
    }
}

pub(crate) async fn a_team() -> (ActorSystem, akgentic_core::ActorRef<Orchestrator>) {
    let system = ActorSystem::new();
    let team = system
        .create_team(BaseConfig::new("@Orchestrator", "Orchestrator"), Origin::default())
        .expect("a team");
    (system, team)
}

pub(crate) fn text(content: &str) -> UserMessage {
    UserMessage { content: content.to_owned() }
}

/// What a team recorded, in order.
#[derive(Clone, Default)]
pub(crate) struct Records(pub(crate) Arc<Mutex<Vec<Arc<Message>>>>);

impl Records {
    pub(crate) async fn of(team: &akgentic_core::ActorRef<Orchestrator>) -> Self {
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
