//! The tools that change files, as reports of others asked for them.

use std::fmt::Write as _;

use akgentic_workspace::WorkspaceTool;
use serde_json::json;

use crate::tools::{bind, call};
use crate::tree::Tree;

#[tokio::test]
async fn field_a01_no_tool_touches_bytes_it_was_not_asked_about() {
    let tree = Tree::new();
    let latin = b"x = 1\n# caf\xE9\n";
    tree.put("latin", latin);
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["latin"]);
    let edit = json!({"path": "latin", "old_string": "x = 1", "new_string": "x = 2"});
    for (name, args) in
        [("workspace_edit", edit.clone()), ("workspace_multi_edit", json!({"edits": [edit]}))]
    {
        let error = call(&tools, name, args).await.expect_err(name);
        assert!(error.to_string().contains("is not UTF-8 text"), "{error}");
    }
    let patch = "--- a/latin\n+++ b/latin\n@@ -1 +1 @@\n-x = 1\n+x = 2\n";
    let text = call(&tools, "workspace_patch", json!({"patch_text": patch})).await;
    assert!(text.expect("an answer").starts_with("[ERROR] latin: latin is not UTF-8 text"));
    assert_eq!(tree.bytes("latin"), latin);
}

#[tokio::test]
async fn field_a07_a_patch_is_applied_as_a_whole_or_not_at_all() {
    let tree = Tree::new();
    tree.put("a", "1\n");
    tree.put("b", "1\n");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["a", "b"]);
    let good =
        "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n";
    for bad in [
        "--- a/missing\n+++ b/missing\n@@ -1 +1 @@\n-1\n+2\n",
        "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-7\n+2\n",
        "--- /dev/null\n+++ b/b/below\n@@ -0,0 +1 @@\n+x\n",
    ] {
        let text = call(&tools, "workspace_patch", json!({"patch_text": format!("{good}{bad}")}));
        let text = text.await.expect("an answer");
        assert!(text.starts_with("[ERROR] ") && text.ends_with("Nothing was changed."), "{text}");
        assert_eq!((tree.bytes("a"), tree.bytes("b")), (b"1\n".to_vec(), b"1\n".to_vec()));
        assert!(!tree.root().join("new").exists());
    }
    let text = call(&tools, "workspace_patch", json!({"patch_text": good})).await;
    assert_eq!(text.expect("applied"), "created: new\ndeleted: a");
    assert!(!tree.root().join("a").exists());
}

#[tokio::test]
async fn field_c01_cuts_fall_between_characters() {
    let tree = Tree::new();
    let line = format!("{}👍needle\n", "─".repeat(3000));
    tree.put("long", line.repeat(40));
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["long"]);
    let found = call(&tools, "workspace_grep", json!({"pattern": "needle"})).await.expect("found");
    assert!(found.contains(" [... around the match: ") && found.contains("👍needle ...]"));
    let args =
        json!({"path": "long", "old_string": "needle", "new_string": "x", "replace_all": true});
    let diff = call(&tools, "workspace_edit", args).await.expect("edited");
    assert!(diff.len() < 70_000, "{}", diff.len());
}

#[tokio::test]
async fn field_d04_a_long_diff_is_cut_at_a_line_and_says_so() {
    let tree = Tree::new();
    let mut text = String::new();
    for line in 0..5000 {
        writeln!(text, "line {line} of the file").expect("text");
    }
    tree.put("long", text);
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["long"]);
    let args =
        json!({"path": "long", "old_string": "file", "new_string": "x", "replace_all": true});
    let answer = call(&tools, "workspace_edit", args).await.expect("edited");
    let mut last = answer.lines().rev();
    assert_eq!(last.next(), Some("[... replaced in 5000 places ...]"));
    let notice = last.next().expect("a notice");
    assert!(notice.starts_with("[... truncated: diff of 10003 lines, showing first "), "{notice}");
    assert!(last.next().expect("a line").ends_with(" of the file"));
    assert!(answer.len() < 70_000);
}

#[tokio::test]
async fn field_c06_edits_of_one_call_see_each_other_and_are_all_or_nothing() {
    let tree = Tree::new();
    tree.put("f", "a\n");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["f"]);
    let edit = |old: &str, new: &str| json!({"path": "f", "old_string": old, "new_string": new});
    let args = json!({"edits": [edit("a", "b"), edit("b", "c"), edit("b", "d")]});
    let text = call(&tools, "workspace_multi_edit", args).await.expect("an answer");
    assert!(text.starts_with("[ERROR] old_string not found in f\n[... edit 3 of 3"), "{text}");
    assert_eq!(tree.bytes("f"), b"a\n");
    let args = json!({"edits": [edit("a", "b"), edit("b", "c")]});
    call(&tools, "workspace_multi_edit", args).await.expect("edited");
    assert_eq!(tree.bytes("f"), b"c\n");
}

#[tokio::test]
async fn what_ends_lines_is_told_though_no_line_changes() {
    let tree = Tree::new();
    tree.put("f", "a\rb");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["f"]);
    let args = json!({"path": "f", "old_string": "a\rb", "new_string": "a\rb\n"});
    let text = call(&tools, "workspace_edit", args).await.expect("edited");
    assert!(text.contains("\\ No newline at end of file"), "{text}");
    assert_eq!(tree.bytes("f"), b"a\rb\n");
}

#[tokio::test]
async fn links_are_written_through_and_deleted_themselves() {
    let tree = Tree::new();
    tree.put("real", "1\n");
    tree.link("real", "ln");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    tree.see(&["real"]);
    let args = json!({"edits": [
        {"path": "ln", "old_string": "1", "new_string": "2"},
        {"path": "real", "old_string": "2", "new_string": "3"},
    ]});
    call(&tools, "workspace_multi_edit", args).await.expect("edited");
    assert_eq!(tree.bytes("real"), b"3\n");
    assert!(tree.root().join("ln").is_symlink());
    call(&tools, "workspace_delete", json!({"path": "ln"})).await.expect("deleted");
    assert!(!tree.root().join("ln").is_symlink());
    assert_eq!(tree.bytes("real"), b"3\n");
}
