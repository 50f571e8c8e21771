//! The part of a tool actor that starts slow work and keeps what comes of it.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use akgentic_core::{ActorRef, Context, Handle};
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cache::{Admission, CACHE_CAPACITY, DeferredCache, FlightId, NEGATIVE_TTL};
use crate::error::{Panicked, ToolError};

/// How long one piece of work may take; under the grace of a team's stop.
pub const WORKER_BUDGET: Duration = Duration::from_secs(20);

/// Pieces of work that run at once; more wait for their turn within their budget.
const WORKERS_AT_ONCE: usize = 16;
/// Pieces of work that may wait or run; more are refused.
const WORKERS_AT_MOST: usize = 1024;
/// How long after its budget a piece of work may report.
const REPORT_GRACE: Duration = Duration::from_secs(2);

/// What work is handed: when to give up.
#[derive(Clone, Debug)]
pub struct WorkerCall {
    /// Fires when the actor goes down or the budget is spent.
    pub cancel: CancellationToken,
    /// When the budget is spent; hand it to clients.
    pub deadline: std::time::Instant,
}

/// Request: the work for a key has ended. The actor passes it to [`DeferredResults::settle`].
#[derive(Clone, Debug)]
pub struct Settled<K, V> {
    key: K,
    flight: FlightId,
    result: Result<Option<V>, String>,
}

/// The name by which a worker is seen.
pub fn worker_name(key: &impl Display) -> String {
    let key: String = key.to_string().chars().take(12).collect();
    format!("#defer-{key}")
}

/// Starts slow work beside an actor and keeps what comes of it.
///
/// The owning actor handles [`Settled`] by calling [`DeferredResults::settle`]. Work is a task that
/// ends with the actor; one that panics, dies or takes too long counts as failed.
pub struct DeferredResults<K, V> {
    cache: DeferredCache<K, V>,
    workers: HashMap<K, Worker>,
    budget: Duration,
    since: Instant,
    turns: Arc<Semaphore>,
}

struct Worker {
    flight: FlightId,
    cancel: CancellationToken,
    task: AbortHandle,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}

impl<K, V> DeferredResults<K, V>
where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    /// Keeps `capacity` results and failures, failures for `negative_ttl`; work may take `budget`.
    pub fn new(capacity: usize, negative_ttl: Duration, budget: Duration) -> Self {
        Self {
            cache: DeferredCache::new(capacity, negative_ttl),
            workers: HashMap::new(),
            budget,
            since: Instant::now(),
            turns: Arc::new(Semaphore::new(WORKERS_AT_ONCE)),
        }
    }

    /// The result for `key`; nothing while unknown, in flight or failed.
    pub fn get(&mut self, key: &K) -> Option<V> {
        self.expire();
        self.cache.get(key).cloned()
    }

    /// Why the last work for `key` failed, as long as that is remembered.
    pub fn failure(&self, key: &K) -> Option<&str> {
        self.cache.failure(key)
    }

    /// How many pieces of work wait or run.
    pub fn running(&self) -> usize {
        self.workers.len()
    }

    /// Starts the work for `key`, unless it runs, is done, or failed not long ago.
    ///
    /// Gives the name of the worker that was started. Work that gives `None` has failed. `A` is the
    /// owning actor, `ctx` its context.
    pub fn request<A, F, Fut>(&mut self, key: &K, ctx: &Context, work: F) -> Option<String>
    where
        A: Handle<Settled<K, V>>,
        F: FnOnce(WorkerCall) -> Fut,
        Fut: Future<Output = Result<Option<V>, ToolError>> + Send + 'static,
    {
        self.expire();
        let now = self.since.elapsed();
        let Admission::Start(flight) =
            self.cache.request(key, now, Some(now + self.budget + REPORT_GRACE))
        else {
            return None;
        };
        if self.workers.len() >= WORKERS_AT_MOST {
            tracing::warn!(%key, "too much work is waiting");
            self.cache.fail(key.clone(), "too much work is waiting", now);
            return None;
        }
        let actor = match ActorRef::<A>::new(&ctx.address()) {
            Ok(actor) => actor,
            Err(error) => {
                tracing::warn!(%key, %error, "no worker was started");
                self.cache.fail(key.clone(), error.to_string(), now);
                return None;
            }
        };
        let name = worker_name(key);
        let cancel = ctx.cancellation().child_token();
        let deadline = Instant::now() + self.budget;
        let call = WorkerCall { cancel: cancel.clone(), deadline: deadline.into_std() };
        let report = Report { actor, key: key.clone(), flight, result: None };
        let task = within_budget(work(call), deadline, cancel.clone(), Arc::clone(&self.turns));
        let task = tokio::spawn(async move {
            let mut report = report;
            report.result = Some(task.await);
            drop(report);
        });
        let worker = Worker { flight, cancel, task: task.abort_handle() };
        self.workers.insert(key.clone(), worker);
        Some(name)
    }

    /// Takes in what a worker reports; a report that comes too late is left aside.
    pub fn settle(&mut self, settled: Settled<K, V>) {
        let Settled { key, flight, result } = settled;
        if self.workers.get(&key).is_some_and(|worker| worker.flight == flight) {
            self.workers.remove(&key);
        }
        if !self.cache.is_current(&key, flight) {
            tracing::debug!(%key, "a worker reported too late");
            return;
        }
        match result {
            Ok(Some(value)) => self.cache.deliver(key, Some(value)),
            Ok(None) => self.fail(key, "the work gave no result"),
            Err(text) => self.fail(key, &text),
        }
    }

    /// Names of the workers that run.
    pub fn workers(&self) -> impl Iterator<Item = String> {
        self.workers.keys().map(worker_name)
    }

    fn fail(&mut self, key: K, text: &str) {
        tracing::warn!(%key, reason = text, "deferred work failed");
        self.cache.fail(key, text, self.since.elapsed());
    }

    /// Fails work that did not report, and ends it.
    fn expire(&mut self) {
        for key in self.cache.expire(self.since.elapsed()) {
            tracing::warn!(%key, "a worker did not report");
            self.workers.remove(&key);
        }
    }
}

impl<K, V> Default for DeferredResults<K, V>
where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    fn default() -> Self {
        Self::new(CACHE_CAPACITY, NEGATIVE_TTL, WORKER_BUDGET)
    }
}

impl<K: fmt::Debug + Clone + Eq + Hash, V> fmt::Debug for DeferredResults<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredResults").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// Runs work in its turn and within its budget; a panic is a failure.
fn within_budget<V, Fut>(
    work: Fut,
    deadline: Instant,
    cancel: CancellationToken,
    turns: Arc<Semaphore>,
) -> impl Future<Output = Result<Option<V>, String>> + Send
where
    V: Send,
    Fut: Future<Output = Result<Option<V>, ToolError>> + Send + 'static,
{
    let guarded = AssertUnwindSafe(async move {
        let _turn = turns.acquire().await;
        work.await
    })
    .catch_unwind();
    async move {
        let ended = tokio::select! {
            () = cancel.cancelled() => return Err("the work was cancelled".to_owned()),
            ended = tokio::time::timeout_at(deadline, guarded) => ended,
        };
        match ended {
            Ok(Ok(result)) => result.map_err(|error| error.to_string()),
            Ok(Err(payload)) => Err(Panicked::from_payload(&*payload).to_string()),
            Err(_) => {
                cancel.cancel();
                Err("the work took too long".to_owned())
            }
        }
    }
}

/// Reports when it is dropped, so that a worker that is cut off reports as well.
struct Report<A: Handle<Settled<K, V>>, K: Clone + Send + 'static, V: Send + 'static> {
    actor: ActorRef<A>,
    key: K,
    flight: FlightId,
    result: Option<Result<Option<V>, String>>,
}

impl<A, K, V> Drop for Report<A, K, V>
where
    A: Handle<Settled<K, V>>,
    K: Clone + Send + 'static,
    V: Send + 'static,
{
    fn drop(&mut self) {
        let died = || Err("the worker ended without a report".to_owned());
        let result = self.result.take().unwrap_or_else(died);
        let settled = Settled { key: self.key.clone(), flight: self.flight, result };
        if let Err(error) = self.actor.tell(settled) {
            tracing::debug!(%error, "nobody takes the report of a worker");
        }
    }
}
