//! Topic `view`.

use std::io::Cursor;

use akgentic_tool_core::{Content, Media, Part, ToolCall};
use akgentic_workspace::image::ImageHeader;
use image::{DynamicImage, ImageFormat};
use serde_json::{Value, json};

use crate::files::is_informative;
use crate::folder::Folder;
use crate::replay::Outcome;
use crate::tools::{run, says, tool};

/// A picture as a case describes it.
fn picture(image: &Value) -> Vec<u8> {
    let side = |name: &str| u32::try_from(image[name].as_u64().expect(name)).expect(name);
    let (width, height) = (side("width"), side("height"));
    let mode = image["mode"].as_str().expect("a mode");
    let mut bytes = Vec::new();
    if mode == "1" {
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_depth(png::BitDepth::One);
        let row = usize::try_from(width.div_ceil(8)).expect("a row");
        let pixels = vec![0b1010_1010; row * usize::try_from(height).expect("rows")];
        encoder.write_header().expect("a head").write_image_data(&pixels).expect("a picture");
        return bytes;
    }
    let picture = match mode {
        "RGBA" => DynamicImage::new_rgba8(width, height),
        _ => DynamicImage::new_rgb8(width, height),
    };
    let format = match image["format"].as_str().expect("a format") {
        "PNG" => ImageFormat::Png,
        "JPEG" => ImageFormat::Jpeg,
        "WEBP" => ImageFormat::WebP,
        "GIF" => ImageFormat::Gif,
        other => panic!("no picture of format {other}"),
    };
    picture.write_to(&mut Cursor::new(&mut bytes), format).expect("a picture");
    bytes
}

pub(crate) fn media(content: &Content) -> &Media {
    let media = content.parts.iter().find_map(|part| match part {
        Part::Media(media) => Some(media),
        Part::Text(_) => None,
    });
    media.expect("an image")
}

pub(crate) fn view(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let folder = Folder::new(&json!([]));
    let path = input["path"].as_str().expect("a path");
    let at = folder.root().join(path);
    let bytes = match (&input["image"], &input["content"]) {
        (Value::Null, Value::Null) => None,
        (Value::Null, text) => Some(text.as_str().expect("a text").as_bytes().to_vec()),
        (image, _) => Some(picture(image)),
    };
    std::fs::create_dir_all(at.parent().expect("a parent")).expect("parents");
    if let Some(bytes) = &bytes {
        std::fs::write(&at, bytes).expect("a file");
    }
    if let Some(name) = input["existing"]["name"].as_str() {
        std::fs::write(at.with_file_name(name), "CACHED").expect("a sidecar");
    }
    let before = folder.tree();
    let mut card = json!({});
    if let Some(cap) = input["max_dimension"].as_i64() {
        card["workspace_view"] = json!({"max_dimension": cap});
    }
    let view = tool(&card, &folder, "workspace_view");
    let got = run(view.call(json!({"path": path}), ToolCall::default()));
    if folder.tree() != before {
        return Err("a view changes the tree".to_owned().into());
    }
    let content = match (got, expect["error"]["kind"].as_str()) {
        (Err(error), Some(kind)) if error.is_retriable() && says(kind, &error.to_string()) => {
            return Ok(());
        }
        (Err(error), _) => return Err(format!("refused: {error}").into()),
        (Ok(_), Some(kind)) if !is_informative(case) => {
            return Err(format!("not {kind}").into());
        }
        (Ok(content), _) => content,
    };
    let media = media(&content);
    let header = ImageHeader::read(&media.data);
    if is_informative(case) {
        // The image itself, in the format of its data, and no stale sidecar.
        let cap = u32::try_from(input["max_dimension"].as_u64().unwrap_or(1568)).expect("a cap");
        let header = header.ok_or_else(|| "no image".to_owned())?;
        let fits = header.longest() <= cap && header.format.media_type() == media.media_type;
        return if fits { Ok(()) } else { Err(format!("{header:?} of {media:?}").into()) };
    }
    let resized = bytes.as_deref() != Some(&media.data[..]);
    let mut got = json!({"media_type": media.media_type, "resized": resized});
    let mut want = json!({"media_type": expect["media_type"], "resized": expect["resized"]});
    if let Some(header) = header {
        got["size"] = json!([header.width, header.height]);
        want["size"] = json!([expect["width"], expect["height"]]);
    }
    if got == want { Ok(()) } else { Err(format!("got {got}, expected {want}").into()) }
}
