//! Images as a model meets them.

use std::io::Cursor;

use akgentic_tool_core::{BoundTools, Content, Media, Part, ToolCall, ToolError};
use akgentic_workspace::WorkspaceTool;
use akgentic_workspace::image::{IMAGE_BYTES_MAX, ImageFormat, ImageHeader};
use akgentic_workspace::params::WorkspaceView;
use image::{DynamicImage, ImageEncoder as _, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::json;

use crate::tools::bind;
use crate::tree::Tree;

async fn view(tools: &BoundTools, path: &str) -> Result<Content, ToolError> {
    let tool = tools.tool("workspace_view").expect("offered");
    tool.call(json!({"path": path}), ToolCall::default()).await
}

async fn viewed(tree: &Tree, path: &str) -> Content {
    view(&bind(WorkspaceTool::at(tree.root())).await, path).await.expect(path)
}

async fn refused(tree: &Tree, path: &str) -> String {
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let error = view(&tools, path).await.expect_err(path);
    assert!(error.is_retriable(), "{path}: {error}");
    error.to_string()
}

fn media(content: &Content) -> &Media {
    match content.parts.last() {
        Some(Part::Media(media)) => media,
        other => panic!("no image: {other:?}"),
    }
}

fn encoded(picture: &DynamicImage, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), format).expect("a picture");
    bytes
}

/// A picture that no encoder makes small.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, _] = state.to_be_bytes();
        Rgb([a, b, c])
    })
}

/// A JPEG whose left half is red, with this orientation in its EXIF data.
fn jpeg(width: u32, height: u32, orientation: u8) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |x, _| {
        if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) }
    });
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::jpeg::JpegEncoder::new(&mut bytes);
    let mut exif = b"II\x2A\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    encoder.set_exif_metadata(exif).expect("EXIF data");
    encoder.encode_image(&picture).expect("a picture");
    bytes
}

#[tokio::test]
async fn field_b06_images_go_out_within_bytes_and_pixels() {
    let tree = Tree::new();
    let photo = DynamicImage::from(noise(1200, 1200));
    tree.put("photo.png", encoded(&photo, image::ImageFormat::Png));
    let clear = RgbaImage::from_fn(1200, 1200, |x, y| {
        let Rgb([r, g, b]) = *photo.as_rgb8().expect("colours").get_pixel(x, y);
        Rgba([r, g, b, 128])
    });
    tree.put("clear.png", encoded(&clear.into(), image::ImageFormat::Png));
    tree.put("wide.jpg", jpeg(9600, 770, 1));
    for (name, format) in [
        ("photo.png", ImageFormat::Jpeg),
        ("clear.png", ImageFormat::Png),
        ("wide.jpg", ImageFormat::Jpeg),
    ] {
        let content = viewed(&tree, name).await;
        let media = media(&content);
        let header = ImageHeader::read(&media.data).expect("an image");
        assert!(media.data.len() <= IMAGE_BYTES_MAX, "{name}: {}", media.data.len());
        assert!(header.longest() <= 1568, "{name}: {header:?}");
        assert_eq!((header.format, media.media_type.as_str()), (format, format.media_type()));
    }
    // Without a limit on its sides an image is not made smaller: it is not sent.
    let card = WorkspaceTool {
        workspace_view: WorkspaceView { max_dimension: 0, ..WorkspaceView::default() }.into(),
        ..WorkspaceTool::at(tree.root())
    };
    let tools = bind(card).await;
    for name in ["photo.png", "wide.jpg"] {
        let error = view(&tools, name).await.expect_err(name).to_string();
        assert!(error.contains("more than models take"), "{error}");
    }
}

#[tokio::test]
async fn images_are_turned_upright() {
    let tree = Tree::new();
    for (name, width, orientation) in [("small.jpg", 40, 6), ("large.jpg", 3200, 6)] {
        tree.put(name, jpeg(width, width / 2, orientation));
        let content = viewed(&tree, name).await;
        let picture = image::load_from_memory(&media(&content).data).expect("a picture").to_rgb8();
        let (width, height) = picture.dimensions();
        assert!(height == width * 2, "{name}: {width}x{height}");
        let Rgb([red, _, blue]) = *picture.get_pixel(width / 2, height / 8);
        assert!(red > 200 && blue < 60, "{name}: the red half is on top");
    }
}

#[tokio::test]
async fn of_an_animation_the_first_picture_is_shown() {
    let tree = Tree::new();
    let mut bytes = Vec::new();
    {
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        for shade in [0, 100, 200] {
            let frame = RgbaImage::from_pixel(20, 10, Rgba([shade, shade, shade, 255]));
            encoder.encode_frame(image::Frame::new(frame)).expect("a frame");
        }
    }
    tree.put("a.gif", &bytes);
    let content = viewed(&tree, "a.gif").await;
    let note = Part::Text("[the first of 3 pictures of an animation]".to_owned());
    assert_eq!(content.parts.first(), Some(&note));
    let header = ImageHeader::read(&media(&content).data).expect("an image");
    assert_eq!((header.format, header.frames, header.width), (ImageFormat::Gif, 1, 20));
}

#[tokio::test]
async fn the_data_tells_the_format_and_odd_ones_are_converted() {
    let tree = Tree::new();
    let picture = DynamicImage::from(RgbaImage::from_pixel(30, 20, Rgba([9, 8, 7, 255])));
    let png = encoded(&picture, image::ImageFormat::Png);
    tree.put("picture.jpg", &png);
    tree.put("picture.txt", &png);
    for name in ["picture.jpg", "picture.txt"] {
        let content = viewed(&tree, name).await;
        let media = media(&content);
        assert_eq!((media.media_type.as_str(), &media.data[..]), ("image/png", &png[..]));
    }
    // No model takes bitmaps.
    tree.put("a.bmp", encoded(&picture, image::ImageFormat::Bmp));
    assert_eq!(media(&viewed(&tree, "a.bmp").await).media_type, "image/png");
    let deep = image::ImageBuffer::from_fn(40, 40, |x, _| image::Luma([u16::try_from(x).unwrap()]));
    tree.put("deep.png", encoded(&DynamicImage::ImageLuma16(deep), image::ImageFormat::Png));
    let card = WorkspaceTool {
        workspace_view: WorkspaceView { max_dimension: 10, ..WorkspaceView::default() }.into(),
        ..WorkspaceTool::at(tree.root())
    };
    let tools = bind(card).await;
    let content = view(&tools, "deep.png").await.expect("shown");
    assert_eq!(ImageHeader::read(&media(&content).data).map(|head| head.width), Some(10));
}

#[tokio::test]
async fn hostile_images_are_answers() {
    let tree = Tree::new();
    let png = encoded(&DynamicImage::from(noise(64, 64)), image::ImageFormat::Png);
    let photo = jpeg(64, 64, 1);
    // A head that promises 100 000 x 100 000 pixels.
    let mut bomb =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\x86\xA0\0\x01\x86\xA0\x08\x02\0\0\0".to_vec();
    bomb.extend(b"\0\0\0\0\0\0\0\0IDATIEND");
    let mut gif = b"GIF89a\xFF\xFF\xFF\xFF\0\0\0\x2C\0\0\0\0\xFF\xFF\xFF\xFF\0\x08".to_vec();
    gif.extend([0; 10]);
    let mut sof = b"\xFF\xD8\xFF\xC0\0\x11\x08\xFF\xFF\xFF\xFF\x03".to_vec();
    sof.extend(
        b"\x01\x11\0\x02\x11\0\x03\x11\0\xFF\xDA\0\x0c\x03\x01\0\x02\0\x03\0\0\x3f\0\xFF\xD9",
    );
    let cases: [(&str, &[u8]); 9] = [
        ("empty.png", b""),
        ("text.png", b"not an image"),
        ("cut.png", &png[..png.len() / 2]),
        ("head.png", &png[..20]),
        ("bomb.png", &bomb),
        ("bomb.gif", &gif),
        ("bomb.jpg", &sof),
        ("head.jpg", &photo[..10]),
        ("riff.webp", b"RIFF\x10\0\0\0WEBPVP8 \xFF\xFF\xFF\xFF\0\0\0\x9d\x01\x2a\xFF\x3F\xFF\x3F"),
    ];
    for (name, bytes) in cases {
        tree.put(name, bytes);
        let text = refused(&tree, name).await;
        assert!(text.contains("cannot be looked at"), "{name}: {text}");
    }
    assert!(refused(&tree, "bomb.png").await.contains("100000x100000 pixels"));
    for end in (0..photo.len()).step_by(13) {
        // Whatever is missing, it is a picture or an answer.
        let tree = Tree::new();
        tree.put("a.jpg", &photo[..end]);
        let tools = bind(WorkspaceTool::at(tree.root())).await;
        match view(&tools, "a.jpg").await {
            Ok(content) => assert!(ImageHeader::read(&media(&content).data).is_some(), "{end}"),
            Err(error) => assert!(error.is_retriable(), "{end}: {error}"),
        }
    }
}

#[tokio::test]
async fn what_is_shown_follows_the_file_and_leaves_the_tree_alone() {
    let tree = Tree::new();
    let shade = |shade| DynamicImage::from(RgbImage::from_pixel(2000, 20, Rgb([shade; 3])));
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    for round in [10, 200, 10] {
        tree.put("a.png", encoded(&shade(round), image::ImageFormat::Png));
        for _ in 0..2 {
            let content = view(&tools, "a.png").await.expect("shown");
            let picture = image::load_from_memory(&media(&content).data).expect("a picture");
            assert_eq!(
                (picture.width(), picture.to_rgb8().get_pixel(5, 5)),
                (1568, &Rgb([round; 3]))
            );
        }
    }
    let names = std::fs::read_dir(tree.root()).expect("the root").count();
    assert_eq!(names, 1, "no file beside the image");
    assert_eq!(std::fs::read_dir(tree.outside("ws.cache")).expect("the cache").count(), 2);
}
