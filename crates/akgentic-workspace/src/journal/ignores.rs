//! What discovery passes over: ignore rules of the tree, and nothing from outside of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The ignore file a journalled tree starts with.
pub const SEED: &str = "\
# Written once when the journal of this workspace began; it is yours to change.
# Rules decide which changes from outside the tools are recorded; what the tools write always is.

# Staging files and side files of documents and images
.*.tmp
.*.md
.*.bmp
.*.gif
.*.jpeg
.*.jpg
.*.png
.*.webp

# Made anew by programs
__pycache__/
*.pyc
.venv/
node_modules/
";

/// Bytes of one ignore file that are read.
pub(crate) const FILE_BYTES: u64 = 256 * 1024;

/// Name of an ignore file.
pub(crate) const NAME: &str = ".gitignore";

/// The rules of a tree, by directory.
#[derive(Debug, Default)]
pub struct Rules {
    by_directory: HashMap<PathBuf, Gitignore>,
}

impl Rules {
    /// Adds the ignore file of a directory; a rule that cannot be understood is left out.
    pub fn add(&mut self, directory: &Path, content: &str) {
        let mut builder = GitignoreBuilder::new(directory);
        for line in content.lines() {
            if let Err(error) = builder.add_line(None, line) {
                tracing::debug!(%error, "an ignore rule was left out");
            }
        }
        match builder.build() {
            Ok(rules) => {
                self.by_directory.insert(directory.to_owned(), rules);
            }
            Err(error) => tracing::debug!(%error, "an ignore file was left out"),
        }
    }

    /// Whether rules pass over this one name; its parents are not looked at.
    pub(crate) fn matches(&self, path: &Path, is_dir: bool) -> bool {
        let mut directory = path.parent();
        while let Some(at) = directory {
            if let Some(rules) = self.by_directory.get(at) {
                match rules.matched(path, is_dir) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            directory = at.parent();
        }
        false
    }

    /// Whether rules pass over a file, or a directory on the way to it.
    pub fn is_ignored(&self, path: &Path) -> bool {
        let mut ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
        ancestors.reverse();
        ancestors
            .into_iter()
            .filter(|ancestor| !ancestor.as_os_str().is_empty())
            .any(|ancestor| self.matches(ancestor, true))
            || self.matches(path, false)
    }
}
