//! The sandbox actor: one per workspace, one run at a time.

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::state::StateSlot;
use akgentic_core::{Actor, ActorError, ActorRef, Context, Handle, Tracked, agent_type};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backend::{Place, Session};
use crate::error::{BackendError, RunError};
use crate::place::{WORKSPACES_ROOT, workspace_dir};
use crate::records::{SandboxConfig, SandboxState};
use crate::registry::{Registry, unisolated_allowed_by_env};
use crate::requests::{Describe, Ready, Running, Sandboxed, StartRun, StartedRun, StopRun};
use crate::run::{Outcome, Run};

/// A backend that did not start is tried again after this.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// How long a backend may take to start; images may have to be built.
const START_MAX: Duration = Duration::from_mins(20);

/// How long a run may take to end, and a backend to stop, when the actor goes down.
const STOP_MAX: Duration = Duration::from_secs(20);

/// Runs commands in one workspace through the backend its configuration names.
///
/// It is used through [`Sandbox`](crate::Sandbox). A backend that does not start leaves the actor
/// alive: the reason is the answer to every request until a later try succeeds.
pub struct SandboxActor {
    registry: Registry,
    state: Tracked<SandboxState>,
    backing: Backing,
    running: Option<RunningRun>,
    tasks: JoinSet<()>,
}
agent_type!(SandboxActor = "akgentic.tool.sandbox.actor.SandboxActor");

enum Backing {
    Fresh,
    Ready(Arc<dyn Session>),
    Failed { error: BackendError, at: Instant },
}

struct RunningRun {
    id: String,
    cancel: CancellationToken,
}

/// Request of a run's own task: it is over.
#[derive(Debug)]
struct RunEnded(String);

impl SandboxActor {
    /// An actor that finds its backend in `registry`.
    pub fn with_registry(registry: Registry) -> Self {
        Self {
            registry,
            state: Tracked::new(SandboxState::default()),
            backing: Backing::Fresh,
            running: None,
            tasks: JoinSet::new(),
        }
    }

    /// The session, started if that has not been tried lately.
    async fn session(&mut self, ctx: &mut Context) -> Result<Arc<dyn Session>, BackendError> {
        let due = match &self.backing {
            Backing::Ready(session) => return Ok(Arc::clone(session)),
            Backing::Fresh => true,
            Backing::Failed { at, .. } => at.elapsed() >= RETRY_AFTER,
        };
        if due {
            let started = self.start(ctx).await;
            self.backing = match started {
                Ok(session) => Backing::Ready(session),
                Err(error) => {
                    tracing::warn!(actor = %ctx.name(), %error, "the sandbox did not start");
                    Backing::Failed { error, at: Instant::now() }
                }
            };
            if let Backing::Ready(session) = &self.backing {
                self.state.workspace_path = session.workspace_path().map(Into::into);
                self.state.container_name = session.container_name().map(str::to_owned);
            }
            ctx.notify_if_changed(&mut self.state);
        }
        match &self.backing {
            Backing::Ready(session) => Ok(Arc::clone(session)),
            Backing::Failed { error, .. } => Err(error.clone()),
            Backing::Fresh => Err(BackendError::System("the sandbox was not started".to_owned())),
        }
    }

    async fn start(&self, ctx: &Context) -> Result<Arc<dyn Session>, BackendError> {
        let config = ctx.config_as::<SandboxConfig>();
        let config = config.ok_or_else(|| BackendError::System("no configuration".to_owned()))?;
        let place = place(config)?;
        let resolved = self.registry.resolve(&config.mode, unisolated_allowed_by_env()).await;
        let mode = resolved.map_err(crate::ResolveError::into_backend_error)?.mode;
        let Some(backend) = self.registry.get(&mode) else {
            return Err(BackendError::Unsupported(format!("there is no sandbox backend {mode:?}")));
        };
        let stopped = || BackendError::System("the sandbox stopped while it started".to_owned());
        tokio::select! {
            started = tokio::time::timeout(START_MAX, backend.start(place)) => {
                let what = format!("the start of {mode}");
                started.map_err(|_| BackendError::TimedOut { what, after: START_MAX })?
            }
            () = ctx.cancellation().cancelled() => Err(stopped()),
        }
    }

    fn started(
        &mut self,
        session: Arc<dyn Session>,
        mut run: Run,
        ctx: &mut Context,
    ) -> Result<StartedRun, RunError> {
        while self.tasks.try_join_next().is_some() {}
        if let Some(running) = &self.running {
            return Err(RunError::Busy(running.id.clone()));
        }
        let actor = ActorRef::<Self>::new(&ctx.address()).map_err(RunError::Call)?;
        let id = short_id();
        let cancel = run.cancel.child_token();
        run.cancel = cancel.clone();
        let (sender, outcome) = oneshot::channel();
        self.running = Some(RunningRun { id: id.clone(), cancel: cancel.clone() });
        self.state.running = Some(id.clone());
        ctx.notify_if_changed(&mut self.state);
        let ended = id.clone();
        self.tasks.spawn(async move {
            let result: Result<Outcome, RunError> = session.run(run).await;
            // The actor may be going down; it does not wait for this then.
            let _free_again = actor.ask(RunEnded(ended)).await.is_ok();
            // The caller may have given up.
            drop(sender.send(result));
        });
        Ok(StartedRun::new(id, outcome, cancel))
    }
}

/// The first digits of a random id, as they are shown to agents.
fn short_id() -> String {
    let id = Uuid::new_v4().simple().to_string();
    id.chars().take(8).collect()
}

fn place(config: &SandboxConfig) -> Result<Place, BackendError> {
    let failed =
        |reason: String| BackendError::Workspace { path: config.workspace().to_owned(), reason };
    let directory = if let Some(root) = &config.root {
        root.clone()
    } else {
        let base = std::env::var_os(WORKSPACES_ROOT);
        let current = std::env::current_dir().map_err(|error| failed(error.to_string()))?;
        let found = workspace_dir(base.as_deref(), config.workspace(), &current);
        found.map_err(|error| failed(error.to_string()))?
    };
    Ok(Place {
        team_id: config.team_id.clone(),
        workspace_id: config.workspace_id.clone(),
        directory,
    })
}

impl Actor for SandboxActor {
    type Config = SandboxConfig;

    fn create(_: &SandboxConfig) -> Result<Self, ActorError> {
        Ok(Self::with_registry(Registry::global().clone()))
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.observe(&mut self.state);
        // The reason is kept and told to whoever asks.
        let _kept = self.session(ctx).await.is_ok();
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        Some(&mut self.state)
    }

    async fn on_stop(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        if let Some(running) = self.running.take() {
            running.cancel.cancel();
        }
        let ending = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_MAX, ending).await.is_err() {
            tracing::warn!(actor = %ctx.name(), "a run did not end in time");
            self.tasks.shutdown().await;
        }
        if let Backing::Ready(session) = std::mem::replace(&mut self.backing, Backing::Fresh) {
            match tokio::time::timeout(STOP_MAX, session.stop()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(actor = %ctx.name(), %error, "the backend did not stop cleanly");
                }
                Err(_) => tracing::warn!(actor = %ctx.name(), "the backend did not stop in time"),
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for SandboxActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxActor").field("state", &*self.state).finish_non_exhaustive()
    }
}

impl Handle<Ready> for SandboxActor {
    type Reply = Result<Sandboxed, BackendError>;

    async fn handle(&mut self, _: Ready, ctx: &mut Context) -> Result<Self::Reply, ActorError> {
        let mode = ctx.config_as::<SandboxConfig>().map(|config| config.mode.clone());
        Ok(self.session(ctx).await.map(|session| Sandboxed {
            mode: mode.unwrap_or_default(),
            workspace_path: session.workspace_path().map(Into::into),
            container_name: session.container_name().map(str::to_owned),
            inside: session.inside().map(str::to_owned),
            enforcement: session.enforcement(),
        }))
    }
}

impl Handle<StartRun> for SandboxActor {
    type Reply = Result<StartedRun, RunError>;

    async fn handle(
        &mut self,
        request: StartRun,
        ctx: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        if let Err(error) = request.0.check() {
            return Ok(Err(error));
        }
        match self.session(ctx).await {
            Ok(session) => Ok(self.started(session, request.0, ctx)),
            Err(source) => Ok(Err(RunError::Start { source })),
        }
    }
}

impl Handle<StopRun> for SandboxActor {
    type Reply = bool;

    async fn handle(&mut self, request: StopRun, _: &mut Context) -> Result<bool, ActorError> {
        let running = self.running.as_ref().filter(|running| running.id == request.0);
        if let Some(running) = running {
            running.cancel.cancel();
        }
        Ok(running.is_some())
    }
}

impl Handle<Running> for SandboxActor {
    type Reply = Option<String>;

    async fn handle(&mut self, _: Running, _: &mut Context) -> Result<Self::Reply, ActorError> {
        Ok(self.running.as_ref().map(|running| running.id.clone()))
    }
}

impl Handle<Describe> for SandboxActor {
    type Reply = SandboxConfig;

    async fn handle(
        &mut self,
        _: Describe,
        ctx: &mut Context,
    ) -> Result<SandboxConfig, ActorError> {
        let config = ctx.config_as::<SandboxConfig>().cloned();
        config.ok_or_else(|| ActorError::new("TypeError", "no sandbox configuration"))
    }
}

impl Handle<RunEnded> for SandboxActor {
    type Reply = ();

    async fn handle(&mut self, ended: RunEnded, ctx: &mut Context) -> Result<(), ActorError> {
        self.running.take_if(|running| running.id == ended.0);
        self.state.running = None;
        ctx.notify_if_changed(&mut self.state);
        Ok(())
    }
}
