//! A tool actor that does nothing but deferred work.

use std::fmt::Display;
use std::future::Future;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use akgentic_core::actor::ActorType;
use akgentic_core::wire::WireType;
use akgentic_core::{Actor, ActorError, Config, Context, Handle};

use super::cache::{CACHE_CAPACITY, NEGATIVE_TTL};
use super::results::{DeferredResults, Settled, WORKER_BUDGET, WorkerCall};
use crate::error::ToolError;

/// Where a [`DeferredResultActor`] gets its results from; registered with
/// [`deferred_actor!`](crate::deferred_actor).
pub trait DeferredSource: Sized + Send + Sync + 'static {
    /// Class path of the actor.
    const CLASS: &'static str;
    /// How many results and failures are kept.
    const CAPACITY: usize = CACHE_CAPACITY;
    /// How long a failure is remembered.
    const NEGATIVE_TTL: Duration = NEGATIVE_TTL;
    /// How long one piece of work may take.
    const BUDGET: Duration = WORKER_BUDGET;

    /// What the actor is configured with.
    type Config: Config + WireType;
    /// What a result is found under; its text names the worker.
    type Key: Clone + Eq + Hash + Display + Send + Sync + 'static;
    /// What the work needs beside the key.
    type Payload: Send + 'static;
    /// A result.
    type Value: Clone + Send + 'static;

    /// Builds the source when the actor is created.
    fn create(config: &Self::Config) -> Result<Self, ActorError>;

    /// Does the work; `None` and errors are failures.
    fn produce(
        self: Arc<Self>,
        key: Self::Key,
        payload: Self::Payload,
        call: WorkerCall,
    ) -> impl Future<Output = Result<Option<Self::Value>, ToolError>> + Send + 'static;
}

/// A tool actor that fetches, keeps and hands out results of a [`DeferredSource`].
///
/// In a tool: [`GetDeferred`], then [`RequestDeferred`], then [`poll_deferred`](super::poll_deferred),
/// then an answer without.
pub struct DeferredResultActor<S: DeferredSource> {
    source: Arc<S>,
    results: DeferredResults<S::Key, S::Value>,
}

/// Request: the result for a key, if it is there.
#[derive(Clone, Copy, Debug)]
pub struct GetDeferred<K>(pub K);

/// Request: start the work for a key if it is needed; answers the name of the worker.
#[derive(Clone, Copy, Debug)]
pub struct RequestDeferred<K, P> {
    /// What the result is found under.
    pub key: K,
    /// What the work needs beside it.
    pub payload: P,
}

impl<S: DeferredSource> ActorType for DeferredResultActor<S> {
    const CLASS: &'static str = S::CLASS;
}

impl<S: DeferredSource> Actor for DeferredResultActor<S> {
    type Config = S::Config;

    fn create(config: &S::Config) -> Result<Self, ActorError> {
        let results = DeferredResults::new(S::CAPACITY, S::NEGATIVE_TTL, S::BUDGET);
        Ok(Self { source: Arc::new(S::create(config)?), results })
    }
}

impl<S: DeferredSource> Handle<GetDeferred<S::Key>> for DeferredResultActor<S> {
    type Reply = Option<S::Value>;

    async fn handle(
        &mut self,
        request: GetDeferred<S::Key>,
        _: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        Ok(self.results.get(&request.0))
    }
}

impl<S: DeferredSource> Handle<RequestDeferred<S::Key, S::Payload>> for DeferredResultActor<S> {
    type Reply = Option<String>;

    async fn handle(
        &mut self,
        request: RequestDeferred<S::Key, S::Payload>,
        ctx: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        let RequestDeferred { key, payload } = request;
        let source = Arc::clone(&self.source);
        let owned = key.clone();
        let work = move |call| source.produce(owned, payload, call);
        Ok(self.results.request::<Self, _, _>(&key, ctx, work))
    }
}

impl<S: DeferredSource> Handle<Settled<S::Key, S::Value>> for DeferredResultActor<S> {
    type Reply = ();

    async fn handle(
        &mut self,
        settled: Settled<S::Key, S::Value>,
        _: &mut Context,
    ) -> Result<(), ActorError> {
        self.results.settle(settled);
        Ok(())
    }
}

impl<S: DeferredSource> std::fmt::Debug for DeferredResultActor<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeferredResultActor").field(&S::CLASS).field(&PhantomData::<S>).finish()
    }
}

/// Registers the actor of a [`DeferredSource`], so that a restored team finds it:
/// `deferred_actor!(WebSource = "path")`, where the path is the source's `CLASS`.
#[macro_export]
macro_rules! deferred_actor {
    ($source:ty = $class:literal $(, aliases: [$($alias:literal),* $(,)?])? $(,)?) => {
        $crate::private::akgentic_core::wire::private::inventory::submit! {
            $crate::private::akgentic_core::wire::Registration::agent::<
                $crate::deferred::DeferredResultActor<$source>,
            >($class, &[$($($alias),*)?])
            .with_agent(
                <<$source as $crate::deferred::DeferredSource>::Config
                    as $crate::private::akgentic_core::wire::WireType>::PATH,
                ::std::option::Option::Some($crate::private::akgentic_core::spawn::Spawner::of::<
                    $crate::deferred::DeferredResultActor<$source>,
                >()),
            )
        }
    };
}
