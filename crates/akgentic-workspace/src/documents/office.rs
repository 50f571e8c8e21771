//! Word, Excel and PowerPoint.

use undoc::Error;
use undoc::render::{RenderOptions, to_markdown};

use super::{ConvertFault, archive};

/// The Markdown of an office document: tables as tables, a heading per sheet and slide.
pub(super) fn markdown(data: &[u8], suffix: &str) -> Result<String, ConvertFault> {
    let kind = match suffix {
        ".docx" => "Word",
        ".pptx" => "PowerPoint",
        _ => "Excel",
    };
    if data.starts_with(b"PK") {
        archive::open(data, kind)?;
    }
    let fault = |error: Error| match error {
        Error::Encrypted => ConvertFault::Encrypted,
        other => ConvertFault::unreadable(kind, other),
    };
    let document = undoc::parse_bytes(data).map_err(fault)?;
    let options = RenderOptions { include_images: false, ..RenderOptions::default() };
    to_markdown(&document, &options).map_err(fault)
}
