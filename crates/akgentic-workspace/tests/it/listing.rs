//! Listings beyond what the golden vectors show.

use akgentic_workspace::list::{ENTRIES_MAX, list_directory};

use crate::tree::Tree;

fn list(tree: &Tree, path: &str, depth: i64) -> String {
    list_directory(&tree.files(), path, depth, &|| false).expect("a listing")
}

#[test]
fn links_are_shown_and_never_entered() {
    let tree = Tree::new();
    tree.put("d/x", "1");
    tree.link("d", "to_dir");
    tree.link("d/x", "to_file");
    tree.link("gone", "dangling");
    tree.link("../ws2", "out_dir");
    tree.link("../ws2/secret", "out_file");
    tree.link(".", "d/up");
    tree.link("loop_b", "loop_a");
    tree.link("loop_a", "loop_b");
    assert_eq!(
        list(&tree, "", 1),
        "d/\nto_dir/\ndangling (0 bytes)\nloop_a (0 bytes)\nloop_b (0 bytes)\n\
         out_dir (0 bytes)\nout_file (0 bytes)\nto_file (1 bytes)"
    );
    assert_eq!(
        list(&tree, "", 0),
        ".\n├── d/\n│   ├── up/\n│   └── x (1 bytes)\n├── to_dir/\n├── dangling (0 bytes)\n\
         ├── loop_a (0 bytes)\n├── loop_b (0 bytes)\n├── out_dir (0 bytes)\n├── out_file (0 bytes)\n\
         └── to_file (1 bytes)"
    );
    // Named by the agent, a link within the root is a directory like any other.
    assert_eq!(list(&tree, "to_dir", 1), "up/\nx (1 bytes)");
}

#[test]
fn a_huge_directory_is_cut_with_a_notice() {
    let tree = Tree::new();
    for number in 0..ENTRIES_MAX + 5 {
        tree.put(&format!("many/{number:06}"), "");
    }
    let flat = list(&tree, "many", 1);
    let lines: Vec<_> = flat.lines().collect();
    assert_eq!(lines.len(), ENTRIES_MAX + 1);
    assert_eq!(lines.last(), Some(&"[... truncated: 10005 total, showing first 10000 ...]"));
    let drawn = list(&tree, "", 0);
    assert_eq!(drawn.lines().count(), ENTRIES_MAX + 2, "the dot, the entries and the notice");
    assert!(drawn.ends_with("or fewer levels ...]"), "{}", drawn.lines().last().unwrap_or(""));
}

#[test]
fn a_listing_stops_when_cancelled() {
    let tree = Tree::new();
    tree.put("a", "");
    let error = list_directory(&tree.files(), "", 0, &|| true).expect_err("cancelled");
    assert_eq!(error.to_string(), "\"\": cancelled");
}

#[test]
fn names_that_are_no_text_are_listed() {
    use std::os::unix::ffi::OsStrExt as _;
    let tree = Tree::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xE9");
    std::fs::write(tree.root().join(name), "1").expect("a file");
    assert_eq!(list(&tree, "", 1), r#""caf\351" (1 bytes)"#);
}
