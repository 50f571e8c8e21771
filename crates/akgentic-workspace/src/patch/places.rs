//! Where the lines of a hunk stand in a file, and what to say when they do not.

use std::collections::HashMap;
use std::fmt;

use super::Hunk;
use crate::lines::{Text, occurrences};
use crate::text::clip;

/// Positions of one line that are looked at when a place is guessed.
const VOTES: usize = 200;

/// Places that are named.
const PLACES_TOLD: usize = 10;

/// Characters of a line that are quoted.
const QUOTED: usize = 160;

/// A hunk whose lines stand nowhere in its file, or in several places and not where it says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct HunkContextError {
    /// The file.
    pub path: String,
    /// The hunk's header, with both counts.
    pub header: String,
    /// How often its lines stand in the file: never once.
    pub occurrences: usize,
    /// Where they stand, counted from 1; at most ten places.
    pub lines: Vec<usize>,
    /// Where the file is most like them.
    pub best: Option<BestPlace>,
    /// Line from which on the file holds what the hunk makes of it, counted from 1.
    pub applied_at: Option<usize>,
    /// Lines of the file, when the hunk only adds some behind a line that is not there.
    pub ends_before: Option<usize>,
}

/// The place of a file that is most like the lines of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestPlace {
    /// Line where it begins, counted from 1.
    pub line: usize,
    /// How many lines are equal.
    pub equal: usize,
    /// How many lines the hunk has.
    pub of: usize,
    /// The first line that is not, counted from 1.
    pub differs_at: usize,
    /// What the hunk has there.
    pub expected: String,
    /// What the file has there; nothing behind its end.
    pub found: Option<String>,
}

impl fmt::Display for HunkContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = &self.header;
        if self.occurrences > 1 {
            let lines: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
            return write!(
                f,
                "hunk {header}: its lines stand in {} places (lines {}) and not where it says. Add \
                 lines around the change, so that one place is left",
                self.occurrences,
                lines.join(", ")
            );
        }
        if let Some(lines) = self.ends_before {
            return write!(
                f,
                "hunk {header}: it adds behind a line that is not there: the file has {lines} lines. Give \
                 the line to add behind, or the lines around"
            );
        }
        write!(f, "hunk {header}: its lines are absent from the file.")?;
        if let Some(line) = self.applied_at {
            return write!(f, " The change is there already, at line {line}: leave this hunk out");
        }
        match &self.best {
            Some(best) => write!(f, "{best}"),
            None => write!(f, " Nothing like them is in it: read the file before you change it"),
        }
    }
}

impl fmt::Display for BestPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, equal, of, differs_at, expected, .. } = self;
        write!(
            f,
            " Closest is line {line}, where {equal} of {of} lines are equal; line {differs_at} "
        )?;
        let quoted = |text: &str| format!("{:?}", clip(text, QUOTED));
        match &self.found {
            Some(found) => {
                write!(f, "should be {} and is {}", quoted(expected), quoted(found))?;
                if expected.trim() == found.trim() {
                    write!(f, " (they differ in white space)")?;
                }
            }
            None => write!(f, "should be {}, and the file has ended there", quoted(expected))?,
        }
        write!(f, ". Write the lines as they stand in the file")
    }
}

/// The lines of a file that hunks are looked for in.
pub(super) struct Place<'t> {
    pub text: Text<'t>,
}

impl<'t> Place<'t> {
    pub(super) fn new(raw: &'t str) -> Self {
        Self { text: Text::new(raw) }
    }

    pub(super) fn stands_at(&self, block: &[&str], at: usize) -> bool {
        at.checked_add(block.len()).is_some_and(|end| end <= self.text.len())
            && block.iter().enumerate().all(|(index, line)| self.text.line(at + index) == *line)
    }

    /// Every place of a block, overlapping ones too, in linear time.
    pub(super) fn all(&self, block: &[&str]) -> Vec<usize> {
        occurrences(
            (self.text.len(), block.len()),
            |at, index| block.get(index).is_some_and(|line| self.text.line(at) == *line),
            |one, other| block.get(one) == block.get(other),
            true,
        )
    }

    /// What to say about a hunk whose lines are not at one place.
    pub(super) fn explain(
        &self,
        path: &str,
        hunk: &Hunk,
        block: &[&str],
        places: &[usize],
    ) -> HunkContextError {
        let mut error = HunkContextError {
            path: path.to_owned(),
            header: hunk.header(),
            occurrences: places.len(),
            lines: places.iter().take(PLACES_TOLD).map(|place| place + 1).collect(),
            best: None,
            applied_at: None,
            ends_before: block.is_empty().then_some(self.text.len()),
        };
        if places.is_empty() {
            let claimed = usize::try_from(hunk.old_start).unwrap_or(usize::MAX).saturating_sub(1);
            error.best = self.best(block, claimed);
            error.applied_at = self.applied_at(hunk);
        }
        error
    }

    /// Where the file already holds what the hunk is to make of it.
    fn applied_at(&self, hunk: &Hunk) -> Option<usize> {
        let after: Vec<&str> = hunk.new_lines().collect();
        let claimed = usize::try_from(hunk.new_start).unwrap_or(usize::MAX).saturating_sub(1);
        if after.is_empty() {
            return None;
        }
        if self.stands_at(&after, claimed) {
            return Some(claimed + 1);
        }
        match self.all(&after).as_slice() {
            [place] => Some(place + 1),
            _ => None,
        }
    }

    /// The place where most lines are equal, by votes of the lines that are in the file.
    fn best(&self, block: &[&str], claimed: usize) -> Option<BestPlace> {
        let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
        for (position, line) in self.text.contents().enumerate() {
            positions.entry(line).or_default().push(position);
        }
        let mut votes: HashMap<usize, usize> = HashMap::new();
        for (index, line) in block.iter().enumerate() {
            let known = positions.get(line).map(Vec::as_slice).unwrap_or_default();
            if known.len() <= VOTES {
                for start in known.iter().filter_map(|position| position.checked_sub(index)) {
                    *votes.entry(start).or_default() += 1;
                }
            }
        }
        let (start, _) = votes.into_iter().max_by_key(|(start, count)| {
            (*count, std::cmp::Reverse(start.abs_diff(claimed)), std::cmp::Reverse(*start))
        })?;
        let same = |index: usize| {
            start + index < self.text.len()
                && block.get(index).is_some_and(|line| self.text.line(start + index) == *line)
        };
        let equal = (0..block.len()).filter(|index| same(*index)).count();
        let differs = (0..block.len()).find(|index| !same(*index))?;
        Some(BestPlace {
            line: start + 1,
            equal,
            of: block.len(),
            differs_at: start + differs + 1,
            expected: block.get(differs).copied().unwrap_or_default().to_owned(),
            found: (start + differs < self.text.len())
                .then(|| self.text.line(start + differs).to_owned()),
        })
    }
}

/// The place of a text that is most like some lines, if any of them stands in it.
pub(crate) fn closest(content: &str, lines: &str) -> Option<BestPlace> {
    let lines: Vec<&str> = Text::new(lines).contents().collect();
    Place::new(content).best(&lines, 0)
}
