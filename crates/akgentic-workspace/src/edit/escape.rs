//! The strategy that reads `\n`, `\t` and other escapes as what they stand for.

use std::ops::Range;

/// A text with its escapes decoded, and where every byte of it comes from.
struct Decoded {
    text: String,
    /// For each byte the place in the source where its character begins, and the end of the source.
    from: Vec<usize>,
}

/// Places of the decoded text, else places of the file that decode to the text as written.
///
/// Only a text in ASCII is decoded: escapes are how a machine spells what is not.
pub(super) fn escape_normalised(content: &str, anchor: &str) -> Vec<Range<usize>> {
    if !anchor.is_ascii() || !anchor.contains('\\') {
        return Vec::new();
    }
    let Some(wanted) = decode(anchor) else { return Vec::new() };
    if wanted.text == anchor || wanted.text.is_empty() {
        return Vec::new();
    }
    let places = occurrences(content, &wanted.text);
    if !places.is_empty() || !content.contains('\\') {
        return places;
    }
    let Some(decoded) = decode(content) else { return Vec::new() };
    let source = |at: usize| decoded.from.get(at).copied().unwrap_or(content.len());
    occurrences(&decoded.text, anchor)
        .into_iter()
        .map(|place| source(place.start)..source(place.end))
        .collect()
}

fn occurrences(content: &str, text: &str) -> Vec<Range<usize>> {
    let found = memchr::memmem::find_iter(content.as_bytes(), text);
    found.map(|at| at..at + text.len()).collect()
}

/// Decodes all escapes; nothing when one is broken off or names no character.
fn decode(source: &str) -> Option<Decoded> {
    let mut decoded = Decoded { text: String::new(), from: Vec::new() };
    let mut rest = source;
    let mut at = 0;
    while let Some(backslash) = rest.find('\\') {
        let (plain, escape) = rest.split_at_checked(backslash)?;
        decoded.push(plain, at);
        at += backslash;
        let (character, length) = one_escape(escape)?;
        match character {
            Escaped::Character(character) => decoded.push_one(character, at),
            Escaped::Nothing => {}
            Escaped::AsItStands => decoded.push(escape.get(..length)?, at),
        }
        rest = escape.get(length..)?;
        at += length;
    }
    decoded.push(rest, at);
    decoded.from.push(source.len());
    Some(decoded)
}

impl Decoded {
    fn push(&mut self, text: &str, at: usize) {
        self.text.push_str(text);
        self.from.extend(at..at + text.len());
    }

    fn push_one(&mut self, character: char, at: usize) {
        self.text.push(character);
        self.from.extend(std::iter::repeat_n(at, character.len_utf8()));
    }
}

enum Escaped {
    Character(char),
    Nothing,
    AsItStands,
}

/// The escape that a text begins with, and its length.
fn one_escape(text: &str) -> Option<(Escaped, usize)> {
    let kind = text.chars().nth(1)?;
    let simple = |character: char| Some((Escaped::Character(character), 2));
    match kind {
        '\n' => Some((Escaped::Nothing, 2)),
        '\\' | '\'' | '"' => simple(kind),
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '0'..='7' => {
            let digits: String =
                text.chars().skip(1).take(3).take_while(|digit| digit.is_digit(8)).collect();
            let value = u32::from_str_radix(&digits, 8).ok()?;
            Some((Escaped::Character(char::from_u32(value)?), 1 + digits.len()))
        }
        'x' => hex(text, 2),
        'u' => hex(text, 4),
        'U' => hex(text, 8),
        'N' => None,
        other => Some((Escaped::AsItStands, 1 + other.len_utf8())),
    }
}

fn hex(text: &str, digits: usize) -> Option<(Escaped, usize)> {
    let value = text.get(2..2 + digits)?;
    if !value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(value, 16).ok()?;
    Some((Escaped::Character(char::from_u32(value)?), 2 + digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes() {
        let text = |source: &str| decode(source).map(|decoded| decoded.text);
        assert_eq!(text(r"a\tb\x41\u00e9\d").as_deref(), Some("a\tbA\u{e9}\\d"));
        assert_eq!(text("é\\\n─").as_deref(), Some("é─"));
        for broken in ["a\\", r"\x4", r"\u12", r"\U00110000", r"\ud800", r"\N{DASH}", r"\x+1"] {
            assert!(text(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn a_place_covers_the_whole_escape() {
        let places = escape_normalised(r"x = 'é\\nb' # z", r"\nb");
        assert_eq!(places, std::slice::from_ref(&(7..11)));
    }
}
