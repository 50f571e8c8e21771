//! Typed references: calls that the compiler checks against the actor they go to.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::actor::Handle;
use crate::actor::{Actor, ActorType};
use crate::address::ActorAddress;
use crate::cell::{Call, Entry};
use crate::context::Context;
use crate::error::{ActorError, CallError};
use crate::runner::Hosted;

/// An address whose actor is known to be an `A`; cheap to clone, does not keep the actor alive.
pub struct ActorRef<A> {
    address: ActorAddress,
    _actor: PhantomData<fn() -> A>,
}

impl<A: Actor> ActorRef<A> {
    /// The typed form of `address`, when its actor is an `A` and was alive a moment ago.
    pub fn new(address: &ActorAddress) -> Result<Self, CallError> {
        let cell = address.reach()?;
        if cell.type_id() != TypeId::of::<A>() {
            return Err(CallError::WrongActorType {
                name: address.name().to_owned(),
                wanted: <A as ActorType>::CLASS,
                found: cell.class(),
            });
        }
        Ok(Self { address: address.clone(), _actor: PhantomData })
    }

    /// The untyped address.
    pub fn address(&self) -> &ActorAddress {
        &self.address
    }

    /// Sends a request and waits for the answer, at most as long as the system's ask timeout.
    ///
    /// Dropping the future does not cancel the work; its answer is dropped.
    pub async fn ask<R>(&self, request: R) -> Result<A::Reply, CallError>
    where
        R: Send + 'static,
        A: Handle<R>,
    {
        let timeout = self.address.reach()?.ask_timeout();
        self.ask_within(request, timeout).await
    }

    /// The same as [`ActorRef::ask`] with a deadline of its own.
    pub async fn ask_within<R>(&self, request: R, timeout: Duration) -> Result<A::Reply, CallError>
    where
        R: Send + 'static,
        A: Handle<R>,
    {
        let (reply, answer) = oneshot::channel();
        let call = Request::<A, R> { request, reply: Some(reply) };
        self.address.reach()?.deliver(Entry::Call(Box::new(call)))?;
        self.wait(answer, timeout).await
    }

    /// The same for requests that do not wait behind others and are never refused.
    pub(crate) async fn ask_control<R>(
        &self,
        request: R,
        timeout: Duration,
    ) -> Result<A::Reply, CallError>
    where
        R: Send + 'static,
        A: Handle<R>,
    {
        let (reply, answer) = oneshot::channel();
        let cell = self.address.reach()?;
        let request = Request::<A, R> { request, reply: Some(reply) };
        if !cell.push_urgent(Entry::Call(Box::new(request))) {
            return Err(CallError::Dead(self.address.name().to_owned()));
        }
        self.wait(answer, timeout).await
    }

    /// Sends a request that does not wait behind others and is never refused.
    pub(crate) fn tell_control<R>(&self, request: R) -> Result<(), CallError>
    where
        R: Send + 'static,
        A: Handle<R>,
    {
        let call = Request::<A, R> { request, reply: None };
        if self.address.reach()?.push_urgent(Entry::Call(Box::new(call))) {
            Ok(())
        } else {
            Err(CallError::Dead(self.address.name().to_owned()))
        }
    }

    async fn wait<T>(
        &self,
        answer: oneshot::Receiver<Result<T, ActorError>>,
        timeout: Duration,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(result)) => result.map_err(CallError::Failed),
            Ok(Err(_)) => Err(CallError::Dead(self.address.name().to_owned())),
            Err(_) => Err(CallError::Timeout(timeout)),
        }
    }

    /// Sends a request without waiting; a failure of its handler becomes an `ErrorMessage`.
    pub fn tell<R>(&self, request: R) -> Result<(), CallError>
    where
        R: Send + 'static,
        A: Handle<R>,
    {
        let call = Request::<A, R> { request, reply: None };
        self.address.reach()?.deliver(Entry::Call(Box::new(call)))
    }
}

impl<A> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { address: self.address.clone(), _actor: PhantomData }
    }
}

impl<A> fmt::Debug for ActorRef<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.address, f)
    }
}

struct Request<A: Handle<R>, R: Send + 'static> {
    request: R,
    reply: Option<oneshot::Sender<Result<A::Reply, ActorError>>>,
}

impl<A: Handle<R>, R: Send + 'static> Call for Request<A, R> {
    fn run<'a>(
        self: Box<Self>,
        actor: &'a mut dyn Hosted,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move {
            let Some(actor) = actor.as_any_mut().downcast_mut::<A>() else {
                return Err(ActorError::new("TypeError", "a request reached another actor type"));
            };
            let request = self.request;
            let work = Box::pin(async move { actor.handle(request, ctx).await });
            let result = crate::runner::guarded(work).await;
            match self.reply {
                Some(reply) => {
                    if let Err(Err(error)) = reply.send(result) {
                        tracing::info!(?error, "a request failed after its caller gave up");
                    }
                    Ok(())
                }
                None => result.map(drop),
            }
        })
    }
}
