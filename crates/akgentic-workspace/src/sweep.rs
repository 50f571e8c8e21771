//! Clearing away what interrupted writes left behind.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::admission::RelPath;
use crate::filesystem::Filesystem;
use crate::root::{Child, Directory, Kind};
use crate::staging::is_staging_name;

/// Age from which on a staging file belongs to nobody; a younger one may be in use.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(30);

/// Deepest level that is looked at.
const LEVELS_MAX: usize = 200;

/// Most names that are looked at.
const NAMES_MAX: usize = 500_000;

impl Filesystem {
    /// Removes staging files that are older than `age` at `now`; gives how many there were.
    ///
    /// Links to directories are not entered; a link to an old file counts as one, and only the
    /// link goes. What cannot be removed stays.
    pub fn sweep_staging(&self, now: SystemTime, age: Duration) -> usize {
        let oldest = now.checked_sub(age).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let Some(oldest) = oldest else { return 0 };
        let limit =
            (i64::try_from(oldest.as_secs()).unwrap_or(i64::MAX), i64::from(oldest.subsec_nanos()));
        let (mut swept, mut names) = (0, 0);
        let mut ahead = vec![(RelPath::default(), self.root().directory(), 0)];
        while let Some((rel, directory, level)) = ahead.pop() {
            let Ok(children) = directory.children() else { continue };
            for Child { name, kind } in children.flatten() {
                names += 1;
                if names > NAMES_MAX {
                    break;
                }
                let kind = kind.or_else(|| directory.status(&name).ok().map(|status| status.kind));
                if kind == Some(Kind::Directory) {
                    if level < LEVELS_MAX
                        && let Ok(below) = directory.enter(&name)
                    {
                        ahead.push((rel.join(&name), below, level + 1));
                    }
                } else if name.to_str().is_some_and(is_staging_name)
                    && self.is_older(&rel, &directory, &name, limit)
                    && directory.unlink(&name).is_ok()
                {
                    swept += 1;
                }
            }
        }
        if swept > 0 {
            tracing::info!(swept, "removed files of interrupted writes");
        }
        swept
    }

    fn is_older(
        &self,
        rel: &RelPath,
        directory: &Directory,
        name: &std::ffi::OsStr,
        limit: (i64, i64),
    ) -> bool {
        let Ok(mut status) = directory.status(name) else { return false };
        if status.kind == Kind::Link {
            use crate::admission::Place;
            match self.root().admit_link(rel, name).map(|admitted| admitted.place) {
                Some(Place::Entry { status: target, .. }) => status = target,
                _ => return false,
            }
        }
        status.kind == Kind::Regular && status.modified < limit
    }
}
