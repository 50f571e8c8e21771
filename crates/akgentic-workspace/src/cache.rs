//! What was made of files, by their content: beside the root, never in it.
//!
//! The folder is `NAME.cache` for the root `NAME`. Its files are named by the digest of the source, so
//! a source that changes finds nothing stale, and a copy or a moved file finds what is there. Where
//! the folder cannot be written, what was made is kept in memory only.

use std::ffi::OsString;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use lru::LruCache;

use crate::admission::RelPath;
use crate::error::FileFault;
use crate::filesystem::OpenFile;
use crate::gate::Digest;
use crate::root::{Root, Status};
use crate::staging::{Staged, is_staging_name};

/// Bytes that are kept in memory.
const MEMORY_BYTES: usize = 32 << 20;

/// Bytes of the largest thing that is kept.
const ENTRY_BYTES: u64 = 32 << 20;

/// Bytes of the folder, above which the oldest files go.
const FOLDER_BYTES: u64 = 256 << 20;

/// Files whose digest is remembered.
const REMEMBERED: usize = 1024;

/// Seconds after which a file that was changed is taken to be at rest: a later change has another
/// time.
const RESTED: i64 = 2;

/// Things made of file contents; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ContentCache {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: Option<PathBuf>,
    kept: Mutex<Kept>,
    digests: Mutex<LruCache<RelPath, (Stamp, Digest)>>,
}

#[derive(Debug)]
struct Kept {
    entries: LruCache<String, Arc<[u8]>>,
    bytes: usize,
}

/// Size, number and times of a file: what changes when its content does.
type Stamp = (u64, u64, (i64, i64), (i64, i64));

impl ContentCache {
    /// The cache of the tree at `root`; nothing is created before something is kept.
    pub(crate) fn beside(root: &Root) -> Self {
        let folder = root.path().file_name().map(|name| {
            let mut name = name.to_owned();
            name.push(".cache");
            root.path().with_file_name(name)
        });
        let remembered = NonZeroUsize::new(REMEMBERED).unwrap_or(NonZeroUsize::MIN);
        Self {
            inner: Arc::new(Inner {
                folder,
                kept: Mutex::new(Kept { entries: LruCache::unbounded(), bytes: 0 }),
                digests: Mutex::new(LruCache::new(remembered)),
            }),
        }
    }

    /// The digest of an open file whose bytes are `data`.
    pub(crate) fn digest(&self, rel: &RelPath, stamp: Option<Stamp>, data: &[u8]) -> Digest {
        let Some(stamp) = stamp else { return Digest::of(data) };
        if let Some(known) = self.known_digest(rel, stamp) {
            return known;
        }
        let digest = Digest::of(data);
        if is_rested(stamp) {
            locked(&self.inner.digests).put(rel.clone(), (stamp, digest.clone()));
        }
        digest
    }

    /// The digest of a file that was read before and has not changed since.
    pub(crate) fn known_digest(&self, rel: &RelPath, stamp: Stamp) -> Option<Digest> {
        let mut digests = locked(&self.inner.digests);
        let (known, digest) = digests.get(rel)?;
        (*known == stamp).then(|| digest.clone())
    }

    /// What was kept under a name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        if let Some(entry) = locked(&self.inner.kept).entries.get(name) {
            return Some(Arc::clone(entry));
        }
        let entry: Arc<[u8]> = self.read(name)?.into();
        self.remember(name, &entry);
        Some(entry)
    }

    /// Keeps something under a name; where that fails it is made again another time.
    pub(crate) fn put(&self, name: &str, data: &[u8]) {
        if u64::try_from(data.len()).unwrap_or(u64::MAX) > ENTRY_BYTES {
            return;
        }
        self.remember(name, &Arc::from(data));
        if let Err(fault) = self.write(name, data) {
            tracing::debug!(name, %fault, "not kept beside the workspace");
        }
    }

    fn remember(&self, name: &str, data: &Arc<[u8]>) {
        if data.len() > MEMORY_BYTES {
            return;
        }
        let mut kept = locked(&self.inner.kept);
        if let Some(former) = kept.entries.put(name.to_owned(), Arc::clone(data)) {
            kept.bytes -= former.len();
        }
        kept.bytes += data.len();
        while kept.bytes > MEMORY_BYTES {
            let Some((_, oldest)) = kept.entries.pop_lru() else { break };
            kept.bytes -= oldest.len();
        }
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let folder = Root::open(self.inner.folder.as_deref()?).ok()?.directory();
        let Ok((file, status)) = folder.open_file(&OsString::from(name)) else { return None };
        if status.size > ENTRY_BYTES {
            return None;
        }
        let mut data = Vec::new();
        file.take(ENTRY_BYTES).read_to_end(&mut data).ok()?;
        Some(data)
    }

    fn write(&self, name: &str, data: &[u8]) -> Result<(), FileFault> {
        let Some(path) = &self.inner.folder else { return Ok(()) };
        let folder = Root::create(path)?.directory();
        let never = || false;
        Staged::write(folder.clone(), name.into(), data, Some(0o600), false, &never)?.publish()?;
        sweep(&folder)
    }
}

/// Removes the oldest files of a folder that has grown too large, and what writers left behind.
fn sweep(folder: &crate::root::Directory) -> Result<(), FileFault> {
    let mut files: Vec<((i64, i64), OsString, u64)> = Vec::new();
    for child in folder.children()? {
        let name = child?.name;
        if let Ok(Status { size, modified, .. }) = folder.status(&name) {
            files.push((modified, name, size));
        }
    }
    files.sort_unstable();
    let mut total: u64 = files.iter().map(|(_, _, size)| size).sum();
    let hour_ago = now() - 3600;
    for ((seconds, _), name, size) in files {
        let is_left_behind = is_staging_name(&name.to_string_lossy()) && seconds < hour_ago;
        if total > FOLDER_BYTES || is_left_behind {
            folder.unlink(&name)?;
            total -= size;
        }
    }
    Ok(())
}

/// The stamp of an open file.
pub(crate) fn stamp(open: &OpenFile) -> Option<Stamp> {
    let stat = rustix::fs::fstat(&open.file).ok()?;
    #[expect(clippy::useless_conversion, reason = "the width differs between systems")]
    Some((
        open.size,
        u64::from(stat.st_ino),
        (i64::from(stat.st_mtime), i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        (i64::from(stat.st_ctime), i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
    ))
}

fn is_rested((_, _, modified, changed): Stamp) -> bool {
    modified.0.max(changed.0) + RESTED <= now()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_lies_beside_the_root_and_survives() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = Root::create(outer.path().join("ws")).expect("a root");
        let cache = ContentCache::beside(&root);
        assert_eq!(cache.get("abc.md"), None);
        cache.put("abc.md", b"text");
        assert_eq!(cache.get("abc.md").as_deref(), Some(&b"text"[..]));
        let other = ContentCache::beside(&root);
        assert_eq!(other.get("abc.md").as_deref(), Some(&b"text"[..]));
        assert_eq!(
            root.directory().children().expect("names").count(),
            0,
            "the tree stays as it was"
        );
        let names = Root::open(outer.path().join("ws.cache")).expect("the cache").directory();
        assert_eq!(names.children().expect("names").count(), 1);
    }

    #[test]
    fn memory_is_bounded() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = Root::create(outer.path().join("ws")).expect("a root");
        let cache = ContentCache::beside(&root);
        let entry: Arc<[u8]> = vec![0; 3 << 20].into();
        for index in 0..20 {
            cache.remember(&index.to_string(), &entry);
        }
        let kept = locked(&cache.inner.kept);
        assert!(kept.bytes <= MEMORY_BYTES && kept.entries.len() == 10, "{}", kept.bytes);
    }
}
