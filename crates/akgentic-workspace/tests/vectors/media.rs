//! Topic `media_refs`.
//!
//! Images are opaque texts in the cases; here each stands for a picture of one colour in the format
//! of its name, since what is no image is not sent to a model.

use std::io::Cursor;

use akgentic_tool_core::{ExpandMediaRefs, Observer, Part, ToolFactory};
use akgentic_workspace::{FileKind, suffix};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};

use crate::files::{has_quirk, is_informative};
use crate::folder::Folder;
use crate::replay::Outcome;
use crate::tools::{card, run};

fn format(path: &str) -> ImageFormat {
    match suffix(path).as_str() {
        ".jpg" | ".jpeg" => ImageFormat::Jpeg,
        ".gif" => ImageFormat::Gif,
        ".webp" => ImageFormat::WebP,
        ".bmp" => ImageFormat::Bmp,
        _ => ImageFormat::Png,
    }
}

/// The picture that a text stands for.
fn picture(text: &str, format: ImageFormat) -> Vec<u8> {
    let code = text.bytes().fold(7u8, |code, byte| code.wrapping_mul(31).wrapping_add(byte));
    let pixels = RgbImage::from_pixel(4, 4, Rgb([code, 255 - code, code / 2]));
    let mut bytes = Vec::new();
    let picture = DynamicImage::from(pixels);
    picture.write_to(&mut Cursor::new(&mut bytes), format).expect("a picture");
    bytes
}

fn put_pictures(folder: &Folder, tree: &Value, below: &str) {
    for entry in tree.as_array().into_iter().flatten() {
        let path = entry["path"].as_str().expect("a path");
        if let (Some(text), FileKind::Image) = (entry["content"].as_str(), FileKind::of(path)) {
            let at = folder.root().join(below).join(path);
            std::fs::write(at, picture(text, format(path))).expect("a picture");
        }
    }
}

/// Whether a part is what a case shows; with `vision` bitmaps are sent as PNG, else as they are.
fn is_same(part: &Part, want: &Value) -> bool {
    match part {
        Part::Text(text) => want["text"] == json!(text),
        Part::Media(media) => {
            let (Some(text), Some(kind)) =
                (want["media"]["content"].as_str(), want["media"]["media_type"].as_str())
            else {
                return false;
            };
            if kind == "image/bmp" && cfg!(feature = "vision") {
                let same =
                    |bytes: &[u8]| image::load_from_memory(bytes).expect("a picture").to_rgb8();
                return media.media_type == "image/png"
                    && same(&media.data) == same(&picture(text, ImageFormat::Bmp));
            }
            let format = ImageFormat::from_mime_type(kind).expect("a format");
            media.media_type == kind && media.data[..] == picture(text, format)[..]
        }
    }
}

pub(crate) fn media_refs(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let folder = Folder::with_outside(&input["tree"], &input["outside"]);
    put_pictures(&folder, &input["tree"], "");
    put_pictures(&folder, &input["outside"], "..");
    let observer = Observer::unattached().build();
    let cards = vec![card(&json!({}), &folder)];
    let bound = run(ToolFactory::new(cards).bind(&observer)).expect("bound");
    let prompt = input["prompt"].as_str().expect("a prompt").to_owned();
    let called = bound.commands().call(ExpandMediaRefs { prompt });
    let parts = run(called).map_err(|error| error.to_string())?;
    if has_quirk(case, "M1") {
        // Nothing outside of the root is found.
        let is_refusal = |part: &Part| match part {
            Part::Text(text) => text.is_empty() || text.contains("[Error: no image found"),
            Part::Media(_) => false,
        };
        return if parts.iter().all(is_refusal) {
            Ok(())
        } else {
            Err(format!("{parts:?}").into())
        };
    }
    if is_informative(case) {
        // M2, M3: case and punctuation do not hide an image.
        let found = parts.iter().any(|part| matches!(part, Part::Media(_)));
        return if found { Ok(()) } else { Err(format!("no image: {parts:?}").into()) };
    }
    let want = expect["parts"].as_array().expect("parts");
    let same =
        parts.len() == want.len() && parts.iter().zip(want).all(|(part, want)| is_same(part, want));
    if same { Ok(()) } else { Err(format!("got {parts:?}, expected {}", expect["parts"]).into()) }
}
