//! Which handler runs for a message: its type chain against the layers of the actor.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::actor::{Actor, ActorType};
use crate::context::Context;
use crate::error::ActorError;
use crate::message::{Message, MessageBody};
use crate::wire::{AnyValue, WireType};

/// What became of a message in one handler.
#[derive(Debug)]
pub enum Outcome {
    /// Handled; the value is the answer to an ask.
    Handled(AnyValue),
    /// Not mine: the next handler in line is asked.
    Decline,
}

impl Outcome {
    /// Handled without an answer.
    pub fn done() -> Self {
        Self::Handled(AnyValue::Null)
    }
}

/// A message whose body is known to be a `B`, or to derive from it.
pub struct Typed<B> {
    message: Arc<Message>,
    _body: PhantomData<fn() -> B>,
}

impl<B: MessageBody> Typed<B> {
    fn new(message: Arc<Message>) -> Option<Self> {
        message.body::<B>()?;
        Some(Self { message, _body: PhantomData })
    }

    /// The body.
    pub fn body(&self) -> &B {
        match self.message.body::<B>() {
            Some(body) => body,
            None => unreachable!("checked when the value was made"),
        }
    }

    /// The message behind it.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }
}

impl<B> Deref for Typed<B> {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

impl<B> fmt::Debug for Typed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.message, f)
    }
}

/// A handler of messages with body `B`.
pub type TypedHandler<A, B> =
    for<'a> fn(&'a mut A, Typed<B>, &'a mut Context) -> BoxFuture<'a, Result<Outcome, ActorError>>;

/// A handler of messages of any type.
pub type AnyHandler<A> = for<'a> fn(
    &'a mut A,
    Arc<Message>,
    &'a mut Context,
) -> BoxFuture<'a, Result<Outcome, ActorError>>;

type Handler<A> = Arc<
    dyn for<'a> Fn(
            &'a mut A,
            Arc<Message>,
            &'a mut Context,
        ) -> BoxFuture<'a, Result<Outcome, ActorError>>
        + Send
        + Sync,
>;

/// Handlers by message type, in layers: the first layer is asked first.
///
/// A handler for a derived message type wins over one for its base, whatever their layers.
#[derive(Debug)]
pub struct DispatchTable<H> {
    layers: Vec<(String, HashMap<String, H>)>,
}

impl<H> Default for DispatchTable<H> {
    fn default() -> Self {
        Self { layers: Vec::new() }
    }
}

impl<H> DispatchTable<H> {
    /// Begins a layer; what is added next belongs to it.
    pub fn layer(&mut self, class: impl Into<String>) {
        self.layers.push((class.into(), HashMap::new()));
    }

    /// Adds a handler to the last layer.
    pub fn add(&mut self, message_type: impl Into<String>, handler: H) {
        if self.layers.is_empty() {
            self.layer("");
        }
        if let Some((_, handlers)) = self.layers.last_mut() {
            handlers.insert(message_type.into(), handler);
        }
    }

    /// The handlers to ask for a message with this type chain, in order: layer, type, handler.
    pub fn candidates<'t>(
        &'t self,
        chain: &'t [&'t str],
    ) -> impl Iterator<Item = (&'t str, &'t str, &'t H)> + 't {
        chain.iter().enumerate().filter(|(at, kind)| !chain[..*at].contains(kind)).flat_map(
            |(_, kind)| {
                self.layers.iter().filter_map(|(class, handlers)| {
                    handlers.get(*kind).map(|handler| (class.as_str(), *kind, handler))
                })
            },
        )
    }
}

/// The message handlers of actor type `A`.
pub struct Handlers<A> {
    table: DispatchTable<Handler<A>>,
}

impl<A: Actor> Handlers<A> {
    pub(crate) fn of() -> Self {
        let mut handlers = Self { table: DispatchTable::default() };
        handlers.table.layer(<A as ActorType>::CLASS);
        A::handlers(&mut handlers);
        handlers
    }

    /// Begins the layer of the type this one builds on; what is added next is asked after the rest.
    pub fn base(&mut self, class: &'static str) -> &mut Self {
        self.table.layer(class);
        self
    }

    /// Adds a handler for messages whose body is a `B` or derives from it.
    pub fn on<B: MessageBody + WireType>(&mut self, handler: TypedHandler<A, B>) -> &mut Self {
        let erased: Handler<A> = Arc::new(move |actor, message, ctx| match Typed::new(message) {
            Some(typed) => handler(actor, typed, ctx),
            None => Box::pin(async { Ok(Outcome::Decline) }),
        });
        self.table.add(B::PATH, erased);
        self
    }

    /// Adds a handler for every message that nothing else accepts.
    pub fn on_any(&mut self, handler: AnyHandler<A>) -> &mut Self {
        self.table.add(crate::message::PlainMessage::PATH, Arc::new(handler));
        self
    }
}

impl<A> fmt::Debug for Handlers<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.table.layers.iter().map(|(class, handlers)| (class, handlers.keys()));
        f.debug_list().entries(types).finish()
    }
}

/// Asks the handlers of the actor's type, most derived message type first.
pub async fn dispatch<A: Actor>(
    actor: &mut A,
    message: Arc<Message>,
    ctx: &mut Context,
) -> Result<Outcome, ActorError> {
    let handlers = ctx.system().handlers_of::<A>(TypeId::of::<A>());
    let chain = message.type_chain();
    for (_, _, handler) in handlers.table.candidates(&chain) {
        match handler(actor, Arc::clone(&message), ctx).await? {
            Outcome::Decline => {}
            handled @ Outcome::Handled(_) => return Ok(handled),
        }
    }
    Ok(Outcome::Decline)
}
