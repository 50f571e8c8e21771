//! The sandbox of a workspace, for those who run commands in it.

use std::time::Duration;

use akgentic_core::orchestrator::Orchestrator;
use akgentic_core::{ActorError, ActorRef, CallError, CreateError};

use crate::actor::SandboxActor;
use crate::error::{BackendError, RunError};
use crate::records::SandboxConfig;
use crate::registry::{Registry, ResolveError};
use crate::requests::{Describe, Ready, Running, Sandboxed, StartRun, StartedRun, StopRun};
use crate::run::{Outcome, Run};

/// How long a run may wait to be started: for a backend that is tried again.
const START_WAIT: Duration = Duration::from_mins(1);

/// A handle to the sandbox actor of a workspace; cheap to clone, does not keep it alive.
#[derive(Clone, Debug)]
pub struct Sandbox {
    actor: ActorRef<SandboxActor>,
}

/// Why a workspace gets no sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The mode stands for no backend.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The workspace has a sandbox of another mode already.
    #[error(
        "{name} runs in mode {running:?} and was asked for in mode {wanted:?}; give every card of this workspace the same mode"
    )]
    ModeMismatch {
        /// The actor.
        name: String,
        /// Its mode.
        running: String,
        /// The mode of the card.
        wanted: String,
    },
    /// The actor could not be created.
    #[error("the sandbox actor could not be created: {0}")]
    Create(#[from] CreateError),
    /// The actor did not answer.
    #[error("the sandbox actor did not answer: {0}")]
    Call(#[from] CallError),
}

impl Sandbox {
    /// The sandbox of a workspace, created if there is none; concurrent callers get one.
    ///
    /// The mode of `config` is resolved first, if it is `auto`.
    pub async fn of_team(
        team: &ActorRef<Orchestrator>,
        config: SandboxConfig,
    ) -> Result<Self, SandboxError> {
        Self::of_team_with(team, config, Registry::global(), None).await
    }

    /// The same with backends of `registry`; `allow_unisolated` stands in for the environment's say.
    pub async fn of_team_with(
        team: &ActorRef<Orchestrator>,
        mut config: SandboxConfig,
        registry: &Registry,
        allow_unisolated: Option<bool>,
    ) -> Result<Self, SandboxError> {
        let allow = allow_unisolated.unwrap_or_else(crate::unisolated_allowed_by_env);
        config.mode = registry.resolve(&config.mode, allow).await?.mode;
        let wanted = config.mode.clone();
        let registry = registry.clone();
        let make =
            move |_: &SandboxConfig| Ok::<_, ActorError>(SandboxActor::with_registry(registry));
        let actor = team.get_children_or_create_with::<SandboxActor>(config, make).await?;
        let running = actor.ask_within(Describe, START_WAIT).await?;
        if running.mode != wanted {
            return Err(SandboxError::ModeMismatch {
                name: actor.address().name().to_owned(),
                running: running.mode,
                wanted,
            });
        }
        Ok(Self { actor })
    }

    /// The sandbox behind an actor.
    pub fn new(actor: ActorRef<SandboxActor>) -> Self {
        Self { actor }
    }

    /// The actor.
    pub fn actor(&self) -> &ActorRef<SandboxActor> {
        &self.actor
    }

    /// Waits until the backend has started, at most this long.
    pub async fn ready(&self, within: Duration) -> Result<Sandboxed, RunError> {
        let what = || "the start of the sandbox".to_owned();
        match self.actor.ask_within(Ready, within).await {
            Ok(answer) => answer.map_err(|source| RunError::Start { source }),
            Err(CallError::Timeout(after)) => {
                Err(RunError::Start { source: BackendError::TimedOut { what: what(), after } })
            }
            Err(error) => Err(RunError::Call(error)),
        }
    }

    /// Starts a command.
    pub async fn start(&self, run: Run) -> Result<StartedRun, RunError> {
        self.actor.ask_within(StartRun(run), START_WAIT).await.map_err(RunError::Call)?
    }

    /// Runs a command to its end. Dropping the future ends the command.
    pub async fn run(&self, run: Run) -> Result<Outcome, RunError> {
        self.start(run).await?.outcome().await
    }

    /// Ends the run with this id; whether there was one.
    pub async fn stop_run(&self, id: &str) -> Result<bool, RunError> {
        self.actor.ask(StopRun(id.to_owned())).await.map_err(RunError::Call)
    }

    /// The id of the run that goes on.
    pub async fn running(&self) -> Result<Option<String>, RunError> {
        self.actor.ask(Running).await.map_err(RunError::Call)
    }
}
