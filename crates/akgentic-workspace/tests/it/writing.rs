//! Atomic writes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use akgentic_workspace::write::write_text;
use akgentic_workspace::{FileFault, Filesystem};

use crate::tree::Tree;

fn names(tree: &Tree) -> Vec<String> {
    let names = fs::read_dir(tree.root()).expect("the root");
    let mut names: Vec<_> = names
        .map(|entry| entry.expect("a name").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

fn write(files: &Filesystem, path: &str, content: &str) {
    write_text(files, path, content, &|| false).expect("written");
}

#[test]
fn the_ending_of_the_file_is_kept() {
    let tree = Tree::new();
    tree.put("crlf", "a\r\nb\r\n");
    write(&tree.files(), "crlf", "x\ny\n");
    assert_eq!(tree.bytes("crlf"), b"x\r\ny\r\n");
    write(&tree.files(), "new", "x\r\ny\n");
    assert_eq!(tree.bytes("new"), b"x\r\ny\n");
}

#[test]
fn field_a01_a_file_in_another_encoding_is_replaced_as_a_whole_or_not_at_all() {
    let tree = Tree::new();
    tree.put("latin", b"x = 1\r\n# caf\xE9\r\n");
    write(&tree.files(), "latin", "x = 2\n");
    assert_eq!(tree.bytes("latin"), b"x = 2\n", "verbatim, nothing of the old text mixed in");
}

#[test]
fn a_mode_is_kept_without_its_special_bits() {
    let tree = Tree::new();
    tree.put("tool", "x");
    let path = tree.root().join("tool");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).expect("a mode");
    write(&tree.files(), "tool", "y");
    let mode = fs::metadata(&path).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o7777, 0o751);
}

#[test]
fn a_cancelled_write_leaves_nothing() {
    let tree = Tree::new();
    tree.put("a", "old");
    let calls = std::cell::Cell::new(0);
    // The first looks come while the old file is read, a later one while the new one is staged.
    for after in 0..4 {
        calls.set(0);
        let is_cancelled = || {
            calls.set(calls.get() + 1);
            calls.get() > after
        };
        let error = write_text(&tree.files(), "a", "new", &is_cancelled).expect_err("cancelled");
        assert!(matches!(error.fault, FileFault::Cancelled), "{error}");
        assert_eq!(tree.bytes("a"), b"old");
        assert_eq!(names(&tree), ["a"]);
    }
}

#[test]
fn a_durable_write_is_a_write() {
    let tree = Tree::new();
    let files = tree.files().durable(true);
    write(&files, "d/e/f", "1");
    assert_eq!(tree.bytes("d/e/f"), b"1");
}

#[test]
fn a_failed_write_leaves_no_staging_file() {
    let tree = Tree::new();
    tree.put("d/x", "");
    let error = tree.files().write("d", b"1").expect_err("a directory");
    assert!(matches!(error.fault, FileFault::IsDirectory));
    assert_eq!(names(&tree), ["d"]);
}

#[test]
fn a_reader_sees_the_old_file_or_the_new_one() {
    let tree = Tree::new();
    let texts = ["a".repeat(200_000), "b".repeat(100_000)];
    tree.put("f", &texts[0]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let files = tree.files();
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let bytes = files.read("f").expect("always there");
                assert!(texts.iter().any(|text| text.as_bytes() == bytes), "{} bytes", bytes.len());
                seen += 1;
            }
            seen
        });
        let files = tree.files();
        for round in 0..400 {
            files.write("f", texts[round % 2].as_bytes()).expect("written");
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("the reader") > 0);
    });
    assert_eq!(names(&tree), ["f"]);
}

#[test]
fn two_spellings_of_one_file_have_one_path() {
    let tree = Tree::new();
    tree.link("d", "ln");
    let files = tree.files();
    let one = files.write("d/x", b"1").expect("written");
    for spelling in ["./d/x", "ln/x", "d/../d//x", "ln/../ln/x"] {
        assert_eq!(files.root().resolve(spelling).expect("resolved"), one, "{spelling}");
    }
}
