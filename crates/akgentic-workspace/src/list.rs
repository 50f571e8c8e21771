//! Listings: the children of a directory, or the tree below it.

use crate::admission::RelPath;
use crate::error::{FileError, FileFault};
use crate::filesystem::{Filesystem, Listed, Shape};
use crate::root::Directory;
use crate::spelling;

/// Most entries of one listing.
pub const ENTRIES_MAX: usize = 10_000;

/// Deepest level of a tree.
const LEVELS_MAX: u32 = 200;

/// What a directory without children is answered with.
pub const EMPTY: &str = "Empty directory.";

/// Lists the directory at `path`.
///
/// A `depth` of 1 gives one line per child, 0 the whole tree, any other number a tree of so many
/// levels (below zero: one). Links to directories beneath the root are shown as directories but
/// never entered; a link that leads nowhere, or out of the root, is shown as an empty file. At
/// most [`ENTRIES_MAX`] entries are shown, with a notice when there are more.
pub fn list_directory(
    files: &Filesystem,
    path: &str,
    depth: i64,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<String, FileError> {
    let (rel, directory) = files.open_directory(path)?;
    let lister = Lister { files, is_cancelled };
    let listing = if depth == 1 {
        lister.flat(&rel, &directory)
    } else {
        let levels = match depth {
            0 => LEVELS_MAX,
            other => u32::try_from(other.max(1)).unwrap_or(LEVELS_MAX).min(LEVELS_MAX),
        };
        lister.tree(&rel, &directory, levels)
    };
    listing.map_err(|fault| FileError::new(path, fault))
}

struct Lister<'a> {
    files: &'a Filesystem,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl Lister<'_> {
    fn flat(&self, rel: &RelPath, directory: &Directory) -> Result<String, FileFault> {
        let children = self.files.children(rel, directory, self.is_cancelled)?;
        if children.is_empty() {
            return Ok(EMPTY.to_owned());
        }
        let shown = children.iter().take(ENTRIES_MAX).map(|child| line(child, directory));
        let mut lines: Vec<String> = shown.collect();
        if children.len() > ENTRIES_MAX {
            let total = children.len();
            lines.push(format!("[... truncated: {total} total, showing first {ENTRIES_MAX} ...]"));
        }
        Ok(lines.join("\n"))
    }

    fn tree(&self, rel: &RelPath, directory: &Directory, levels: u32) -> Result<String, FileFault> {
        let top = self.files.children(rel, directory, self.is_cancelled)?;
        if top.is_empty() {
            return Ok(EMPTY.to_owned());
        }
        let mut lines = vec![".".to_owned()];
        let mut open = vec![Level::new(rel.clone(), directory.clone(), top, String::new())];
        let mut cut = false;
        while let Some(level) = open.last_mut() {
            let Some(child) = level.ahead.next() else {
                open.pop();
                continue;
            };
            if (self.is_cancelled)() {
                return Err(FileFault::Cancelled);
            }
            if lines.len() > ENTRIES_MAX {
                cut = true;
                break;
            }
            let is_last = level.ahead.len() == 0;
            let connector = if is_last { "└── " } else { "├── " };
            let text = line(&child, &level.directory);
            lines.push(format!("{}{connector}{text}", level.indent));
            let entered = open.len() < usize::try_from(levels).unwrap_or(usize::MAX);
            if matches!(child.shape, Shape::Directory) && entered {
                let below = self.enter(open.last(), &child, is_last)?;
                open.extend(below);
            }
        }
        if cut {
            let most = ENTRIES_MAX;
            lines.push(format!(
                "[... truncated: showing first {most}, list a directory further down or fewer levels ...]"
            ));
        }
        Ok(lines.join("\n"))
    }

    /// The level below `child`; none when it is gone or may not be read.
    fn enter(
        &self,
        level: Option<&Level>,
        child: &Listed,
        is_last: bool,
    ) -> Result<Option<Level>, FileFault> {
        let Some(level) = level else { return Ok(None) };
        let Ok(directory) = level.directory.enter(&child.name) else { return Ok(None) };
        let rel = level.rel.join(&child.name);
        let children = match self.files.children(&rel, &directory, self.is_cancelled) {
            Ok(children) => children,
            Err(FileFault::Cancelled) => return Err(FileFault::Cancelled),
            Err(fault) => {
                tracing::debug!(directory = %rel, %fault, "left out of a listing");
                Vec::new()
            }
        };
        let indent = format!("{}{}", level.indent, if is_last { "    " } else { "│   " });
        Ok(Some(Level::new(rel, directory, children, indent)))
    }
}

/// One directory of a tree that is being drawn.
struct Level {
    rel: RelPath,
    directory: Directory,
    ahead: std::vec::IntoIter<Listed>,
    indent: String,
}

impl Level {
    fn new(rel: RelPath, directory: Directory, children: Vec<Listed>, indent: String) -> Self {
        let mut ahead = children;
        ahead.retain(|child| !matches!(child.shape, Shape::Special));
        Self { rel, directory, ahead: ahead.into_iter(), indent }
    }
}

fn line(child: &Listed, directory: &Directory) -> String {
    let name = spelling::name(&child.name);
    if child.is_dir() {
        format!("{name}/")
    } else {
        format!("{name} ({} bytes)", child.size(directory))
    }
}
