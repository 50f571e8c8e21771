//! Several changes at once: all of them are there, or none.

use crate::admission::RelPath;
use crate::error::{FileError, FileFault};
use crate::filesystem::Filesystem;
use crate::gate::Digest;
use crate::publish::{Expected, Publication, PublishFault, Unpublished, publish};

/// One file of a batch write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteEntry {
    /// Its path.
    pub path: String,
    /// Its whole content.
    pub data: Vec<u8>,
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
        let mut written = Vec::with_capacity(entries.len());
        let mut batch = Vec::with_capacity(entries.len());
        for WriteEntry { path, data } in entries {
            let (rel, staged) = self.stage(path, data, &|| false)?;
            written.push(rel);
            let (ours, expected) = (Digest::of(data), Expected::Anything);
            batch.push(Publication::Place { staged, ours, expected });
        }
        match publish(batch) {
            Ok(published) => {
                published.keep();
                Ok(written)
            }
            Err(Unpublished { at, fault }) => {
                let path = entries.get(at).map_or("", |entry| entry.path.as_str());
                let fault = match fault {
                    PublishFault::File(fault) => fault,
                    PublishFault::Conflict => FileFault::Unsteady,
                };
                Err(FileError::new(path, fault))
            }
        }
    }
}
