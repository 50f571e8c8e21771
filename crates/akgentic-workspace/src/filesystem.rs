//! File operations beneath one root; every path passes admission first.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::RawMode;
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admission::{Admitted, LastLink, Place, RelPath};
use crate::error::{FileError, FileFault, READ_MAX};
use crate::root::{Child, Directory, Kind, Modified, OpenFault, Root, Status};
use crate::spelling;
use crate::staging::Staged;

/// How often an operation starts again when its target turns into something else meanwhile.
const ATTEMPTS: u32 = 8;

/// Bytes that are reserved at most before anything of a file was read.
const RESERVED: usize = 1024 * 1024;

/// Files beneath one root.
///
/// The operations block; a program that must not wait calls them on a thread of their own.
#[derive(Clone, Debug)]
pub struct Filesystem {
    root: Root,
    durable: bool,
}

/// One child of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Its name; bytes that are no UTF-8 are shown as U+FFFD.
    pub name: String,
    /// Whether it is a directory, or a link to one beneath the root.
    pub is_dir: bool,
    /// Bytes of the file, or of the file a link leads to; 0 for anything else.
    pub size: u64,
}

/// A file that is open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The open file.
    pub file: File,
    /// Its path without links.
    pub rel: RelPath,
    /// Its size when it was opened.
    pub size: u64,
    /// When it was changed last, as it was opened.
    pub(crate) modified: Modified,
}

impl OpenFile {
    /// Its bytes, no more than it had when it was opened.
    pub(crate) fn read(self) -> Result<Vec<u8>, FileFault> {
        let mut data = Vec::with_capacity(usize::try_from(self.size).unwrap_or(0).min(RESERVED));
        self.file.take(self.size).read_to_end(&mut data)?;
        Ok(data)
    }
}

impl Filesystem {
    /// Operations beneath `root`, without waiting for the disk after a write.
    pub fn new(root: Root) -> Self {
        Self { root, durable: false }
    }

    /// The same, with every written file and its name safe on disk before a write returns.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// The root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Opens a regular file.
    pub fn open(&self, path: &str) -> Result<OpenFile, FileError> {
        self.steadily(path, Root::admit, |admitted| match admitted.place {
            Place::Directory(_) => Err(FileFault::IsDirectory.into()),
            Place::Absent { .. } => Err(FileFault::NotFound.into()),
            Place::BelowFile => Err(FileFault::NotADirectory.into()),
            Place::Entry { parent, name, .. } => {
                let (file, status) = parent.open_file(&name).map_err(|fault| open_fault(&fault))?;
                let Status { size, modified, .. } = status;
                Ok(OpenFile { file, rel: admitted.rel, size, modified })
            }
        })
    }

    /// The bytes of a file, of at most [`READ_MAX`] bytes.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let open = self.open(path)?;
        if open.size > READ_MAX {
            return Err(FileError::new(
                path,
                FileFault::TooLarge { size: open.size, most: READ_MAX },
            ));
        }
        open.read().map_err(|fault| FileError::new(path, fault))
    }

    /// Replaces or creates a file, with its parents: the whole content is there, or nothing of it.
    ///
    /// The permission bits of a replaced file are kept. A path through links writes where they
    /// lead; the links stay.
    pub fn write(&self, path: &str, data: &[u8]) -> Result<RelPath, FileError> {
        self.write_unless(path, data, &|| false)
    }

    /// [`Filesystem::write`], given up when `is_cancelled` says so before the file has its name.
    pub fn write_unless(
        &self,
        path: &str,
        data: &[u8],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<RelPath, FileError> {
        if let Some(fault) = directory_meant(&self.root, path)? {
            return Err(FileError::new(path, fault));
        }
        self.steadily(path, Root::admit_change, |admitted| {
            let (parent, name, replaces) = place_for_file(admitted.place)?;
            let durable = self.durable;
            Staged::write(parent, name, data, replaces, durable, is_cancelled)
                .and_then(Staged::publish)
                .map_err(|fault| match fault {
                    // The directory was moved away between admission and now.
                    FileFault::NotFound => Stumble::Changed,
                    other => other.into(),
                })?;
            Ok(admitted.rel)
        })
    }

    /// A file that is complete beside its target and can take its name.
    pub(crate) fn stage(
        &self,
        path: &str,
        data: &[u8],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(RelPath, Staged), FileError> {
        self.steadily(path, Root::admit_change, |admitted| {
            let (parent, name, replaces) = place_for_file(admitted.place)?;
            match Staged::write(parent, name, data, replaces, self.durable, is_cancelled) {
                Ok(staged) => Ok((admitted.rel, staged)),
                Err(FileFault::NotFound) => Err(Stumble::Changed),
                Err(other) => Err(other.into()),
            }
        })
    }

    /// Removes a file or a link; of a link the link itself.
    pub fn delete(&self, path: &str) -> Result<RelPath, FileError> {
        let admitted = self.root.admit_change(path, LastLink::Keep)?;
        let fault = match admitted.place {
            Place::Directory(_) => FileFault::IsDirectory,
            Place::Absent { .. } => FileFault::NotFound,
            Place::BelowFile => FileFault::NotADirectory,
            Place::Entry { parent, name, .. } => match parent.unlink(&name) {
                Ok(()) => return Ok(admitted.rel),
                Err(errno) => errno.into(),
            },
        };
        Err(FileError::new(path, fault))
    }

    /// Creates a directory with its parents; one that is there already is fine.
    pub fn mkdir(&self, path: &str) -> Result<RelPath, FileError> {
        self.steadily(path, Root::admit_change, |admitted| match admitted.place {
            Place::Directory(_) => Ok(admitted.rel),
            Place::Absent { parent, names } => {
                make_directories(parent, &names)?;
                Ok(admitted.rel)
            }
            Place::Entry { .. } => Err(FileFault::ExistsAsFile.into()),
            Place::BelowFile => Err(FileFault::NotADirectory.into()),
        })
    }

    /// Whether something is there; a link counts as what it leads to.
    pub fn exists(&self, path: &str) -> Result<bool, FileError> {
        let admitted = self.root.admit(path, LastLink::Follow)?;
        Ok(matches!(admitted.place, Place::Directory(_) | Place::Entry { .. }))
    }

    /// The children of a directory: directories first, then the rest, each by name.
    ///
    /// A link is listed as what it leads to beneath the root, else as a file of no size.
    pub fn list(&self, path: &str) -> Result<Vec<FileEntry>, FileError> {
        let (rel, directory) = self.open_directory(path)?;
        let listing = self.children(&rel, &directory, &|| false);
        let listed = listing.map_err(|fault| FileError::new(path, fault))?;
        Ok(listed.iter().map(|item| item.entry(&directory)).collect())
    }

    /// The directory at `path` and its path without links.
    pub(crate) fn open_directory(&self, path: &str) -> Result<(RelPath, Directory), FileError> {
        let admitted = self.root.admit(path, LastLink::Follow)?;
        let fault = match admitted.place {
            Place::Directory(directory) => return Ok((admitted.rel, directory)),
            Place::Entry { .. } | Place::BelowFile => FileFault::NotADirectory,
            Place::Absent { .. } => FileFault::NotFound,
        };
        Err(FileError::new(path, fault))
    }

    /// The children of an open directory in listing order, without their sizes.
    pub(crate) fn children(
        &self,
        rel: &RelPath,
        directory: &Directory,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Listed>, FileFault> {
        let mut listed = Vec::new();
        for child in directory.children()? {
            if is_cancelled() {
                return Err(FileFault::Cancelled);
            }
            let Child { name, kind } = child?;
            let kind = match kind {
                Some(kind) => kind,
                None => match directory.status(&name) {
                    Ok(status) => status.kind,
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(errno.into()),
                },
            };
            let leads_to = match kind {
                Kind::Link => self.root.admit_link(rel, &name).map(|admitted| admitted.place),
                _ => None,
            };
            let shape = match (kind, &leads_to) {
                (Kind::Directory, _) => Shape::Directory,
                (Kind::Link, Some(Place::Directory(_))) => Shape::LinkedDirectory,
                (Kind::Link, Some(Place::Entry { status, .. })) => Shape::LinkedFile(*status),
                (Kind::Link, _) => Shape::DanglingLink,
                (Kind::Regular, _) => Shape::File,
                (Kind::Special(_), _) => Shape::Special,
            };
            listed.push(Listed { name, shape });
        }
        listed.sort_unstable_by(|one, other| {
            (!one.is_dir(), &one.name).cmp(&(!other.is_dir(), &other.name))
        });
        Ok(listed)
    }

    /// Admits and acts, again when what was admitted has become something else by then.
    fn steadily<T>(
        &self,
        path: &str,
        admit: impl Fn(&Root, &str, LastLink) -> Result<Admitted, FileError>,
        act: impl Fn(Admitted) -> Result<T, Stumble>,
    ) -> Result<T, FileError> {
        for _ in 0..ATTEMPTS {
            match act(admit(&self.root, path, LastLink::Follow)?) {
                Ok(done) => return Ok(done),
                Err(Stumble::Changed) => {}
                Err(Stumble::Fault(fault)) => return Err(FileError::new(path, fault)),
            }
        }
        Err(FileError::new(path, FileFault::Unsteady))
    }
}

/// What a path that ends like one of a directory has against being that of a file.
pub(crate) fn directory_meant(root: &Root, path: &str) -> Result<Option<FileFault>, FileError> {
    let meant = spelling::read(path);
    let meant = meant.as_os_str().as_bytes();
    let as_directory = meant.ends_with(b"/") || meant.ends_with(b"/.");
    if !as_directory || meant.iter().all(|next| matches!(next, b'/' | b'.')) {
        return Ok(None);
    }
    // A directory that is there is refused as what it is.
    let there = root.admit(path, LastLink::Follow)?;
    Ok(Some(match there.place {
        Place::Directory(_) => FileFault::IsDirectory,
        _ => FileFault::TrailingSlash,
    }))
}

/// One name of a directory that is being listed.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub name: OsString,
    pub shape: Shape,
}

impl Listed {
    pub(crate) fn is_dir(&self) -> bool {
        matches!(self.shape, Shape::Directory | Shape::LinkedDirectory)
    }

    /// The entry with its size, as it is in `directory` now.
    pub(crate) fn entry(&self, directory: &Directory) -> FileEntry {
        let name = self.name.to_string_lossy().into_owned();
        FileEntry { name, is_dir: self.is_dir(), size: self.size(directory) }
    }

    /// Its size as it is in `directory` now.
    pub(crate) fn size(&self, directory: &Directory) -> u64 {
        match self.shape {
            Shape::File => directory.status(&self.name).map_or(0, |status| status.size),
            Shape::LinkedFile(status) if status.kind == Kind::Regular => status.size,
            _ => 0,
        }
    }
}

/// What a name in a listing is, links followed beneath the root.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Directory,
    LinkedDirectory,
    File,
    LinkedFile(Status),
    DanglingLink,
    Special,
}

pub(crate) enum Stumble {
    Changed,
    Fault(FileFault),
}

impl From<FileFault> for Stumble {
    fn from(fault: FileFault) -> Self {
        match fault {
            FileFault::Unsteady => Self::Changed,
            other => Self::Fault(other),
        }
    }
}

impl From<Errno> for Stumble {
    fn from(errno: Errno) -> Self {
        FileFault::from(errno).into()
    }
}

fn open_fault(fault: &OpenFault) -> Stumble {
    match fault {
        OpenFault::Kind(Kind::Special(kind)) => FileFault::NotRegular(*kind).into(),
        // A file, link or directory took the place of what was admitted, or it is gone.
        OpenFault::Kind(_) | OpenFault::System(Errno::NOENT | Errno::NOTDIR) => Stumble::Changed,
        OpenFault::System(errno) => (*errno).into(),
    }
}

/// Where a file can be put, and the permission bits it is to keep.
fn place_for_file(place: Place) -> Result<(Directory, OsString, Option<RawMode>), Stumble> {
    match place {
        Place::Directory(_) => Err(FileFault::IsDirectory.into()),
        Place::BelowFile => Err(FileFault::NotADirectory.into()),
        Place::Entry { parent, name, status } => match status.kind {
            Kind::Regular => Ok((parent, name, Some(status.mode))),
            Kind::Special(kind) => Err(FileFault::NotRegular(kind).into()),
            Kind::Directory | Kind::Link => Err(Stumble::Changed),
        },
        Place::Absent { parent, mut names } => match names.pop() {
            Some(name) => Ok((make_directories(parent, &names)?, name, None)),
            None => Err(Stumble::Changed),
        },
    }
}

pub(crate) fn make_directories(
    parent: Directory,
    names: &[OsString],
) -> Result<Directory, Stumble> {
    let mut directory = parent;
    for name in names {
        directory = match directory.make_directory(name) {
            Ok(made) => made,
            // A file or link was put there in the meantime.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Err(Stumble::Changed),
            Err(errno) => return Err(errno.into()),
        };
    }
    Ok(directory)
}
