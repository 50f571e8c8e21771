//! Finding the text an edit names, and replacing it.
//!
//! A text that stands in the file as written is found exactly. Else six tolerant strategies are
//! tried in turn; each gives ranges of the file as it is, so that everything outside of a replaced
//! range stays as it was, byte by byte.

mod escape;
mod fuzzy;
mod strategies;
mod substitute;

use std::fmt;
use std::ops::Range;

use crate::lines::Text;

pub use fuzzy::{FUZZY_THRESHOLD, Windows, windows};
pub use substitute::{Edited, Miss, substitute};
pub(crate) use substitute::{Substituted, substitute_in};

/// Most places of which the positions are kept.
const PLACES_MAX: usize = 1000;

/// A way to find a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// As it is written.
    Exact,
    /// Line by line, without white space at both ends of a line; what ends a line does not count.
    LineTrimmed,
    /// Line by line, with runs of blanks and tabs taken as one blank.
    WhitespaceNormalised,
    /// Line by line, without the indentation that all lines share.
    Dedented,
    /// Without the line breaks before and behind it.
    TrimmedBoundary,
    /// With `\n`, `\t` and other escapes taken for what they stand for.
    EscapeNormalised,
    /// As many lines as it has, at least 85 of 100 equal.
    Fuzzy,
}

impl Strategy {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 7] = [
        Self::Exact,
        Self::LineTrimmed,
        Self::WhitespaceNormalised,
        Self::Dedented,
        Self::TrimmedBoundary,
        Self::EscapeNormalised,
        Self::Fuzzy,
    ];

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineTrimmed => "line_trimmed",
            Self::WhitespaceNormalised => "whitespace_normalised",
            Self::Dedented => "dedented",
            Self::TrimmedBoundary => "trimmed_boundary",
            Self::EscapeNormalised => "escape_normalised",
            Self::Fuzzy => "fuzzy",
        }
    }

    /// What this strategy alone finds.
    pub fn find(self, content: &str, anchor: &str) -> Option<Found> {
        if self == Self::Exact {
            return exact(content, anchor);
        }
        self.find_in(&Text::new(content), &Text::new(anchor))
    }

    fn find_in(self, content: &Text<'_>, anchor: &Text<'_>) -> Option<Found> {
        let places = match self {
            Self::Exact => return exact(content.text, anchor.text),
            Self::LineTrimmed => {
                let verbatim = strategies::verbatim(content, anchor);
                if !verbatim.is_empty() {
                    return Found::new(self, true, verbatim);
                }
                strategies::line_trimmed(content, anchor)
            }
            Self::WhitespaceNormalised => strategies::whitespace_normalised(content, anchor),
            Self::Dedented => strategies::dedented(content, anchor),
            Self::TrimmedBoundary => strategies::trimmed_boundary(content, anchor),
            Self::EscapeNormalised => escape::escape_normalised(content.text, anchor.text),
            Self::Fuzzy => fuzzy::fuzzy(content, anchor),
        };
        // A range far longer than the text that was looked for is no place of it.
        let most = anchor.text.len().saturating_mul(4) + 1024;
        let places = places.into_iter().filter(|place| place.len() <= most).collect();
        Found::new(self, false, places)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a text was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The strategy that found it.
    pub strategy: Strategy,
    /// Whether the text stands there as it was written, but for the way lines end.
    pub verbatim: bool,
    /// How often it stands there.
    pub count: usize,
    /// The places in bytes, in the order of the strategy, the best one first; at most a thousand.
    pub places: Vec<Range<usize>>,
}

impl Found {
    fn new(strategy: Strategy, verbatim: bool, mut places: Vec<Range<usize>>) -> Option<Self> {
        let count = places.len();
        places.truncate(PLACES_MAX);
        (count > 0).then_some(Self { strategy, verbatim, count, places })
    }

    /// The first place.
    pub fn range(&self) -> Range<usize> {
        self.places.first().cloned().unwrap_or_default()
    }
}

/// Finds `anchor` in `content`: the first strategy that finds it wins, and its first place.
///
/// `exact_only` tries the first strategy alone. An empty text stands only in an empty one.
///
/// ```
/// use akgentic_workspace::edit::{Strategy, find};
///
/// let found = find("def f():\n    return 1\n", "      return 1", false).ok_or("found")?;
/// assert_eq!((found.strategy, found.range()), (Strategy::LineTrimmed, 9..21));
/// # Ok::<_, &str>(())
/// ```
pub fn find(content: &str, anchor: &str, exact_only: bool) -> Option<Found> {
    if let Some(found) = exact(content, anchor) {
        return Some(found);
    }
    if exact_only || anchor.trim().is_empty() {
        return None;
    }
    let (content, anchor) = (Text::new(content), Text::new(anchor));
    Strategy::ALL.iter().skip(1).find_map(|strategy| strategy.find_in(&content, &anchor))
}

fn exact(content: &str, anchor: &str) -> Option<Found> {
    if anchor.is_empty() {
        let places = if content.is_empty() { vec![Range { start: 0, end: 0 }] } else { Vec::new() };
        return Found::new(Strategy::Exact, true, places);
    }
    let finder = memchr::memmem::Finder::new(anchor);
    let mut places = Vec::new();
    let mut count = 0;
    for at in finder.find_iter(content.as_bytes()) {
        if places.len() < PLACES_MAX {
            places.push(at..at + anchor.len());
        }
        count += 1;
    }
    (count > 0).then_some(Found { strategy: Strategy::Exact, verbatim: true, count, places })
}
