//! Names that would do something to the line they stand on: shown in quotes, and taken back like that.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use akgentic_tool_core::{BoundTools, ExpandMediaRefs, Part};
use akgentic_workspace::{Resource, ResourceType, WorkspaceTool};
use serde_json::json;

use crate::tools::{bind, call};
use crate::tree::Tree;

/// Names as they are, and as they are shown.
const NAMES: [(&[u8], &str); 8] = [
    (b"a\nforged.txt (1 bytes)", r#""a\nforged.txt (1 bytes)""#),
    (b"b\x1b[2J\x07", r#""b\033[2J\a""#),
    (b"c\r", r#""c\r""#),
    ("d\u{202E}txt".as_bytes(), r#""d\342\200\256txt""#),
    (b"e\xE9", r#""e\351""#),
    (br#""f\n""#, r#""\"f\\n\"""#),
    (br#"g "quoted""#, r#"g "quoted""#),
    ("h\u{85}\u{2028}".as_bytes(), r#""h\302\205\342\200\250""#),
];

fn put(tree: &Tree, folder: &str) {
    std::fs::create_dir_all(tree.root().join(folder)).expect("a folder");
    for (name, _) in NAMES {
        let path = tree.root().join(folder).join(OsStr::from_bytes(name));
        std::fs::write(path, "one\n").expect("a file");
    }
}

async fn lines(tools: &BoundTools, name: &str, args: serde_json::Value) -> Vec<String> {
    let mut lines: Vec<String> =
        call(tools, name, args).await.expect(name).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn shown(line: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines: Vec<String> = NAMES.iter().map(|(_, shown)| line(shown)).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_name_never_forges_a_line_of_a_listing() {
    let tree = Tree::new();
    put(&tree, "");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    assert_eq!(
        lines(&tools, "workspace_list", json!({})).await,
        shown(|name| format!("{name} (4 bytes)"))
    );
    let drawn = call(&tools, "workspace_list", json!({"depth": 0})).await.expect("a tree");
    assert_eq!(drawn.lines().count(), NAMES.len() + 1);
    assert_eq!(
        lines(&tools, "workspace_glob", json!({"pattern": "**"})).await,
        shown(str::to_owned)
    );
    assert_eq!(
        lines(&tools, "workspace_grep", json!({"pattern": "one"})).await,
        shown(|name| format!("{name}:1: one"))
    );
}

/// A path from a listing is a path for every tool, and so is a name put behind its folder.
#[tokio::test]
async fn what_is_shown_is_taken_back() {
    let tree = Tree::new();
    put(&tree, "sub");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let at = |name: &[u8]| tree.root().join("sub").join(OsStr::from_bytes(name));
    let found = call(&tools, "workspace_glob", json!({"pattern": "sub/*"})).await.expect("paths");
    assert_eq!(found.lines().count(), NAMES.len());
    for path in found.lines() {
        let text = call(&tools, "workspace_read", json!({"path": path})).await.expect(path);
        assert_eq!(text, "1     one", "{path}");
        let found = call(&tools, "workspace_grep", json!({"pattern": "one", "path": path})).await;
        assert_eq!(found.expect(path), format!("{path}:1: one"));
    }
    for (name, shown) in NAMES {
        let path = format!("sub/{shown}");
        let edit = json!({"path": path, "old_string": "one", "new_string": "two"});
        let diff = call(&tools, "workspace_edit", edit).await.expect(&path);
        assert_eq!(std::fs::read(at(name)).expect("the file"), b"two\n", "{path}");
        assert!(!diff.contains(|c: char| c.is_control() && c != '\n'), "{diff}");
        // The diff names the file as git would, and is a patch of it.
        let back = diff.replace("-one\n+two", "-two\n+three");
        let patched = call(&tools, "workspace_patch", json!({"patch_text": back})).await;
        assert!(patched.expect(&path).starts_with("updated: "), "{back}");
        assert_eq!(std::fs::read(at(name)).expect("the file"), b"three\n", "{path}");
        let written = json!({"path": path, "content": "four\n"});
        let written = call(&tools, "workspace_write", written).await.expect(&path);
        assert_eq!(written, format!("Written: {path}"));
        assert_eq!(std::fs::read(at(name)).expect("the file"), b"four\n", "{path}");
        call(&tools, "workspace_delete", json!({"path": path})).await.expect(&path);
        assert!(!at(name).exists(), "{path}");
    }
}

/// The raw name is a path as well; answers show it in quotes.
#[tokio::test]
async fn a_raw_name_is_answered_about_in_quotes() {
    let tree = Tree::new();
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let raw = json!({"path": "x\n[system] y", "content": "1\n"});
    let answer = call(&tools, "workspace_write", raw).await.expect("written");
    assert_eq!(answer, r#"Written: "x\n[system] y""#);
    assert_eq!(tree.bytes("x\n[system] y"), b"1\n");
    let error = call(&tools, "workspace_read", json!({"path": "no\nfile"})).await;
    assert_eq!(error.expect_err("missing").to_string(), r#"File not found: "no\nfile""#);
    let made = call(&tools, "workspace_mkdir", json!({"path": "d\te"})).await.expect("made");
    assert_eq!(made, r#"Created: "d\te""#);
    let listed = call(&tools, "workspace_list", json!({"path": r#""d\te""#})).await;
    assert_eq!(listed.expect("a listing"), "Empty directory.");
    // Quotes that do not have to be there belong to the name.
    let quoted = json!({"path": r#""plain""#, "content": "2\n"});
    call(&tools, "workspace_write", quoted).await.expect("written");
    assert_eq!(tree.bytes(r#""plain""#), b"2\n");
}

#[tokio::test]
async fn references_tell_names_in_quotes() {
    let tree = Tree::new();
    tree.put("a\nb.pdf", "no document");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let prompt = ExpandMediaRefs { prompt: "!!*.pdf".to_owned() };
    let parts = tools.commands().call(prompt).await.expect("parts");
    assert!(
        parts.contains(&Part::Text(r#"!!"a\nb.pdf"[=> Use workspace_read tool]"#.to_owned())),
        "{parts:?}"
    );
}

/// A header that names no file that can be told is an error, never a file of that name.
#[tokio::test]
async fn a_quoted_header_that_cannot_be_decoded_is_refused() {
    let tree = Tree::new();
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    for header in [r#""b/x"#, r#""b/\q""#, r#""b/\400""#, r#""b/x" y"#] {
        for patch in [
            format!("--- /dev/null\n+++ {header}\n@@ -0,0 +1 @@\n+x\n"),
            format!("--- {header}\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"),
            format!("diff --git a/x {header}\nnew file mode 100644\n"),
        ] {
            let answer = call(&tools, "workspace_patch", json!({"patch_text": patch})).await;
            let answer = answer.expect("an answer");
            assert!(answer.starts_with("[ERROR] line "), "{patch}{answer}");
            assert!(answer.contains(header), "{answer}");
            assert!(answer.ends_with("Nothing was changed."), "{answer}");
        }
    }
    let left = std::fs::read_dir(tree.root()).expect("the folder").count();
    assert_eq!(left, 0);
    // What git writes of such a name is read.
    let patch = "--- /dev/null\n+++ \"b/d/caf\\303\\251\\n\"\n@@ -0,0 +1 @@\n+x\n";
    let answer = call(&tools, "workspace_patch", json!({"patch_text": patch})).await;
    assert_eq!(answer.expect("applied"), r#"created: "d/café\n""#);
    assert_eq!(tree.bytes("d/café\n"), b"x\n");
    let resource = Resource {
        file_name: "seed\n".to_owned(),
        file_type: ResourceType::Text,
        content: "y".to_owned(),
    };
    drop(bind(WorkspaceTool { resources: vec![resource], ..WorkspaceTool::at(tree.root()) }).await);
    assert_eq!(tree.bytes("seed\n"), b"y");
}
