//! Decodes, turns upright, shrinks and encodes.

use std::io::Cursor;

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, ResizeOptions, Resizer};
use image::codecs::gif::GifEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::metadata::Orientation;
use image::{
    ColorType, DynamicImage, GrayAlphaImage, GrayImage, ImageDecoder as _, ImageEncoder as _,
    ImageReader, Limits, RgbImage, RgbaImage,
};

use super::{ImageFault, ImageFormat, ImageHeader, ImageLimits, Prepared, fit};

/// Most pixels that are decoded to the full.
const PIXELS_MAX: u64 = 64_000_000;

/// Most pixels of a JPEG that is decoded at a fraction of its size.
const SCALED_PIXELS_MAX: u64 = 256_000_000;

/// Most bytes a decoder may hold.
const DECODER_BYTES: u64 = 512 << 20;

/// Qualities of JPEG that are tried, one after the other, until the bytes are few enough.
const QUALITIES: [u8; 3] = [85, 70, 50];

/// How often an image whose bytes are still too many is made smaller by a quarter.
const SHRINKS: u32 = 8;

/// Makes an image one that a model can take, within `limits`.
///
/// The format is told by the data and stays, except that bitmaps become PNG, and that what is too
/// large for its bytes becomes JPEG. With `limits.side` 0 the bytes are not looked into; `named` is
/// then the format of data that no format claims.
pub fn prepare(
    data: &[u8],
    named: Option<ImageFormat>,
    limits: ImageLimits,
) -> Result<Prepared, ImageFault> {
    let Some(header) = ImageHeader::read(data) else {
        return match named {
            Some(named) if limits.side == 0 => {
                let format = ImageFormat::sniff(data).unwrap_or(named);
                as_it_is(data, format, (0, 0), limits)
            }
            _ => Err(ImageFault::NotAnImage),
        };
    };
    if limits.side == 0 {
        return as_it_is(data, header.format, (header.width, header.height), limits);
    }
    let (picture, orientation) = decode(data, &header, limits.side)?;
    let is_fine = header.longest() <= limits.side
        && data.len() <= limits.bytes
        && orientation == Orientation::NoTransforms
        && header.format != ImageFormat::Bmp
        && header.frames == 1
        && header.complete;
    if is_fine {
        let media_type = header.format.media_type();
        return Ok(Prepared { media_type, data: None, note: None });
    }
    let (format, encoded) = shrink(picture, orientation, &header, limits)?;
    Ok(Prepared { media_type: format.media_type(), data: Some(encoded), note: note(&header) })
}

fn as_it_is(
    data: &[u8],
    format: ImageFormat,
    (width, height): (u32, u32),
    limits: ImageLimits,
) -> Result<Prepared, ImageFault> {
    if data.len() > limits.bytes || width.max(height) > super::IMAGE_SIDE_MAX {
        let why = "its card sets `max_dimension` to 0, so that images are not made smaller";
        return Err(ImageFault::TooLarge { bytes: data.len(), width, height, why });
    }
    Ok(Prepared { media_type: format.media_type(), data: None, note: None })
}

fn note(header: &ImageHeader) -> Option<String> {
    if header.frames > 1 {
        return Some(format!("[the first of {} pictures of an animation]", header.frames));
    }
    (!header.complete).then(|| "[the file ends early: a part of the picture is missing]".to_owned())
}

/// The picture as stored, perhaps at a fraction of its size, and how it has to be turned.
fn decode(
    data: &[u8],
    header: &ImageHeader,
    side: u32,
) -> Result<(DynamicImage, Orientation), ImageFault> {
    if header.format == ImageFormat::Jpeg
        && header.longest() >= side.saturating_mul(2)
        && let Some(scaled) = decode_scaled(data, header, side)
    {
        return Ok(scaled);
    }
    if header.pixels() > PIXELS_MAX {
        let (width, height) = (header.width, header.height);
        return Err(ImageFault::TooManyPixels { width, height, most: PIXELS_MAX / 1_000_000 });
    }
    let broken = |error: image::ImageError| ImageFault::Broken {
        format: header.format,
        reason: crate::text::clip(&error.to_string(), 200).to_owned(),
    };
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(data), image_format(header.format));
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    Ok((picture, orientation))
}

/// Decodes a JPEG at a half, a quarter or an eighth of its size where that is still large enough.
fn decode_scaled(
    data: &[u8],
    header: &ImageHeader,
    side: u32,
) -> Option<(DynamicImage, Orientation)> {
    let most = if header.progressive { PIXELS_MAX } else { SCALED_PIXELS_MAX };
    if header.pixels() > most || !header.complete {
        return None;
    }
    let (width, height) = fit(header.width, header.height, side);
    let mut decoder = jpeg_decoder::Decoder::new(data);
    decoder.set_max_decoding_buffer_size(usize::try_from(DECODER_BYTES).unwrap_or(usize::MAX));
    let (width, height) =
        decoder.scale(u16::try_from(width).ok()?, u16::try_from(height).ok()?).ok()?;
    let (width, height) = (u32::from(width), u32::from(height));
    let pixels = decoder.decode().ok()?;
    let picture = match decoder.info()?.pixel_format {
        jpeg_decoder::PixelFormat::RGB24 => {
            DynamicImage::ImageRgb8(RgbImage::from_raw(width, height, pixels)?)
        }
        jpeg_decoder::PixelFormat::L8 => {
            DynamicImage::ImageLuma8(GrayImage::from_raw(width, height, pixels)?)
        }
        jpeg_decoder::PixelFormat::L16 | jpeg_decoder::PixelFormat::CMYK32 => return None,
    };
    let orientation = decoder.exif_data().and_then(Orientation::from_exif_chunk);
    Some((picture, orientation.unwrap_or(Orientation::NoTransforms)))
}

const fn image_format(format: ImageFormat) -> image::ImageFormat {
    match format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::Jpeg => image::ImageFormat::Jpeg,
        ImageFormat::Gif => image::ImageFormat::Gif,
        ImageFormat::Webp => image::ImageFormat::WebP,
        ImageFormat::Bmp => image::ImageFormat::Bmp,
    }
}

/// Brings a picture to its size and encodes it, smaller and coarser until its bytes are few enough.
fn shrink(
    picture: DynamicImage,
    orientation: Orientation,
    header: &ImageHeader,
    limits: ImageLimits,
) -> Result<(ImageFormat, Vec<u8>), ImageFault> {
    let broken = |reason: String| ImageFault::Broken { format: header.format, reason };
    let (mut width, mut height) = fit(header.width, header.height, limits.side);
    let mut picture = in_eight_bits(picture);
    let mut upright = false;
    for _ in 0..=SHRINKS {
        picture = resize(picture, width, height).map_err(broken)?;
        if !upright {
            picture.apply_orientation(orientation);
            (width, height) = (picture.width(), picture.height());
            upright = true;
        }
        let encoded = encode(&picture, header.format, limits.bytes);
        if let Some(done) = encoded.map_err(broken)? {
            return Ok(done);
        }
        (width, height) = ((width * 3 / 4).max(1), (height * 3 / 4).max(1));
    }
    Err(broken("it could not be made small enough".to_owned()))
}

/// The same picture in one of the four pixel types that are resized.
fn in_eight_bits(picture: DynamicImage) -> DynamicImage {
    match picture.color() {
        ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8 => picture,
        ColorType::L16 => picture.into_luma8().into(),
        ColorType::La16 => picture.into_luma_alpha8().into(),
        color if color.has_alpha() => picture.into_rgba8().into(),
        _ => picture.into_rgb8().into(),
    }
}

fn resize(picture: DynamicImage, width: u32, height: u32) -> Result<DynamicImage, String> {
    if (picture.width(), picture.height()) == (width, height) {
        return Ok(picture);
    }
    let kind = match picture.color() {
        ColorType::L8 => PixelType::U8,
        ColorType::La8 => PixelType::U8x2,
        ColorType::Rgb8 => PixelType::U8x3,
        _ => PixelType::U8x4,
    };
    let source = ImageRef::new(picture.width(), picture.height(), picture.as_bytes(), kind)
        .map_err(|error| error.to_string())?;
    let mut target = Image::new(width, height, kind);
    Resizer::new()
        .resize(&source, &mut target, &ResizeOptions::new())
        .map_err(|error| error.to_string())?;
    let pixels = target.into_vec();
    let made = match kind {
        PixelType::U8 => GrayImage::from_raw(width, height, pixels).map(DynamicImage::from),
        PixelType::U8x2 => GrayAlphaImage::from_raw(width, height, pixels).map(DynamicImage::from),
        PixelType::U8x3 => RgbImage::from_raw(width, height, pixels).map(DynamicImage::from),
        _ => RgbaImage::from_raw(width, height, pixels).map(DynamicImage::from),
    };
    made.ok_or_else(|| "the resized picture has another size".to_owned())
}

/// Encodes within a number of bytes; nothing when the picture has to be smaller.
fn encode(
    picture: &DynamicImage,
    format: ImageFormat,
    most: usize,
) -> Result<Option<(ImageFormat, Vec<u8>)>, String> {
    if format == ImageFormat::Jpeg {
        return encode_jpeg(picture, most);
    }
    let (format, out) = encode_exactly(picture, format).map_err(|error| error.to_string())?;
    if out.len() <= most {
        return Ok(Some((format, out)));
    }
    // Transparency is worth more than size; a picture that has none is a photo by now.
    if picture.color().has_alpha() { Ok(None) } else { encode_jpeg(picture, most) }
}

/// Encodes in a format that loses no more than GIF does.
fn encode_exactly(
    picture: &DynamicImage,
    format: ImageFormat,
) -> image::ImageResult<(ImageFormat, Vec<u8>)> {
    let (bytes, color) = (picture.as_bytes(), picture.color().into());
    let (width, height) = (picture.width(), picture.height());
    let mut out = Vec::new();
    match format {
        ImageFormat::Gif => {
            let frame = image::Frame::new(picture.to_rgba8());
            GifEncoder::new_with_speed(&mut out, 10).encode_frame(frame)?;
            Ok((format, out))
        }
        ImageFormat::Webp => {
            WebPEncoder::new_lossless(&mut out).write_image(bytes, width, height, color)?;
            Ok((format, out))
        }
        ImageFormat::Png | ImageFormat::Bmp | ImageFormat::Jpeg => {
            PngEncoder::new(&mut out).write_image(bytes, width, height, color)?;
            Ok((ImageFormat::Png, out))
        }
    }
}

fn encode_jpeg(
    picture: &DynamicImage,
    most: usize,
) -> Result<Option<(ImageFormat, Vec<u8>)>, String> {
    let converted;
    let (picture, color) = match picture.color() {
        ColorType::L8 => (picture, jpeg_encoder::ColorType::Luma),
        ColorType::Rgb8 => (picture, jpeg_encoder::ColorType::Rgb),
        _ => {
            converted = DynamicImage::from(picture.to_rgb8());
            (&converted, jpeg_encoder::ColorType::Rgb)
        }
    };
    let side = |pixels: u32| u16::try_from(pixels).map_err(|error| error.to_string());
    let (width, height) = (side(picture.width())?, side(picture.height())?);
    for quality in QUALITIES {
        let mut out = Vec::new();
        jpeg_encoder::Encoder::new(&mut out, quality)
            .encode(picture.as_bytes(), width, height, color)
            .map_err(|error| error.to_string())?;
        if out.len() <= most {
            return Ok(Some((ImageFormat::Jpeg, out)));
        }
    }
    Ok(None)
}
