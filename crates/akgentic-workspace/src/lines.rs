//! Where the lines of a text lie: each ends in `\n` or `\r\n`, the last one may end in nothing.

use std::ops::Range;

use crate::text::LineEnding;

/// One line, in byte offsets of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Where it starts.
    pub start: usize,
    /// Where its content ends and its ending begins.
    pub end: usize,
    /// Where the next line starts.
    pub next: usize,
}

impl Line {
    /// How the line ends; the last line of a text may end in nothing.
    pub(crate) fn ending(self) -> Option<LineEnding> {
        match self.next - self.end {
            0 => None,
            1 => Some(LineEnding::Lf),
            _ => Some(LineEnding::Crlf),
        }
    }
}

/// A text and its lines.
#[derive(Clone, Debug)]
pub(crate) struct Text<'t> {
    pub text: &'t str,
    pub lines: Vec<Line>,
}

impl<'t> Text<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut lines = Vec::new();
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            let before = at.checked_sub(1).filter(|before| *before >= start);
            let cr = before.is_some_and(|before| bytes.get(before) == Some(&b'\r'));
            lines.push(Line { start, end: at - usize::from(cr), next: at + 1 });
            start = at + 1;
        }
        if start < text.len() {
            lines.push(Line { start, end: text.len(), next: text.len() });
        }
        Self { text, lines }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The content of a line, without its ending; empty when there is no such line.
    pub(crate) fn line(&self, index: usize) -> &'t str {
        self.lines.get(index).map_or("", |line| slice(self.text, line.start..line.end))
    }

    /// The contents of all lines.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &'t str> + '_ {
        self.lines.iter().map(|line| slice(self.text, line.start..line.end))
    }

    /// Whether the text ends in a line ending.
    pub(crate) fn ends_in_break(&self) -> bool {
        self.text.ends_with('\n')
    }

    /// The bytes of `count` lines from `first` on, the ending of the last one in it or not.
    pub(crate) fn span(&self, first: usize, count: usize, with_break: bool) -> Range<usize> {
        let start = self.lines.get(first).map_or(self.text.len(), |line| line.start);
        let last = self.lines.get((first + count).saturating_sub(1)).or(self.lines.last());
        let end = last.map_or(start, |line| if with_break { line.next } else { line.end });
        start..end
    }

    /// The line that a byte lies in, counted from 0.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| line.next <= offset)
    }
}

/// Where a sequence stands in another one, in a number of comparisons linear in both.
///
/// `stands(at, index)` compares an element of the long sequence with one of the short one, and
/// `own(one, other)` two of the short one; together they have to be one equivalence.
pub(crate) fn occurrences(
    (long, short): (usize, usize),
    stands: impl Fn(usize, usize) -> bool,
    own: impl Fn(usize, usize) -> bool,
    overlapping: bool,
) -> Vec<usize> {
    let mut places = Vec::new();
    if short == 0 || short > long {
        return places;
    }
    // Length of the longest beginning that ends at each element of the short sequence; computed as
    // far as it is needed, which mostly is not at all.
    let mut borders: Vec<usize> = vec![0];
    let mut length = 0;
    for at in 0..long {
        while length > 0 && !stands(at, length) {
            length = border(&mut borders, length, &own);
        }
        length += usize::from(stands(at, length));
        if length == short {
            places.push(at + 1 - short);
            length = if overlapping { border(&mut borders, length, &own) } else { 0 };
        }
    }
    places
}

/// The border of the first `length` elements; `borders` grows up to it.
fn border(borders: &mut Vec<usize>, length: usize, own: &impl Fn(usize, usize) -> bool) -> usize {
    while borders.len() < length {
        let index = borders.len();
        let mut known = borders.last().copied().unwrap_or(0);
        while known > 0 && !own(index, known) {
            known = borders.get(known - 1).copied().unwrap_or(0);
        }
        borders.push(known + usize::from(own(index, known)));
    }
    borders.get(length - 1).copied().unwrap_or(0)
}

/// A part of a text; empty when the range does not fit.
pub(crate) fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The ending that text put in place of `range` gets: that of the lines it stands among.
pub(crate) fn local_ending(text: &str, range: &Range<usize>) -> LineEnding {
    let bytes = text.as_bytes();
    let behind = bytes.get(range.start..).unwrap_or_default();
    let at = match memchr::memchr(b'\n', behind) {
        Some(at) => Some(range.start + at),
        None => memchr::memrchr(b'\n', bytes.get(..range.start).unwrap_or_default()),
    };
    match at.and_then(|at| at.checked_sub(1)).and_then(|before| bytes.get(before)) {
        Some(b'\r') => LineEnding::Crlf,
        _ => LineEnding::Lf,
    }
}

/// What [`local_ending`] gives for places in their order, without a look at each byte for each of them.
pub(crate) struct LocalEndings<'t> {
    text: &'t str,
    /// From here on to the break behind it, or the end where there is none, all have this ending.
    known: Option<(Range<usize>, LineEnding)>,
}

impl<'t> LocalEndings<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, known: None }
    }

    pub(crate) fn of(&mut self, range: &Range<usize>) -> LineEnding {
        match &self.known {
            Some((known, ending)) if known.contains(&range.start) => *ending,
            _ => {
                let behind = self.text.as_bytes().get(range.start..).unwrap_or_default();
                let length = memchr::memchr(b'\n', behind).unwrap_or(behind.len());
                let ending = local_ending(self.text, range);
                self.known = Some((range.start..range.start + length + 1, ending));
                ending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn endings_in_order_are_the_local_ones(text in "[ab\r\n]{0,40}") {
            let mut endings = LocalEndings::new(&text);
            for at in 0..=text.len() {
                proptest::prop_assert_eq!(endings.of(&(at..at)), local_ending(&text, &(at..at)));
            }
        }
    }

    #[test]
    fn lines_and_their_endings() {
        let text = Text::new("a\r\n\nb\rc\r\n\r");
        let contents: Vec<&str> = text.contents().collect();
        assert_eq!(contents, ["a", "", "b\rc", "\r"]);
        let endings: Vec<_> = text.lines.iter().map(|line| line.ending()).collect();
        let (lf, crlf) = (Some(LineEnding::Lf), Some(LineEnding::Crlf));
        assert_eq!(endings, [crlf, lf, crlf, None]);
        assert_eq!(Text::new("").len(), 0);
        assert_eq!(Text::new("\n").len(), 1);
    }

    #[test]
    fn occurrences_overlapping_and_not() {
        let find = |long: &[u8], short: &[u8], overlapping| {
            let stands = |at: usize, index: usize| long.get(at) == short.get(index);
            let own = |one: usize, other: usize| short.get(one) == short.get(other);
            occurrences((long.len(), short.len()), stands, own, overlapping)
        };
        assert_eq!(find(b"aabaabaab", b"aabaab", true), [0, 3]);
        assert_eq!(find(b"aabaabaab", b"aabaab", false), [0]);
        assert_eq!(find(b"aaaa", b"aa", true), [0, 1, 2]);
        assert_eq!(find(b"aaaa", b"aa", false), [0, 2]);
        assert_eq!(find(b"abcabd", b"abd", true), [3]);
        assert!(find(b"a", b"aa", true).is_empty() && find(b"a", b"", true).is_empty());
    }

    #[test]
    fn inserted_text_ends_like_its_neighbours() {
        let mixed = "a\r\nb\nc";
        assert_eq!(local_ending(mixed, &(0..1)), LineEnding::Crlf);
        assert_eq!(local_ending(mixed, &(3..4)), LineEnding::Lf);
        assert_eq!(local_ending(mixed, &(5..6)), LineEnding::Lf);
        assert_eq!(local_ending("a", &(0..1)), LineEnding::Lf);
    }
}
