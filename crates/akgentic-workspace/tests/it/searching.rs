//! Searches by name and by content.

use akgentic_workspace::glob::{Pattern, PatternError, expand, find_files};
use akgentic_workspace::grep::{Query, search};

use crate::tree::{SECRET, Tree};

fn glob(tree: &Tree, pattern: &str) -> String {
    let pattern = Pattern::new(pattern).expect("a pattern");
    find_files(&tree.files(), &pattern, "", 100, &|| false).expect("found").text()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.sort_unstable();
    lines
}

fn grep(tree: &Tree, pattern: &str, include: &str) -> String {
    let query = Query { pattern, path: "", include, max_results: 100, max_line_length: 2000 };
    search(&tree.files(), &query, &|| false).expect("searched").text()
}

#[test]
fn a_trailing_star_pair_is_every_file_below() {
    let tree = Tree::new();
    for path in ["src/a", "src/b/c", "x"] {
        tree.put(path, "");
    }
    for pattern in ["src/**", "src/", "SRC/**/*", "src/**/**"] {
        assert_eq!(sorted(&glob(&tree, pattern)), ["src/a", "src/b/c"], "{pattern}");
    }
    assert_eq!(sorted(&glob(&tree, "**")), ["src/a", "src/b/c", "x"]);
}

#[test]
fn patterns_that_could_leave_or_explode_are_refused() {
    for (pattern, error) in [
        ("", PatternError::Empty),
        ("{,a}", PatternError::Empty),
        (".", PatternError::Empty),
        ("/etc/*", PatternError::Absolute),
        ("{a,/etc}/*", PatternError::Absolute),
        ("../*", PatternError::Parent),
        ("a/{b,..}/c", PatternError::Parent),
    ] {
        assert_eq!(Pattern::new(pattern), Err(error), "{pattern}");
    }
    assert_eq!(expand(&"{a,b}".repeat(40)), Err(PatternError::TooLarge));
    assert_eq!(expand(&"a".repeat(10_000)), Err(PatternError::TooLarge));
}

#[test]
fn links_lead_nowhere_outside() {
    let tree = Tree::new();
    tree.put("real/x.py", "SECRET inside\n");
    tree.link("real", "ln");
    tree.link("real/x.py", "lf.py");
    tree.link("../ws2", "up");
    tree.link("../ws2/secret", "out.py");
    tree.link(".", "real/loop");
    assert_eq!(sorted(&glob(&tree, "**/*")), ["lf.py", "real/x.py"]);
    assert_eq!(sorted(&glob(&tree, "*/*.py")), ["ln/x.py", "real/x.py"]);
    assert_eq!(glob(&tree, "up/*"), "No files found.");
    let found = grep(&tree, "(?i)secret", "");
    assert_eq!(sorted(&found), ["lf.py:1: SECRET inside", "real/x.py:1: SECRET inside"]);
    assert!(!found.contains(SECRET.trim()));
}

#[test]
fn field_c20_a_search_without_a_match_says_what_was_skipped() {
    let tree = Tree::new();
    tree.put(".config/a.rs", "needle\n");
    tree.put("ignored.gen", "needle\n");
    tree.put(".gitignore", "*\n");
    std::fs::write(tree.outside(".gitignore"), ".*\n").expect("a file");
    assert_eq!(
        sorted(&grep(&tree, "needle", "")),
        [".config/a.rs:1: needle", "ignored.gen:1: needle"]
    );
    tree.put("bin", b"\0other\n");
    tree.put(".git/config", "other\n");
    assert_eq!(
        grep(&tree, "other", ""),
        "No matches found.\n[... 3 files searched, skipped: 1 binary file, 1 `.git` directory ...]"
    );
    assert_eq!(
        grep(&tree, "other", "*.rs"),
        "No matches found.\n[... 1 files searched, skipped: 1 `.git` directory ...]"
    );
}

#[test]
fn field_c21_results_have_an_order_and_a_total() {
    let tree = Tree::new();
    let time = std::time::SystemTime::now();
    for file in 0..150 {
        let path = format!("f{file:03}");
        tree.put(&path, "needle\nneedle\n");
        let open = std::fs::File::open(tree.root().join(&path)).expect("a file");
        open.set_modified(time).expect("a time");
    }
    let names = glob(&tree, "f*");
    let lines: Vec<&str> = names.lines().collect();
    assert_eq!(lines[0..2], ["f000", "f001"]);
    assert_eq!(lines[100], "[... truncated: 150 total, showing first 100 ...]");
    let found = grep(&tree, "needle", "");
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0..3], ["f000:1: needle", "f000:2: needle", "f001:1: needle"]);
    assert_eq!(lines[100], "[... truncated: 300 total, showing first 100 ...]");
}

#[test]
fn field_d06_a_long_line_shows_its_match() {
    let tree = Tree::new();
    tree.put("min.js", format!("{}needle{}\n", "x".repeat(5000), "y".repeat(5000)));
    let found = grep(&tree, "needle", "");
    assert!(found.len() < 2300 && found.contains("needle"), "{found}");
}

#[test]
fn a_file_is_a_place_to_search_and_order_is_that_of_lines() {
    let tree = Tree::new();
    tree.put("a:b.txt", "x\r\ny needle\r\nneedle\n");
    let query = Query {
        pattern: "needle$",
        path: "a:b.txt",
        include: "",
        max_results: 1,
        max_line_length: 100,
    };
    let matches = search(&tree.files(), &query, &|| false).expect("searched");
    assert_eq!(
        matches.text(),
        "a:b.txt:2: y needle\n[... truncated: 2 total, showing first 1 ...]"
    );
}

#[test]
fn an_expression_that_steps_for_ever_is_refused_in_time() {
    let tree = Tree::new();
    tree.put("a", format!("{}\n", "a".repeat(60)).repeat(100_000));
    let query = Query {
        pattern: r"(?=a)(a|aa)+(?!b)\1c$",
        path: "",
        include: "",
        max_results: 100,
        max_line_length: 100,
    };
    let start = std::time::Instant::now();
    let error = search(&tree.files(), &query, &|| false).expect_err("too costly");
    assert!(
        error.to_string().starts_with("Invalid regex pattern: it takes too many steps"),
        "{error}"
    );
    assert!(start.elapsed().as_secs() < 10);
}

#[test]
fn a_large_file_is_searched_in_pieces() {
    let tree = Tree::new();
    let filler = "some ordinary line of text\n".repeat(700_000);
    tree.put("big", format!("{filler}needle\n{filler}"));
    tree.put("big.bin", format!("{filler}needle\n\0{filler}"));
    assert_eq!(
        grep(&tree, "^needle$", ""),
        "big:700001: needle\n[... 1 files searched, skipped: 1 binary file ...]"
    );
}

#[test]
fn a_cancelled_search_ends() {
    let tree = Tree::new();
    for file in 0..50 {
        tree.put(&format!("{file}"), "needle\n");
    }
    let query =
        Query { pattern: "needle", path: "", include: "", max_results: 1, max_line_length: 1 };
    assert!(search(&tree.files(), &query, &|| true).is_err());
    let pattern = Pattern::new("**").expect("a pattern");
    assert!(find_files(&tree.files(), &pattern, "", 1, &|| true).is_err());
}

#[test]
fn more_stars_than_two_say_what_two_say() {
    for stars in ["**", "***", "****", "******", "*******"] {
        let pattern = Pattern::new(&format!("{stars}/x")).expect(stars);
        assert!(pattern.matches("x") && pattern.matches("a/b/x"), "{stars}/x");
        let pattern = Pattern::new(&format!("a{stars}.rs")).expect(stars);
        assert!(pattern.matches("d/ab.rs") && !pattern.matches("d/b.rs"), "a{stars}.rs");
        assert_eq!(expand(&format!("a{stars}.rs")).expect(stars), ["**/a*.rs"]);
    }
}
