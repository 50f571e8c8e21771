//! What a search found, the newest files first, and never more of it than is shown.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::scan::{FileLines, Skip};
use crate::root::Modified;
use crate::spelling;

/// What a search without a match is answered with.
const NOTHING: &str = "No matches found.";

/// Most bytes of one answer.
const BYTES_MAX: usize = 256 * 1024;

/// Lines that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// `PATH:NUMBER: LINE`, the newest file first.
    pub lines: Vec<String>,
    /// How many lines match.
    pub total: u64,
    /// Files that were searched.
    pub searched: usize,
    /// Files that were skipped as binary.
    pub binary: usize,
    /// Files that could not be read.
    pub unreadable: usize,
    /// Files that are too large to be searched this way.
    pub too_large: usize,
    /// `.git` directories that were not entered.
    pub skipped_git: usize,
    /// Directories that are too far down.
    pub too_deep: usize,
    /// Whether the time was up before all files were searched.
    pub out_of_time: bool,
}

impl Matches {
    /// The answer: lines, a notice when there are more, a line about what was skipped.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut shown = 0u64;
        for line in &self.lines {
            if shown > 0 && text.len() + line.len() > BYTES_MAX {
                break;
            }
            if shown > 0 {
                text.push('\n');
            }
            text.push_str(line);
            shown += 1;
        }
        if shown == 0 {
            text.push_str(NOTHING);
        }
        if self.total > shown {
            let total = self.total;
            _ = write!(text, "\n[... truncated: {total} total, showing first {shown} ...]");
        }
        if self.out_of_time {
            let searched = self.searched;
            _ = write!(
                text,
                "\n[... stopped after {searched} files, the time was up: name a directory in `path` or \
                 files in `include` ...]"
            );
        }
        let skipped = self.skipped(shown == 0);
        if !skipped.is_empty() {
            let searched = self.searched;
            _ = write!(
                text,
                "\n[... {searched} files searched, skipped: {} ...]",
                skipped.join(", ")
            );
        }
        text
    }

    /// What was skipped; with results, only what a reader would look for among them.
    fn skipped(&self, nothing: bool) -> Vec<String> {
        let mut parts = Vec::new();
        let mut part = |count: usize, one: &str, many: &str| {
            if count > 0 {
                parts.push(format!("{count} {}", if count == 1 { one } else { many }));
            }
        };
        part(self.binary, "binary file", "binary files");
        part(self.unreadable, "unreadable file", "unreadable files");
        part(self.too_large, "file too large", "files too large");
        part(self.too_deep, "directory too far down", "directories too far down");
        if nothing {
            part(self.skipped_git, "`.git` directory", "`.git` directories");
        }
        parts
    }
}

/// A file, ordered from the newest to the oldest, then by path.
type ByAge = (Reverse<Modified>, PathBuf);

/// Lines with their numbers.
type Lines = Vec<(u64, String)>;

/// Matches of one thread.
pub(super) struct Collector {
    most: usize,
    /// Lines that are kept, of the newest files.
    kept: usize,
    files: BTreeMap<ByAge, Lines>,
    counts: Matches,
}

impl Collector {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: 0, files: BTreeMap::new(), counts: Matches::default() }
    }

    pub(super) fn add(
        &mut self,
        modified: Modified,
        path: PathBuf,
        outcome: Result<FileLines, Skip>,
    ) {
        match outcome {
            Ok(found) => {
                self.counts.searched += 1;
                self.counts.total += found.total;
                if !found.lines.is_empty() {
                    self.keep((Reverse(modified), path), found.lines);
                }
            }
            Err(Skip::Binary) => self.counts.binary += 1,
            Err(Skip::Unreadable) => self.counts.unreadable += 1,
            Err(Skip::TooLarge) => self.counts.too_large += 1,
            Err(Skip::Stopped) => {}
        }
    }

    fn keep(&mut self, key: ByAge, lines: Lines) {
        self.kept += lines.len();
        self.files.insert(key, lines);
        // The oldest files go when the others fill the answer.
        while let Some(oldest) = self.files.last_entry()
            && self.kept - oldest.get().len() >= self.most
        {
            self.kept -= oldest.remove().len();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        let (own, counts) = (&mut self.counts, other.counts);
        own.total += counts.total;
        own.searched += counts.searched;
        own.binary += counts.binary;
        own.unreadable += counts.unreadable;
        own.too_large += counts.too_large;
        for (key, lines) in other.files {
            self.keep(key, lines);
        }
    }

    pub(super) fn finish(self) -> Matches {
        let mut matches = self.counts;
        let lines = self.files.into_iter().flat_map(|((_, path), lines)| {
            let path = spelling::shown(&path).into_owned();
            lines.into_iter().map(move |(number, line)| format!("{path}:{number}: {line}"))
        });
        matches.lines = lines.take(self.most).collect();
        matches
    }
}
