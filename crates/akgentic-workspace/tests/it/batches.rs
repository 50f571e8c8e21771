//! Several changes at once, and what interrupted ones leave behind.

use std::fs;
use std::time::{Duration, SystemTime};

use akgentic_workspace::{ABANDONED_AFTER, FileFault, WriteEntry};

use crate::tree::Tree;

const STAGED: &str = ".a.0123456789abcdef0123456789abcdef.tmp";

fn entry(path: &str, data: &str) -> WriteEntry {
    WriteEntry { path: path.to_owned(), data: data.as_bytes().to_vec() }
}

fn names(tree: &Tree) -> Vec<String> {
    let names = fs::read_dir(tree.root()).expect("the root");
    let mut names: Vec<_> = names
        .map(|entry| entry.expect("a name").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_batch_is_written_as_a_whole() {
    let tree = Tree::new();
    tree.put("a", "old");
    tree.files().write_many(&[entry("a", "1"), entry("d/b", "2")]).expect("written");
    assert_eq!((tree.bytes("a"), tree.bytes("d/b")), (b"1".to_vec(), b"2".to_vec()));
    assert_eq!(names(&tree), ["a", "d"]);
}

#[test]
fn a_batch_that_cannot_be_staged_changes_nothing() {
    let tree = Tree::new();
    tree.put("a", "old");
    tree.put("d/x", "");
    for bad in ["d", "../b", "a/b"] {
        let batch = [entry("a", "1"), entry("new", "2"), entry(bad, "3")];
        assert!(tree.files().write_many(&batch).is_err(), "{bad}");
        assert_eq!(tree.bytes("a"), b"old");
        assert_eq!(names(&tree), ["a", "d"]);
    }
    tree.assert_outside_untouched();
}

#[test]
fn a_batch_is_put_back_when_a_target_turns_into_a_directory() {
    let tree = Tree::new();
    tree.put("a", "old");
    tree.put("c", "old");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let files = tree.files();
    let mut failures = 0;
    std::thread::scope(|scope| {
        let swap = scope.spawn(|| {
            let (one, other) = (tree.root().join("c"), tree.outside("ws2/dir"));
            fs::create_dir(&other).expect("a folder");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
            }
            // Leave the file where it was.
            if one.is_dir() {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).expect("swapped");
            }
        });
        for round in 0..500 {
            let text = format!("{round}");
            let before = tree.bytes("a");
            let batch = [entry("a", &text), entry("b", &text), entry("c", &text)];
            match files.write_many(&batch) {
                Ok(_) => assert_eq!(tree.bytes("a"), text.as_bytes()),
                Err(error) => {
                    assert!(!matches!(error.fault, FileFault::Io(_)), "{error}");
                    assert_eq!(tree.bytes("a"), before, "put back");
                    failures += 1;
                }
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        swap.join().expect("the other");
    });
    println!("{failures} batches were put back");
    assert_eq!(names(&tree).iter().filter(|name| name.starts_with('.')).count(), 0);
}

#[test]
fn staging_files_of_others_are_swept_when_they_are_old() {
    let tree = Tree::new();
    tree.put(STAGED, "x");
    tree.put(&format!("d/{STAGED}"), "x");
    tree.put(".notes.tmp", "x");
    fs::create_dir_all(tree.root().join("e").join(STAGED)).expect("a folder");
    fs::write(tree.outside("ws2").join(STAGED), "x").expect("a file");
    tree.link("../ws2", "out");
    let files = tree.files();
    let now = SystemTime::now();
    assert_eq!(files.sweep_staging(now, ABANDONED_AFTER), 0, "they may be in use");
    assert_eq!(files.sweep_staging(now + Duration::from_mins(1), ABANDONED_AFTER), 2);
    assert!(tree.outside("ws2").join(STAGED).exists());
    assert_eq!(names(&tree), [".notes.tmp", "d", "e", "out"]);
}
