//! The notice that tells a run of new messages.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::BuildHasher;

use akgentic_core::Message;
use uuid::Uuid;

use crate::error::MailboxRender;
use crate::message::MailboxMessage;
use crate::texts::{ARRIVAL_CLOSING, CLOSING_WITHOUT_IDS, UNOFFERABLE_LINE};

/// How a notice is written.
#[derive(Clone, Copy, Debug)]
pub struct NoticeOptions<'a> {
    /// The last line, when an id is offered.
    pub closing: &'a str,
    /// Most messages that get a line; the others are counted in one.
    pub max_lines: Option<usize>,
}

impl Default for NoticeOptions<'_> {
    fn default() -> Self {
        Self { closing: ARRIVAL_CLOSING, max_lines: None }
    }
}

/// The notice of new messages: their number, a line for each in the order given, a closing line.
///
/// Offered messages show their preview and id, the others neither. Nothing is said of no messages.
pub fn render_arrival_notice<'m>(
    messages: impl ExactSizeIterator<Item = &'m Message>,
    offered: &HashSet<Uuid, impl BuildHasher>,
    options: NoticeOptions<'_>,
) -> Result<String, MailboxRender> {
    let count = messages.len();
    if count == 0 {
        return Ok(String::new());
    }
    let plural = if count == 1 { "" } else { "s" };
    let mut notice = format!("{count} new message{plural} arrived:\n");
    let shown = options.max_lines.map_or(count, |most| most.min(count));
    notice.reserve(shown.saturating_mul(UNOFFERABLE_LINE.len() + 1));
    let mut offers = false;
    for message in messages.take(shown) {
        if offered.contains(&message.id) {
            offers = true;
            line(&mut notice, message)?;
        } else {
            notice.push_str(UNOFFERABLE_LINE);
        }
        notice.push('\n');
    }
    if shown < count {
        // Writing into a string cannot fail.
        let _written = writeln!(notice, "- and {} more", count - shown);
    }
    notice.push_str(if offers { options.closing } else { CLOSING_WITHOUT_IDS });
    Ok(notice)
}

fn line(notice: &mut String, message: &Message) -> Result<(), MailboxRender> {
    let mail = message.facet::<dyn MailboxMessage>().ok_or(MailboxRender(message.id))?;
    let preview = mail.rendering_preview(message);
    notice.push_str("- ");
    if may_break(preview.as_bytes()) && preview.contains(is_line_break) {
        // Nothing may look like a line of its own.
        notice.extend(preview.chars().map(|c| if is_line_break(c) { ' ' } else { c }));
    } else {
        notice.push_str(&preview);
    }
    notice.push_str(" (id: ");
    notice.push_str(message.id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
    notice.push(')');
    Ok(())
}

fn is_line_break(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether there may be a line break: without, there is none. All of a text at once is quicker than up
/// to the first, and most texts have none.
fn may_break(text: &[u8]) -> bool {
    let next = text.get(1..).unwrap_or_default();
    let is_control = |byte: &u8| matches!(byte, 0..b' ');
    // The ends of U+0085, U+2028 and U+2029.
    let is_end = |pair: (&u8, &u8)| matches!(pair, (0xc2, 0x85) | (0x80, 0xa8 | 0xa9));
    let control = text.iter().fold(false, |found, byte| found | is_control(byte));
    control || text.iter().zip(next).fold(false, |found, pair| found | is_end(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_break_is_overlooked() {
        for letter in '\0'..=char::MAX {
            let text = format!("@Ann (request): é{letter}…");
            let is_break = is_line_break(letter);
            assert!(may_break(text.as_bytes()) || !is_break, "{letter:?}");
            if is_break {
                assert!(may_break(letter.to_string().as_bytes()), "{letter:?} alone");
            }
        }
        assert!(!may_break("@Ann (request): Ünïcödé, words that go on…".as_bytes()));
        assert!(!may_break(b""));
    }
}
