//! Unified diffs as a way to change files: read by the counts in their headers, applied only where
//! their lines stand.

mod apply;
mod headers;
mod parse;
mod places;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use apply::{Applied, Moved, apply_hunks};
pub use parse::{Patch, PatchError, Section, SectionKind, parse_patch};
pub(crate) use places::closest;
pub use places::{BestPlace, HunkContextError};

/// The path that stands for no file.
pub const NO_FILE: &str = "/dev/null";

/// One place of a file and what is to stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// First line of the place, counted from 1; with no lines, the line before the place.
    pub old_start: u64,
    /// Lines of the place.
    pub old_count: u64,
    /// First line of the place afterwards.
    pub new_start: u64,
    /// Lines of the place afterwards.
    pub new_count: u64,
    /// The lines, each behind its ` `, `+` or `-`.
    pub lines: Vec<String>,
    /// Whether the last line of the place ends in no newline.
    #[serde(skip)]
    pub old_open: bool,
    /// Whether the last line afterwards ends in no newline.
    #[serde(skip)]
    pub new_open: bool,
}

impl Hunk {
    /// Its header with both counts.
    pub fn header(&self) -> String {
        let Self { old_start, old_count, new_start, new_count, .. } = self;
        format!("@@ -{old_start},{old_count} +{new_start},{new_count} @@")
    }

    /// The lines that have to stand in the file.
    pub fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.signed().filter(|(sign, _)| *sign != '+').map(|(_, line)| line)
    }

    /// The lines that stand there afterwards.
    pub fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.signed().filter(|(sign, _)| *sign != '-').map(|(_, line)| line)
    }

    /// Lines apart from their signs.
    pub(crate) fn signed(&self) -> impl Iterator<Item = (char, &str)> {
        self.lines.iter().map(|line| {
            let mut rest = line.chars();
            (rest.next().unwrap_or(' '), rest.as_str())
        })
    }

    /// Whether it adds lines and does nothing else.
    pub fn is_pure_add(&self) -> bool {
        self.lines.iter().all(|line| line.starts_with('+'))
    }
}

/// All hunks of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePatch {
    /// The file; [`NO_FILE`] where one is deleted.
    pub path: String,
    /// Its hunks.
    pub hunks: Vec<Hunk>,
}
