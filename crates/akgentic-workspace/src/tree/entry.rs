//! One file of a change: what is there, and what is to be there.

use std::ffi::OsString;
use std::io::Read as _;
use std::sync::Arc;

use super::change::{LIVE_BYTES, Stop};
use super::refused::fault_stop;
use crate::admission::{LastLink, Place, RelPath};
use crate::error::{FileError, FileFault};
use crate::filesystem::{Stumble, make_directories};
use crate::gate::{Digest, Permit};
use crate::journal::{Content, ContentKind, kind_of};
use crate::publish::{Expected, Publication};
use crate::root::{Directory, Kind, OpenFault, Root, Status};
use crate::staging::Staged;

/// How often a look starts again when the tree changes under it.
const ATTEMPTS: u32 = 8;

/// One file of a change.
pub(super) struct Entry {
    pub rel: RelPath,
    /// The agent's spelling.
    pub given: String,
    pub parent: Directory,
    /// Directories to be made.
    pub missing: Vec<OsString>,
    pub name: OsString,
    pub live: Option<Live>,
    /// The target of a link that is to go.
    pub link: Option<OsString>,
    pub next: Next,
    /// The digest of what is to be written, once it is staged.
    pub ours: Option<Digest>,
    pub permit: Permit,
}

pub(super) struct Live {
    pub bytes: Arc<[u8]>,
    pub digest: Digest,
    pub status: Status,
}

pub(super) enum Next {
    /// It stays as it is.
    Keep,
    Write(Arc<[u8]>),
    /// A text to be written that may be edited further.
    Draft(String),
    Remove,
}

impl Entry {
    /// A file that stays as it is, at a place where nothing is.
    pub(super) fn new(rel: RelPath, given: &str, parent: Directory, name: OsString) -> Self {
        Self {
            rel,
            given: given.to_owned(),
            parent,
            missing: Vec::new(),
            name,
            live: None,
            link: None,
            next: Next::Keep,
            ours: None,
            permit: Permit { exact_only: false, knows_all: true },
        }
    }

    /// The bytes as the batch has them so far.
    pub(super) fn current(&self) -> Option<&[u8]> {
        match &self.next {
            Next::Keep => self.live.as_ref().map(|live| &*live.bytes),
            Next::Write(bytes) => Some(bytes),
            Next::Draft(text) => Some(text.as_bytes()),
            Next::Remove => None,
        }
    }

    /// Ends the editing of its text.
    pub(super) fn settle(&mut self) {
        if let Next::Draft(text) = &self.next {
            self.next = Next::Write(text.as_bytes().into());
        }
    }

    pub(super) fn content_before(&self) -> Option<Content> {
        if let Some(target) = &self.link {
            let bytes = std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str());
            return Some(Content { bytes: bytes.into(), kind: ContentKind::Link });
        }
        let live = self.live.as_ref()?;
        Some(Content { bytes: Arc::clone(&live.bytes), kind: kind_of(live.status) })
    }

    pub(super) fn content_after(&self) -> Option<Content> {
        let Next::Write(bytes) = &self.next else { return None };
        let kind = self.live.as_ref().map_or(ContentKind::File, |live| kind_of(live.status));
        Some(Content { bytes: Arc::clone(bytes), kind })
    }
}

/// What is at a path that is to be changed, links followed.
pub(super) fn look(root: &Root, path: &str) -> Result<Entry, FileError> {
    for _ in 0..ATTEMPTS {
        let admitted = root.admit_change(path, LastLink::Follow)?;
        let (parent, missing, name, live) = match admitted.place {
            Place::Directory(_) => return Err(FileError::new(path, FileFault::IsDirectory)),
            Place::BelowFile => return Err(FileError::new(path, FileFault::NotADirectory)),
            Place::Absent { parent, mut names } => match names.pop() {
                Some(name) => (parent, names, name, None),
                None => continue,
            },
            Place::Entry { parent, name, .. } => match live(&parent, &name) {
                Ok(live) => (parent, Vec::new(), name, Some(live)),
                Err(Stumble::Changed) => continue,
                Err(Stumble::Fault(fault)) => return Err(FileError::new(path, fault)),
            },
        };
        let entry = Entry::new(admitted.rel, path, parent, name);
        return Ok(Entry { missing, live, ..entry });
    }
    Err(FileError::new(path, FileFault::Unsteady))
}

fn live(parent: &Directory, name: &std::ffi::OsStr) -> Result<Live, Stumble> {
    let (file, status) = match parent.open_file(name) {
        Ok(open) => open,
        Err(OpenFault::Kind(Kind::Special(kind))) => {
            return Err(FileFault::NotRegular(kind).into());
        }
        Err(OpenFault::Kind(_) | OpenFault::System(rustix::io::Errno::NOENT)) => {
            return Err(Stumble::Changed);
        }
        Err(OpenFault::System(errno)) => return Err(errno.into()),
    };
    if status.size > LIVE_BYTES {
        return Err(FileFault::TooLarge { size: status.size, most: LIVE_BYTES }.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(status.size).unwrap_or(0));
    file.take(LIVE_BYTES).read_to_end(&mut bytes).map_err(FileFault::from)?;
    let digest = Digest::of(&bytes);
    Ok(Live { bytes: bytes.into(), digest, status })
}

/// The complete file beside its target, with directories made for it.
pub(super) fn stage_file(
    entry: &Entry,
    bytes: &[u8],
    ours: &Digest,
    durable: bool,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Publication, Stop> {
    let stopped = |fault| fault_stop(&entry.given, fault);
    let parent = match make_directories(entry.parent.clone(), &entry.missing) {
        Ok(parent) => parent,
        Err(Stumble::Fault(fault)) => return Err(stopped(fault)),
        Err(Stumble::Changed) => return Err(stopped(FileFault::NotFound)),
    };
    let mode = entry.live.as_ref().map(|live| live.status.mode);
    let staged = Staged::write(parent, entry.name.clone(), bytes, mode, durable, is_cancelled);
    let expected = match &entry.live {
        Some(live) => Expected::Content(live.digest.clone()),
        None => Expected::Absent,
    };
    Ok(Publication::Place { staged: staged.map_err(stopped)?, ours: ours.clone(), expected })
}
