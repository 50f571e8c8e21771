//! Several changes at once: all of them are there, or none.

use crate::admission::RelPath;
use crate::error::{FileError, FileFault};
use crate::filesystem::Filesystem;
use crate::staging::{Published, Staged};

/// One file of a batch write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteEntry {
    /// Its path.
    pub path: String,
    /// Its whole content.
    pub data: Vec<u8>,
}

/// One change to the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A file gets this content.
    Write(WriteEntry),
    /// A file or link goes.
    Delete(String),
    /// A directory is there, with its parents.
    MakeDirectory(String),
}

/// A change that only has to be made visible.
enum Ready {
    Write(Staged),
    Delete(String),
    Done,
}

impl Filesystem {
    /// Replaces or creates several files; of two entries for one file the later one stays.
    ///
    /// All are staged before the first gets its name. When one of them cannot be published, those
    /// before it are put back as they were. Directories that were made for them stay.
    ///
    /// ```
    /// use akgentic_workspace::{Filesystem, Root, WriteEntry};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let files = Filesystem::new(Root::open(folder.path())?);
    /// let entry = |path: &str| WriteEntry { path: path.to_owned(), data: b"1".to_vec() };
    /// assert!(files.write_many(&[entry("a"), entry("../b")]).is_err());
    /// assert!(!files.exists("a")?);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_many(&self, entries: &[WriteEntry]) -> Result<Vec<RelPath>, FileError> {
        let changes: Vec<Change> = entries.iter().cloned().map(Change::Write).collect();
        self.commit(&changes, &|| false)
    }

    /// Makes all changes, or none; gives the places of the files that were written.
    pub(crate) fn commit(
        &self,
        changes: &[Change],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<RelPath>, FileError> {
        match changes {
            [Change::Write(entry)] => {
                return Ok(vec![self.write_unless(&entry.path, &entry.data, is_cancelled)?]);
            }
            [Change::Delete(path)] => return self.delete(path).map(|_| Vec::new()),
            _ => {}
        }
        let mut written = Vec::new();
        let mut ready = Vec::with_capacity(changes.len());
        for change in changes {
            let (path, step) = match change {
                Change::Write(entry) => {
                    let (rel, staged) = self.stage(&entry.path, &entry.data, is_cancelled)?;
                    written.push(rel);
                    (&entry.path, Ready::Write(staged))
                }
                Change::Delete(path) => {
                    self.removable(path)?;
                    (path, Ready::Delete(path.clone()))
                }
                Change::MakeDirectory(path) => {
                    self.mkdir(path)?;
                    (path, Ready::Done)
                }
            };
            ready.push((path, step));
        }
        let mut published: Vec<Published> = Vec::with_capacity(ready.len());
        for (path, step) in ready {
            let outcome =
                if is_cancelled() { Err(FileFault::Cancelled) } else { self.publish(step) };
            match outcome {
                Ok(step) => published.extend(step),
                Err(fault) => {
                    published.into_iter().rev().for_each(Published::undo);
                    return Err(FileError::new(path.as_str(), fault));
                }
            }
        }
        published.into_iter().for_each(Published::finish);
        Ok(written)
    }

    fn publish(&self, step: Ready) -> Result<Option<Published>, FileFault> {
        match step {
            Ready::Write(staged) => staged.replace().map(Some),
            Ready::Delete(path) => {
                let (parent, name) = self.removable(&path).map_err(|error| error.fault)?;
                Published::remove(parent, name).map(Some)
            }
            Ready::Done => Ok(None),
        }
    }
}
