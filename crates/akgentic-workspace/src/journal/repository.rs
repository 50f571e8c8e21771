//! The repository: objects and one branch, written without a git program.
//!
//! The directory lies beside the tree and is opened as one that has no tree. Blobs are stored byte
//! for byte, trees are built from an index in memory, and a commit is an object and a name for it:
//! no hook, filter, signature, attribute or setting of anybody takes part.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{
    Commit, ErrorClass, ErrorCode, Index, IndexEntry, IndexTime, ObjectType, Oid, Repository,
    RepositoryInitOptions, Signature,
};

use super::text::{Identity, git_directory};
use crate::admission::RelPath;

const REGULAR: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

/// Waits between attempts on a repository that somebody else has locked.
const LOCK_WAITS_MS: [u64; 6] = [5, 10, 20, 50, 100, 200];

/// Why there is no journal, or no commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The tree's own name leaves no place for it.
    #[error("a tree named like a git directory has no place for a journal beside it")]
    TreeName,
    /// Something else has its place.
    #[error("{} exists and is no repository", .0.display())]
    Taken(PathBuf),
    /// Git says no.
    #[error("git: {}", .0.message())]
    Git(#[from] git2::Error),
    /// A file of it cannot be written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The thread that records ended before it began.
    #[error("the journal could not be started")]
    Gone,
    /// Somebody else holds a lock of the repository.
    #[error("the repository is locked by another program, or by one that was killed")]
    Locked,
}

/// What a file holds at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its bytes; of a link the target.
    pub bytes: std::sync::Arc<[u8]>,
    /// What it is.
    pub kind: ContentKind,
}

/// What a recorded file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// A file.
    File,
    /// A file that can be run.
    Executable,
    /// A link.
    Link,
}

impl ContentKind {
    const fn mode(self) -> u32 {
        match self {
            Self::File => REGULAR,
            Self::Executable => EXECUTABLE,
            Self::Link => LINK,
        }
    }
}

/// What git calls a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub oid: Oid,
    pub mode: u32,
}

impl Content {
    pub(crate) fn recorded(&self) -> Result<Recorded, JournalError> {
        let oid = Oid::hash_object(ObjectType::Blob, &self.bytes)?;
        Ok(Recorded { oid, mode: self.kind.mode() })
    }
}

/// The open repository and the state of its branch.
pub(crate) struct Ledger {
    repository: Repository,
    index: Index,
    head: Option<Oid>,
}

impl Ledger {
    /// Opens the journal of the tree at `root`, or begins it.
    pub(crate) fn open(root: &Path) -> Result<Self, JournalError> {
        if root.extension().is_some_and(|extension| extension == "git") {
            return Err(JournalError::TreeName);
        }
        let place = git_directory(root).ok_or(JournalError::TreeName)?;
        let repository = if is_there(&place) {
            if !has_head(&place) {
                return Err(JournalError::Taken(place));
            }
            Repository::open_bare(&place)?
        } else {
            begin(&place)?
        };
        let mut ledger = Self { repository, index: Index::new()?, head: None };
        ledger.reload()?;
        Ok(ledger)
    }

    /// Takes the state of the branch from the repository.
    fn reload(&mut self) -> Result<(), JournalError> {
        let mut index = Index::new()?;
        self.head = match self.repository.head() {
            Ok(head) => {
                let commit = head.peel_to_commit()?;
                index.read_tree(&commit.tree()?)?;
                Some(commit.id())
            }
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
                None
            }
            Err(error) => return Err(error.into()),
        };
        self.index = index;
        Ok(())
    }

    /// What is recorded for a path.
    pub(crate) fn get(&self, path: &RelPath) -> Option<Recorded> {
        let entry = self.index.get_path(path.as_path(), 0)?;
        Some(Recorded { oid: entry.id, mode: entry.mode })
    }

    /// The recorded paths.
    pub(crate) fn paths(&self) -> Vec<RelPath> {
        let os = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        self.index.iter().map(|entry| RelPath::of(os(&entry.path))).collect()
    }

    /// Records changes; nothing happens where nothing differs.
    pub(crate) fn commit(
        &mut self,
        changes: &[(RelPath, Option<Content>)],
        author: &Identity,
        message: &str,
    ) -> Result<bool, JournalError> {
        let mut waits = LOCK_WAITS_MS.iter();
        loop {
            let error = match self.attempt(changes, author, message) {
                Ok(made) => return Ok(made),
                Err(error) => error,
            };
            let locked = is_lock(&error);
            let moved =
                matches!(&error, JournalError::Git(git) if git.code() == ErrorCode::Modified);
            // What was put into the index is not in the branch.
            self.reload()?;
            if !locked && !moved {
                return Err(error);
            }
            let Some(wait) = waits.next() else { return Err(JournalError::Locked) };
            std::thread::park_timeout(Duration::from_millis(*wait));
        }
    }

    fn attempt(
        &mut self,
        changes: &[(RelPath, Option<Content>)],
        author: &Identity,
        message: &str,
    ) -> Result<bool, JournalError> {
        for (path, content) in changes {
            self.put(path, content.as_ref())?;
        }
        let tree = self.index.write_tree_to(&self.repository)?;
        let parent = self.head.map(|head| self.repository.find_commit(head)).transpose()?;
        if parent.as_ref().map_or_else(|| self.index.is_empty(), |parent| parent.tree_id() == tree)
        {
            return Ok(false);
        }
        let tree = self.repository.find_tree(tree)?;
        let who = Signature::now(&author.name, &author.email)?;
        let message = git2::message_prettify(message, None)?;
        let parents: Vec<&Commit<'_>> = parent.iter().collect();
        let made = self.repository.commit(Some("HEAD"), &who, &who, &message, &tree, &parents)?;
        self.head = Some(made);
        Ok(true)
    }

    fn put(&mut self, path: &RelPath, content: Option<&Content>) -> Result<(), JournalError> {
        let Some(content) = content else {
            return match self.index.remove(path.as_path(), 0) {
                Err(error) if error.code() != ErrorCode::NotFound => Err(error.into()),
                _ => Ok(()),
            };
        };
        let id = self.repository.blob(&content.bytes)?;
        self.index.add(&entry(path, content.kind, id)).map_err(Into::into)
    }
}

fn entry(path: &RelPath, kind: ContentKind, id: Oid) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode: kind.mode(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_path().as_os_str().as_bytes().to_vec(),
    }
}

/// Whether a commit may hold this at this path: git refuses names that mean its own directory somewhere,
/// and links called like files that it reads for itself.
pub(crate) fn may_hold(path: &RelPath, kind: ContentKind) -> bool {
    let name = path.as_path().file_name().unwrap_or_default();
    if kind == ContentKind::Link && name.eq_ignore_ascii_case(".gitmodules") {
        return false;
    }
    let no_object = Oid::from_bytes(&[1; 20]);
    let tried = no_object.and_then(|id| Index::new()?.add(&entry(path, kind, id)));
    !tried.is_err_and(|error| error.class() == ErrorClass::Index)
}

fn is_lock(error: &JournalError) -> bool {
    matches!(error, JournalError::Git(git) if git.code() == ErrorCode::Locked
        || git.class() == ErrorClass::Os && git.message().contains(".lock"))
}

#[expect(clippy::disallowed_methods, reason = "the journal lies outside the tree")]
fn is_there(place: &Path) -> bool {
    place.symlink_metadata().is_ok()
}

#[expect(clippy::disallowed_methods, reason = "the journal lies outside the tree")]
fn has_head(place: &Path) -> bool {
    place.join("HEAD").symlink_metadata().is_ok_and(|head| head.is_file())
}

/// Begins a repository that a person's git reads without surprises.
#[expect(clippy::disallowed_methods, reason = "the journal lies outside the tree")]
fn begin(place: &Path) -> Result<Repository, JournalError> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).no_reinit(true).external_template(false).initial_head("master");
    let repository = Repository::init_opts(place, &options)?;
    let mut config = repository.config()?.open_level(git2::ConfigLevel::Local)?;
    config.set_bool("core.bare", false)?;
    config.set_i32("gc.auto", 0)?;
    config.set_str("core.hooksPath", "/dev/null")?;
    let info = place.join("info");
    std::fs::create_dir_all(&info)?;
    std::fs::write(info.join("attributes"), "* -text -filter -ident\n")?;
    Ok(repository)
}
