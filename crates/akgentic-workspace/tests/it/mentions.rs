//! Images a prompt refers to.

use akgentic_tool_core::{
    Capability, Channel, ExpandMediaRefs, Exposure, Observer, Part, ToolCard as _,
};
use akgentic_workspace::{WorkspaceTool, params};

use crate::tools::bind;
use crate::tree::Tree;

fn picture(width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = png::Encoder::new(&mut bytes, width, 1);
    let row = vec![0; usize::try_from(width).expect("a width")];
    encoder.write_header().expect("a head").write_image_data(&row).expect("a picture");
    bytes
}

async fn expand(tree: &Tree, prompt: &str) -> Vec<String> {
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let prompt = ExpandMediaRefs { prompt: prompt.to_owned() };
    let parts = tools.commands().call(prompt).await.expect("parts");
    parts
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => text,
            Part::Media(media) => format!("<{}>", media.media_type),
        })
        .collect()
}

#[tokio::test]
async fn punctuation_behind_a_reference_belongs_to_the_text() {
    let tree = Tree::new();
    tree.put("a.png", picture(1));
    tree.put("b!.png", picture(2));
    assert_eq!(expand(&tree, "(!!a.png) ok").await, ["(", "<image/png>", ") ok"]);
    assert_eq!(
        expand(&tree, "see !!a.png, !!b!.png.").await,
        ["see ", "<image/png>", ", ", "<image/png>", ".",]
    );
    assert_eq!(
        expand(&tree, "wow!!x)").await,
        ["wow", "!!x)[Error: no image found in the workspace]", "",]
    );
}

#[tokio::test]
async fn references_use_the_patterns_of_glob() {
    let tree = Tree::new();
    for path in ["p/One.PNG", "p/q/two.png", "p/three.jpg"] {
        tree.put(path, picture(1));
    }
    let found = expand(&tree, "!!p/**.{png,jpg}").await;
    assert_eq!(found, ["<image/png>", "<image/png>", "<image/png>", ""]);
    assert_eq!(expand(&tree, "!!P/ONE.png").await, ["<image/png>", ""]);
}

#[tokio::test]
async fn field_a02_references_do_not_lead_out() {
    let tree = Tree::new();
    std::fs::write(tree.outside("ws2/secret.png"), picture(1)).expect("an image");
    tree.link("../ws2/secret.png", "link.png");
    tree.link("../ws2", "folder");
    let absolute = tree.outside("ws2/secret.png");
    let absolute = absolute.to_str().expect("a path");
    for pattern in [
        "../ws2/secret.png",
        "../ws2/*.png",
        "link.png",
        "folder/*.png",
        "*.png",
        absolute,
        "**/../*",
    ] {
        let found = expand(&tree, &format!("!!{pattern}")).await;
        let refusal = format!("!!{pattern}[Error: no image found in the workspace]");
        assert_eq!(found, [refusal.as_str(), ""], "{pattern}");
    }
    std::fs::remove_file(tree.outside("ws2/secret.png")).expect("the image");
    tree.assert_outside_untouched();
}

#[tokio::test]
async fn what_is_no_image_and_too_many_of_them_are_told() {
    let tree = Tree::new();
    tree.put("bad.png", "no image");
    assert_eq!(expand(&tree, "!!bad.png").await, ["!!bad.png[Error: file unreadable]", ""]);
    for number in 0..22 {
        tree.put(&format!("many/{number:02}.png"), picture(number + 1));
    }
    let found = expand(&tree, "!!many/*").await;
    assert_eq!(found.iter().filter(|part| *part == "<image/png>").count(), 20);
    assert_eq!(
        found[20..],
        ["!!20.png[Error: more than 20 images]", "!!21.png[Error: more than 20 images]", "",]
    );
}

#[tokio::test]
async fn the_exposure_of_references_is_honoured() {
    let tree = Tree::new();
    let observer = Observer::unattached().build();
    for (capability, offered) in [
        (Capability::On, true),
        (Capability::Off, false),
        (params::ExpandMediaRefs { expose: Exposure::NONE, ..Default::default() }.into(), false),
        (
            params::ExpandMediaRefs {
                expose: Exposure::of(&[Channel::Command]),
                ..Default::default()
            }
            .into(),
            true,
        ),
    ] {
        let card =
            WorkspaceTool { expand_media_refs: capability, ..WorkspaceTool::at(tree.root()) };
        let bound = card.bind(&observer).await.expect("bound");
        assert_eq!(!bound.offers().commands.is_empty(), offered);
    }
}
