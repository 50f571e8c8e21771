//! Images as a model can take them: told by their data, turned upright, within a size.
//!
//! Providers refuse images that are too large, and one refused image in a conversation is refused on
//! every later turn. So everything that goes out is within [`ImageLimits`].

mod header;
#[cfg(feature = "vision")]
mod prepare;
#[cfg(not(feature = "vision"))]
#[path = "as_is.rs"]
mod prepare;

pub use header::{IMAGE_FORMATS, ImageFormat, ImageHeader};
pub use prepare::prepare;

/// Most bytes of an image for a model, 3.75 MB: 5 MB of base64.
pub const IMAGE_BYTES_MAX: usize = 3_750_000;

/// Longest side of an image for a model, whatever a card says.
pub const IMAGE_SIDE_MAX: u32 = 8000;

/// Bounds on an image for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageLimits {
    /// Longest side in pixels; 0 for images as they are.
    pub side: u32,
    /// Most bytes.
    pub bytes: usize,
}

impl ImageLimits {
    /// Images with no side longer than `side`, 0 for images as they are.
    pub fn of_side(side: i64) -> Self {
        let side = u32::try_from(side.max(0)).unwrap_or(u32::MAX).min(IMAGE_SIDE_MAX);
        Self { side, bytes: IMAGE_BYTES_MAX }
    }
}

/// An image for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Its media type.
    pub media_type: &'static str,
    /// Other bytes than those of the file, when it had to be changed.
    pub data: Option<Vec<u8>>,
    /// What the model has to know to take it for what it is.
    pub note: Option<String>,
}

/// Why an image cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageFault {
    /// The data is no image of a known format.
    #[error("its data is not a PNG, JPEG, GIF, WebP or BMP image")]
    NotAnImage,
    /// It has more pixels than are decoded.
    #[error(
        "it has {width}x{height} pixels, and images of more than {most} million are not decoded"
    )]
    TooManyPixels {
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
        /// Million pixels that are possible.
        most: u64,
    },
    /// The data is damaged or of an unknown kind of its format.
    #[error("its {format} data cannot be decoded: {reason}")]
    Broken {
        /// The format.
        format: ImageFormat,
        /// What the decoder says.
        reason: String,
    },
    /// It is too large to be taken, and cannot be made smaller.
    #[error(
        "it has {bytes} bytes and {width}x{height} pixels, which is more than models take, and {why}"
    )]
    TooLarge {
        /// Bytes of the data.
        bytes: usize,
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
        /// Why it is not made smaller.
        why: &'static str,
    },
}

/// The size of an image whose longest side is `cap`, with its proportions kept as well as whole
/// pixels allow.
///
/// ```
/// use akgentic_workspace::image::fit;
///
/// assert_eq!(fit(4000, 3000, 1568), (1568, 1176));
/// assert_eq!(fit(10, 3000, 1568), (5, 1568));
/// assert_eq!(fit(640, 480, 1568), (640, 480));
/// ```
pub fn fit(width: u32, height: u32, cap: u32) -> (u32, u32) {
    if cap == 0 || width.max(height) <= cap || width == 0 || height == 0 {
        return (width, height);
    }
    if width <= height {
        (nearest(cap, width, height, |n| (n, cap)), cap)
    } else {
        (cap, nearest(cap, height, width, |n| (cap, n)))
    }
}

/// The whole number next to `cap * short / long` whose rectangle has proportions closest to the
/// original's; the smaller one when both are as close.
fn nearest(cap: u32, short: u32, long: u32, sides: impl Fn(u32) -> (u32, u32)) -> u32 {
    let exact = u64::from(cap) * u64::from(short);
    let floor = u32::try_from(exact / u64::from(long)).unwrap_or(cap);
    let ceiling = floor + u32::from(exact % u64::from(long) != 0);
    let is_wide = sides(0).1 == 0;
    let ratio = if is_wide { (long, short) } else { (short, long) };
    let error = |n: u32| {
        let (width, height) = sides(n);
        if height == 0 {
            return 0.0;
        }
        (f64::from(ratio.0) / f64::from(ratio.1) - f64::from(width) / f64::from(height)).abs()
    };
    let best = if error(ceiling) < error(floor) { ceiling } else { floor };
    best.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_proportions() {
        for ((width, height, cap), expected) in [
            ((33, 100, 50), (16, 50)),
            ((101, 67, 50), (50, 33)),
            ((1000, 999, 100), (100, 100)),
            ((999, 1, 10), (10, 1)),
            ((3, 2, 2), (2, 1)),
            ((123, 457, 99), (27, 99)),
            ((2000, 2000, 1568), (1568, 1568)),
            ((3000, 10, 1568), (1568, 5)),
            ((7, 7, 0), (7, 7)),
        ] {
            assert_eq!(fit(width, height, cap), expected, "{width}x{height} to {cap}");
        }
    }
}
