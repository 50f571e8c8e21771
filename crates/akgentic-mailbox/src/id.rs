//! Ids as models write them.

use std::collections::HashSet;

use uuid::Uuid;

/// Fewest hexadecimal digits that may stand for a whole id.
const SHORTEST: usize = 8;

/// The message a model means: a whole id in one of its usual forms, or the beginning of exactly one
/// of the ids it was told.
pub(crate) fn named(text: &str, announced: &HashSet<Uuid>) -> Option<Uuid> {
    whole(text).or_else(|| beginning(text, announced))
}

/// Hyphenated, compact, in braces, as an URN; in any case, with nothing around it.
fn whole(text: &str) -> Option<Uuid> {
    let urn = "urn:uuid:";
    let bare = match text.get(..urn.len()) {
        Some(start) if start.eq_ignore_ascii_case(urn) => text.get(urn.len()..)?,
        _ => text,
    };
    let bare = bare.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(bare);
    if !bare.bytes().all(is_id_byte) {
        return None;
    }
    Uuid::try_parse(bare).ok()
}

fn beginning(text: &str, announced: &HashSet<Uuid>) -> Option<Uuid> {
    if text.len() > 36 || !text.bytes().all(is_id_byte) {
        return None;
    }
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let digits: String = digits.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    if digits.len() < SHORTEST {
        return None;
    }
    let mut buffer = Uuid::encode_buffer();
    let mut meant =
        announced.iter().filter(|id| id.simple().encode_lower(&mut buffer).starts_with(&digits));
    let first = meant.next()?;
    meant.next().is_none().then_some(*first)
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Uuid = Uuid::from_u128(0x0123_4567_89ab_4def_8123_4567_89ab_cdef);

    #[test]
    fn every_usual_form_names_the_message() {
        let forms = [
            "01234567-89ab-4def-8123-456789abcdef",
            "0123456789ab4def8123456789abcdef",
            "{01234567-89AB-4DEF-8123-456789ABCDEF}",
            "urn:uuid:01234567-89ab-4def-8123-456789abcdef",
            "URN:UUID:01234567-89ab-4def-8123-456789abcdef",
        ];
        for form in forms {
            assert_eq!(named(form, &HashSet::new()), Some(ID), "{form}");
        }
    }

    #[test]
    fn a_beginning_names_an_announced_message_only_when_it_is_the_only_one() {
        let near = Uuid::from_u128(0x0123_4567_ffff_4def_8123_4567_89ab_cdef);
        let one = HashSet::from([ID]);
        for text in ["01234567", "0123456789AB", "01234567-89ab", "01234567-"] {
            assert_eq!(named(text, &one), Some(ID), "{text}");
        }
        let both = HashSet::from([ID, near]);
        assert_eq!(named("01234567", &both), None, "two begin like this");
        assert_eq!(named("0123456789", &both), Some(ID));
        for text in ["0123456", "89ab4def", "", "-", "01234567 ", "first message"] {
            assert_eq!(named(text, &one), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_id_is_none() {
        let one = HashSet::from([ID]);
        let texts = [
            " 01234567-89ab-4def-8123-456789abcdef",
            "\"01234567-89ab-4def-8123-456789abcdef\"",
            "{01234567-89ab-4def-8123-456789abcdef",
            "urn:uuid:",
            "ü01234567",
            "{}",
            "\0\0\0\0\0\0\0\0",
        ];
        for text in texts {
            assert_eq!(named(text, &one), None, "{text}");
        }
        assert_eq!(named(&"0".repeat(1 << 20), &one), None);
    }
}
