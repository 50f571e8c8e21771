//! The text model: strict UTF-8, lines that end in `\n` or `\r\n`, cuts at character boundaries.

use std::borrow::Cow;
use std::str::Utf8Error;

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    Crlf,
}

impl LineEnding {
    /// The ending that most lines have; a tie is [`LineEnding::Lf`].
    ///
    /// A lone `\r` ends no line.
    pub fn detect(text: &str) -> Self {
        let mut count = EndingCount::default();
        count.feed(text.as_bytes());
        count.dominant()
    }

    /// The same text with every line ending this way.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Lf if text.contains("\r\n") => text.replace("\r\n", "\n").into(),
            Self::Lf => text.into(),
            Self::Crlf => text.replace("\r\n", "\n").replace('\n', "\r\n").into(),
        }
    }

    /// The characters themselves.
    pub const fn chars(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
        }
    }

    /// Its text on the wire: `lf` or `crlf`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "lf",
            Self::Crlf => "crlf",
        }
    }
}

/// Counts line endings of a text that comes in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndingCount {
    lf: u64,
    crlf: u64,
    after_cr: bool,
}

impl EndingCount {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for at in memchr::memchr_iter(b'\n', bytes) {
            let before = match at.checked_sub(1) {
                Some(index) => bytes.get(index) == Some(&b'\r'),
                None => self.after_cr,
            };
            if before { self.crlf += 1 } else { self.lf += 1 }
        }
        if let Some(last) = bytes.last() {
            self.after_cr = *last == b'\r';
        }
    }

    pub(crate) fn dominant(self) -> LineEnding {
        if self.crlf > self.lf { LineEnding::Crlf } else { LineEnding::Lf }
    }
}

/// The text to write in place of `live`: with its line ending where it is a text, else as proposed.
pub fn keep_ending<'t>(proposed: &'t str, live: Option<&[u8]>) -> Cow<'t, str> {
    match live.map(std::str::from_utf8) {
        Some(Ok(live)) => LineEnding::detect(live).apply(proposed),
        Some(Err(_)) | None => proposed.into(),
    }
}

/// White space: what Unicode says, and four separators more.
pub(crate) fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// The longest beginning of `text` with at most `limit` characters.
pub fn clip(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Checks that bytes which come in pieces are UTF-8.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Utf8Check {
    /// Beginning of a character that the last piece ended in.
    carry: [u8; 4],
    carried: usize,
    /// Bytes found good.
    good: u64,
}

/// The first byte that is no UTF-8, counted from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadByte(pub u64);

impl Utf8Check {
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), BadByte> {
        while self.carried > 0 {
            let Some((first, rest)) = bytes.split_first() else { return Ok(()) };
            let Some(slot) = self.carry.get_mut(self.carried) else { return Err(self.bad(0)) };
            *slot = *first;
            self.carried += 1;
            bytes = rest;
            match std::str::from_utf8(self.carry.get(..self.carried).unwrap_or(&[])) {
                Ok(_) => {
                    self.good += widen(self.carried);
                    self.carried = 0;
                }
                Err(error) if error.error_len().is_some() => return Err(self.bad(0)),
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => self.good += widen(bytes.len()),
            Err(error) => self.stop_at(bytes, error)?,
        }
        Ok(())
    }

    fn stop_at(&mut self, bytes: &[u8], error: Utf8Error) -> Result<(), BadByte> {
        let valid = error.valid_up_to();
        let rest = bytes.get(valid..).unwrap_or(&[]);
        if error.error_len().is_some() || rest.len() >= self.carry.len() {
            return Err(self.bad(valid));
        }
        for (slot, byte) in self.carry.iter_mut().zip(rest) {
            *slot = *byte;
        }
        self.carried = rest.len();
        self.good += widen(valid);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), BadByte> {
        if self.carried == 0 { Ok(()) } else { Err(self.bad(0)) }
    }

    fn bad(&self, ahead: usize) -> BadByte {
        BadByte(self.good + widen(ahead))
    }
}

fn widen(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// What bytes that are not UTF-8 look like, by their beginning.
pub(crate) fn guess(start: &[u8]) -> &'static str {
    const SIGNS: &[(&[u8], &str)] = &[
        (b"\xFF\xFE", "it looks like text in UTF-16"),
        (b"\xFE\xFF", "it looks like text in UTF-16"),
        (b"\x89PNG", "it is a PNG image"),
        (b"\xFF\xD8\xFF", "it is a JPEG image"),
        (b"GIF8", "it is a GIF image"),
        (b"%PDF", "it is a PDF document"),
        (b"PK\x03\x04", "it is a ZIP archive or an office document"),
        (b"\xD0\xCF\x11\xE0", "it is an old office document"),
        (b"\x1F\x8B", "it is compressed with gzip"),
        (b"\x7FELF", "it is a program"),
    ];
    match SIGNS.iter().find(|(sign, _)| start.starts_with(sign)) {
        Some((_, text)) => text,
        None if start.contains(&0) => "it is binary",
        None => "it looks like text in another encoding, such as Latin-1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_at_characters() {
        assert_eq!(clip("a─👍b", 3), "a─👍");
        assert_eq!(clip("a─👍b", 4), "a─👍b");
        assert_eq!(clip("a─👍b", 0), "");
        assert_eq!(clip("", 5), "");
    }

    #[test]
    fn checks_text_in_pieces_of_every_size() {
        let text = "aé─👍\r\nz".as_bytes();
        for size in 1..=text.len() {
            let mut check = Utf8Check::default();
            for piece in text.chunks(size) {
                check.feed(piece).expect("good text");
            }
            check.finish().expect("whole characters");
        }
    }

    #[test]
    fn tells_the_first_bad_byte_however_it_is_cut() {
        for (bytes, at) in [
            (&b"ab\xE9\ncd"[..], 2),
            (b"\xC3", 0),
            (b"a\xE2\x94", 1),
            (b"a\xF0\x9F\x91x", 1),
            (b"\x80", 0),
        ] {
            for size in 1..=bytes.len() {
                let mut check = Utf8Check::default();
                let fed = bytes.chunks(size).try_for_each(|piece| check.feed(piece));
                let found = fed.and_then(|()| check.finish());
                assert_eq!(found, Err(BadByte(at)), "{bytes:?} by {size}");
            }
        }
    }

    #[test]
    fn counts_endings_across_pieces() {
        let mut count = EndingCount::default();
        for piece in [&b"a\r"[..], b"", b"\nb", b"\r\n\n"] {
            count.feed(piece);
        }
        assert_eq!((count.lf, count.crlf), (1, 2));
        assert_eq!(count.dominant(), LineEnding::Crlf);
    }
}
