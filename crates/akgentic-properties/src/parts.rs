//! Texts out of bytes.

/// The byte between two texts.
const BETWEEN: u8 = 0xFF;

/// As many texts as are asked for; those that are not there are empty.
pub(crate) fn texts<const N: usize>(data: &[u8]) -> [String; N] {
    let mut parts = data.splitn(N, |byte| *byte == BETWEEN);
    std::array::from_fn(|_| {
        let part = parts.next().unwrap_or_default();
        String::from_utf8_lossy(part).into_owned()
    })
}

/// The lines of a text, without what ends them.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_between_a_byte_that_none_holds() {
        assert_eq!(texts(b"a\xffb\xffc\xffd"), ["a", "b", "c\u{fffd}d"]);
        assert_eq!(texts(b"a"), ["a", ""]);
    }
}
