//! How a file operation fails.

use std::fmt;
use std::io;

use rustix::io::Errno;

use crate::spelling;

/// A file operation that failed, with the path as the caller spelled it.
#[derive(Debug, thiserror::Error)]
#[error("{path:?}: {fault}")]
pub struct FileError {
    /// The path in the caller's own spelling; in quotes where that would not fit on a line.
    pub path: String,
    /// What is wrong.
    pub fault: FileFault,
}

impl FileError {
    /// `fault` at `path`, which is quoted where it has to be.
    pub fn new(path: impl Into<String>, fault: FileFault) -> Self {
        Self { path: spelling::tell(path.into()), fault }
    }
}

/// What is wrong with a path or with what lies there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The path, or a link on its way, leaves the root.
    #[error("leaves the root: {0}")]
    Escape(EscapeRoute),
    /// The path holds a NUL byte, which no file system knows.
    #[error("holds a NUL byte")]
    Nul,
    /// One name of the path is longer than file systems take.
    #[error("has a name of {length} bytes, at most {NAME_MAX} are possible")]
    NameTooLong {
        /// Bytes of the longest name found.
        length: usize,
    },
    /// The whole path is longer than the system takes.
    #[error("is {length} bytes long, at most {PATH_MAX} are possible")]
    PathTooLong {
        /// Bytes of the path.
        length: usize,
    },
    /// Links point at one another.
    #[error("goes through more than {LINKS_MAX} links")]
    LinkLoop,
    /// Nothing is there.
    #[error("does not exist")]
    NotFound,
    /// A directory is where a file was meant.
    #[error("is a directory")]
    IsDirectory,
    /// A file is where a directory was meant.
    #[error("is no directory, or lies below a file")]
    NotADirectory,
    /// A file has the name that a new directory was to get.
    #[error("exists as a file")]
    ExistsAsFile,
    /// A pipe, socket or device: nothing that holds a text.
    #[error("is a {0}")]
    NotRegular(SpecialFile),
    /// The bytes are not text in UTF-8.
    #[error("is not valid UTF-8 (byte {offset} of {size}): {guess}")]
    NotUtf8 {
        /// Position of the first byte that does not fit.
        offset: u64,
        /// Bytes of the file.
        size: u64,
        /// What the bytes look like.
        guess: &'static str,
    },
    /// A file was meant, but the path ends with a slash.
    #[error("ends with a slash, as only a directory may")]
    TrailingSlash,
    /// The file is larger than is taken as a whole.
    #[error("has {size} bytes, at most {most} are taken at once")]
    TooLarge {
        /// Bytes of the file.
        size: u64,
        /// Most bytes.
        most: u64,
    },
    /// It belongs to a git repository's own folder, and was to be changed.
    #[error("lies in what git keeps of a repository")]
    Repository,
    /// The root itself was removed.
    #[error("the root directory is gone")]
    RootGone,
    /// The operating system refused, although the path is legal.
    #[error("permission denied by the system")]
    Denied,
    /// Something replaces parts of the path over and over.
    #[error("keeps changing while it is looked up")]
    Unsteady,
    /// Nobody waits for the outcome any more.
    #[error("cancelled")]
    Cancelled,
    /// Anything else the system reports.
    #[error(transparent)]
    Io(io::Error),
}

/// Longest name in bytes.
pub const NAME_MAX: usize = 255;

/// Longest path in bytes.
pub const PATH_MAX: usize = 4095;

/// Most bytes of a file that is read in pages: whatever the page, all of it is looked at.
pub const PAGED_MAX: u64 = 1024 * 1024 * 1024;

/// Largest file that is read as a whole, 64 MiB.
pub const READ_MAX: u64 = 64 * 1024 * 1024;

/// Most links that are followed for one path.
pub const LINKS_MAX: u32 = 40;

impl From<Errno> for FileFault {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::ISDIR => Self::IsDirectory,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Denied,
            Errno::LOOP => Self::Unsteady,
            other => Self::Io(other.into()),
        }
    }
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::Io(error),
        }
    }
}

/// How a path leaves the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeRoute {
    /// It is absolute and does not lie below the root.
    Absolute,
    /// It climbs with `..`.
    Parent,
    /// A link on the way points out.
    Link,
}

impl fmt::Display for EscapeRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absolute => "it is absolute and lies elsewhere",
            Self::Parent => "it climbs above the root with `..`",
            Self::Link => "a link on its way points outside",
        })
    }
}

/// A file that is neither regular nor a directory nor a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialFile {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something the system does not name.
    Unknown,
}

impl fmt::Display for SpecialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Unknown => "special file",
        })
    }
}
