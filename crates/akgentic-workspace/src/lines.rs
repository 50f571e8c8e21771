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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn inserted_text_ends_like_its_neighbours() {
        let mixed = "a\r\nb\nc";
        assert_eq!(local_ending(mixed, &(0..1)), LineEnding::Crlf);
        assert_eq!(local_ending(mixed, &(3..4)), LineEnding::Lf);
        assert_eq!(local_ending(mixed, &(5..6)), LineEnding::Lf);
        assert_eq!(local_ending("a", &(0..1)), LineEnding::Lf);
    }
}
