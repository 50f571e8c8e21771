//! The sweep: staging files that nobody will publish any more.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::root::{Directory, Kind, Root};
use crate::staging::is_staging_name;

/// A staging file of this age belongs to nobody.
const AGE: Duration = Duration::from_secs(30);

/// Levels of directories that are entered.
const DEPTH: usize = 128;

/// Names that are looked at.
const NAMES: usize = 500_000;

/// Removes abandoned staging files; gives their number. Trouble ends the sweep, nothing else.
pub(super) fn sweep(root: &Root) -> usize {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest = i64::try_from(now.saturating_sub(AGE).as_secs()).unwrap_or(i64::MAX);
    let mut names = NAMES;
    let removed =
        directory(root, &root.directory(), std::path::Path::new(""), oldest, 0, &mut names);
    if removed > 0 {
        tracing::info!(removed, tree = %root.path().display(), "abandoned staging files were removed");
    }
    removed
}

fn directory(
    root: &Root,
    at: &Directory,
    path: &std::path::Path,
    oldest: i64,
    depth: usize,
    names: &mut usize,
) -> usize {
    let Ok(children) = at.children() else { return 0 };
    let mut removed = 0;
    for child in children.filter_map(Result::ok) {
        let Some(left) = names.checked_sub(1) else { break };
        *names = left;
        let is_dir = match child.kind {
            Some(kind) => kind == Kind::Directory,
            None => at.status(&child.name).is_ok_and(|status| status.kind == Kind::Directory),
        };
        if is_dir {
            if depth < DEPTH
                && let Ok(below) = at.enter(&child.name)
            {
                let path = path.join(&child.name);
                removed += directory(root, &below, &path, oldest, depth + 1, names);
            }
            continue;
        }
        if !child.name.to_str().is_some_and(is_staging_name) {
            continue;
        }
        let status = at.status(&child.name).ok();
        // A link counts as what it leads to, and goes itself.
        let stamp = match status.map(|status| status.kind) {
            Some(Kind::Regular) => status.map(|status| status.stamp),
            Some(Kind::Link) => linked(root, path, &child.name),
            _ => None,
        };
        if stamp.is_some_and(|(seconds, _, _)| seconds < oldest) && at.unlink(&child.name).is_ok() {
            removed += 1;
        }
    }
    removed
}

fn linked(root: &Root, path: &std::path::Path, name: &std::ffi::OsStr) -> Option<(i64, i64, u64)> {
    let parent = crate::admission::RelPath::of(path.to_owned());
    match root.admit_link(&parent, name)?.place {
        crate::admission::Place::Entry { status, .. } if status.kind == Kind::Regular => {
            Some(status.stamp)
        }
        _ => None,
    }
}
