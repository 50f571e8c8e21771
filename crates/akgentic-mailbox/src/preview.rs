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
    let content = single_line(content, PREVIEW_LIMIT);
    if content.is_empty() {
        format!("{sender} ({kind})")
    } else {
        format!("{sender} ({kind}): {content}")
    }
}

/// A text in one line: its words with single blanks between, cut after `limit` characters with `…`
/// where it is longer. No more of the text is read than is shown.
pub fn single_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit.saturating_add(4)));
    let mut length = 0;
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let is_first = length == 0;
        let (word, after, cut) =
            next_word(rest, limit.saturating_sub(length + usize::from(!is_first)));
        if length == limit {
            line.push('…');
            break;
        }
        if !is_first {
            line.push(' ');
            length += 1;
        }
        line.push_str(word.0);
        length += word.1;
        if cut {
            line.push('…');
            break;
        }
        rest = after.trim_start_matches(is_space);
    }
    line
}

/// The first word, no more than `most` characters of it, with their number; what follows; whether the word
/// goes on.
fn next_word(text: &str, most: usize) -> ((&str, usize), &str, bool) {
    let mut length = 0;
    for (at, letter) in text.char_indices() {
        let is_end = is_space(letter);
        if is_end || length == most {
            let (word, after) = text.split_at(at);
            return ((word, length), after, !is_end);
        }
        length += 1;
    }
    ((text, length), "", false)
}
