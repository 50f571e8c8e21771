//! The root: one directory, held by handle, and the steps that are possible beneath it.
//!
//! Every call to the system names one component below an open directory and never follows a link,
//! so nothing that happens to the tree meanwhile can lead it elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, RenameFlags, Stat};
use rustix::io::Errno;

use crate::error::SpecialFile;

/// A handle that serves for lookups only needs no read permission where the system offers that.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOKUP: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOKUP: OFlags = OFlags::RDONLY;

/// A directory that confines every path below it; cheap to clone.
#[derive(Clone, Debug)]
pub struct Root {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Directory,
    canonical: PathBuf,
    given: PathBuf,
}

impl Root {
    /// Opens the directory at `path`, which is created with its parents when missing.
    ///
    /// Links in `path` itself are followed once, here. A path that the agent spells with the
    /// directory's given or its real name is understood either way.
    #[expect(clippy::disallowed_methods, reason = "the root is where confinement begins")]
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    /// Opens the existing directory at `path`.
    #[expect(clippy::disallowed_methods, reason = "the root is where confinement begins")]
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let given = std::path::absolute(path)?;
        let canonical = std::fs::canonicalize(path)?;
        let flags = LOOKUP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&canonical, flags, Mode::empty())?;
        let handle = Directory(Arc::new(handle));
        Ok(Self { inner: Arc::new(Inner { handle, canonical, given }) })
    }

    /// The directory's real path, without links.
    pub fn path(&self) -> &Path {
        &self.inner.canonical
    }

    /// The path it was opened with, made absolute.
    pub(crate) fn given(&self) -> &Path {
        &self.inner.given
    }

    pub(crate) fn directory(&self) -> Directory {
        self.inner.handle.clone()
    }

    /// Whether this is the same directory as another one, whatever path either was opened by.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let identity = self.inner.handle.identity();
        identity.is_ok() && identity == other.inner.handle.identity()
    }

    /// Removes the directory, unless something is in it.
    #[expect(clippy::disallowed_methods, reason = "the root is where confinement begins")]
    pub(crate) fn remove_if_empty(&self) {
        if let Err(error) = std::fs::remove_dir(self.path()) {
            tracing::debug!(%error, path = %self.path().display(), "a folder was left");
        }
    }
}

/// An open directory beneath the root.
#[derive(Clone, Debug)]
pub(crate) struct Directory(Arc<OwnedFd>);

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a name in a directory stands for; a link is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    Regular,
    Link,
    Special(SpecialFile),
}

impl Kind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::Regular,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Special(SpecialFile::Fifo),
            FileType::Socket => Self::Special(SpecialFile::Socket),
            FileType::CharacterDevice | FileType::BlockDevice => Self::Special(SpecialFile::Device),
            FileType::Unknown => Self::Special(SpecialFile::Unknown),
        }
    }
}

/// When something was changed: seconds and nanoseconds since 1970.
pub(crate) type Modified = (i64, i64);

/// Kind, size, time and permission bits of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub kind: Kind,
    pub size: u64,
    pub mode: RawMode,
    pub modified: Modified,
    /// Seconds and nanoseconds of the last change of its bytes, and its number.
    pub stamp: (i64, i64, u64),
}

impl From<Stat> for Status {
    fn from(stat: Stat) -> Self {
        let kind = Kind::of(FileType::from_raw_mode(stat.st_mode as RawMode));
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        #[expect(clippy::useless_conversion, reason = "the width differs between systems")]
        let stamp = (
            i64::from(stat.st_mtime),
            i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
            u64::from(stat.st_ino),
        );
        Self { kind, size, mode: stat.st_mode as RawMode, modified, stamp }
    }
}

/// One name of a directory; the kind is missing where the file system does not tell it along.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub name: OsString,
    pub kind: Option<Kind>,
}

impl Directory {
    /// Enters a directory; a link is not entered.
    pub(crate) fn enter(&self, name: &OsStr) -> Result<Self, Errno> {
        let flags = LOOKUP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(self, name, flags, Mode::empty())?;
        Ok(Self(Arc::new(handle)))
    }

    /// Whether it was removed since it was opened.
    pub(crate) fn is_removed(&self) -> bool {
        rustix::fs::fstat(self).is_ok_and(|stat| stat.st_nlink == 0)
    }

    pub(crate) fn status(&self, name: &OsStr) -> Result<Status, Errno> {
        rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW).map(Status::from)
    }

    pub(crate) fn read_link(&self, name: &OsStr) -> Result<OsString, Errno> {
        let target = rustix::fs::readlinkat(self, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Opens a regular file for reading; anything else is refused without waiting for it.
    pub(crate) fn open_file(&self, name: &OsStr) -> Result<(File, Status), OpenFault> {
        let before = self.status(name)?;
        if before.kind != Kind::Regular {
            return Err(OpenFault::Kind(before.kind));
        }
        self.open_listed(name)
    }

    /// Opens a file that a listing says is regular; what took its place is neither followed nor
    /// waited for.
    pub(crate) fn open_listed(&self, name: &OsStr) -> Result<(File, Status), OpenFault> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(self, name, flags, Mode::empty())?;
        let status = Status::from(rustix::fs::fstat(&handle)?);
        if status.kind != Kind::Regular {
            return Err(OpenFault::Kind(status.kind));
        }
        Ok((File::from(handle), status))
    }

    /// Creates a file that must not exist yet; the umask applies.
    pub(crate) fn create_file(&self, name: &OsStr) -> Result<File, Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self, name, flags, Mode::from_raw_mode(0o666)).map(File::from)
    }

    /// Creates a directory, or finds the one that is there, and enters it.
    pub(crate) fn make_directory(&self, name: &OsStr) -> Result<Self, Errno> {
        match rustix::fs::mkdirat(self, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(errno) => Err(errno),
        }
    }

    /// Gives `from` the name `to`, in place of what had it.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self, from, self, to)
    }

    /// Gives `from` the name `to`, which nothing may have.
    pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
        match self.rename_with(from, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.link(from, to)?;
                self.unlink(from)
            }
            outcome => outcome,
        }
    }

    /// Two names change places.
    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> Result<(), Errno> {
        self.rename_with(one, other, RenameFlags::EXCHANGE)
    }

    /// Two names change places in one step; whether the system can do that is the answer.
    pub(crate) fn try_exchange(&self, one: &OsStr, other: &OsStr) -> Result<bool, Errno> {
        match self.exchange(one, other) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    fn rename_with(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<(), Errno> {
        rustix::fs::renameat_with(self, from, self, to, flags)
    }

    /// Gives a file a second name.
    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
        rustix::fs::linkat(self, from, self, to, AtFlags::empty())
    }

    /// Device and number of the directory: what it is, whatever it is called.
    pub(crate) fn identity(&self) -> Result<(u64, u64), Errno> {
        let stat = rustix::fs::fstat(self)?;
        #[expect(clippy::useless_conversion, reason = "the width differs between systems")]
        Ok((u64::from(stat.st_dev), u64::from(stat.st_ino)))
    }

    /// A handle that locks can be taken on.
    pub(crate) fn lockable(&self) -> Result<OwnedFd, Errno> {
        self.readable()
    }

    /// Removes a name that is no directory; of a link the link itself.
    pub(crate) fn unlink(&self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::unlinkat(self, name, AtFlags::empty())
    }

    /// The names in this directory, in no order.
    pub(crate) fn children(&self) -> Result<impl Iterator<Item = Result<Child, Errno>>, Errno> {
        let readable = self.readable()?;
        Ok(Dir::new(readable)?.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    return None;
                }
                let kind = match entry.file_type() {
                    FileType::Unknown => None,
                    known => Some(Kind::of(known)),
                };
                Some(Ok(Child { name: OsString::from_vec(name.to_vec()), kind }))
            }
            Err(errno) => Some(Err(errno)),
        }))
    }

    /// Asks the system to keep the directory's names safe.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fsync(self.readable()?)
    }

    fn readable(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(self, ".", flags, Mode::empty())
    }
}

/// Sets permission bits of an open file.
pub(crate) fn set_mode(file: &File, mode: RawMode) -> Result<(), Errno> {
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o777))
}

/// Why a file was not opened for reading.
pub(crate) enum OpenFault {
    /// It is something else.
    Kind(Kind),
    /// The system says no.
    System(Errno),
}

impl From<Errno> for OpenFault {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}
