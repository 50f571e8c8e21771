//! What the first bytes of an image tell: its format, its size, and whether it moves.
//!
//! Nothing is decoded here, so a hostile file costs no more than its own bytes.

use std::fmt;

/// A format that images are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
    /// Windows bitmap.
    Bmp,
}

/// The suffixes of images and the formats they stand for.
pub const IMAGE_FORMATS: [(&str, ImageFormat); 6] = [
    (".bmp", ImageFormat::Bmp),
    (".gif", ImageFormat::Gif),
    (".jpeg", ImageFormat::Jpeg),
    (".jpg", ImageFormat::Jpeg),
    (".png", ImageFormat::Png),
    (".webp", ImageFormat::Webp),
];

impl ImageFormat {
    /// The format that a suffix in lower case stands for.
    ///
    /// ```
    /// use akgentic_workspace::image::ImageFormat;
    ///
    /// assert_eq!(ImageFormat::of_suffix(".jpg"), Some(ImageFormat::Jpeg));
    /// assert_eq!(ImageFormat::of_suffix(".svg"), None);
    /// ```
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        IMAGE_FORMATS.iter().find(|(known, _)| *known == suffix).map(|(_, format)| *format)
    }

    /// Its media type, such as `image/png`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Bmp => "image/bmp",
        }
    }

    /// Its name in capitals, such as `PNG`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WEBP",
            Self::Bmp => "BMP",
        }
    }

    /// The format that bytes begin like.
    pub fn sniff(data: &[u8]) -> Option<Self> {
        if data.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if data.starts_with(b"\xFF\xD8\xFF") {
            Some(Self::Jpeg)
        } else if data.starts_with(b"GIF87a") || data.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if data.starts_with(b"RIFF") && data.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else if data.starts_with(b"BM") && data.len() >= 26 {
            Some(Self::Bmp)
        } else {
            None
        }
    }
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the head of an image says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageHeader {
    /// The format of the data, whatever the file is called.
    pub format: ImageFormat,
    /// Pixels from left to right, as stored.
    pub width: u32,
    /// Pixels from top to bottom, as stored.
    pub height: u32,
    /// Pictures of an animation, 1 for a still image.
    pub frames: u32,
    /// Whether the data has an end, where the format tells.
    pub complete: bool,
    /// Whether it is a JPEG that is stored in several passes over the whole picture.
    pub progressive: bool,
}

impl ImageHeader {
    /// Reads the head; nothing of what is no image or has no size.
    pub fn read(data: &[u8]) -> Option<Self> {
        let format = ImageFormat::sniff(data)?;
        let still = |width, height| Self {
            format,
            width,
            height,
            frames: 1,
            complete: true,
            progressive: false,
        };
        let header = match format {
            ImageFormat::Png => Self {
                frames: png_frames(data),
                complete: memchr::memmem::rfind(data, b"IEND").is_some(),
                ..still(big(data, 16)?, big(data, 20)?)
            },
            ImageFormat::Gif => Self {
                frames: gif_frames(data),
                ..still(u32::from(little_16(data, 6)?), u32::from(little_16(data, 8)?))
            },
            ImageFormat::Bmp => bmp_size(data).map(|(width, height)| still(width, height))?,
            ImageFormat::Webp => {
                let (width, height) = webp_size(data)?;
                Self { frames: webp_frames(data), ..still(width, height) }
            }
            ImageFormat::Jpeg => {
                let (width, height, progressive) = jpeg_size(data)?;
                let complete = memchr::memmem::rfind(data, b"\xFF\xD9").is_some();
                Self { complete, progressive, ..still(width, height) }
            }
        };
        (header.width > 0 && header.height > 0).then_some(header)
    }

    /// How many pixels it has.
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The longer side.
    pub fn longest(&self) -> u32 {
        self.width.max(self.height)
    }
}

fn array<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn big(data: &[u8], at: usize) -> Option<u32> {
    array(data, at).map(u32::from_be_bytes)
}

fn little(data: &[u8], at: usize) -> Option<u32> {
    array(data, at).map(u32::from_le_bytes)
}

fn little_16(data: &[u8], at: usize) -> Option<u16> {
    array(data, at).map(u16::from_le_bytes)
}

fn little_24(data: &[u8], at: usize) -> Option<u32> {
    array::<3>(data, at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
}

/// Pictures of an animated PNG: its control chunk stands before the picture.
fn png_frames(data: &[u8]) -> u32 {
    let mut at = 8;
    while let (Some(length), Some(kind)) = (big(data, at), array::<4>(data, at + 4)) {
        match &kind {
            b"acTL" => return big(data, at + 8).unwrap_or(1).max(1),
            b"IDAT" | b"IEND" => return 1,
            _ => {}
        }
        let Some(next) =
            usize::try_from(length).ok().and_then(|length| at.checked_add(length + 12))
        else {
            return 1;
        };
        at = next;
    }
    1
}

fn gif_frames(data: &[u8]) -> u32 {
    count_gif_frames(data).unwrap_or(1).max(1)
}

/// Counts image descriptors; data that ends early ends the count.
fn count_gif_frames(data: &[u8]) -> Option<u32> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3usize << ((flags & 7) + 1) };
    let mut at = 13 + table(*data.get(10)?);
    let mut frames = 0;
    loop {
        match data.get(at) {
            Some(0x21) => at += 2,
            Some(0x2C) => {
                frames += 1;
                let Some(flags) = data.get(at + 9) else { return Some(frames) };
                at += 10 + table(*flags) + 1;
            }
            _ => return Some(frames),
        }
        while let Some(length) = data.get(at) {
            at += 1 + usize::from(*length);
            if *length == 0 {
                break;
            }
        }
    }
}

fn bmp_size(data: &[u8]) -> Option<(u32, u32)> {
    if little(data, 14)? == 12 {
        return Some((u32::from(little_16(data, 18)?), u32::from(little_16(data, 20)?)));
    }
    let side = |at| array(data, at).map(|bytes| i32::from_le_bytes(bytes).unsigned_abs());
    Some((side(18)?, side(22)?))
}

fn webp_size(data: &[u8]) -> Option<(u32, u32)> {
    match &array::<4>(data, 12)? {
        b"VP8 " => {
            let side = |at| little_16(data, at).map(|side| u32::from(side & 0x3FFF));
            Some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            let bits = little(data, 21)?;
            Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => Some((little_24(data, 24)? + 1, little_24(data, 27)? + 1)),
        _ => None,
    }
}

/// Counts the frames of an animated WebP.
fn webp_frames(data: &[u8]) -> u32 {
    let is_animated = array::<4>(data, 12).as_ref() == Some(b"VP8X")
        && data.get(20).is_some_and(|flags| flags & 2 != 0);
    if !is_animated {
        return 1;
    }
    let (mut at, mut frames) = (12, 0);
    while let (Some(kind), Some(length)) = (array::<4>(data, at), little(data, at + 4)) {
        frames += u32::from(&kind == b"ANMF");
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(next) = length.checked_add(8 + length % 2).and_then(|size| at.checked_add(size))
        else {
            break;
        };
        at = next;
    }
    frames.max(1)
}

/// Width, height and whether it is progressive, from the frame header of a JPEG.
fn jpeg_size(data: &[u8]) -> Option<(u32, u32, bool)> {
    let mut at = 2;
    loop {
        let marker = match (data.get(at)?, data.get(at + 1)?) {
            (0xFF, 0xFF) => {
                at += 1;
                continue;
            }
            (0xFF, marker) => *marker,
            _ => {
                at += 1 + memchr::memchr(0xFF, data.get(at + 1..)?)?;
                continue;
            }
        };
        match marker {
            0x00 | 0x01 | 0xD0..=0xD8 => at += 2,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                let side = |at| array(data, at).map(|bytes| u32::from(u16::from_be_bytes(bytes)));
                let progressive = matches!(marker, 0xC2 | 0xC6 | 0xCA | 0xCE);
                return Some((side(at + 7)?, side(at + 5)?, progressive));
            }
            0xD9 => return None,
            _ => at += 2 + usize::from(array(data, at + 2).map(u16::from_be_bytes)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_images_are_cheap_and_never_panic() {
        let heads: [&[u8]; 8] = [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x10\0\0\0\x08\0",
            b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC2\0\x11\x08\x02\0\x03\0\x03",
            b"GIF89a\x02\x01\x03\0\x80\0\0abcdef\x2C\0\0\0\0\0\0\0\0\0\x02\x01a\0\x2C",
            b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2F\x01\x40\0\0\0\0\0\0",
            b"RIFF\0\0\0\0WEBPVP8X\x0A\0\0\0\x02\0\0\0\x09\0\0\x04\0\0ANMF\x02\0\0\0abANMF",
            b"BM............\x28\0\0\0\x05\0\0\0\xFE\xFF\xFF\xFF",
            b"\xFF\xD8\xFF\xFF\xFF\xFF",
            b"not an image",
        ];
        let sizes: Vec<_> = heads
            .iter()
            .map(|head| ImageHeader::read(head).map(|head| (head.width, head.height, head.frames)))
            .collect();
        assert_eq!(
            sizes,
            [
                Some((4096, 2048, 1)),
                Some((768, 512, 1)),
                Some((258, 3, 2)),
                Some((2, 2, 1)),
                Some((10, 5, 1)),
                Some((5, 2, 1)),
                None,
                None,
            ]
        );
        for head in heads {
            for end in 0..head.len() {
                let _cut = ImageHeader::read(&head[..end]);
            }
        }
    }

    #[test]
    fn progressive_pictures_are_told() {
        let head = b"\xFF\xD8\xFF\xC2\0\x11\x08\x02\0\x03\0\x03";
        assert!(ImageHeader::read(head).is_some_and(|head| head.progressive && !head.complete));
    }
}
