//! How code outside of every team talks to actors: through an address of its own.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::actor::Actor;
use crate::address::ActorAddress;
use crate::agent_type;
use crate::config::BaseConfig;
use crate::context::Context;
use crate::dispatch::Outcome;
use crate::error::{ActorError, CallError};
use crate::inbox::DEFAULT_INBOX_CAPACITY;
use crate::message::Message;
use crate::spawn::CreateError;
use crate::system::{ActorSystem, Origin};
use crate::typed::ActorRef;
use crate::wire::AnyValue;

/// An address for host code, and what was received there.
#[derive(Clone)]
pub struct Outside {
    listener: ActorRef<Listener>,
    heard: Arc<Heard>,
}

/// An [`Outside`] that goes when it is dropped; made by [`ActorSystem::private`].
pub struct Private(pub(crate) Outside);

impl Outside {
    pub(crate) fn new(system: &ActorSystem) -> Result<Self, CreateError> {
        let heard = Arc::new(Heard::new(system.options().listener_capacity));
        let config = BaseConfig::new("@ActorSystem", "ActorSystem");
        let listener = Listener { heard: Arc::clone(&heard) };
        let listener =
            system.create_actor_with(config, Origin::default(), move |_| Ok(listener))?;
        Ok(Self { listener, heard })
    }

    /// The address answers come to.
    pub fn address(&self) -> &ActorAddress {
        self.listener.address()
    }

    /// Delivers a message; its sender is this address.
    pub fn tell(
        &self,
        recipient: &ActorAddress,
        message: impl Into<Message>,
    ) -> Result<(), CallError> {
        recipient.tell(self.stamped(recipient, message.into()))
    }

    /// Delivers a message and waits for what its handler answers.
    pub async fn ask(
        &self,
        recipient: &ActorAddress,
        message: impl Into<Message>,
        timeout: Duration,
    ) -> Result<AnyValue, CallError> {
        recipient.ask(self.stamped(recipient, message.into()), timeout).await
    }

    /// The next value or message that was received.
    ///
    /// Cancel-safe: a dropped or timed-out call takes nothing.
    pub async fn listen(&self, timeout: Duration) -> Result<Received, CallError> {
        match tokio::time::timeout(timeout, self.heard.next()).await {
            Ok(value) => Ok(value),
            Err(_) => Err(CallError::Timeout(timeout)),
        }
    }

    fn stamped(&self, recipient: &ActorAddress, mut message: Message) -> Message {
        message.stamp(self.address().clone(), recipient.team_id(), None);
        message
    }
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Outside").field(self.address()).finish()
    }
}

impl Deref for Private {
    type Target = Outside;

    fn deref(&self) -> &Outside {
        &self.0
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.0.address().request_stop();
    }
}

impl std::fmt::Debug for Private {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What the system's listener received.
#[derive(Clone, Debug)]
pub enum Received {
    /// A message.
    Message(Arc<Message>),
    /// A value that is no message.
    Value(AnyValue),
}

impl Received {
    /// The text of a message that has one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Message(message) => message.body.content_text(),
            Self::Value(AnyValue::Text(text)) => Some(text),
            Self::Value(_) => None,
        }
    }
}

/// What the listener received and nobody took yet.
struct Heard {
    values: Mutex<VecDeque<Received>>,
    capacity: usize,
    arrived: Notify,
}

impl Heard {
    fn new(capacity: usize) -> Self {
        Self { values: Mutex::default(), capacity, arrived: Notify::new() }
    }

    fn push(&self, value: Received) {
        let mut values = lock(&self.values);
        if values.len() >= self.capacity {
            tracing::warn!("nobody listens to the system; its oldest value is dropped");
            values.pop_front();
        }
        values.push_back(value);
        drop(values);
        self.arrived.notify_one();
    }

    async fn next(&self) -> Received {
        loop {
            let arrived = self.arrived.notified();
            let next = lock(&self.values).pop_front();
            if let Some(value) = next {
                if !lock(&self.values).is_empty() {
                    self.arrived.notify_one();
                }
                return value;
            }
            arrived.await;
        }
    }
}

/// The actor behind such an address.
struct Listener {
    heard: Arc<Heard>,
}
agent_type!(Listener = "akgentic.core.actor_system_impl.ActorSystemListener");

impl Actor for Listener {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { heard: Arc::new(Heard::new(DEFAULT_INBOX_CAPACITY)) })
    }

    async fn receive(
        &mut self,
        message: Arc<Message>,
        _: &mut Context,
    ) -> Result<Outcome, ActorError> {
        self.heard.push(Received::Message(message));
        Ok(Outcome::done())
    }

    async fn receive_value(
        &mut self,
        value: AnyValue,
        _: &mut Context,
    ) -> Result<Outcome, ActorError> {
        self.heard.push(Received::Value(value));
        Ok(Outcome::done())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
