//! One line of a message.

use crate::texts::PREVIEW_LIMIT;

/// White space as the mailbox understands it: that of Unicode and the four separators below U+0020.
pub(crate) fn is_space(letter: char) -> bool {
    match letter {
        ' ' | '\t'..='\r' | '\u{1c}'..='\u{1f}' => true,
        '\0'..='\x7f' => false,
        _ => letter.is_whitespace(),
    }
}

/// A message in one line: `@Sender (kind): content`, its content cut after [`PREVIEW_LIMIT`]
/// characters.
///
/// ```
/// use akgentic_mailbox::preview;
///
/// assert_eq!(preview(Some("@Ann"), "request", " two\nlines "), "@Ann (request): two lines");
/// assert_eq!(preview(None, "request", ""), "unknown (request)");
/// ```
pub fn preview(sender: Option<&str>, kind: &str, content: &str) -> String {
    let sender = sender.filter(|name| !name.is_empty()).unwrap_or("unknown");
    let shown = content.len().min(PREVIEW_LIMIT + '…'.len_utf8());
    let mut line = String::with_capacity(sender.len() + kind.len() + " (): ".len() + shown);
    for part in [sender, " (", kind, "): "] {
        line.push_str(part);
    }
    if !append_line(&mut line, content, PREVIEW_LIMIT) {
        line.truncate(line.len() - ": ".len());
    }
    line
}

/// A text in one line: its words with single blanks between, cut after `limit` characters with `…`
/// where it is longer. No more of the text is read than is shown.
pub fn single_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    append_line(&mut line, text, limit);
    line
}

/// Puts a text in one line behind another; `false` when it is empty.
fn append_line(line: &mut String, text: &str, limit: usize) -> bool {
    let mut length = 0;
    let mut rest = text.trim_start_matches(is_space);
    let is_empty = rest.is_empty();
    while !rest.is_empty() {
        if length == limit {
            line.push('…');
            break;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        let word = Word::first(rest, limit - length);
        line.push_str(word.text);
        length += word.length;
        if word.goes_on {
            line.push('…');
            break;
        }
        rest = after_space(word.after);
    }
    !is_empty
}

/// A text without the white space at its start, which most often is one blank.
fn after_space(text: &str) -> &str {
    match text.as_bytes() {
        [b' ', next, ..] if next.is_ascii_graphic() => text.get(1..).unwrap_or_default(),
        _ => text.trim_start_matches(is_space),
    }
}

/// The first word of a text, or its beginning.
struct Word<'a> {
    text: &'a str,
    /// Its characters.
    length: usize,
    after: &'a str,
    goes_on: bool,
}

impl<'a> Word<'a> {
    /// No more than `most` characters of the first word of a text.
    fn first(text: &'a str, most: usize) -> Self {
        // Most letters are of one byte; the others are looked at one by one.
        let is_odd = |byte: &u8| !byte.is_ascii() || is_space(char::from(*byte));
        let plain = text.bytes().take(most).position(|byte| is_odd(&byte));
        let plain = plain.unwrap_or_else(|| most.min(text.len()));
        let mut length = plain;
        for (at, letter) in text.get(plain..).unwrap_or_default().char_indices() {
            let is_end = is_space(letter);
            if is_end || length == most {
                let (word, after) = text.split_at(plain + at);
                return Self { text: word, length, after, goes_on: !is_end };
            }
            length += 1;
        }
        Self { text, length, after: "", goes_on: false }
    }
}
