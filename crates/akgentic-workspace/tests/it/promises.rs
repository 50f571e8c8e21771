//! What descriptions promise, and what settings of a card change.

use akgentic_tool_core::{Capability, Observer, ToolCard as _, ToolDefinition};
use akgentic_workspace::journal::{JournalState, ScanLimits};
use akgentic_workspace::params::{
    WorkspaceGlob, WorkspaceGrep, WorkspaceList, WorkspacePatch, WorkspaceRead, WorkspaceWrite,
};
use akgentic_workspace::read::{PageLimits, Window, read_page};
use akgentic_workspace::tree::{Tree as Owner, TreeOptions};
use akgentic_workspace::{Resource, ResourceType, WorkspaceTool};
use serde_json::json;

use crate::tools::{bind, call};
use crate::tree::{SECRET, Tree};

async fn definition(card: WorkspaceTool, name: &str) -> ToolDefinition {
    bind(card).await.tool(name).expect("offered").definition().clone()
}

#[tokio::test]
async fn instructions_leave_the_schemas_alone() {
    let tree = Tree::new();
    let plain = WorkspaceTool::at(tree.root());
    let instructions = Some("Only below docs.\n    Never delete.".to_owned());
    let told = WorkspaceTool {
        workspace_read: WorkspaceRead { instructions: instructions.clone(), ..Default::default() }
            .into(),
        workspace_write: WorkspaceWrite {
            instructions: instructions.clone(),
            ..Default::default()
        }
        .into(),
        workspace_patch: WorkspacePatch { instructions, ..Default::default() }.into(),
        ..plain.clone()
    };
    for name in ["workspace_read", "workspace_write", "workspace_patch"] {
        let (plain, told) =
            (definition(plain.clone(), name).await, definition(told.clone(), name).await);
        assert_eq!(told.parameters, plain.parameters, "{name}");
        let properties = told.parameters["properties"].as_object().expect("parameters");
        assert!(properties.values().all(|property| property["description"].is_string()), "{name}");
        let wanted = "\n\nAdditional Instructions:\nOnly below docs.\n    Never delete.";
        assert_eq!(told.description, plain.description + wanted);
    }
}

#[tokio::test]
async fn descriptions_tell_the_limits_of_the_card() {
    let tree = Tree::new();
    let card = WorkspaceTool {
        workspace_read: WorkspaceRead { default_limit: 123, ..Default::default() }.into(),
        workspace_list: WorkspaceList { max_depth: 17, ..Default::default() }.into(),
        workspace_glob: WorkspaceGlob { max_results: 457, ..Default::default() }.into(),
        workspace_grep: WorkspaceGrep {
            max_results: 89,
            max_line_length: 234,
            ..Default::default()
        }
        .into(),
        ..WorkspaceTool::at(tree.root())
    };
    for (name, limits) in [
        ("workspace_read", &["123"] as &[&str]),
        ("workspace_list", &["17"]),
        ("workspace_glob", &["457"]),
        ("workspace_grep", &["89", "234"]),
    ] {
        let told = definition(card.clone(), name).await;
        let text = format!("{} {}", told.description, told.parameters);
        for limit in limits {
            assert!(text.contains(limit), "{name} does not tell {limit}: {text}");
        }
        let usual = definition(WorkspaceTool::at(tree.root()), name).await;
        let text = format!("{} {}", usual.description, usual.parameters);
        assert!(!text.contains(limits[0]), "{name} tells {} whatever the card says", limits[0]);
    }
}

#[tokio::test]
async fn a_patch_is_all_or_nothing_as_its_description_says() {
    let tree = Tree::new();
    tree.put("a", "one\n");
    tree.put("b", "two\n");
    let told = definition(WorkspaceTool::at(tree.root()), "workspace_patch").await;
    assert!(told.description.contains("all of it or nothing"), "{}", told.description);
    let _owner = tree.see(&["a", "b"]);
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let hunk =
        |path: &str, old: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+new\n");
    let patch = hunk("a", "one") + &hunk("b", "not there");
    let answer = call(&tools, "workspace_patch", json!({"patch_text": patch})).await;
    assert!(answer.as_ref().is_ok_and(|answer| answer.starts_with("[ERROR]")), "{answer:?}");
    assert_eq!((tree.bytes("a"), tree.bytes("b")), (b"one\n".to_vec(), b"two\n".to_vec()));
}

#[tokio::test]
async fn the_root_itself_is_never_written() {
    let tree = Tree::new();
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let around = || {
        let mut names: Vec<_> = std::fs::read_dir(tree.outside(""))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    let before = around();
    for path in ["", ".", "./", "/"] {
        let write = json!({"path": path, "content": "x"});
        let error = call(&tools, "workspace_write", write).await.expect_err("refused");
        assert!(error.is_retriable(), "{path:?}: {error}");
        let error = call(&tools, "workspace_delete", json!({"path": path})).await;
        assert!(error.expect_err("refused").is_retriable(), "{path:?}");
    }
    assert_eq!(around(), before, "nothing is staged beside the root");
    assert!(std::fs::read_dir(tree.root()).expect("the root").next().is_none(), "nor in it");
}

#[tokio::test]
async fn escapes_in_an_anchor_are_read_in_a_text_of_any_language() {
    let tree = Tree::new();
    tree.put("a", "\u{e9}t\u{e9} \u{2713}\n\tx = 1;\n\ty = 2;\n\u{1f44d} fin\n");
    let _owner = tree.see(&["a"]);
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let edit = json!({"path": "a", "old_string": "\\tx = 1;\\n\\ty = 2;", "new_string": "\tz;"});
    let answer = call(&tools, "workspace_edit", edit).await.expect("found");
    assert!(answer.contains("escape"), "the strategy is told: {answer}");
    let wanted = "\u{e9}t\u{e9} \u{2713}\n\tz;\n\u{1f44d} fin\n";
    assert_eq!(String::from_utf8(tree.bytes("a")).expect("text"), wanted);
}

#[tokio::test]
async fn an_offset_below_the_first_line_begins_there() {
    let tree = Tree::new();
    tree.put("a", "one\ntwo\n");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let whole = call(&tools, "workspace_read", json!({"path": "a"})).await.expect("read");
    for offset in [0, -7] {
        let read = call(&tools, "workspace_read", json!({"path": "a", "offset": offset})).await;
        assert_eq!(read.expect("read"), whole);
    }
}

#[test]
fn numbers_of_six_digits_and_more_stand_apart_from_the_text() {
    let content = "x\n".repeat(1_000_001);
    for (line, wanted) in [(99_999, "99999 x\n100000 x\n"), (999_999, "999999 x\n1000000 x\n")] {
        let window = Window { offset: line, limit: 2 };
        let page = read_page(&mut content.as_bytes(), window, PageLimits::default(), &|| false);
        let page = page.expect("a page").text;
        assert!(page.starts_with(wanted), "{page}");
    }
}

#[test]
fn the_first_card_decides_about_the_journal() {
    let tree = Tree::new();
    let with_journal =
        || TreeOptions { journal: Some(ScanLimits::default()), ..TreeOptions::default() };
    let first = Owner::open(tree.files(), TreeOptions::default()).expect("an owner");
    let second = Owner::open(tree.files(), with_journal()).expect("the same");
    assert_eq!(second.journal().state, JournalState::Unwanted);
    drop((first, second));
    let first = Owner::open(tree.files(), with_journal()).expect("an owner");
    let second = Owner::open(tree.files(), TreeOptions::default()).expect("the same");
    assert_eq!(second.journal().state, first.journal().state);
    assert_ne!(first.journal().state, JournalState::Unwanted);
}

#[tokio::test]
async fn field_a02_a_seed_does_not_lead_out() {
    let tree = Tree::new();
    tree.link(tree.outside("etc"), "linked");
    let mut card = WorkspaceTool::at(tree.root());
    card.workspace_exec = Capability::Off;
    for name in ["linked/secret", "linked/new", "../ws2/secret"] {
        card.resources = vec![Resource {
            file_name: name.to_owned(),
            file_type: ResourceType::Text,
            content: "planted".to_owned(),
        }];
        assert!(card.bind(&Observer::unattached().build()).await.is_err(), "{name}");
    }
    assert_eq!(std::fs::read_to_string(tree.outside("etc/secret")).expect("there"), SECRET);
    assert_eq!(std::fs::read_to_string(tree.outside("ws2/secret")).expect("there"), SECRET);
    assert!(!tree.outside("etc/new").exists());
}
