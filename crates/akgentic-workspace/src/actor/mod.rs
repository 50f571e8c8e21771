//! The workspace actor: one per team and workspace, the team's share of the owner of the tree.

mod requests;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::config::BaseConfig;
use akgentic_core::state::StateSlot;
use akgentic_core::{Actor, ActorError, Context, Handle, Tracked, agent_type};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::filesystem::Filesystem;
use crate::journal::{JournalState, ScanLimits};
use crate::location::{BASE_VARIABLE, workspace_path};
use crate::models::{WorkspaceConfig, WorkspaceState};
use crate::root::Root;
use crate::tree::{Tree, TreeOptions};

pub use requests::{NoRun, OwnedTree, StartRun, StartedRun};

use requests::JournalTurned;

/// Every workspace actor's name starts so.
pub const ACTOR_PREFIX: &str = "#Workspace-";

/// Role of every workspace actor.
pub const ACTOR_ROLE: &str = "ToolActor";

/// How long runs may take to end when the actor goes down.
const STOP_MAX: Duration = Duration::from_secs(25);

/// The workspace of a team: holds the owner of its tree and the runs that go on in it.
///
/// Files are changed through the owner, not by asking this actor. Two teams whose workspaces are
/// one tree have two actors and one owner. When the actor stops, its runs end with it.
pub struct WorkspaceActor {
    state: Tracked<WorkspaceState>,
    tree: Result<Arc<Tree>, String>,
    tasks: JoinSet<()>,
    stopping: CancellationToken,
}
agent_type!(WorkspaceActor = "akgentic.tool.workspace.actor.WorkspaceActor");

impl WorkspaceConfig {
    /// The configuration of the actor of the workspace `name`.
    pub fn of(name: &str) -> Self {
        Self::with_base(BaseConfig::new(format!("{ACTOR_PREFIX}{name}"), ACTOR_ROLE), name)
    }

    fn tree_options(&self) -> TreeOptions {
        TreeOptions {
            gate: self.gate_limits(),
            journal: self.git_journal.then(ScanLimits::default),
            trailers: self.git_trailers,
            ..TreeOptions::default()
        }
    }

    /// The folder it means, which is created when it is missing.
    pub(crate) fn open_root(&self) -> Result<Root, String> {
        let path = if let Some(root) = &self.root {
            root.clone()
        } else {
            let base = std::env::var_os(BASE_VARIABLE);
            workspace_path(base.as_deref(), &self.workspace_name)
                .map_err(|error| error.to_string())?
        };
        Root::create(&path)
            .map_err(|error| format!("the folder {} cannot be used: {error}", path.display()))
    }

    /// The owner of these files.
    pub(crate) fn own(&self, files: Filesystem) -> Result<Arc<Tree>, String> {
        Tree::open(files, self.tree_options()).map_err(|error| error.to_string())
    }
}

impl Actor for WorkspaceActor {
    type Config = WorkspaceConfig;

    fn create(_: &WorkspaceConfig) -> Result<Self, ActorError> {
        Ok(Self {
            state: Tracked::new(WorkspaceState::default()),
            tree: Err("the workspace has not started".to_owned()),
            tasks: JoinSet::new(),
            stopping: CancellationToken::new(),
        })
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.observe(&mut self.state);
        let config = ctx.config_as::<WorkspaceConfig>().cloned();
        let config = config.ok_or_else(|| ActorError::new("TypeError", "no configuration"))?;
        let open = move || config.own(Filesystem::new(config.open_root()?));
        let opened = tokio::task::spawn_blocking(open).await;
        self.tree = opened.map_err(|error| error.to_string()).flatten();
        if let Ok(tree) = &self.tree {
            self.watch_journal(Arc::clone(tree), ctx);
        }
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        Some(&mut self.state)
    }

    async fn on_stop(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        self.stopping.cancel();
        let ending = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_MAX, ending).await.is_err() {
            tracing::warn!(actor = %ctx.name(), "a run did not end in time");
            self.tasks.shutdown().await;
        }
        // The journal ends with its owner, and may have something to record.
        let tree = std::mem::replace(&mut self.tree, Err("the workspace has stopped".to_owned()));
        if tokio::task::spawn_blocking(move || drop(tree)).await.is_err() {
            tracing::warn!(actor = %ctx.name(), "the owner of the tree was not given back");
        }
        Ok(())
    }
}

impl WorkspaceActor {
    /// Publishes how the journal stands, now and whenever that changes.
    fn watch_journal(&mut self, tree: Arc<Tree>, ctx: &mut Context) {
        self.publish_journal(&tree.journal().state, ctx);
        let Some(mut states) = tree.journal_states() else { return };
        drop(tree);
        let Ok(actor) = akgentic_core::ActorRef::<Self>::new(&ctx.address()) else { return };
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    changed = states.changed() => if changed.is_err() { return },
                }
                let state = states.borrow_and_update().clone();
                let told = tokio::select! {
                    () = stopping.cancelled() => return,
                    told = actor.ask(JournalTurned(state)) => told,
                };
                if told.is_err() {
                    return;
                }
            }
        });
    }

    fn publish_journal(&mut self, state: &JournalState, ctx: &mut Context) {
        self.state.journal = match state {
            JournalState::Unwanted => None,
            state => Some(state.to_string()),
        };
        ctx.notify_if_changed(&mut self.state);
    }
}

impl std::fmt::Debug for WorkspaceActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkspaceActor").field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl Handle<OwnedTree> for WorkspaceActor {
    type Reply = Result<Arc<Tree>, String>;

    async fn handle(&mut self, _: OwnedTree, _: &mut Context) -> Result<Self::Reply, ActorError> {
        Ok(self.tree.clone())
    }
}

impl Handle<JournalTurned> for WorkspaceActor {
    type Reply = ();

    async fn handle(&mut self, turned: JournalTurned, ctx: &mut Context) -> Result<(), ActorError> {
        self.publish_journal(&turned.0, ctx);
        Ok(())
    }
}
