//! How actors come to life: from a type, from a value, or from a class path.

use std::sync::Arc;

use uuid::Uuid;

use crate::actor::{Actor, ActorType};
use crate::address::{ActorAddress, AddressInfo};
use crate::cell::{ActorCell, Lineage, Memory};
use crate::config::{AnyConfig, BaseConfig, Config};
use crate::error::{ActorError, CallError};
use crate::message::StartMessage;
use crate::runner::Hosted;
use crate::system::{ActorSystem, SystemInner};
use crate::wire::{Dyn, LoadError, WireType, class_name};

/// Why an actor was not created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// No agent class is registered under this path.
    #[error("unknown agent class {0:?}")]
    UnknownClass(String),
    /// The configuration is not the one the class declares.
    #[error("{class} is configured by {wanted}, not by {found}")]
    WrongConfig {
        /// The agent class.
        class: &'static str,
        /// The configuration type it declares.
        wanted: &'static str,
        /// The type that was given.
        found: String,
    },
    /// The configuration does not validate.
    #[error(transparent)]
    Config(#[from] LoadError),
    /// The constructor failed.
    #[error("{class} could not be built: {error}")]
    Constructor {
        /// The agent class.
        class: &'static str,
        /// What the constructor said.
        error: ActorError,
    },
    /// An actor with this identity is running.
    #[error("{0} cannot be created: an actor with its identity is running")]
    Running(String),
    /// The new actor, or the team that should create it, cannot be reached.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The actor was created, but starting it failed.
    #[error("{name} did not start: {error}")]
    Start {
        /// The actor.
        name: String,
        /// What `on_start` said.
        error: ActorError,
    },
}

/// Creates actors of one registered class from any configuration.
#[derive(Clone, Copy)]
pub struct Spawner {
    class: &'static str,
    make: fn(&AnyConfig) -> Result<Newborn, CreateError>,
}

impl Spawner {
    /// The spawner of actor type `A`.
    pub const fn of<A: Actor>() -> Self {
        Self { class: <A as ActorType>::CLASS, make: from_any_config::<A> }
    }

    /// The spawner of the class registered at `path`.
    pub fn of_class(path: &str) -> Result<Self, CreateError> {
        let entry = crate::wire::registry().resolve(path).ok();
        entry
            .and_then(|entry| entry.agent_type()?.spawn)
            .ok_or_else(|| CreateError::UnknownClass(path.to_owned()))
    }

    /// The class path.
    pub fn class(&self) -> &'static str {
        self.class
    }

    pub(crate) fn newborn(self, config: &AnyConfig) -> Result<Newborn, CreateError> {
        (self.make)(config)
    }
}

impl std::fmt::Debug for Spawner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Spawner({})", self.class)
    }
}

fn from_any_config<A: Actor>(config: &AnyConfig) -> Result<Newborn, CreateError> {
    if let Some(config) = config.as_any().downcast_ref::<A::Config>() {
        return Ok(Newborn::of::<A>(config.clone(), A::create));
    }
    // A plain base configuration stands for the defaults of the declared type.
    if config.as_any().is::<BaseConfig>() {
        let fields = serde_json::Value::Object(config.to_fields());
        let config: A::Config = crate::wire::load_record(fields)?;
        return Ok(Newborn::of::<A>(config, A::create));
    }
    Err(CreateError::WrongConfig {
        class: <A as ActorType>::CLASS,
        wanted: A::Config::PATH,
        found: config.type_path().to_owned(),
    })
}

type Build = dyn FnOnce(
        AddressInfo,
        Lineage,
        &Arc<SystemInner>,
    ) -> Result<(Arc<ActorCell>, Box<dyn Hosted>), CreateError>
    + Send;

/// An actor that is about to be created.
pub(crate) struct Newborn {
    pub(crate) base: BaseConfig,
    class: &'static str,
    is_user_proxy: bool,
    agent_id: Option<Uuid>,
    memory: Option<Memory>,
    build: Box<Build>,
}

impl Newborn {
    pub(crate) fn of<A: Actor>(
        config: A::Config,
        make: impl FnOnce(&A::Config) -> Result<A, ActorError> + Send + 'static,
    ) -> Self {
        Self {
            base: config.base().clone(),
            class: <A as ActorType>::CLASS,
            is_user_proxy: A::IS_USER_PROXY,
            agent_id: None,
            memory: None,
            build: Box::new(move |info, lineage, system| {
                let mut config = config;
                *config.base_mut() = BaseConfig {
                    name: info.name.clone(),
                    role: info.role.clone(),
                    squad_id: info.squad_id,
                };
                let actor = make(&config)
                    .map_err(|error| CreateError::Constructor { class: A::CLASS, error })?;
                let config: Arc<dyn Config> = Arc::new(config);
                let cell = Arc::new(ActorCell::new::<A>(info, config, lineage, system));
                Ok((cell, Box::new(actor) as Box<dyn Hosted>))
            }),
        }
    }

    /// The same actor with an identity chosen in advance.
    pub(crate) fn with_agent_id(mut self, agent_id: Option<Uuid>) -> Self {
        self.agent_id = agent_id;
        self
    }

    /// The same actor with what it knew before a restart.
    pub(crate) fn with_memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    pub(crate) fn is_restored(&self) -> bool {
        self.memory.is_some()
    }

    pub(crate) fn spawn(
        self,
        system: &ActorSystem,
        lineage: Lineage,
        team_id: Option<Uuid>,
        squad_id: Option<Uuid>,
    ) -> Result<ActorAddress, CreateError> {
        let agent_id = self.agent_id.unwrap_or_else(Uuid::new_v4);
        let class = class_name(self.class);
        let name = match self.base.name {
            name if name.is_empty() => format!("{class} (urn:uuid:{agent_id})"),
            name => name,
        };
        let role = match self.base.role {
            role if role.is_empty() => class.to_owned(),
            role => role,
        };
        let info = AddressInfo {
            agent_id,
            name,
            role,
            team_id: team_id.unwrap_or_else(Uuid::new_v4),
            squad_id: self.base.squad_id.or(squad_id),
            is_user_proxy: self.is_user_proxy,
            actor_type: self.class.to_owned(),
            extra: serde_json::Map::new(),
        };
        let parent = lineage.parent.clone();
        let restored = self.memory.is_some();
        let (cell, actor) = (self.build)(info, lineage, system.inner())?;
        if restored {
            cell.inbox.lock().hold();
        }
        if !system.inner().register(&cell) {
            return Err(CreateError::Running(cell.info().name.clone()));
        }
        cell.telemetry(StartMessage { config: Dyn(Arc::clone(&cell.config)), parent });
        let address = cell.address();
        system.inner().enter(|| crate::runner::launch(system, &cell, actor, self.memory));
        Ok(address)
    }
}

/// Registers an [`Actor`](crate::actor::Actor) type under its class path.
///
/// ```
/// # use akgentic_core::prelude::*;
/// struct Silent;
/// agent_type!(Silent = "example.Silent", aliases: ["example.old.Silent"]);
/// impl Actor for Silent {
///     type Config = BaseConfig;
///     fn create(_: &BaseConfig) -> Result<Self, ActorError> { Ok(Self) }
/// }
/// ```
#[macro_export]
macro_rules! agent_type {
    ($actor:ty = $class:literal $(, aliases: [$($alias:literal),* $(,)?])? $(,)?) => {
        impl $crate::actor::ActorType for $actor {
            const CLASS: &'static str = $class;
        }
        $crate::wire::private::inventory::submit! {
            $crate::wire::Registration::agent::<$actor>($class, &[$($($alias),*)?]).with_agent(
                <<$actor as $crate::actor::Actor>::Config as $crate::wire::WireType>::PATH,
                ::std::option::Option::Some($crate::spawn::Spawner::of::<$actor>()),
            )
        }
    };
}
