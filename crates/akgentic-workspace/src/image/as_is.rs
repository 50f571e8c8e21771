//! Without the feature `vision` images go out as they are, or not at all.

use super::{IMAGE_SIDE_MAX, ImageFault, ImageFormat, ImageHeader, ImageLimits, Prepared};

/// Why an image that is too large stays so.
const WHY: &str = "this program is built without the feature `vision`, which makes images smaller: add \
                   `features = [\"vision\"]` to `akgentic-workspace`";

/// The image as it is, when a model can take it.
pub fn prepare(
    data: &[u8],
    named: Option<ImageFormat>,
    limits: ImageLimits,
) -> Result<Prepared, ImageFault> {
    let found = ImageHeader::read(data);
    let format = match (found, named) {
        (Some(header), _) => header.format,
        (None, Some(named)) if limits.side == 0 => ImageFormat::sniff(data).unwrap_or(named),
        (None, _) => return Err(ImageFault::NotAnImage),
    };
    let (width, height) = found.map_or((0, 0), |header| (header.width, header.height));
    if data.len() > limits.bytes || width.max(height) > IMAGE_SIDE_MAX {
        return Err(ImageFault::TooLarge { bytes: data.len(), width, height, why: WHY });
    }
    let note = found.filter(|header| header.frames > 1).map(|header| {
        format!("[an animation of {} pictures; most models see the first one only]", header.frames)
    });
    Ok(Prepared { media_type: format.media_type(), data: None, note })
}
