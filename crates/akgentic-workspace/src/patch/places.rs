//! Where the lines of a hunk stand in a file, and what to say when they do not.

use std::collections::HashMap;
use std::fmt;

use super::Hunk;
use crate::lines::Text;
use crate::text::clip;

/// A line that is nowhere in the file.
const NOWHERE: u32 = u32::MAX;

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

/// The lines of a file by number.
pub(super) struct Numbered<'t> {
    pub text: Text<'t>,
    numbers: HashMap<&'t str, u32>,
    lines: Vec<u32>,
}

impl<'t> Numbered<'t> {
    pub(super) fn new(raw: &'t str) -> Self {
        let text = Text::new(raw);
        let mut numbers = HashMap::with_capacity(text.len());
        let lines = text
            .contents()
            .map(|line| {
                let next = u32::try_from(numbers.len()).unwrap_or(NOWHERE);
                *numbers.entry(line).or_insert(next)
            })
            .collect();
        Self { text, numbers, lines }
    }

    pub(super) fn numbers<'h>(&self, lines: impl Iterator<Item = &'h str>) -> Vec<u32> {
        lines.map(|line| self.numbers.get(line).copied().unwrap_or(NOWHERE)).collect()
    }

    pub(super) fn stands_at(&self, block: &[u32], at: usize) -> bool {
        self.lines.get(at..at.saturating_add(block.len())) == Some(block)
    }

    /// Every place of a block, overlapping ones too, in linear time.
    pub(super) fn places(&self, block: &[u32]) -> Vec<usize> {
        if block.is_empty() || block.contains(&NOWHERE) {
            return Vec::new();
        }
        let at = |index: usize| block.get(index).copied();
        // Length of the longest beginning of the block that ends at each position of it.
        let mut borders = vec![0usize; block.len()];
        let mut length = 0;
        for index in 1..block.len() {
            while length > 0 && at(index) != at(length) {
                length = borders.get(length - 1).copied().unwrap_or(0);
            }
            length += usize::from(at(index) == at(length));
            if let Some(border) = borders.get_mut(index) {
                *border = length;
            }
        }
        let (mut places, mut length) = (Vec::new(), 0);
        for (index, line) in self.lines.iter().enumerate() {
            while length > 0 && Some(*line) != at(length) {
                length = borders.get(length - 1).copied().unwrap_or(0);
            }
            length += usize::from(Some(*line) == at(length));
            if length == block.len() {
                places.push(index + 1 - length);
                length = borders.get(length - 1).copied().unwrap_or(0);
            }
        }
        places
    }

    /// What to say about a hunk whose lines are not at one place.
    pub(super) fn explain(
        &self,
        path: &str,
        hunk: &Hunk,
        block: &[u32],
        places: &[usize],
    ) -> HunkContextError {
        let mut error = HunkContextError {
            path: path.to_owned(),
            header: hunk.header(),
            occurrences: places.len(),
            lines: places.iter().take(PLACES_TOLD).map(|place| place + 1).collect(),
            best: None,
            applied_at: None,
        };
        if places.is_empty() {
            let claimed = usize::try_from(hunk.old_start).unwrap_or(usize::MAX).saturating_sub(1);
            let lines: Vec<&str> = hunk.old_lines().collect();
            error.best = self.best(&lines, block, claimed);
            error.applied_at = self.applied_at(hunk);
        }
        error
    }

    /// Where the file already holds what the hunk is to make of it.
    fn applied_at(&self, hunk: &Hunk) -> Option<usize> {
        let after = self.numbers(hunk.new_lines());
        let claimed = usize::try_from(hunk.new_start).unwrap_or(usize::MAX).saturating_sub(1);
        if after.is_empty() {
            return None;
        }
        if self.stands_at(&after, claimed) {
            return Some(claimed + 1);
        }
        match self.places(&after).as_slice() {
            [place] => Some(place + 1),
            _ => None,
        }
    }

    /// The place where most lines are equal, by votes of the lines that are in the file.
    fn best(&self, lines: &[&str], block: &[u32], claimed: usize) -> Option<BestPlace> {
        let mut positions: HashMap<u32, Vec<usize>> = HashMap::new();
        for (position, line) in self.lines.iter().enumerate() {
            positions.entry(*line).or_default().push(position);
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
        let same = |index: usize| self.lines.get(start + index) == block.get(index);
        let equal = (0..block.len()).filter(|index| same(*index)).count();
        let differs = (0..block.len()).find(|index| !same(*index))?;
        Some(BestPlace {
            line: start + 1,
            equal,
            of: block.len(),
            differs_at: start + differs + 1,
            expected: lines.get(differs).copied().unwrap_or_default().to_owned(),
            found: (start + differs < self.text.len())
                .then(|| self.text.line(start + differs).to_owned()),
        })
    }
}

/// The place of a text that is most like some lines, if any of them stands in it.
pub(crate) fn closest(content: &str, lines: &str) -> Option<BestPlace> {
    let file = Numbered::new(content);
    let lines: Vec<&str> = Text::new(lines).contents().collect();
    let block = file.numbers(lines.iter().copied());
    file.best(&lines, &block, 0)
}
