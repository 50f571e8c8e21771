//! Every operation against every way out, and against what is no file at all.

use std::fs;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use akgentic_workspace::glob::{Pattern, find_files};
use akgentic_workspace::grep::{GrepError, Query, search};
use akgentic_workspace::list::list_directory;
use akgentic_workspace::write::write_text;
use akgentic_workspace::{FileError, FileFault, Filesystem, Root, WriteEntry, refusal};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::tree::{SECRET, Tree};

/// Runs one operation on a path and gives the text of its result.
type Operation = fn(&Filesystem, &str) -> Result<String, FileError>;

const OPERATIONS: [(&str, Operation); 11] = [
    ("read", |files, path| files.read(path).map(|data| format!("{data:?}"))),
    ("open", |files, path| files.open(path).map(|open| open.rel.to_string())),
    ("list", |files, path| files.list(path).map(|entries| format!("{entries:?}"))),
    ("list_directory", |files, path| list_directory(files, path, 0, &|| false)),
    ("write", |files, path| files.write(path, b"x").map(|rel| rel.to_string())),
    ("write_text", |files, path| {
        write_text(files, path, "x", &|| false).map(|rel| rel.to_string())
    }),
    ("mkdir", |files, path| files.mkdir(path).map(|rel| rel.to_string())),
    ("exists", |files, path| files.exists(path).map(|there| there.to_string())),
    ("write_many", |files, path| {
        let entry = |path: &str| WriteEntry { path: path.to_owned(), data: b"x".to_vec() };
        let batch = [entry("new_by_batch"), entry(path)];
        files.write_many(&batch).map(|written| format!("{written:?}"))
    }),
    ("find_files", |files, path| {
        let pattern = Pattern::new("**").expect("a pattern");
        find_files(files, &pattern, path, 100, &|| false).map(|found| found.text())
    }),
    ("search", |files, path| {
        let query =
            Query { pattern: "", path, include: "", max_results: 100, max_line_length: 100 };
        match search(files, &query, &|| false) {
            Ok(matches) => Ok(matches.text()),
            Err(GrepError::File(error)) => Err(error),
            Err(error) => panic!("{path}: {error}"),
        }
    }),
];

fn escapes(tree: &Tree) -> Vec<String> {
    tree.link("../ws2/secret", "link_file");
    tree.link("../ws2", "link_dir");
    tree.link(tree.outside("etc"), "link_abs");
    tree.link("../ws2/new", "link_new");
    tree.link("link_dir", "link_chain");
    tree.put("in/x", "");
    tree.link("../../ws2", "in/link_up");
    let mut paths: Vec<String> = [
        "link_file",
        "link_dir",
        "link_dir/secret",
        "link_dir/new",
        "link_dir/new/deep",
        "link_abs/secret",
        "link_abs/new",
        "link_new",
        "link_chain/secret",
        "in/link_up/secret",
        "..",
        "../",
        "../ws2",
        "../ws2/secret",
        "in/../../ws2/secret",
        "nope/../../ws2/new",
        "../../../../../../etc/passwd",
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/../etc/passwd",
        "in/x/../../../ws2/secret",
    ]
    .map(str::to_owned)
    .into();
    let root = tree.root();
    let root = root.to_str().expect("text");
    paths.push(format!("{root}2/secret"));
    paths.push(format!("{root}/../ws2/secret"));
    paths.push(format!("{root}/link_file"));
    paths
}

#[test]
fn field_a05_every_operation_refuses_every_escape() {
    let tree = Tree::new();
    let paths = escapes(&tree);
    let files = tree.files();
    for (name, operation) in OPERATIONS {
        for path in &paths {
            let error = operation(&files, path).expect_err(&format!("{name} {path}"));
            assert!(matches!(error.fault, FileFault::Escape(_)), "{name} {path}: {error}");
            let text = refusal::describe(&error);
            assert!(text.starts_with(refusal::PATH_ESCAPE), "{text}");
            assert!(text.contains(path.as_str()), "in the agent's own spelling: {text}");
            assert!(!text.contains(SECRET.trim()), "{text}");
        }
    }
    tree.assert_outside_untouched();
}

#[test]
fn a_link_is_deleted_itself_wherever_it_leads() {
    let tree = Tree::new();
    escapes(&tree);
    let files = tree.files();
    for link in ["link_file", "link_dir", "link_abs", "link_new", "in/link_up"] {
        files.delete(link).expect("the link");
        assert!(!tree.root().join(link).is_symlink(), "{link}");
    }
    for path in ["link_chain/secret", "..", "../ws2/secret", "/etc/passwd"] {
        assert!(files.delete(path).is_err(), "{path}");
    }
    tree.assert_outside_untouched();
}

#[test]
fn field_a02_a_link_inside_does_not_read_a_file_outside() {
    let tree = Tree::new();
    tree.link(tree.outside("etc/secret"), "link");
    let error = tree.files().read("link").expect_err("outside");
    assert_eq!(
        refusal::describe(&error),
        "Path escapes workspace root — use a path relative to the workspace \
         (`link`: a link on its way points outside)"
    );
}

#[test]
fn field_a03_a_new_file_is_not_created_through_a_linked_parent() {
    let tree = Tree::new();
    tree.link(tree.outside("etc"), "d");
    for path in ["d/new.txt", "d/sub/new.txt", "x/../d/new.txt"] {
        let error = tree.files().write(path, b"1").expect_err(path);
        assert!(matches!(error.fault, FileFault::Escape(_)), "{error}");
    }
    tree.assert_outside_untouched();
}

#[test]
fn field_c25_a_root_that_is_a_link_itself_takes_good_paths() {
    let tree = Tree::new();
    tree.put("a", "1");
    std::os::unix::fs::symlink(tree.root(), tree.outside("alias")).expect("a link");
    let files = Filesystem::new(Root::open(tree.outside("alias")).expect("a root"));
    for path in ["a", "./a"] {
        assert_eq!(files.read(path).expect(path), b"1");
    }
    for root in [tree.outside("alias"), tree.root()] {
        let path = root.join("a");
        assert_eq!(files.read(path.to_str().expect("text")).expect("absolute"), b"1");
    }
    files.write("b/c", b"2").expect("written");
    assert_eq!(tree.bytes("b/c"), b"2");
}

#[test]
fn what_is_no_regular_file_is_never_waited_for() {
    let tree = Tree::new();
    mknodat(CWD, tree.root().join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o644), 0)
        .expect("a pipe");
    let _socket = UnixListener::bind(tree.root().join("socket")).expect("a socket");
    tree.link("pipe", "to_pipe");
    let files = tree.files();
    for path in ["pipe", "to_pipe", "socket"] {
        for (name, operation) in OPERATIONS {
            let outcome = operation(&files, path);
            match name {
                "exists" => assert_eq!(outcome.expect(path), "true"),
                "find_files" => assert_eq!(outcome.expect(path), "No files found."),
                "mkdir" => {
                    let fault = outcome.expect_err(path).fault;
                    assert!(matches!(fault, FileFault::ExistsAsFile), "{fault}");
                }
                "list" | "list_directory" => {
                    let fault = outcome.expect_err(path).fault;
                    assert!(matches!(fault, FileFault::NotADirectory), "{fault}");
                }
                _ => {
                    let fault = outcome.expect_err(path).fault;
                    assert!(matches!(fault, FileFault::NotRegular(_)), "{name} {path}: {fault}");
                }
            }
        }
    }
    let listed = list_directory(&files, "", 0, &|| false).expect("a tree");
    assert_eq!(listed, ".\n└── to_pipe (0 bytes)");
}

#[test]
fn a_link_to_an_endless_device_is_an_escape() {
    let tree = Tree::new();
    tree.link("/dev/zero", "zero");
    let error = tree.files().read("zero").expect_err("a device outside");
    assert!(matches!(error.fault, FileFault::Escape(_)), "{error}");
}

#[test]
fn impossible_names_are_refused_by_every_operation() {
    let tree = Tree::new();
    tree.link("loop_b", "loop_a");
    tree.link("loop_a", "loop_b");
    let files = tree.files();
    let long_name = "n".repeat(256);
    let deep = "d/".repeat(5000);
    for (name, operation) in OPERATIONS {
        let fault = |path: &str| operation(&files, path).expect_err(path).fault;
        assert!(matches!(fault("a\0b"), FileFault::Nul), "{name}");
        assert!(matches!(fault(&long_name), FileFault::NameTooLong { length: 256 }), "{name}");
        assert!(matches!(fault(&format!("x/{long_name}/y")), FileFault::NameTooLong { .. }));
        assert!(matches!(fault(&deep), FileFault::PathTooLong { .. }), "{name}");
        assert!(matches!(fault("loop_a"), FileFault::LinkLoop), "{name}");
        assert!(matches!(fault("loop_a/x"), FileFault::LinkLoop), "{name}");
    }
}

#[test]
fn a_deep_path_needs_no_handle_per_level() {
    let tree = Tree::new();
    let files = tree.files();
    let deep = "d/".repeat(2000);
    files.write(&format!("{deep}f"), b"1").expect("written");
    assert_eq!(files.read(&format!("{deep}f")).expect("read"), b"1");
    let back = format!("{deep}{}d/d/d", "../".repeat(1000));
    assert!(back.len() > 4095 || files.exists(&back).expect("there"));
    let listed = list_directory(&files, "", 0, &|| false).expect("a tree");
    assert_eq!(listed.lines().count(), 201, "two hundred levels and no more");
}

#[test]
fn links_swapped_under_load_never_lead_out() {
    let tree = Tree::new();
    tree.put("in/f", "inside");
    fs::write(tree.outside("ws2/f"), "outside").expect("a file");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let spot = tree.root().join("spot");
            while !done.load(Ordering::Relaxed) {
                fs::create_dir(&spot).expect("a folder");
                fs::write(spot.join("f"), "inside").expect("a file");
                fs::remove_dir_all(&spot).or_else(|_| fs::remove_dir_all(&spot)).expect("gone");
                std::os::unix::fs::symlink("../ws2", &spot).expect("a link out");
                fs::remove_file(&spot).expect("gone");
                std::os::unix::fs::symlink("in", &spot).expect("a link in");
                fs::remove_file(&spot).expect("gone");
            }
        });
        let files = tree.files();
        for round in 0..4000 {
            match files.read("spot/f") {
                Ok(bytes) => {
                    assert!(bytes == b"inside" || bytes.is_empty(), "{bytes:?}");
                }
                Err(error) => assert!(!matches!(error.fault, FileFault::Io(_)), "{error}"),
            }
            if round % 4 == 0
                && let Ok(text) = list_directory(&files, "spot", 0, &|| false)
            {
                assert!(!text.contains("secret"), "{text}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read(tree.outside("ws2/f")).expect("a file"), b"outside");
}

#[test]
fn writes_never_follow_a_link_planted_meanwhile() {
    let tree = Tree::new();
    tree.put("d/f", "inside");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (spot, link) = (tree.root().join("d"), tree.root().join("planted"));
            std::os::unix::fs::symlink("../ws2", &link).expect("a link out");
            while !done.load(Ordering::Relaxed) {
                // The directory and a link out swap their names.
                renameat_with(CWD, &spot, CWD, &link, RenameFlags::EXCHANGE).expect("swapped");
            }
        });
        let files = tree.files();
        for round in 0..4000 {
            if let Err(error) = files.write("d/f", format!("{round}").as_bytes()) {
                assert!(!matches!(error.fault, FileFault::Io(_)), "{error}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    tree.assert_outside_untouched();
}

#[test]
fn a_file_too_large_to_be_read_at_once_is_refused_before_anything_is_reserved() {
    let tree = Tree::new();
    tree.put("huge", "");
    let file = fs::File::options().write(true).open(tree.root().join("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = tree.files().read("huge").unwrap_err();
    assert!(matches!(error.fault, FileFault::TooLarge { size, .. } if size == 1 << 40), "{error}");
    assert!(refusal::describe(&error).contains("1099511627776 bytes"));
}

#[test]
fn climbing_a_deep_path_is_quick() {
    let tree = Tree::new();
    tree.files().mkdir(&"d/".repeat(900)).unwrap();
    let path = format!("{}{}", "d/".repeat(900), "../".repeat(700));
    let before = std::time::Instant::now();
    let rel = tree.files().root().resolve(&path).unwrap();
    assert_eq!(rel.as_path().components().count(), 200);
    assert!(before.elapsed().as_millis() < 1500, "took {:?}", before.elapsed());
}

#[test]
fn a_path_that_ends_with_a_slash_is_no_file() {
    let tree = Tree::new();
    for path in ["new2/", "new2//", "new2/.", "a/new2/"] {
        let error = tree.files().write(path, b"x").unwrap_err();
        assert!(matches!(error.fault, FileFault::TrailingSlash), "{path}: {error}");
        let error = write_text(&tree.files(), path, "x", &|| false).unwrap_err();
        assert!(refusal::describe(&error).contains("Leave the slash out"));
        assert!(!tree.files().exists(path).unwrap());
    }
}

#[test]
fn a_removed_root_is_told_as_such() {
    let tree = Tree::new();
    let files = tree.files();
    fs::remove_dir_all(tree.root()).unwrap();
    for (name, operation) in OPERATIONS {
        for path in ["a/b", ""] {
            let error = operation(&files, path).unwrap_err();
            assert!(matches!(error.fault, FileFault::RootGone), "{name} {path:?}: {error}");
        }
    }
    let text = refusal::describe(&files.read("a").unwrap_err());
    assert!(text.contains("workspace folder is gone"), "{text}");
}
