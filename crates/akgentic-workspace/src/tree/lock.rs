//! The advisory lock that owners of one tree in different processes hold while they publish.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::root::Root;

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The lock of a tree; it lies on the root itself, so nothing is left behind.
#[derive(Debug)]
pub(super) struct TreeLock(Option<OwnedFd>);

impl TreeLock {
    /// A root that cannot be read has no lock.
    pub(super) fn of(root: &Root) -> Self {
        match root.directory().lockable() {
            Ok(handle) => Self(Some(handle)),
            Err(error) => {
                tracing::debug!(%error, tree = %root.path().display(), "a tree has no lock");
                Self(None)
            }
        }
    }

    /// Takes the lock; nothing when another process keeps it for too long.
    pub(super) fn take(&self) -> Option<Taken<'_>> {
        let Some(handle) = &self.0 else { return Some(Taken(None)) };
        let deadline = Instant::now() + PATIENCE;
        loop {
            match rustix::fs::flock(handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(Taken(Some(handle))),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    std::thread::park_timeout(PAUSE);
                }
                Err(Errno::WOULDBLOCK) => return None,
                // A file system without locks.
                Err(_) => return Some(Taken(None)),
            }
        }
    }
}

/// The lock while it is held.
pub(super) struct Taken<'l>(Option<&'l OwnedFd>);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.0
            && let Err(error) = rustix::fs::flock(handle, FlockOperation::Unlock)
        {
            tracing::warn!(%error, "the lock of a tree was not given back");
        }
    }
}
