//! Compressed streams of a PDF: what they unpack to is measured before a reader holds it.

use std::io::{Cursor, Read};

use flate2::read::ZlibDecoder;
use memchr::memmem;
use pdf_extract::{Document, Object};

use super::ConvertFault;

/// Most bytes of all streams together.
const UNPACKED_MAX: u64 = 256 << 20;

/// How often a stream may be compressed over again.
const LAYERS_MAX: u32 = 3;

/// Most bytes of a stream behind a filter that can unpack them several thousand times.
const LZW_MAX: usize = 100 << 10;

/// Most bytes of a stream behind several filters.
const FILTERED_MAX: usize = 256 << 10;

/// Bytes before the data of a stream in which its dictionary is looked for.
const LOOK_BACK: usize = 400;

/// Unpacks every stream that is compressed with Deflate, keeps nothing, and counts.
pub(super) fn measure(data: &[u8]) -> Result<(), ConvertFault> {
    let mut left = UNPACKED_MAX;
    for at in memmem::find_iter(data, b"stream") {
        if data.get(at.saturating_sub(3)..at) == Some(b"end") {
            continue;
        }
        let dictionary = data.get(at.saturating_sub(LOOK_BACK)..at).unwrap_or_default();
        if is_odd_table(dictionary) {
            return Err(ConvertFault::unreadable(
                "PDF",
                "its object tables are packed in an odd way",
            ));
        }
        let body = data.get(at + b"stream".len()..).unwrap_or_default();
        let body = body.strip_prefix(b"\r").unwrap_or(body);
        let body = body.strip_prefix(b"\n").unwrap_or(body);
        if is_zlib(body) {
            left = unpack(Box::new(ZlibDecoder::new(body)), left, 1)?;
        }
    }
    Ok(())
}

/// A table of objects is unpacked when the file is opened: only the usual filter is taken there.
fn is_odd_table(dictionary: &[u8]) -> bool {
    let last = memmem::rfind(dictionary, b"obj").unwrap_or(0);
    let own = dictionary.get(last..).unwrap_or_default();
    let has = |name: &[u8]| memmem::find(own, name).is_some();
    (has(b"ObjStm") || has(b"XRef")) && [&b"LZW"[..], b"ASCII", b"A85", b"#"].into_iter().any(has)
}

fn is_zlib(bytes: &[u8]) -> bool {
    match bytes {
        [first, second, ..] => {
            first & 0x0F == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
        }
        _ => false,
    }
}

/// Counts down what a stream unpacks to, through all its layers.
fn unpack(mut stream: Box<dyn Read + '_>, left: u64, layer: u32) -> Result<u64, ConvertFault> {
    let mut head = [0; 2];
    let filled = stream.read(&mut head).unwrap_or(0);
    let start = head.get(..filled).unwrap_or_default().to_vec();
    let is_packed_again = is_zlib(&start);
    let mut whole = Cursor::new(start).chain(stream);
    if is_packed_again {
        if layer >= LAYERS_MAX {
            return Err(ConvertFault::unreadable("PDF", "its streams are packed over and over"));
        }
        return unpack(Box::new(ZlibDecoder::new(whole)), left, layer + 1);
    }
    // What is damaged unpacks to what came before.
    let mut piece = vec![0; 64 << 10];
    let mut left = left;
    while let Ok(filled) = whole.read(&mut piece) {
        if filled == 0 {
            break;
        }
        left = left
            .checked_sub(u64::try_from(filled).unwrap_or(u64::MAX))
            .ok_or(ConvertFault::TooLarge(UNPACKED_MAX >> 20))?;
    }
    Ok(left)
}

/// Empties streams whose filters could unpack them to more than is held.
pub(super) fn empty_hostile(document: &mut Document) {
    for object in document.objects.values_mut() {
        let Object::Stream(stream) = object else { continue };
        let Ok(filters) = stream.filters() else { continue };
        let most = if filters.iter().any(|filter| filter.starts_with(b"LZW")) {
            LZW_MAX
        } else if filters.len() > 1 {
            FILTERED_MAX
        } else {
            continue;
        };
        if stream.content.len() > most {
            stream.set_plain_content(Vec::new());
        }
    }
}
