//! What an actor is: a configuration, handlers, and what it does when it starts and stops.

use std::future::Future;

use crate::config::Config;
use crate::context::Context;
use crate::dispatch::{Handlers, Outcome};
use crate::error::ActorError;
use crate::message::Message;
use crate::state::StateSlot;
use crate::wire::{AnyValue, WireType};
use std::sync::Arc;

/// An object with its own thread of control and one inbox.
///
/// Exactly one entry is handled at a time. Handlers are async functions; a handler that must block
/// hands its work to [`tokio::task::spawn_blocking`]. A handler that fails or panics ends its turn
/// with an `ErrorMessage`, and the actor lives on.
///
/// Register the type with [`agent_type!`](crate::agent_type), so that cards and logs can name it.
///
/// ```
/// use akgentic_core::prelude::*;
///
/// struct Echo;
/// agent_type!(Echo = "example.Echo");
///
/// impl Actor for Echo {
///     type Config = BaseConfig;
///
///     fn create(_: &BaseConfig) -> Result<Self, ActorError> {
///         Ok(Self)
///     }
///
///     fn handlers(handlers: &mut Handlers<Self>) {
///         handlers.on::<UserMessage>(|_, message, ctx| {
///             Box::pin(async move {
///                 let answer = ResultMessage { content: message.body().content.clone() };
///                 if let Some(sender) = message.sender.clone() {
///                     ctx.send(&sender, answer)?;
///                 }
///                 Ok(Outcome::done())
///             })
///         });
///     }
/// }
/// ```
pub trait Actor: ActorType + Sized + Send + 'static {
    /// What it is configured with.
    type Config: Config + WireType;

    /// Whether it stands for a person.
    const IS_USER_PROXY: bool = false;

    /// Builds the actor on the side of its creator; an error goes to the creator and no actor exists.
    fn create(config: &Self::Config) -> Result<Self, ActorError>;

    /// Declares which message types it handles.
    fn handlers(handlers: &mut Handlers<Self>) {
        let _ = handlers;
    }

    /// Runs before the first entry. An error is reported and leaves the actor alive, marked failed.
    fn on_start(
        &mut self,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<(), ActorError>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Handles one message; the default asks the handlers.
    fn receive(
        &mut self,
        message: Arc<Message>,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<Outcome, ActorError>> + Send {
        crate::dispatch::dispatch(self, message, ctx)
    }

    /// Handles a value that is no message.
    fn receive_value(
        &mut self,
        value: AnyValue,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<Outcome, ActorError>> + Send {
        let _unused = (value, ctx);
        async { Ok(Outcome::Decline) }
    }

    /// The published state, when the actor has one; see [`Tracked`](crate::state::Tracked).
    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        None
    }

    /// Gives back what the actor announced before a restart, in order.
    fn restore(
        &mut self,
        events: Vec<AnyValue>,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<(), ActorError>> + Send {
        let _unused = (events, ctx);
        async { Ok(()) }
    }

    /// Brings a turn to its end that was cut off when the team went down; called after
    /// [`Actor::restore`], before any mail, as if `message` were being handled.
    ///
    /// `true` when everything the turn was to do is done now. Otherwise, as by default, the turn is
    /// closed with a warning that its effects are unknown. What was recorded tells how far it had
    /// come; it must not do anything a second time.
    fn resume_turn(
        &mut self,
        message: Arc<Message>,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<bool, ActorError>> + Send {
        let _unused = (message, ctx);
        async { Ok(false) }
    }

    /// Runs when somebody asks the actor to stop: children first, then itself.
    fn stop(&mut self, ctx: &mut Context) -> impl Future<Output = Result<(), ActorError>> + Send {
        async move {
            ctx.stop_children().await;
            ctx.stop_now();
            Ok(())
        }
    }

    /// Runs last, when no more entries are handled.
    fn on_stop(
        &mut self,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<(), ActorError>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }
}

/// The stable name of an actor type; implemented by [`agent_type!`](crate::agent_type).
pub trait ActorType {
    /// Class path, `package.module.Class`.
    const CLASS: &'static str;
}

/// Answers typed requests `R`.
///
/// A request is no turn: it is not recorded, has no parent message and makes no state checkpoint.
pub trait Handle<R: Send + 'static>: Actor {
    /// What the caller gets.
    type Reply: Send + 'static;

    /// Handles one request.
    fn handle(
        &mut self,
        request: R,
        ctx: &mut Context,
    ) -> impl Future<Output = Result<Self::Reply, ActorError>> + Send;
}
