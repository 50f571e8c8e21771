//! Texts about members that a model reads.

use std::fmt::Write as _;

/// A list of names as `['@A1', '@B2']`, quoted so that any name can be told from its neighbours.
pub(crate) fn name_list<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| quoted(name.as_ref())).collect();
    format!("[{}]", quoted.join(", "))
}

fn quoted(name: &str) -> String {
    let mark = if name.contains('\'') && !name.contains('"') { '"' } else { '\'' };
    let mut text = String::from(mark);
    for character in name.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            character if character == mark => {
                text.push('\\');
                text.push(character);
            }
            character if is_printable(character) => text.push(character),
            character => escape(&mut text, u32::from(character)),
        }
    }
    text.push(mark);
    text
}

fn escape(text: &mut String, code: u32) {
    // Writing to a string cannot fail.
    let _written = match code {
        0..=0xff => write!(text, "\\x{code:02x}"),
        0x100..=0xffff => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
}

/// Whether a character other than a blank shows nothing of itself, or moves its neighbours: two
/// names that differ in one look the same.
pub(crate) fn is_invisible(character: char) -> bool {
    !is_printable(character)
        || matches!(u32::from(character),
            0x34f | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x2800 | 0x3164 | 0xffa0
            | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

fn is_printable(character: char) -> bool {
    !character.is_control()
        && (character == ' ' || !character.is_whitespace())
        && !matches!(u32::from(character),
            0xad | 0x600..=0x605 | 0x61c | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f
            | 0xfeff | 0xfff9..=0xfffb | 0xe000..=0xf8ff | 0xfff0..=0xfff8 | 0xfffe..=0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_so_that_they_stay_apart() {
        assert_eq!(name_list(&["@A1", "@B2"]), "['@A1', '@B2']");
        assert_eq!(name_list(&["@O'Neil"]), "[\"@O'Neil\"]");
        assert_eq!(name_list(&["a'\"b"]), "['a\\'\"b']");
        assert_eq!(name_list(&["a\\b\n\u{1}é\u{200b}"]), "['a\\\\b\\n\\x01é\\u200b']");
        assert_eq!(name_list::<&str>(&[]), "[]");
    }
}
