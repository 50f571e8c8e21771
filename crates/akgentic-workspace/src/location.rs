//! Where a workspace lies: below one base directory, under its name.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Environment variable that names the base directory.
pub const BASE_VARIABLE: &str = "AKGENTIC_WORKSPACES_ROOT";

/// The base directory when the variable is not set.
pub const DEFAULT_BASE: &str = "./workspaces";

/// The directory of the workspace `name`.
///
/// `base` is the value of [`BASE_VARIABLE`], nothing when it is unset; set but empty it means the
/// current directory. The result is relative when the base is.
///
/// ```
/// use akgentic_workspace::workspace_path;
/// use std::path::Path;
///
/// assert_eq!(workspace_path(None, "team-1")?, Path::new("./workspaces/team-1"));
/// assert!(workspace_path(None, "../other").is_err());
/// # Ok::<_, akgentic_workspace::WorkspaceNameError>(())
/// ```
pub fn workspace_path(base: Option<&OsStr>, name: &str) -> Result<PathBuf, WorkspaceNameError> {
    check_name(name)?;
    let base = match base {
        None => Path::new(DEFAULT_BASE),
        Some(base) if base.is_empty() => Path::new("."),
        Some(base) => Path::new(base),
    };
    Ok(base.join(name))
}

/// Accepts one ordinary path component, or several below one another.
pub fn check_name(name: &str) -> Result<(), WorkspaceNameError> {
    let ordinary = |part: Component<'_>| matches!(part, Component::Normal(_));
    let path = Path::new(name);
    let fits = path.components().all(ordinary) && path.components().next().is_some();
    if fits && !name.contains('\0') { Ok(()) } else { Err(WorkspaceNameError(name.to_owned())) }
}

/// Endings of folders that are kept beside a workspace: its journal, what was made of its files, what
/// its commands wrote.
const KEPT_BESIDE: [&str; 3] = [".git", ".cache", ".runs"];

/// Refuses a name that another workspace may need for what it keeps.
pub(crate) fn check_unreserved(name: &str) -> Result<(), ReservedName> {
    let is_kept = |part: Component<'_>| {
        let part = part.as_os_str().to_string_lossy().to_ascii_lowercase();
        KEPT_BESIDE.iter().any(|ending| part.ends_with(ending))
    };
    if Path::new(name).components().any(is_kept) {
        return Err(ReservedName(name.to_owned()));
    }
    Ok(())
}

/// A workspace name that stands for what is kept beside a workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no workspace name: what ends in .git, .cache or .runs is kept beside a workspace; choose \
     another name"
)]
pub(crate) struct ReservedName(String);

/// A workspace name that would place its root somewhere else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no workspace name: use ordinary path components, such as `team` or `team/shared`"
)]
pub struct WorkspaceNameError(pub String);
