//! Bytes as text for a reader.

use super::capture::Output;

/// How far from the limit a line end is looked for.
const NEARBY: usize = 1024;

pub(super) fn render(output: &Output, limit: usize) -> String {
    let kept = output.head().len() + output.tail().len();
    if output.dropped() == 0 && kept <= limit {
        // A character may stand across the border of head and tail.
        let whole = [output.head(), output.tail()].concat();
        return unified(&whole);
    }
    let (start, end) = if kept <= limit {
        (output.head(), output.tail())
    } else if output.dropped() == 0 && output.tail().is_empty() {
        let half = limit / 2;
        let head = output.head();
        (first(head, limit - half), last(head, half))
    } else {
        let half = limit / 2;
        let tail = last(output.tail(), half);
        (first(output.head(), limit - tail.len()), tail)
    };
    let shown = start.len() + end.len();
    let left_out = output.total() - shown as u64;
    let total = output.total();
    let place = match output.spilled() {
        Some(file) if file.complete => format!("; all of it is in {}", file.name),
        Some(file) => format!("; the first {} bytes are in {}", file.bytes, file.name),
        None => String::new(),
    };
    let mut text = unified(start);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let note = format!("[... {left_out} of {total} bytes left out, limit {limit}{place} ...]\n");
    text.push_str(&note);
    text.push_str(&unified(end));
    text
}

/// The first `most` bytes, cut at a line end nearby or else before a character that does not fit.
fn first(bytes: &[u8], most: usize) -> &[u8] {
    let Some((start, _)) = bytes.split_at_checked(most) else { return bytes };
    let from = start.len().saturating_sub(NEARBY);
    if let Some(end) = start[from..].iter().rposition(|byte| *byte == b'\n') {
        return &start[..=from + end];
    }
    let mut end = start.len();
    while end > 0 && start.len() - end < 4 && is_inside_character(bytes[end]) {
        end -= 1;
    }
    &start[..end]
}

/// The last `most` bytes, cut after a line end nearby or else at the next character.
fn last(bytes: &[u8], most: usize) -> &[u8] {
    let Some(at) = bytes.len().checked_sub(most) else { return bytes };
    let end = &bytes[at..];
    let near = &end[..end.len().min(NEARBY)];
    if let Some(line) = near.iter().position(|byte| *byte == b'\n')
        && line + 1 < end.len()
    {
        return &end[line + 1..];
    }
    let inside = end.iter().take(3).take_while(|byte| is_inside_character(**byte)).count();
    &end[inside..]
}

/// Whether a byte of UTF-8 continues a character.
fn is_inside_character(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Text with replaced invalid bytes, `\r\n` and a lone `\r` turned into `\n`.
fn unified(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains('\r') {
        return text.into_owned();
    }
    let mut unified = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => unified.push('\n'),
            c => unified.push(c),
        }
    }
    unified
}

#[cfg(test)]
mod tests {
    use super::super::{Capture, OutputLimits};
    use super::*;

    fn kept(bytes: &[u8], head: usize, tail: usize) -> Output {
        let mut capture = Capture::new(&OutputLimits { head, tail, ..OutputLimits::default() });
        capture.push(bytes);
        capture.finish(None)
    }

    #[test]
    fn small_output_is_shown_whole() {
        let output = kept("a\r\nb\rc─\n".as_bytes(), 6, 100);
        assert_eq!(output.text(100), "a\nb\nc─\n");
        assert_eq!(kept(b"\xff\n", 9, 9).text(9), "\u{FFFD}\n");
    }

    #[test]
    fn field_c01_cuts_stand_between_characters() {
        for limit in 1..60 {
            let text = kept("─".repeat(100).as_bytes(), 128, 128).text(limit);
            assert!(!text.contains('\u{FFFD}'), "{limit}: {text}");
        }
    }

    #[test]
    fn field_d04_cuts_stand_at_line_ends_and_tell_the_count() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}\n")).collect();
        let lines = lines.concat();
        let text = kept(lines.as_bytes(), 1000, 1000).text(200);
        let (start, rest) = text.split_once("[... ").expect("a notice");
        let (notice, end) = rest.split_once('\n').expect("a line");
        assert!(start.ends_with('\n') && lines.starts_with(start));
        assert!(lines.ends_with(end) && end.starts_with("line "));
        let left_out = lines.len() - start.len() - end.len();
        assert_eq!(notice, format!("{left_out} of {} bytes left out, limit 200 ...]", lines.len()));
    }
}
