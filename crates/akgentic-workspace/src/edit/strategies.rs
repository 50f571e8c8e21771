//! The strategies that compare lines, and the one that drops line breaks.
//!
//! Whole lines are matched with whole lines: nothing that was not named is ever replaced along.

use std::ops::Range;

use crate::lines::{Text, occurrences, slice};
use crate::text::is_blank;

/// Non-overlapping runs of lines of `content` that are the lines of `anchor`.
fn whole_lines(
    content: &Text<'_>,
    anchor: &Text<'_>,
    stands: impl Fn(usize, usize) -> bool,
    own: impl Fn(usize, usize) -> bool,
) -> Vec<Range<usize>> {
    let count = anchor.len();
    occurrences((content.len(), count), stands, own, false)
        .into_iter()
        .map(|at| content.span(at, count, anchor.ends_in_break()))
        .collect()
}

fn is_blank_text(text: &Text<'_>) -> bool {
    text.text.chars().all(is_blank)
}

/// Places where the text stands but for the way its lines end.
pub(super) fn verbatim(content: &Text<'_>, anchor: &Text<'_>) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let (count, open) = (anchor.len(), !anchor.ends_in_break());
    // Without a line break in it, or without any `\r\n`, there is nothing to look past.
    if count == 0 || (count == 1 && open) || content.len() < count {
        return places;
    }
    let has_crlf = |text: &Text<'_>| memchr::memmem::find(text.text.as_bytes(), b"\r\n").is_some();
    if !has_crlf(content) && !has_crlf(anchor) {
        return places;
    }
    let (first, last) = (anchor.line(0), anchor.line(count - 1));
    // Lines between the first and the last one are whole; the last one is when it ends.
    let inner = count - 1 - usize::from(open);
    let starts: Vec<usize> = if inner == 0 {
        (0..=content.len() - count).collect()
    } else {
        let runs = occurrences(
            (content.len(), inner),
            |at, index| content.line(at) == anchor.line(index + 1),
            |one, other| anchor.line(one + 1) == anchor.line(other + 1),
            true,
        );
        runs.into_iter().filter_map(|at| at.checked_sub(1)).collect()
    };
    let mut from = 0;
    for at in starts {
        let (Some(line), Some(end_line)) =
            (content.lines.get(at), content.lines.get(at + count - 1))
        else {
            break;
        };
        let Some(start) = line.end.checked_sub(first.len()) else { continue };
        if start < line.start.max(from) || slice(content.text, start..line.end) != first {
            continue;
        }
        let (end, ends_well) = if open {
            let ends_well = content.line(at + count - 1).starts_with(last);
            (end_line.start + last.len(), ends_well)
        } else {
            (end_line.next, end_line.next > end_line.end)
        };
        if ends_well {
            places.push(start..end);
            from = end;
        }
    }
    places
}

/// White space at both ends of a line does not count.
pub(super) fn line_trimmed(content: &Text<'_>, anchor: &Text<'_>) -> Vec<Range<usize>> {
    if is_blank_text(anchor) {
        return Vec::new();
    }
    let trimmed: Vec<&str> = anchor.contents().map(|line| line.trim_matches(is_blank)).collect();
    whole_lines(
        content,
        anchor,
        |at, index| {
            trimmed.get(index).is_some_and(|line| content.line(at).trim_matches(is_blank) == *line)
        },
        |one, other| trimmed.get(one) == trimmed.get(other),
    )
}

/// Runs of blanks and tabs are one blank.
pub(super) fn whitespace_normalised(content: &Text<'_>, anchor: &Text<'_>) -> Vec<Range<usize>> {
    if is_blank_text(anchor) {
        return Vec::new();
    }
    let same = |one: &str, other: &str| same_collapsed(one.as_bytes(), other.as_bytes());
    whole_lines(
        content,
        anchor,
        |at, index| same(content.line(at), anchor.line(index)),
        |one, other| same(anchor.line(one), anchor.line(other)),
    )
}

fn same_collapsed(one: &[u8], other: &[u8]) -> bool {
    let is_gap = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (mut one, mut other) = (one, other);
    loop {
        match (one.split_first(), other.split_first()) {
            (None, None) => return true,
            (Some((first, rest)), Some((second, more))) if is_gap(first) && is_gap(second) => {
                let skip = |bytes: &[u8]| bytes.iter().take_while(|byte| is_gap(byte)).count();
                one = rest.get(skip(rest)..).unwrap_or_default();
                other = more.get(skip(more)..).unwrap_or_default();
            }
            (Some((first, rest)), Some((second, more))) if first == second => {
                (one, other) = (rest, more);
            }
            _ => return false,
        }
    }
}

/// The indentation that all lines share does not count: first that of the text that is looked for
/// alone, then that of the file too.
pub(super) fn dedented(content: &Text<'_>, anchor: &Text<'_>) -> Vec<Range<usize>> {
    let wanted = dedent(anchor);
    if is_blank_text(anchor) || anchor.contents().eq(wanted.iter().copied()) {
        return Vec::new();
    }
    let is_wanted = |line: &str, index: usize| wanted.get(index).is_some_and(|own| *own == line);
    let own = |one: usize, other: usize| wanted.get(one) == wanted.get(other);
    let places = whole_lines(content, anchor, |at, index| is_wanted(content.line(at), index), own);
    if !places.is_empty() {
        return places;
    }
    let lines = dedent(content);
    let stands = |at: usize, index: usize| lines.get(at).is_some_and(|line| is_wanted(line, index));
    whole_lines(content, anchor, stands, own)
}

/// The lines without the blanks and tabs that all of them begin with; a blank line is empty.
fn dedent<'t>(text: &Text<'t>) -> Vec<&'t str> {
    let is_gap = |character: char| matches!(character, ' ' | '\t');
    let mut margin: Option<&str> = None;
    for line in text.contents() {
        let body = line.trim_start_matches(is_gap);
        if body.is_empty() {
            continue;
        }
        let own = slice(line, 0..line.len() - body.len());
        margin = Some(match margin {
            None => own,
            Some(margin) => {
                let shared =
                    margin.bytes().zip(own.bytes()).take_while(|(one, other)| one == other);
                slice(margin, 0..shared.count())
            }
        });
    }
    let margin = margin.unwrap_or_default();
    text.contents()
        .map(|line| match line.trim_start_matches(is_gap) {
            "" => "",
            _ => line.strip_prefix(margin).unwrap_or(line),
        })
        .collect()
}

/// Line breaks before and behind the text do not count, but where they were, lines begin and end.
pub(super) fn trimmed_boundary(content: &Text<'_>, anchor: &Text<'_>) -> Vec<Range<usize>> {
    let core = anchor.text.trim_matches('\n');
    if core.is_empty() || core.len() == anchor.text.len() {
        return Vec::new();
    }
    let (leads, trails) = (anchor.text.starts_with('\n'), anchor.text.ends_with('\n'));
    let mut places = Vec::new();
    let mut from = 0;
    for start in memchr::memmem::find_iter(content.text.as_bytes(), core) {
        let mut end = start + core.len();
        if start < from {
            continue;
        }
        if leads && content.lines.get(content.line_at(start)).is_none_or(|line| line.start != start)
        {
            continue;
        }
        if trails {
            let Some(line) = content.lines.get(content.line_at(end - 1)) else { continue };
            if end < line.end {
                continue;
            }
            // One line ending belongs to the place, unless the text holds a half of it.
            if end == line.end {
                end = line.next;
            }
        }
        places.push(start..end);
        from = end;
    }
    places
}
