//! The root of a workspace, held by handle, and the folder a command starts in.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// How often links are followed before a path counts as a loop.
const LINKS_MAX: usize = 40;

/// Why a command cannot start where it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It is absolute, or leads out through `..` or a link.
    #[error(
        "the working directory {0:?} lies outside of the workspace, so nothing was run; name a folder relative to the workspace root"
    )]
    Escapes(String),
    /// There is nothing of that name.
    #[error("Working directory not found: {0}")]
    Missing(String),
    /// There is something else of that name.
    #[error(
        "the working directory {0:?} is not a directory, so nothing was run; name the folder that holds it"
    )]
    NotADirectory(String),
    /// The system refused.
    #[error("the working directory {path:?} cannot be opened: {source}")]
    Io {
        /// As it was asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// A folder below the root of a workspace, without `.` and empty parts; `..` only where it stays inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelFolder(String);

impl RelFolder {
    /// Reads a folder as an agent spells it.
    ///
    /// `inside` is the workspace's own absolute path as commands see it; a spelling that starts with
    /// it is understood.
    ///
    /// ```
    /// use akgentic_sandbox::RelFolder;
    ///
    /// let inside = Some("/workspace");
    /// assert_eq!(RelFolder::parse("src//a/./", inside).unwrap().as_str(), "src/a");
    /// assert_eq!(RelFolder::parse("/workspace/src", inside).unwrap().as_str(), "src");
    /// assert!(RelFolder::parse("../x", inside).is_err());
    /// assert!(RelFolder::parse("/etc", inside).is_err());
    /// ```
    pub fn parse(spelled: &str, inside: Option<&str>) -> Result<Self, FolderError> {
        let escapes = || FolderError::Escapes(spelled.to_owned());
        let below = inside.and_then(|inside| spelled.strip_prefix(inside));
        let relative = match below {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
            _ => spelled,
        };
        if relative.starts_with('/') || relative.contains('\0') {
            return Err(escapes());
        }
        let mut depth = 0_usize;
        let mut parts = Vec::new();
        for part in relative.split('/').filter(|part| !matches!(*part, "" | ".")) {
            depth = match part {
                ".." => depth.checked_sub(1).ok_or_else(escapes)?,
                _ => depth + 1,
            };
            parts.push(part);
        }
        Ok(Self(parts.join("/")))
    }

    /// The folder; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder below `root`, as text.
    pub fn below(&self, root: &str) -> String {
        if self.0.is_empty() { root.to_owned() } else { format!("{root}/{}", self.0) }
    }
}

/// The root directory of a workspace: opened once, never looked up by name again.
#[derive(Clone, Debug)]
pub struct Root {
    handle: Arc<OwnedFd>,
    path: Arc<Path>,
}

impl Root {
    /// Opens the directory at `path`, created with its parents when it is missing.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Self::open(path)
    }

    /// Opens the existing directory at `path`; links in `path` are followed once, here.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(Self { handle: Arc::new(handle), path: path.into() })
    }

    /// Its path when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path still leads to it.
    pub fn is_in_place(&self) -> bool {
        let Ok(own) = rustix::fs::fstat(&self.handle) else { return false };
        let there = fs::symlink_metadata(&self.path);
        there.is_ok_and(|there| (there.dev(), there.ino()) == (own.st_dev, own.st_ino))
    }

    /// Who owns it: user and group.
    pub fn owner(&self) -> io::Result<(u32, u32)> {
        let own = rustix::fs::fstat(&self.handle)?;
        Ok((own.st_uid, own.st_gid))
    }

    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// A path that leads to the open directory whatever its name is now.
    pub(crate) fn by_handle(&self) -> PathBuf {
        by_handle(self.handle.as_ref(), &self.path)
    }

    /// Opens a folder below the root; every step is taken from an open directory.
    pub fn folder(&self, folder: &RelFolder) -> Result<Folder, FolderError> {
        let spelled = folder.as_str();
        let handle = self.walk(spelled).map_err(|errno| match errno {
            Errno::NOENT => FolderError::Missing(spelled.to_owned()),
            Errno::NOTDIR => FolderError::NotADirectory(spelled.to_owned()),
            Errno::XDEV | Errno::LOOP => FolderError::Escapes(spelled.to_owned()),
            other => FolderError::Io { path: spelled.to_owned(), source: other.into() },
        })?;
        Ok(Folder { handle, path: self.path.join(spelled) })
    }

    fn walk(&self, path: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let path = if path.is_empty() { "." } else { path };
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&*self.handle, path, flags, Mode::empty(), beneath) {
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                answer => return answer,
            }
        }
        let mut above: Vec<OwnedFd> = Vec::new();
        let mut here = rustix::io::fcntl_dupfd_cloexec(&*self.handle, 0)?;
        let mut todo: Vec<Vec<u8>> =
            path.split('/').rev().map(|part| part.as_bytes().to_vec()).collect();
        let mut links = 0;
        while let Some(part) = todo.pop() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    here = above.pop().ok_or(Errno::XDEV)?;
                    continue;
                }
                _ => {}
            }
            let name = as_name(&part);
            let stat = rustix::fs::statat(&here, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP);
                }
                let target = rustix::fs::readlinkat(&here, name, Vec::new())?.into_bytes();
                if target.starts_with(b"/") {
                    return Err(Errno::XDEV);
                }
                todo.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
                continue;
            }
            let next = rustix::fs::openat(&here, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            above.push(std::mem::replace(&mut here, next));
        }
        Ok(here)
    }
}

/// An open folder below the root of a workspace.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that leads to the open directory whatever its name is now, for this process only.
    pub(crate) fn by_own_handle(&self) -> PathBuf {
        if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_fd().as_raw_fd()))
        } else {
            self.path.clone()
        }
    }
}

/// A path to an open file for processes of the same user; where the system has none, `otherwise`.
fn by_handle(handle: &OwnedFd, otherwise: &Path) -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), handle.as_raw_fd()))
    } else {
        otherwise.to_owned()
    }
}

fn as_name(bytes: &[u8]) -> &OsStr {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stay_inside() {
        let base = tempfile::tempdir().expect("a folder");
        let outside = base.path().join("outside");
        let inside = base.path().join("inside");
        fs::create_dir_all(inside.join("a/b")).expect("folders");
        fs::create_dir_all(&outside).expect("a folder");
        fs::write(inside.join("file"), "").expect("a file");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, inside.join(name)).expect("a link");
        };
        link("../outside", "up");
        link("/etc", "etc");
        link("a", "same");
        link("loop", "loop");
        let root = Root::open(&inside).expect("a root");
        let open = |path: &str| {
            RelFolder::parse(path, None).and_then(|folder| root.folder(&folder)).map(|f| f.path)
        };
        assert!(open("").is_ok());
        assert!(open("same/b").is_ok());
        assert!(open("a/../a").is_ok());
        for path in ["up", "etc", "loop", "same/../..", "/etc"] {
            assert!(matches!(open(path), Err(FolderError::Escapes(_))), "{path}");
        }
        assert!(matches!(open("nope"), Err(FolderError::Missing(_))));
        assert!(matches!(open("file"), Err(FolderError::NotADirectory(_))));
        assert!(root.is_in_place());
        fs::rename(&inside, base.path().join("moved")).expect("moved");
        fs::create_dir(&inside).expect("another");
        assert!(!root.is_in_place());
        assert!(open("a/b").is_ok(), "the handle leads to what was opened");
    }
}
