//! The folder that stands where a repository at the top of the workspace could be made.
//!
//! It is shared by all runs in the workspace, of whatever process: each holds a lock on it, and the
//! last one removes it. Removing it earlier would take the mount over it away from the others.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::folder::Root;

/// A name whose folder is put in the way of a repository that is not there.
const REPOSITORY: &str = ".git";

/// How often, and how long apart, it is tried while others remove theirs.
const ATTEMPTS: u32 = 200;
const AGAIN: Duration = Duration::from_millis(5);

/// The folder for as long as one run needs it.
pub(super) struct Mask {
    root: Root,
    folder: OwnedFd,
    /// Whether there are locks here.
    locked: bool,
}

impl Mask {
    /// Puts it in place; nothing where there is a repository, or something else of that name.
    pub(super) async fn put(root: &Root) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            match attempt(root) {
                Ok(mask) => return Ok(mask),
                Err(Errno::AGAIN | Errno::NOENT) => tokio::time::sleep(AGAIN).await,
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("the folder .git at the top of the workspace does not come to rest"))
    }
}

fn attempt(root: &Root) -> Result<Option<Mask>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(root.handle(), REPOSITORY, flags, Mode::empty());
    let folder = match open() {
        Err(Errno::NOENT) => {
            match rustix::fs::mkdirat(root.handle(), REPOSITORY, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => open()?,
                Err(error) => return Err(error),
            }
        }
        Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        opened => opened?,
    };
    let mut entries = Dir::read_from(&folder)?;
    let is_own = |entry: &Result<rustix::fs::DirEntry, Errno>| {
        entry.as_ref().is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b".."))
    };
    if entries.any(|entry| !is_own(&entry)) {
        return Ok(None);
    }
    let locked = match flock(folder.as_fd(), FlockOperation::NonBlockingLockShared) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => return Err(Errno::AGAIN),
        Err(_) => false,
    };
    // Whoever removed it meanwhile had the lock before us.
    let held = rustix::fs::fstat(&folder)?;
    let there = rustix::fs::statat(root.handle(), REPOSITORY, AtFlags::SYMLINK_NOFOLLOW)?;
    if (held.st_dev, held.st_ino) != (there.st_dev, there.st_ino) {
        return Err(Errno::AGAIN);
    }
    Ok(Some(Mask { root: root.clone(), folder, locked }))
}

impl Drop for Mask {
    fn drop(&mut self) {
        // Others may need it; the lock is given up either way.
        let alone = flock(self.folder.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok();
        if !alone && self.locked {
            return;
        }
        let removed = rustix::fs::unlinkat(self.root.handle(), REPOSITORY, AtFlags::REMOVEDIR);
        if let Err(error) = removed
            && error != Errno::NOENT
        {
            tracing::warn!(%error, "the mount point of a run is left in the workspace");
        }
    }
}
