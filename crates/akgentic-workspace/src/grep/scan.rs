//! The lines of one file that match.

use std::fs::File;
use std::io::{self, Read as _};

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::Query;
use super::matcher::LineMatcher;
use crate::lines::Text;
use crate::text::clip;

/// Largest file that is held as a whole while it is searched.
const WHOLE_MAX: u64 = 16 << 20;

/// Most bytes of one line of a larger file.
const LINE_MAX: usize = 32 << 20;

/// Characters that are shown around a match far into a line.
const AROUND: usize = 80;

/// Characters of a line that are searched by an expression that takes steps back.
const STEPPED_MAX: usize = 100_000;

/// Lines between two looks at the clock.
const LINES_BETWEEN: usize = 512;

/// Lines of one file that match.
#[derive(Debug, Default)]
pub(super) struct FileLines {
    /// The first of them, with their numbers.
    pub lines: Vec<(u64, String)>,
    /// How many there are.
    pub total: u64,
}

/// Why a file was not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    Binary,
    Unreadable,
    TooLarge,
    Stopped,
}

/// Searches one file after the other.
pub(super) struct Scanner<'a> {
    matcher: &'a LineMatcher,
    query: &'a Query<'a>,
    must_stop: &'a dyn Fn() -> bool,
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(
        matcher: &'a LineMatcher,
        query: &'a Query<'a>,
        must_stop: &'a dyn Fn() -> bool,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .heap_limit(Some(LINE_MAX))
            .build();
        Self { matcher, query, must_stop, searcher, buffer: Vec::new() }
    }

    pub(super) fn scan(&mut self, file: File, size: u64) -> Result<FileLines, Skip> {
        if size > WHOLE_MAX {
            return self.scan_in_pieces(&file);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let read = file.take(size).read_to_end(&mut buffer);
        let outcome = match read {
            Err(_) => Err(Skip::Unreadable),
            Ok(_) if memchr::memchr(0, &buffer).is_some() => Err(Skip::Binary),
            Ok(_) => match std::str::from_utf8(&buffer) {
                Ok(text) => self.scan_text(text),
                Err(_) => self.scan_text(&String::from_utf8_lossy(&buffer)),
            },
        };
        self.buffer = buffer;
        outcome
    }

    fn scan_text(&mut self, text: &str) -> Result<FileLines, Skip> {
        let mut found = Found::new(self.matcher, self.query, self.must_stop);
        if let Some(matcher) = self.matcher.linear() {
            let searched = self.searcher.search_slice(matcher, text.as_bytes(), &mut found);
            return found.outcome(searched);
        }
        for (index, line) in Text::new(text).contents().enumerate() {
            if index % LINES_BETWEEN == 0 && (self.must_stop)() {
                return Err(Skip::Stopped);
            }
            if let Some(at) = self.matcher.position(clip(line, STEPPED_MAX)) {
                let number = u64::try_from(index + 1).unwrap_or(u64::MAX);
                found.keep(number, line, |_| at);
            }
            if self.matcher.gave_up() {
                return Err(Skip::Stopped);
            }
        }
        found.outcome(Ok(()))
    }

    fn scan_in_pieces(&mut self, file: &File) -> Result<FileLines, Skip> {
        let Some(matcher) = self.matcher.linear() else { return Err(Skip::TooLarge) };
        let mut found = Found::new(self.matcher, self.query, self.must_stop);
        let source = Stoppable { file, must_stop: self.must_stop };
        let searched = self.searcher.search_reader(matcher, source, &mut found);
        found.outcome(searched)
    }
}

/// A file whose reading ends when the search has to.
struct Stoppable<'a> {
    file: &'a File,
    must_stop: &'a dyn Fn() -> bool,
}

impl io::Read for Stoppable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if (self.must_stop)() { Ok(0) } else { self.file.read(into) }
    }
}

/// Collects matching lines.
struct Found<'a> {
    matcher: &'a LineMatcher,
    query: &'a Query<'a>,
    must_stop: &'a dyn Fn() -> bool,
    lines: FileLines,
    is_binary: bool,
}

impl<'a> Found<'a> {
    fn new(
        matcher: &'a LineMatcher,
        query: &'a Query<'a>,
        must_stop: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { matcher, query, must_stop, lines: FileLines::default(), is_binary: false }
    }

    fn keep(&mut self, number: u64, line: &str, position: impl Fn(&str) -> usize) {
        self.lines.total += 1;
        if self.lines.lines.len() < self.query.max_results {
            let shown = shown(line, self.query.max_line_length, position);
            self.lines.lines.push((number, shown));
        }
    }

    fn outcome(self, searched: io::Result<()>) -> Result<FileLines, Skip> {
        match searched {
            _ if self.is_binary => Err(Skip::Binary),
            Ok(()) => Ok(self.lines),
            // The one limit that is set is that of a line.
            Err(error) if error.kind() == io::ErrorKind::Other => Err(Skip::TooLarge),
            Err(_) => Err(Skip::Unreadable),
        }
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut bytes = found.bytes();
        bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let number = found.line_number().unwrap_or(0);
        if self.lines.lines.len() < self.query.max_results {
            let line = String::from_utf8_lossy(bytes);
            let matcher = self.matcher;
            self.keep(number, &line, |line| matcher.position(line).unwrap_or(0));
        } else {
            self.lines.total += 1;
        }
        let looks = usize::try_from(self.lines.total).unwrap_or(usize::MAX);
        Ok(looks % LINES_BETWEEN != 0 || !(self.must_stop)())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// A line cut to so many characters, and the part around its match when that was cut off.
fn shown(line: &str, most: usize, position: impl Fn(&str) -> usize) -> String {
    let start = clip(line, most);
    if start.len() == line.len() {
        return line.to_owned();
    }
    let at = position(line);
    if at < start.len() {
        return start.to_owned();
    }
    let from = line
        .char_indices()
        .rev()
        .filter(|(index, _)| *index <= at)
        .nth(AROUND / 2)
        .map_or(0, |(index, _)| index);
    let part = clip(line.get(from..).unwrap_or_default(), AROUND);
    format!("{start} [... around the match: {part} ...]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_far_into_a_line_is_shown() {
        let line = format!("{}needle{}", "─".repeat(500), "y".repeat(500));
        let shown = shown(&line, 10, |line| line.find("needle").unwrap_or(0));
        assert!(
            shown.starts_with(&format!("{} [... around the match: ", "─".repeat(10))),
            "{shown}"
        );
        assert!(shown.contains("needle"), "{shown}");
        assert_eq!(super::shown("abc", 2, |_| 0), "ab");
    }
}
