//! The card: which capabilities a workspace offers, and where its files lie.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use akgentic_core::ActorRef;
use akgentic_sandbox::{Sandbox, SandboxConfig, check_workspace_name};
use akgentic_tool_core::{
    BindError, BoundCard, Capability, Channel, Observer, ObserverError, ToolCard, tool_card,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::actor::{OwnedTree, WorkspaceActor};
use crate::cache::ContentCache;
use crate::filesystem::Filesystem;
use crate::location::{check_name, check_unreserved};
use crate::models::WorkspaceConfig;
use crate::params::{
    ExpandMediaRefs, WorkspaceDelete, WorkspaceEdit, WorkspaceExec, WorkspaceGlob, WorkspaceGrep,
    WorkspaceList, WorkspaceMkdir, WorkspaceMultiEdit, WorkspacePatch, WorkspaceRead,
    WorkspaceView, WorkspaceWrite,
};
use crate::resource::{Resource, seed};
use crate::tools::{self, Documents, Hand, RunPlace, Runner, Viewer, expand_media_refs};

const NAME: &str = "WorkspaceTool";

/// The id that the tools of a card have at the gate when no agent is there.
pub const UNATTACHED: &str = "unattached";

/// Files of a team in one folder.
///
/// A capability that this version does not have yet is not offered; the factory reports it with
/// the channels a card cannot serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the stored card")]
pub struct WorkspaceTool {
    /// Name of the workspace below the base directory; the team's id unless said otherwise.
    #[serde(deserialize_with = "workspace_id")]
    pub workspace_id: Option<String>,
    /// `workspace_read`: text files by line.
    pub workspace_read: Capability<WorkspaceRead>,
    /// `workspace_view`: images.
    pub workspace_view: Capability<WorkspaceView>,
    /// `workspace_list`: directories and trees.
    pub workspace_list: Capability<WorkspaceList>,
    /// `workspace_glob`: files by name.
    pub workspace_glob: Capability<WorkspaceGlob>,
    /// `workspace_grep`: files by content.
    pub workspace_grep: Capability<WorkspaceGrep>,
    /// `_expand_media_refs`: images a prompt refers to.
    pub expand_media_refs: Capability<ExpandMediaRefs>,
    /// Whether nothing that changes files is offered.
    pub read_only: bool,
    /// `workspace_write`: whole files.
    pub workspace_write: Capability<WorkspaceWrite>,
    /// `workspace_delete`
    pub workspace_delete: Capability<WorkspaceDelete>,
    /// `workspace_edit`: find and replace.
    pub workspace_edit: Capability<WorkspaceEdit>,
    /// `workspace_multi_edit`: several edits or none.
    pub workspace_multi_edit: Capability<WorkspaceMultiEdit>,
    /// `workspace_patch`: unified diffs.
    pub workspace_patch: Capability<WorkspacePatch>,
    /// `workspace_mkdir`
    pub workspace_mkdir: Capability<WorkspaceMkdir>,
    /// Whether changes are recorded with git.
    pub git_journal: bool,
    /// Whether commits of the journal name agent and run by their ids; written only when set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub git_trailers: bool,
    /// Whether an agent that has read all pages of a file counts as having read the whole of it;
    /// written only when set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub join_pages: bool,
    /// `workspace_exec`: commands in a sandbox; off unless switched on.
    pub workspace_exec: Capability<WorkspaceExec>,
    /// Files the workspace starts with; their names are checked when the card loads, all of them
    /// when it is bound, before the first is written.
    #[serde(deserialize_with = "resources")]
    pub resources: Vec<Resource>,
    /// The folder itself, in place of a name below the base directory; written only when set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

tool_card!(WorkspaceTool = "akgentic.tool.workspace.tool.WorkspaceTool",
aliases: ["akgentic.tool.workspace.WorkspaceTool"],
capabilities: [
    workspace_read, workspace_view, workspace_list, workspace_glob, workspace_grep,
    expand_media_refs, workspace_write, workspace_delete, workspace_edit, workspace_multi_edit,
    workspace_patch, workspace_mkdir, workspace_exec,
]);

impl Default for WorkspaceTool {
    /// Asks for every tool but `workspace_exec`, in a workspace named after the team. What this
    /// version does not have is told by the warnings of the bound tools.
    fn default() -> Self {
        Self {
            workspace_id: None,
            workspace_read: Capability::On,
            workspace_view: Capability::On,
            workspace_list: Capability::On,
            workspace_glob: Capability::On,
            workspace_grep: Capability::On,
            expand_media_refs: Capability::On,
            read_only: false,
            workspace_write: Capability::On,
            workspace_delete: Capability::On,
            workspace_edit: Capability::On,
            workspace_multi_edit: Capability::On,
            workspace_patch: Capability::On,
            workspace_mkdir: Capability::On,
            git_journal: false,
            git_trailers: false,
            join_pages: false,
            workspace_exec: Capability::Off,
            resources: Vec::new(),
            root: None,
        }
    }
}

impl WorkspaceTool {
    /// Like the default card, in the folder at `path`, which is created when it is missing.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { root: Some(path.into()), ..Self::default() }
    }

    /// Name of the workspace: a card with a folder of its own and no name goes by the folder.
    pub(crate) fn workspace_name(&self, observer: &Observer) -> Result<String, BindError> {
        match (self.workspace_id.as_deref().filter(|name| !name.is_empty()), &self.root) {
            (Some(name), _) => Ok(name.to_owned()),
            (None, Some(root)) => Ok(root.display().to_string()),
            (None, None) => Ok(observer.team_id()?.to_string()),
        }
    }

    fn config(&self, observer: &Observer) -> Result<WorkspaceConfig, BindError> {
        let name = self.workspace_name(observer)?;
        if self.root.is_none() {
            // Some names mean something to a sandbox, some stand for what is kept beside a workspace.
            check_workspace_name(&name).map_err(said)?;
            check_unreserved(&name).map_err(said)?;
        }
        let mut config = WorkspaceConfig::of(&name);
        config.root.clone_from(&self.root);
        config.git_journal = self.git_journal;
        config.git_trailers = self.git_trailers;
        config.join_pages = self.join_pages;
        Ok(config)
    }

    /// The agent at work in the folder this card means, which is created when it is missing.
    pub(crate) async fn open(&self, observer: &Observer) -> Result<Wired, BindError> {
        let config = self.config(observer)?;
        let resources = self.resources.clone();
        let opening = {
            let config = config.clone();
            tokio::task::spawn_blocking(move || {
                // What the workspace starts with is there before anybody owns the tree.
                let files = Filesystem::new(config.open_root().map_err(said)?);
                seed(&files, &resources).map_err(said)?;
                Ok::<_, BindError>(files)
            })
        };
        let files = opening.await.map_err(said)??;
        if observer.orchestrator().is_err() {
            let tree = tokio::task::spawn_blocking(move || config.own(files)).await;
            let tree = tree.map_err(said)?.map_err(said)?;
            let hand = Hand { tree, agent: UNATTACHED.into() };
            return Ok(Wired { hand, workspace: None });
        }
        let workspace = observer.team_actor::<WorkspaceActor>(config).await.map_err(said)?;
        let tree = workspace.ask_within(OwnedTree, OPEN_WAIT).await.map_err(said)?.map_err(said)?;
        if !tree.files().root().is_same(files.root()) {
            let name = workspace.address().name();
            return Err(said(format!(
                "{name} keeps the folder {}, and this card means {}: give the two different names",
                tree.files().root().path().display(),
                files.root().path().display()
            )));
        }
        let address = observer.address()?;
        let agent = address.agent_id().to_string();
        tree.register(&agent, address.name());
        Ok(Wired { hand: Hand { tree, agent: agent.into() }, workspace: Some(workspace) })
    }

    /// What commands run in; nothing for a card without a team.
    async fn run_place(
        &self,
        param: &WorkspaceExec,
        wired: &Wired,
        observer: &Observer,
    ) -> Result<Result<RunPlace, ObserverError>, BindError> {
        let Some(workspace) = &wired.workspace else { return Ok(Err(ObserverError::Gone)) };
        run_place(&param.mode, &self.workspace_name(observer)?, workspace, &wired.hand, observer)
            .await
            .map(Ok)
    }
}

/// How long the start of a workspace may take: its tree is swept, its journal begun.
const OPEN_WAIT: Duration = Duration::from_mins(2);

/// A card at the workspace it means.
pub(crate) struct Wired {
    pub hand: Hand,
    /// The actor of the workspace; nothing without a team.
    pub workspace: Option<ActorRef<WorkspaceActor>>,
}

/// The sandbox of a workspace, whose mode is resolved when that is needed.
pub(crate) async fn run_place(
    mode: &str,
    name: &str,
    workspace: &ActorRef<WorkspaceActor>,
    hand: &Hand,
    observer: &Observer,
) -> Result<RunPlace, BindError> {
    let team_id = observer.team_id()?.to_string();
    let named = (name != team_id).then_some(name);
    let config = SandboxConfig::of(mode, &team_id, named).at(hand.tree.files().root().path());
    let sandbox = Sandbox::of_team(&observer.team()?, config).await.map_err(said)?;
    Ok(RunPlace { workspace: workspace.clone(), sandbox })
}

/// The failure of this card, in the words of the part it comes from.
fn said(error: impl Display) -> BindError {
    BindError::card(NAME, error.to_string())
}

impl ToolCard for WorkspaceTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let wired = self.open(observer).await?;
            let hand = &wired.hand;
            let mut bound = BoundCard::new();
            let files = hand.tree.files();
            let cache = ContentCache::beside(files.root());
            if let Some(param) = self.workspace_read.on(Channel::ToolCall) {
                let reader = param.document_reader.reader();
                let documents =
                    reader.map(|reader| Documents::new(files, &cache, observer, &reader));
                bound.tools.push(tools::read(hand, documents, &param));
            }
            if let Some(param) = self.workspace_list.on(Channel::ToolCall) {
                bound.tools.push(tools::list(hand, &param));
            }
            if let Some(param) = self.workspace_glob.on(Channel::ToolCall) {
                bound.tools.push(tools::glob(hand, &param));
            }
            if let Some(param) = self.workspace_grep.on(Channel::ToolCall) {
                bound.tools.push(tools::grep(hand, &param));
            }
            let viewer = Viewer::new(files, &cache);
            if let Some(param) = self.workspace_view.on(Channel::ToolCall) {
                bound.tools.push(tools::view(&viewer, &param));
            }
            if let Some(param) = self.expand_media_refs.on(Channel::Command) {
                let view = self.workspace_view.on(Channel::ToolCall).unwrap_or_default();
                bound.commands.push(expand_media_refs(&viewer, &view, &param));
            }
            if self.read_only {
                return Ok(bound);
            }
            if let Some(param) = self.workspace_write.on(Channel::ToolCall) {
                bound.tools.push(tools::write(hand, &param));
            }
            if let Some(param) = self.workspace_delete.on(Channel::ToolCall) {
                bound.tools.push(tools::delete(hand, &param));
            }
            if let Some(param) = self.workspace_edit.on(Channel::ToolCall) {
                bound.tools.push(tools::edit(hand, &param));
            }
            if let Some(param) = self.workspace_multi_edit.on(Channel::ToolCall) {
                bound.tools.push(tools::multi_edit(hand, &param));
            }
            if let Some(param) = self.workspace_patch.on(Channel::ToolCall) {
                bound.tools.push(tools::patch(hand, &param));
            }
            if let Some(param) = self.workspace_mkdir.on(Channel::ToolCall) {
                bound.tools.push(tools::mkdir(hand, &param));
            }
            if let Some(param) = self.workspace_exec.on(Channel::ToolCall) {
                let place = self.run_place(&param, &wired, observer).await?;
                bound.tools.extend(tools::exec(&Runner::new(hand, place, &param), &param));
            }
            Ok(bound)
        })
    }
}

/// Reads a workspace name and refuses one that would place the root elsewhere.
fn workspace_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    match name.as_deref() {
        None | Some("") => {}
        Some(name) => check_name(name).map_err(serde::de::Error::custom)?,
    }
    Ok(name)
}

/// Reads resources and refuses names that are no paths below the workspace.
fn resources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Resource>, D::Error> {
    let resources = Vec::<Resource>::deserialize(deserializer)?;
    for resource in &resources {
        resource.check_name().map_err(serde::de::Error::custom)?;
    }
    Ok(resources)
}
