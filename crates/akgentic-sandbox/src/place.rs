//! What a workspace is called, where it lies, and what its sandbox is called.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Environment variable that names the base directory of workspaces.
pub const WORKSPACES_ROOT: &str = "AKGENTIC_WORKSPACES_ROOT";

/// Every sandbox actor's name starts so.
pub const ACTOR_PREFIX: &str = "#SandboxActor-";

/// Role of every sandbox actor.
pub const ACTOR_ROLE: &str = "ToolActor";

const DEFAULT_BASE: &str = "workspaces";

/// A workspace name that would lead elsewhere or collide with something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// It is absolute, or has an empty, `.` or `..` component.
    #[error(
        "{0:?} is no workspace name: use ordinary path components, such as `team` or `team/shared`"
    )]
    NotOrdinary(String),
    /// It holds a control character or a colon.
    #[error("{0:?} is no workspace name: it holds {1:?}")]
    Character(String, char),
    /// It ends like the repository of a journal.
    #[error("{0:?} is no workspace name: a name that ends in `.git` belongs to a journal")]
    Journal(String),
}

/// Accepts names that stay below the base directory.
///
/// ```
/// use akgentic_sandbox::check_workspace_name;
///
/// assert!(check_workspace_name("team/shared").is_ok());
/// for name in ["../up", "/abs", "a//b", "a/.", "a:b", "a.git", ""] {
///     assert!(check_workspace_name(name).is_err(), "{name}");
/// }
/// ```
pub fn check_workspace_name(name: &str) -> Result<(), PlaceError> {
    if let Some(c) = name.chars().find(|c| c.is_control() || *c == ':') {
        return Err(PlaceError::Character(name.to_owned(), c));
    }
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(PlaceError::NotOrdinary(name.to_owned()));
    }
    if name.to_ascii_lowercase().ends_with(".git") {
        return Err(PlaceError::Journal(name.to_owned()));
    }
    Ok(())
}

/// The workspace that is meant: the one asked for, else the team's own.
pub fn workspace_name<'a>(workspace_id: Option<&'a str>, team_id: &'a str) -> &'a str {
    workspace_id.filter(|id| !id.is_empty()).unwrap_or(team_id)
}

/// Name of the sandbox actor of a workspace.
pub fn actor_name(workspace: &str) -> String {
    format!("{ACTOR_PREFIX}{workspace}")
}

/// Where the workspace `name` lies.
///
/// `base` is the value of [`WORKSPACES_ROOT`], nothing when it is unset; set but empty it means the
/// current directory. Relative values start at `current`.
pub fn workspace_dir(
    base: Option<&OsStr>,
    name: &str,
    current: &Path,
) -> Result<PathBuf, PlaceError> {
    check_workspace_name(name)?;
    let base = base.map_or(Path::new(DEFAULT_BASE), Path::new);
    Ok(without_dots(&current.join(base).join(name)))
}

/// The path without `.` and `..`; links are left to whoever opens it.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
