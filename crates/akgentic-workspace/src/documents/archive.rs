//! ZIP archives of unknown origin: what they unpack to is measured before anything is built of it.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;
use zip::result::ZipError;

use super::ConvertFault;

/// Most files of an archive.
const ENTRIES_MAX: usize = 20_000;

/// Most bytes of all files together.
const UNPACKED_MAX: u64 = 256 << 20;

/// Most bytes of all markup together: what is built of it is several times as large.
const MARKUP_MAX: u64 = 96 << 20;

/// How deep elements may nest: readers follow them by recursion.
const DEPTH_MAX: usize = 1000;

/// Bytes that are looked at together.
const PIECE: usize = 64 << 10;

/// An archive whose size is known to be bearable.
pub(super) type Archive<'d> = ZipArchive<Cursor<&'d [u8]>>;

/// Opens an archive after a look at all of it.
pub(super) fn open<'d>(data: &'d [u8], kind: &'static str) -> Result<Archive<'d>, ConvertFault> {
    let unreadable = |error: ZipError| ConvertFault::unreadable(kind, error);
    let mut archive = ZipArchive::new(Cursor::new(data)).map_err(unreadable)?;
    if archive.len() > ENTRIES_MAX {
        return Err(ConvertFault::unreadable(kind, "it has too many parts"));
    }
    let (mut total, mut markup) = (0, 0);
    let mut piece = vec![0; PIECE];
    for index in 0..archive.len() {
        let mut entry = match archive.by_index(index) {
            Ok(entry) => entry,
            Err(
                ZipError::InvalidPassword
                | ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED),
            ) => {
                return Err(ConvertFault::Encrypted);
            }
            Err(error) => return Err(unreadable(error)),
        };
        let is_markup = entry.name().is_ok_and(|name| is_markup(&name));
        let mut depth = Depth::default();
        while let Ok(filled) = entry.read(&mut piece) {
            if filled == 0 {
                break;
            }
            let size = u64::try_from(filled).unwrap_or(u64::MAX);
            total += size;
            if is_markup {
                markup += size;
                if depth.feed(piece.get(..filled).unwrap_or_default()) > DEPTH_MAX {
                    return Err(ConvertFault::unreadable(kind, "its elements nest too deeply"));
                }
            }
            if total > UNPACKED_MAX {
                return Err(ConvertFault::TooLarge(UNPACKED_MAX >> 20));
            }
            if markup > MARKUP_MAX {
                return Err(ConvertFault::TooLarge(MARKUP_MAX >> 20));
            }
        }
    }
    Ok(archive)
}

/// The text of one file.
pub(super) fn text(
    archive: &mut Archive<'_>,
    name: &str,
    kind: &'static str,
) -> Result<String, ConvertFault> {
    let entry = archive.by_name(name);
    let entry =
        entry.map_err(|error| ConvertFault::unreadable(kind, format!("{name}: {error}")))?;
    let mut bytes = Vec::new();
    let read = entry.take(MARKUP_MAX).read_to_end(&mut bytes);
    read.map_err(|error| ConvertFault::unreadable(kind, format!("{name}: {error}")))?;
    Ok(decode(&bytes))
}

/// Text in UTF-8, or in UTF-16 with its mark.
fn decode(bytes: &[u8]) -> String {
    let (text, _, _) = encoding_rs::UTF_8.decode(bytes);
    text.into_owned()
}

fn is_markup(name: &str) -> bool {
    let suffixes = ["xml", "rels", "xhtml", "html", "htm", "opf", "ncx", "vml", "svg"];
    name.rsplit_once('.')
        .is_some_and(|(_, suffix)| suffixes.iter().any(|known| suffix.eq_ignore_ascii_case(known)))
}

/// How deep the elements of a text in pieces nest; what is in comments may be counted too.
#[derive(Debug, Default)]
struct Depth {
    open: usize,
    deepest: usize,
    within: Within,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    /// Behind a `<`.
    Bracket,
    /// In a tag that opens an element, with the byte before.
    Opening(u8),
    /// In a value, up to this quote.
    Quoted(u8),
    /// In a tag that changes no depth.
    Other,
}

impl Depth {
    fn feed(&mut self, bytes: &[u8]) -> usize {
        for byte in bytes {
            self.within = match (self.within, byte) {
                (Within::Text, b'<') => Within::Bracket,
                (Within::Text, _) | (Within::Other | Within::Opening(b'/'), b'>') => Within::Text,
                (Within::Bracket, b'/') => {
                    self.open = self.open.saturating_sub(1);
                    Within::Other
                }
                (Within::Bracket, b'!' | b'?') | (Within::Other, _) => Within::Other,
                (Within::Opening(_), b'>') => {
                    self.open += 1;
                    self.deepest = self.deepest.max(self.open);
                    Within::Text
                }
                (Within::Opening(_), quote @ (b'"' | b'\'')) => Within::Quoted(*quote),
                (Within::Bracket | Within::Opening(_), byte) => Within::Opening(*byte),
                (Within::Quoted(quote), byte) if *byte == quote => Within::Opening(quote),
                (Within::Quoted(quote), _) => Within::Quoted(quote),
            };
        }
        self.deepest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_over_pieces() {
        let text = br#"<?xml version="1.0"?><a><b x="<>/>"/><b y='>'><c/></b></a><!-- x -->"#;
        for size in 1..text.len() {
            let mut depth = Depth::default();
            for piece in text.chunks(size) {
                depth.feed(piece);
            }
            assert_eq!((depth.open, depth.deepest), (0, 2), "by {size}");
        }
    }
}
