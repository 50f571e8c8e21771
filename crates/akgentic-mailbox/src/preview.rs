//! One line of a message.

use crate::texts::PREVIEW_LIMIT;

/// White space as the mailbox understands it: that of Unicode and the four separators below U+0020.
pub(crate) fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}')
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
    let mut line = String::new();
    let mut length = 0;
    let mut between = false;
    for letter in text.chars() {
        if is_space(letter) {
            between = length > 0;
            continue;
        }
        for shown in between.then_some(' ').into_iter().chain([letter]) {
            if length == limit {
                line.push('…');
                return line;
            }
            line.push(shown);
            length += 1;
        }
        between = false;
    }
    line
}
