//! Files by name: patterns over the names on a path, and one walk that serves all of them.

mod name;
mod pattern;
mod walk;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use pattern::{Pattern, PatternError, expand};
pub(crate) use walk::{FilesOf, Walk, Walked};

use crate::error::{FileError, FileFault};
use crate::filesystem::Filesystem;
use crate::spelling;

/// What a search without a file is answered with.
pub const NOTHING: &str = "No files found.";

/// A path and when the file was changed, ordered from the newest to the oldest, then by path.
type ByAge = (Reverse<(i64, i64)>, std::path::PathBuf);

/// Finds files below the directory at `path`, the newest first, at most `most` of them.
///
/// A missing directory holds no file; nor does a path that is one.
pub fn find_files(
    files: &Filesystem,
    pattern: &Pattern,
    path: &str,
    most: usize,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<FoundFiles, FileError> {
    let mut found = FoundFiles { paths: Vec::new(), total: 0, too_deep: 0 };
    let (rel, directory) = match files.open_directory(path) {
        Ok(open) => open,
        Err(FileError { fault: FileFault::NotFound | FileFault::NotADirectory, .. }) => {
            return Ok(found);
        }
        Err(error) => return Err(error),
    };
    // The oldest of those that are kept is on top.
    let mut newest: BinaryHeap<ByAge> = BinaryHeap::new();
    let mut walk = Walk::new(files, pattern, rel, directory, is_cancelled);
    while let Some(FilesOf { rel, directory, names }) =
        walk.next().map_err(|fault| FileError::new(path, fault))?
    {
        for Walked { name, linked } in names {
            let modified = match linked {
                Some(status) => status.modified,
                None => match directory.status(&name) {
                    Ok(status) => status.modified,
                    // It is gone by now.
                    Err(_) => continue,
                },
            };
            found.total += 1;
            let entry = (Reverse(modified), rel.as_path().join(&name));
            if newest.len() < most {
                newest.push(entry);
            } else if newest.peek().is_some_and(|oldest| entry < *oldest) {
                newest.pop();
                newest.push(entry);
            }
        }
    }
    found.too_deep = walk.too_deep;
    let paths = newest.into_sorted_vec().into_iter();
    found.paths = paths.map(|(_, path)| spelling::shown(&path).into_owned()).collect();
    Ok(found)
}

/// Files that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFiles {
    /// Paths from the root as they are shown, in quotes where they would not fit on a line; the newest
    /// file first, at most as many as were asked for.
    pub paths: Vec<String>,
    /// How many there are.
    pub total: usize,
    /// Directories that were not entered, being too far down.
    pub too_deep: usize,
}

impl FoundFiles {
    /// One path per line, and a notice when there are more.
    pub fn text(&self) -> String {
        let mut lines = self.paths.clone();
        if lines.is_empty() {
            lines.push(NOTHING.to_owned());
        }
        if self.total > self.paths.len() {
            let (total, shown) = (self.total, self.paths.len());
            lines.push(format!("[... truncated: {total} total, showing first {shown} ...]"));
        }
        if self.too_deep > 0 {
            let (count, levels) = (self.too_deep, walk::LEVELS_MAX);
            lines.push(format!(
                "[... {count} directories more than {levels} levels down were not searched ...]"
            ));
        }
        lines.join("\n")
    }
}
