//! Replacing what was found.

use std::borrow::Cow;
use std::ops::Range;

use super::{Found, Strategy, find};
use crate::lines::{LocalEndings, Text, local_ending, slice};

/// A text after a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// The strategy that found the place.
    pub strategy: Strategy,
    /// Whether the anchor stood there as it was written, but for the way lines end.
    pub verbatim: bool,
    /// How many places there were.
    pub places: usize,
    /// How many of them were replaced.
    pub replaced: usize,
    /// Lines of the first replaced place in the text before, counted from 1.
    pub lines: (usize, usize),
}

/// What a replacement did to a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Substituted {
    pub strategy: Strategy,
    pub verbatim: bool,
    /// How many places there were.
    pub places: usize,
    /// How many of them were replaced.
    pub replaced: usize,
    /// Whether the text is another one now.
    pub changed: bool,
    /// Where the first place began, before and after.
    at: usize,
    /// Line breaks within it, as it was.
    breaks: usize,
}

impl Substituted {
    /// Lines of the first place in the text as it was, counted from 1; what stood before that place
    /// stands there in `text` still.
    pub(crate) fn lines(&self, text: &str) -> (usize, usize) {
        let first = breaks(text, 0..self.at) + 1;
        (first, first + self.breaks)
    }
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Miss {
    /// The anchor is nowhere in the text.
    #[error("the text to replace was not found")]
    NotFound,
    /// The text would be larger than a file is taken as a whole.
    #[error("the text would have more than {most} bytes")]
    TooLarge {
        /// Most bytes.
        most: usize,
    },
    /// The anchor is empty or blank and does not stand in the text as it is.
    #[error("the text to replace is blank")]
    Blank,
    /// Only a tolerant strategy finds the anchor, and it does in several places.
    #[error("the text to replace fits {count} places by {strategy}")]
    Ambiguous {
        /// The strategy.
        strategy: Strategy,
        /// How many places fit.
        count: usize,
        /// Lines where they begin, counted from 1; at most twenty.
        lines: Vec<usize>,
    },
}

/// Most bytes of a text after a replacement: as many as are taken of a file.
const EDITED_MAX: usize = 64 << 20;

/// Most lines that an ambiguous anchor names.
const LINES_TOLD: usize = 20;

/// Replaces `anchor` by `replacement`.
///
/// One place is replaced, the first one where the anchor stands as it was written; where only a
/// tolerant strategy finds it, it must be the only one. With `all`, every place is, in one pass
/// from the left over the text as it was. The replacement goes in as it is, but for its line
/// endings, which become those of the lines it stands among.
///
/// ```
/// use akgentic_workspace::edit::substitute;
///
/// let edited = substitute("a\r\nb\r\n", "a", "x\ny", false, false)?;
/// assert_eq!(edited.text, "x\r\ny\r\nb\r\n");
/// # Ok::<_, akgentic_workspace::edit::Miss>(())
/// ```
pub fn substitute(
    content: &str,
    anchor: &str,
    replacement: &str,
    all: bool,
    exact_only: bool,
) -> Result<Edited, Miss> {
    let mut text = content.to_owned();
    let replaced = substitute_in(&mut text, anchor, replacement, all, exact_only)?;
    Ok(Edited {
        lines: replaced.lines(content),
        text,
        strategy: replaced.strategy,
        verbatim: replaced.verbatim,
        places: replaced.places,
        replaced: replaced.replaced,
    })
}

/// [`substitute`] in a text that is kept for what comes next; it stays as it is when nothing is
/// replaced. For one place, what stands far from it is neither looked at again nor made anew.
pub(crate) fn substitute_in(
    content: &mut String,
    anchor: &str,
    replacement: &str,
    all: bool,
    exact_only: bool,
) -> Result<Substituted, Miss> {
    let Some(found) = find(content, anchor, exact_only) else {
        let blank = anchor.trim().is_empty();
        return Err(if blank { Miss::Blank } else { Miss::NotFound });
    };
    let one_of_many = found.count > 1 && !found.verbatim;
    // Lines that are merely alike may overlap or differ: they are not replaced by the dozen.
    if one_of_many && (!all || found.strategy == Strategy::Fuzzy) {
        return Err(ambiguous(content, &found));
    }
    let first = found.range();
    let at = whole_breaks(content, first.clone()).start;
    let breaks = breaks_within(content, &first);
    let (replaced, changed) = if all {
        let (text, replaced) = if found.strategy == Strategy::Exact && !anchor.is_empty() {
            let places = memchr::memmem::find_iter(content.as_bytes(), anchor);
            replace(content, places.map(|at| at..at + anchor.len()), replacement)?
        } else {
            replace(content, found.places.iter().cloned(), replacement)?
        };
        let changed = text != *content;
        *content = text;
        (replaced, changed)
    } else {
        (1, replace_one(content, first, replacement)?)
    };
    let Found { strategy, verbatim, count: places, .. } = found;
    Ok(Substituted { strategy, verbatim, places, replaced, changed, at, breaks })
}

/// Replaces one place; tells whether that makes another text.
fn replace_one(content: &mut String, place: Range<usize>, replacement: &str) -> Result<bool, Miss> {
    let place = whole_breaks(content, place);
    let replacement = if replacement.contains('\n') {
        local_ending(content, &place).apply(replacement)
    } else {
        Cow::Borrowed(replacement)
    };
    let Some(before) = content.get(place.clone()) else { return Err(Miss::NotFound) };
    if before == replacement {
        return Ok(false);
    }
    if content.len() - before.len() + replacement.len() > EDITED_MAX {
        return Err(Miss::TooLarge { most: EDITED_MAX });
    }
    content.replace_range(place, &replacement);
    Ok(true)
}

fn ambiguous(content: &str, found: &Found) -> Miss {
    let text = Text::new(content);
    let mut lines: Vec<usize> =
        found.places.iter().map(|place| text.line_at(place.start) + 1).collect();
    lines.sort_unstable();
    lines.truncate(LINES_TOLD);
    Miss::Ambiguous { strategy: found.strategy, count: found.count, lines }
}

/// Line breaks that lines of a range are parted by: one at its end does not begin another of them.
fn breaks_within(content: &str, range: &Range<usize>) -> usize {
    breaks(content, range.start..range.end.saturating_sub(1).max(range.start))
}

fn breaks(content: &str, range: Range<usize>) -> usize {
    let bytes = content.as_bytes().get(range).unwrap_or_default();
    memchr::memchr_iter(b'\n', bytes).count()
}

fn replace(
    content: &str,
    places: impl Iterator<Item = Range<usize>>,
    replacement: &str,
) -> Result<(String, usize), Miss> {
    let mut text = String::with_capacity(content.len() + replacement.len());
    let has_breaks = replacement.contains('\n');
    let mut endings = LocalEndings::new(content);
    let (mut kept, mut replaced) = (0, 0);
    let mut push = |piece: &str| {
        if text.len() + piece.len() > EDITED_MAX {
            return Err(Miss::TooLarge { most: EDITED_MAX });
        }
        text.push_str(piece);
        Ok(())
    };
    for place in places {
        let place = whole_breaks(content, place);
        push(slice(content, kept..place.start.max(kept)))?;
        if has_breaks {
            push(&endings.of(&place).apply(replacement))?;
        } else {
            push(replacement)?;
        }
        kept = place.end;
        replaced += 1;
    }
    push(slice(content, kept..content.len()))?;
    Ok((text, replaced))
}

/// The range with the `\r` of a `\r\n` that it begins in the middle of.
fn whole_breaks(content: &str, range: Range<usize>) -> Range<usize> {
    let bytes = content.as_bytes();
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    if before == Some(&b'\r') && bytes.get(range.start) == Some(&b'\n') && !range.is_empty() {
        range.start - 1..range.end
    } else {
        range
    }
}
