//! The card: which capabilities a workspace offers, and where its files lie.

use std::path::PathBuf;

use akgentic_tool_core::{
    BindError, BoundCard, Capability, Channel, Observer, ToolCard, tool_card,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::filesystem::Filesystem;
use crate::location::{BASE_VARIABLE, check_name, workspace_path};
use crate::params::{
    ExpandMediaRefs, WorkspaceDelete, WorkspaceEdit, WorkspaceExec, WorkspaceGlob, WorkspaceGrep,
    WorkspaceList, WorkspaceMkdir, WorkspaceMultiEdit, WorkspacePatch, WorkspaceRead,
    WorkspaceView, WorkspaceWrite,
};
use crate::resource::{Resource, seed};
use crate::root::Root;
use crate::tools;

const NAME: &str = "WorkspaceTool";

/// Files of a team in one folder.
///
/// A capability that this version does not have yet is not offered; the factory reports it with
/// the channels a card cannot serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
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
    /// `workspace_exec`: commands in a sandbox; off unless switched on.
    pub workspace_exec: Capability<WorkspaceExec>,
    /// Files the workspace starts with; all are checked when the card is bound, before the first
    /// is written.
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

    /// The folder this card means, created when it is missing.
    async fn open(&self, observer: &Observer) -> Result<Filesystem, BindError> {
        let path = match (&self.root, self.workspace_id.as_deref()) {
            (Some(root), _) => root.clone(),
            (None, Some(name)) if !name.is_empty() => below_base(name)?,
            (None, _) => below_base(&observer.team_id()?.to_string())?,
        };
        let resources = self.resources.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let root = Root::create(&path).map_err(|error| {
                BindError::card(
                    NAME,
                    format!("the folder {} cannot be used: {error}", path.display()),
                )
            })?;
            let files = Filesystem::new(root);
            seed(&files, &resources).map_err(|error| BindError::card(NAME, error.to_string()))?;
            Ok(files)
        });
        opening.await.map_err(|error| BindError::card(NAME, error.to_string()))?
    }
}

fn below_base(name: &str) -> Result<PathBuf, BindError> {
    let base = std::env::var_os(BASE_VARIABLE);
    workspace_path(base.as_deref(), name).map_err(|error| BindError::card(NAME, error.to_string()))
}

impl ToolCard for WorkspaceTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let files = self.open(observer).await?;
            let mut bound = BoundCard::new();
            if let Some(param) = self.workspace_read.on(Channel::ToolCall) {
                bound.tools.push(tools::read(&files, &param));
            }
            if let Some(param) = self.workspace_list.on(Channel::ToolCall) {
                bound.tools.push(tools::list(&files, &param));
            }
            if let Some(param) = self.workspace_glob.on(Channel::ToolCall) {
                bound.tools.push(tools::glob(&files, &param));
            }
            if let Some(param) = self.workspace_grep.on(Channel::ToolCall) {
                bound.tools.push(tools::grep(&files, &param));
            }
            if self.read_only {
                return Ok(bound);
            }
            if let Some(param) = self.workspace_write.on(Channel::ToolCall) {
                bound.tools.push(tools::write(&files, &param));
            }
            if let Some(param) = self.workspace_delete.on(Channel::ToolCall) {
                bound.tools.push(tools::delete(&files, &param));
            }
            if let Some(param) = self.workspace_edit.on(Channel::ToolCall) {
                bound.tools.push(tools::edit(&files, &param));
            }
            if let Some(param) = self.workspace_multi_edit.on(Channel::ToolCall) {
                bound.tools.push(tools::multi_edit(&files, &param));
            }
            if let Some(param) = self.workspace_patch.on(Channel::ToolCall) {
                bound.tools.push(tools::patch(&files, &param));
            }
            if let Some(param) = self.workspace_mkdir.on(Channel::ToolCall) {
                bound.tools.push(tools::mkdir(&files, &param));
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
