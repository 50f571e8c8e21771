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
    let mut room = limit;
    let mut rest = text.trim_start_matches(is_space);
    let is_empty = rest.is_empty();
    while !rest.is_empty() {
        // Most of most texts can stand in the line as it is.
        let (plain, after) = rest.split_at(plain_start(rest.as_bytes(), room));
        let (odd, after) = after.split_at(odd_start(after, room - plain.len()));
        line.push_str(plain);
        line.push_str(odd);
        room -= plain.len() + odd.chars().count();
        rest = after.trim_start_matches(is_space);
        if rest.is_empty() {
            break;
        }
        if room == 0 {
            line.push('…');
            break;
        }
        if rest.len() < after.len() {
            line.push(' ');
            room -= 1;
        }
    }
    !is_empty
}

/// Bytes that are looked at together.
const BLOCK: usize = 32;

/// How many of the first `most` bytes are letters of ASCII and single blanks between them.
fn plain_start(text: &[u8], most: usize) -> usize {
    let next = text.get(1..).unwrap_or_default();
    let shown = text.get(..most.min(text.len())).unwrap_or(text);
    let is_plain = |(byte, next): (&u8, &u8)| {
        byte.is_ascii_graphic() || (*byte == b' ' && next.is_ascii_graphic())
    };
    // A whole block at once is quicker than up to the first odd byte.
    let (blocks, next_blocks) = (shown.as_chunks::<BLOCK>().0, next.as_chunks::<BLOCK>().0);
    let whole = blocks.iter().zip(next_blocks).take_while(|(block, next)| {
        block.iter().zip(*next).fold(true, |plain, pair| plain & is_plain(pair))
    });
    let start = whole.count() * BLOCK;
    // What is behind the last byte of a text is no letter.
    let next = next.iter().chain(&[0]).skip(start);
    let pairs = shown.iter().skip(start).zip(next);
    start + pairs.take_while(|(byte, next)| is_plain((byte, next))).count()
}

/// Where a word ends that begins with a letter beyond ASCII or a control character, with no more than
/// `most` characters; what is plain again ends it too.
fn odd_start(text: &str, most: usize) -> usize {
    let is_odd = |letter: char| !letter.is_ascii_graphic() && !is_space(letter);
    let mut letters = text.char_indices();
    let end = letters.by_ref().take(most).find(|(_, letter)| !is_odd(*letter));
    end.or_else(|| letters.next()).map_or(text.len(), |(at, _)| at)
}
