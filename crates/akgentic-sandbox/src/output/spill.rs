//! Files that take the whole of an output.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

/// One of the two streams of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Makes the files that take outputs which are too long to be kept in memory.
///
/// A file is made when a stream outgrows what is kept, never before.
pub trait SpillStore: Send + Sync {
    /// Makes a new file for a stream; whoever makes it sees to it that nobody can plant a link there.
    fn create(&self, stream: Stream) -> io::Result<SpillFile>;

    /// Most bytes that are written to one file.
    fn limit(&self) -> u64;
}

/// An open file and what the reader may call it.
#[derive(Debug)]
pub struct SpillFile {
    /// Where to write.
    pub file: File,
    /// What the reader is told.
    pub name: String,
}

/// Files in one directory, which is held by handle.
#[derive(Debug)]
pub struct SpillDirectory {
    directory: OwnedFd,
    shown: String,
    stem: String,
    limit: u64,
    next: AtomicU64,
}

impl SpillDirectory {
    /// Files of at most `limit` bytes named `<stem>.<stream>` in the directory at `path`, which the
    /// reader knows as `shown`.
    pub fn open(path: &Path, shown: &str, stem: &str, limit: u64) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self {
            directory,
            shown: shown.trim_end_matches('/').to_owned(),
            stem: stem.to_owned(),
            limit,
            next: AtomicU64::new(0),
        })
    }
}

impl SpillStore for SpillDirectory {
    fn create(&self, stream: Stream) -> io::Result<SpillFile> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = match self.next.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => String::new(),
                n => format!(".{n}"),
            };
            let name = format!("{}{number}.{}", self.stem, stream.name());
            match rustix::fs::openat(&self.directory, &name, flags, Mode::from_raw_mode(0o600)) {
                Ok(file) => {
                    let name =
                        if self.shown.is_empty() { name } else { format!("{}/{name}", self.shown) };
                    return Ok(SpillFile { file: file.into(), name });
                }
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn limit(&self) -> u64 {
        self.limit
    }
}
