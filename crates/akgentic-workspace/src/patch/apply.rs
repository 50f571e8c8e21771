//! Applying hunks to a text.

use super::Hunk;
use super::places::{HunkContextError, Place};
use crate::lines::{local_ending, slice};
use crate::text::LineEnding;

/// A text after its hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The whole text.
    pub text: String,
    /// Hunks that were applied elsewhere than they say.
    pub moved: Vec<Moved>,
}

/// A hunk that was applied elsewhere than it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its header, with both counts.
    pub header: String,
    /// The line where it was applied, counted from 1.
    pub line: usize,
}

/// A hunk and where it goes: lines of the text as it is, counted from 0.
struct Placed<'h> {
    hunk: &'h Hunk,
    start: usize,
    end: usize,
}

/// Applies all hunks to a text, or none.
///
/// A hunk goes where its context and removed lines stand: at the line in its header, moved along
/// with the hunk before it; else at the one place behind that hunk, else at the one place there is.
/// Only lines of the text as it was count. Untouched lines keep their endings, new ones get those
/// of the lines they replace or follow; the end of the text stays with or without a newline as it
/// was, unless the patch says otherwise.
pub fn apply_hunks(
    path: &str,
    raw: &str,
    hunks: &[Hunk],
) -> Result<Applied, Box<HunkContextError>> {
    let file = Place::new(raw);
    let mut placed: Vec<Placed<'_>> = Vec::with_capacity(hunks.len());
    let (mut drift, mut behind) = (0i64, 0);
    let mut moved = Vec::new();
    for hunk in hunks {
        let block: Vec<&str> = hunk.old_lines().collect();
        let is_free = |start: usize| {
            placed.iter().all(|other| start >= other.end || start + block.len() <= other.start)
        };
        let claimed = i64::try_from(hunk.old_start).unwrap_or(i64::MAX);
        // With no lines of its own a hunk goes behind the line it names.
        let claimed = if block.is_empty() { claimed } else { claimed.saturating_sub(1) };
        let guess = usize::try_from(claimed.saturating_add(drift)).ok();
        let fits = |at: usize| {
            let stands =
                if block.is_empty() { at <= file.text.len() } else { file.stands_at(&block, at) };
            stands && is_free(at)
        };
        let start = if let Some(at) = guess.filter(|at| fits(*at)) {
            at
        } else {
            let mut found = file.all(&block);
            found.retain(|place| is_free(*place));
            let mut later = found.iter().filter(|place| **place >= behind);
            match (later.next(), later.next(), found.as_slice()) {
                (Some(only), None, _) | (None, _, [only]) => *only,
                _ => return Err(Box::new(file.explain(path, hunk, &block, &found))),
            }
        };
        if guess != Some(start) || drift != 0 {
            moved.push(Moved { header: hunk.header(), line: start + 1 });
        }
        drift = i64::try_from(start).unwrap_or(i64::MAX).saturating_sub(claimed);
        behind = start + block.len();
        placed.push(Placed { hunk, start, end: behind });
    }
    placed.sort_by_key(|place| (place.start, place.end));
    Ok(Applied { text: assemble(raw, &file, &placed), moved })
}

fn assemble(raw: &str, file: &Place<'_>, placed: &[Placed<'_>]) -> String {
    let last_ending = local_ending(raw, &(raw.len()..raw.len()));
    let text = String::with_capacity(raw.len());
    let mut out = Output { text, raw, last_ending, last_is_open: false };
    let mut at = 0;
    for place in placed {
        out.copy(file, at, place.start);
        at = place.start;
        // Endings of removed lines wait for the lines that replace them.
        let mut removed = std::collections::VecDeque::new();
        for (sign, line) in place.hunk.signed() {
            match sign {
                '+' => {
                    let ending = removed.pop_front().flatten();
                    out.add(line, ending.unwrap_or_else(|| out.ending_near(file, at)));
                }
                '-' => {
                    removed.push_back(file.text.lines.get(at).and_then(|line| line.ending()));
                    at += 1;
                }
                _ => {
                    removed.clear();
                    out.copy(file, at, at + 1);
                    at += 1;
                }
            }
        }
    }
    out.copy(file, at, file.text.len());
    // Only a hunk that reaches the end of the text can speak about it.
    let speaks = |place: &&Placed<'_>| {
        place.end >= file.text.len() && (place.hunk.old_open || place.hunk.new_open)
    };
    let ends_in_break = match placed.iter().rev().find(speaks) {
        Some(place) => !place.hunk.new_open,
        None => raw.is_empty() || file.text.ends_in_break() || out.ends_in_empty_line(),
    };
    out.finish(ends_in_break)
}

struct Output<'r> {
    text: String,
    raw: &'r str,
    /// That of the last line that has one.
    last_ending: LineEnding,
    /// The last line has no ending yet.
    last_is_open: bool,
}

impl Output<'_> {
    /// Lines of the file as they are.
    fn copy(&mut self, file: &Place<'_>, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.close();
        let range = file.text.span(from, to - from, true);
        self.text.push_str(slice(self.raw, range.clone()));
        self.last_is_open = !slice(self.raw, range).ends_with('\n');
    }

    fn add(&mut self, line: &str, ending: LineEnding) {
        self.close();
        self.text.push_str(line);
        self.text.push_str(ending.chars());
    }

    /// Ends a line that ended in nothing and is the last one no more.
    fn close(&mut self) {
        if std::mem::take(&mut self.last_is_open) {
            self.text.push_str(self.last_ending.chars());
        }
    }

    /// The ending of the line before a line of the file, else of that line itself.
    fn ending_near(&self, file: &Place<'_>, at: usize) -> LineEnding {
        let before = at.checked_sub(1).and_then(|before| file.text.lines.get(before));
        let near = before.or(file.text.lines.get(at)).and_then(|line| line.ending());
        near.unwrap_or(self.last_ending)
    }

    /// Whether the last line is empty, and so would not be there without the break that ends it.
    fn ends_in_empty_line(&self) -> bool {
        let before = self.text.strip_suffix('\n').filter(|_| !self.last_is_open);
        let before = before.map(|text| text.strip_suffix('\r').unwrap_or(text));
        before.is_some_and(|text| text.is_empty() || text.ends_with('\n'))
    }

    fn finish(mut self, ends_in_break: bool) -> String {
        if ends_in_break {
            if !self.text.is_empty() {
                self.close();
            }
        } else if !self.last_is_open && self.text.ends_with('\n') {
            self.text.pop();
            if self.text.ends_with('\r') {
                self.text.pop();
            }
        }
        self.text
    }
}
