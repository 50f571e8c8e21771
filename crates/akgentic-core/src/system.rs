//! The actor system: where host code creates teams, talks to them and shuts everything down.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Handle as Runtime;
use tokio::time::Instant;
use uuid::Uuid;

use crate::actor::Actor;
use crate::address::ActorAddress;
use crate::cell::{ActorCell, Lineage};
use crate::config::{AnyConfig, BaseConfig};
use crate::dispatch::Handlers;
use crate::error::{ActorError, CallError};
use crate::inbox::DEFAULT_INBOX_CAPACITY;
use crate::message::Message;
use crate::orchestrator::Orchestrator;
use crate::outside::{Outside, Private, Received};
use crate::spawn::{CreateError, Newborn, Spawner};
use crate::typed::ActorRef;
use crate::wire::AnyValue;

/// Limits of an actor system.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SystemOptions {
    /// Entries an inbox holds before it answers `Overloaded`. Default 65 536.
    pub inbox_capacity: usize,
    /// How long a typed ask waits for its answer. Default 60 s.
    pub ask_timeout: Duration,
    /// How long an actor waits for one of its children to stop. Default 30 s.
    pub stop_timeout: Duration,
    /// How many messages an orchestrator keeps; `None`, the default, keeps all.
    pub history_capacity: Option<usize>,
    /// How many values the listener of the system keeps until somebody listens; the oldest is
    /// dropped with a warning when there is no room. Default 65 536.
    pub listener_capacity: usize,
}

impl Default for SystemOptions {
    fn default() -> Self {
        Self {
            inbox_capacity: DEFAULT_INBOX_CAPACITY,
            ask_timeout: Duration::from_mins(1),
            stop_timeout: Duration::from_secs(30),
            history_capacity: None,
            listener_capacity: DEFAULT_INBOX_CAPACITY,
        }
    }
}

/// Whom and what a new actor belongs to, when host code creates it.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Its identity; random when not given.
    pub agent_id: Option<Uuid>,
    /// Its team; random when not given.
    pub team_id: Option<Uuid>,
    /// The person or principal it works for; opaque.
    pub user_id: Option<String>,
    /// The mail address that goes with it.
    pub user_email: Option<String>,
}

/// Counts of running actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemStat {
    /// Running orchestrators.
    pub orchestrator_count: usize,
    /// Everything that runs, the system's listener included.
    pub agent_count: usize,
}

/// Owns the actors of a program; cheap to clone.
///
/// ```
/// # use akgentic_core::prelude::*;
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let system = ActorSystem::new();
/// let team = system.create_team(BaseConfig::new("@Orchestrator", "Orchestrator"), Origin::default())?;
/// assert!(team.get_team().await?.is_empty());
/// system.shutdown(Duration::from_secs(5)).await;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ActorSystem {
    inner: Arc<SystemInner>,
}

pub(crate) struct SystemInner {
    pub(crate) options: SystemOptions,
    runtime: Runtime,
    actors: Mutex<Registered>,
    handlers: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    extensions: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    outside: Mutex<Option<Outside>>,
}

#[derive(Default)]
struct Registered {
    next: u64,
    cells: HashMap<Uuid, (u64, Arc<ActorCell>)>,
}

impl ActorSystem {
    /// A system with default limits, on the current runtime.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn new() -> Self {
        Self::with_options(SystemOptions::default())
    }

    /// A system with these limits, on the current runtime.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn with_options(options: SystemOptions) -> Self {
        let system = Self {
            inner: Arc::new(SystemInner {
                options,
                runtime: Runtime::current(),
                actors: Mutex::default(),
                handlers: Mutex::default(),
                extensions: Mutex::default(),
                outside: Mutex::default(),
            }),
        };
        match Outside::new(&system) {
            Ok(outside) => *lock(&system.inner.outside) = Some(outside),
            Err(error) => tracing::error!(%error, "the system's listener was not created"),
        }
        system
    }

    pub(crate) fn of(cell: &ActorCell) -> Self {
        match cell.system.upgrade() {
            Some(inner) => Self { inner },
            None => unreachable!("a running actor is owned by its system"),
        }
    }

    pub(crate) fn inner(&self) -> &Arc<SystemInner> {
        &self.inner
    }

    /// The limits it was built with.
    pub fn options(&self) -> &SystemOptions {
        &self.inner.options
    }

    /// Makes a capability available to every actor of the system, such as access to a model.
    ///
    /// Capabilities are never serialised; a value of the same type replaces the earlier one.
    pub fn provide<T: Any + Send + Sync>(&self, capability: T) {
        lock(&self.inner.extensions).insert(TypeId::of::<T>(), Arc::new(capability));
    }

    /// A capability that was [provided](ActorSystem::provide).
    pub fn capability<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let found = lock(&self.inner.extensions).get(&TypeId::of::<T>()).cloned()?;
        found.downcast().ok()
    }

    pub(crate) fn handlers_of<A: Actor>(&self, id: TypeId) -> Arc<Handlers<A>> {
        let known = lock(&self.inner.handlers).get(&id).cloned();
        if let Some(Ok(handlers)) = known.map(Arc::downcast) {
            return handlers;
        }
        let handlers = Arc::new(Handlers::<A>::of());
        lock(&self.inner.handlers).insert(id, Arc::clone(&handlers) as Arc<dyn Any + Send + Sync>);
        handlers
    }

    /// Creates an orchestrator, the root of a team.
    pub fn create_team(
        &self,
        config: BaseConfig,
        origin: Origin,
    ) -> Result<ActorRef<Orchestrator>, CreateError> {
        self.create_actor(config, origin)
    }

    /// Creates an actor without parent and without orchestrator.
    pub fn create_actor<A: Actor>(
        &self,
        config: A::Config,
        origin: Origin,
    ) -> Result<ActorRef<A>, CreateError> {
        self.create_actor_with(config, origin, A::create)
    }

    /// The same from a value made by `make`, for actors that hold more than data.
    pub fn create_actor_with<A: Actor>(
        &self,
        config: A::Config,
        origin: Origin,
        make: impl FnOnce(&A::Config) -> Result<A, ActorError> + Send + 'static,
    ) -> Result<ActorRef<A>, CreateError> {
        let address = self.spawn_root(Newborn::of::<A>(config, make), origin)?;
        Ok(ActorRef::new(&address)?)
    }

    /// Creates an actor of the registered class at `class`.
    pub fn create_actor_of(
        &self,
        class: &str,
        config: &AnyConfig,
        origin: Origin,
    ) -> Result<ActorAddress, CreateError> {
        self.spawn_root(Spawner::of_class(class)?.newborn(config)?, origin)
    }

    pub(crate) fn spawn_root(
        &self,
        newborn: Newborn,
        origin: Origin,
    ) -> Result<ActorAddress, CreateError> {
        let lineage = Lineage {
            user_id: origin.user_id,
            user_email: origin.user_email,
            parent: None,
            orchestrator: None,
            restoring: newborn.is_restored(),
        };
        let squad = Some(Uuid::new_v4());
        newborn.with_agent_id(origin.agent_id).spawn(self, lineage, origin.team_id, squad)
    }

    /// Delivers a message from outside of every team; its sender is the system's listener.
    pub fn tell(
        &self,
        recipient: &ActorAddress,
        message: impl Into<Message>,
    ) -> Result<(), CallError> {
        match self.outside() {
            Some(outside) => outside.tell(recipient, message),
            None => recipient.tell(message),
        }
    }

    /// The same as [`ActorSystem::tell`], and waits for what the handler answers.
    pub async fn ask(
        &self,
        recipient: &ActorAddress,
        message: impl Into<Message>,
        timeout: Duration,
    ) -> Result<AnyValue, CallError> {
        match self.outside() {
            Some(outside) => outside.ask(recipient, message, timeout).await,
            None => recipient.ask(message, timeout).await,
        }
    }

    /// The address that answers to the system come to; none once the system was shut down.
    pub fn listener(&self) -> Option<ActorAddress> {
        self.outside().map(|outside| outside.address().clone())
    }

    /// An address of its own for one piece of host code; gone when the value is dropped.
    pub fn private(&self) -> Result<Private, CreateError> {
        Ok(Private(Outside::new(self)?))
    }

    fn outside(&self) -> Option<Outside> {
        lock(&self.inner.outside).clone()
    }

    /// The next value or message the listener received.
    ///
    /// Cancel-safe: a dropped or timed-out call takes nothing.
    pub async fn listen(&self, timeout: Duration) -> Result<Received, CallError> {
        match self.outside() {
            Some(outside) => outside.listen(timeout).await,
            None => Err(CallError::Dead("@ActorSystem".to_owned())),
        }
    }

    /// The live address of a running actor.
    pub fn get_actor(&self, agent_id: Uuid) -> Option<ActorAddress> {
        lock(&self.inner.actors).cells.get(&agent_id).map(|(_, cell)| cell.address())
    }

    /// Running orchestrators, in creation order.
    pub fn orchestrators(&self) -> Vec<ActorRef<Orchestrator>> {
        let cells = self.inner.in_order();
        cells.iter().filter_map(|cell| ActorRef::new(&cell.address()).ok()).collect()
    }

    /// Counts of what runs.
    pub fn stat(&self) -> SystemStat {
        let actors = lock(&self.inner.actors);
        let orchestrators =
            actors.cells.values().filter(|(_, cell)| cell.is_orchestrator()).count();
        SystemStat { orchestrator_count: orchestrators, agent_count: actors.cells.len() }
    }

    /// Stops every team in order, then whatever else runs, last started first.
    ///
    /// The whole takes about `timeout` at the most; the names of actors that did not stop in time
    /// are returned.
    pub async fn shutdown(&self, timeout: Duration) -> Vec<String> {
        let end = Instant::now() + timeout;
        let outside = lock(&self.inner.outside).take();
        if let Some(outside) = outside {
            outside.address().request_stop();
        }
        let orchestrators = self.orchestrators();
        let teams = join_all(orchestrators.iter().map(|team| team.stop(timeout)));
        let late_teams = match tokio::time::timeout_at(end, teams).await {
            Ok(stopped) => stopped.iter().filter(|stopped| stopped.is_err()).count(),
            Err(_) => orchestrators.len(),
        };
        let mut left: Vec<_> = self.inner.in_order();
        left.reverse();
        for cell in &left {
            let time = end.saturating_duration_since(Instant::now());
            // Whoever is still there afterwards is told again with the others below.
            let _stopped = cell.address().stop(time).await.is_ok();
        }
        let last = LAST_CHANCE;
        let late = join_all(left.iter().map(|cell| async move {
            match cell.address().stop(last).await {
                Ok(_) => None,
                Err(_) => Some(cell.info().name.clone()),
            }
        }));
        let abandoned: Vec<String> = late.await.into_iter().flatten().collect();
        if late_teams > 0 || !abandoned.is_empty() {
            tracing::warn!(teams = late_teams, actors = ?abandoned, "some did not stop in time");
        }
        abandoned
    }
}

impl Default for ActorSystem {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for ActorSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ActorSystem").field(&self.stat()).finish()
    }
}

impl SystemInner {
    /// Makes the actor known; `false` when one with its identity is running.
    pub(crate) fn register(&self, cell: &Arc<ActorCell>) -> bool {
        let mut actors = lock(&self.actors);
        let number = actors.next;
        match actors.cells.entry(cell.info().agent_id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert((number, Arc::clone(cell)));
                actors.next += 1;
                true
            }
        }
    }

    pub(crate) fn unregister(&self, agent_id: Uuid) {
        lock(&self.actors).cells.remove(&agent_id);
    }

    pub(crate) fn enter<R>(&self, run: impl FnOnce() -> R) -> R {
        let _inside = self.runtime.enter();
        run()
    }

    fn in_order(&self) -> Vec<Arc<ActorCell>> {
        let mut cells: Vec<_> = lock(&self.actors).cells.values().cloned().collect();
        cells.sort_by_key(|(number, _)| *number);
        cells.into_iter().map(|(_, cell)| cell).collect()
    }
}

/// What actors get beyond the end of a shutdown, all at once.
const LAST_CHANCE: Duration = Duration::from_millis(50);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
