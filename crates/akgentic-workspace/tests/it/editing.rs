//! Edits: what is found, what is replaced, what stays.

use std::time::Duration;

use akgentic_workspace::EditItem;
use akgentic_workspace::diff::{unified, unified_exact};
use akgentic_workspace::edit::{Miss, Strategy, find, substitute};
use akgentic_workspace::text::LineEnding;
use akgentic_workspace::tree::{Stop, TreeOptions};
use proptest::prelude::{
    Just, any, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest,
};
use proptest::strategy::Strategy as _;

use crate::tree::Tree;

/// What work on these texts stays far below, on a busy machine too, unless it takes the square of
/// their lines.
const LONG: Duration = Duration::from_secs(20);

fn edited(content: &str, anchor: &str, replacement: &str) -> String {
    substitute(content, anchor, replacement, false, false).expect("found").text
}

#[test]
fn field_a08_a_tolerant_match_says_so_and_several_are_refused() {
    let edited = substitute("alpha\n   beta\n", "    beta", "x", false, false).expect("found");
    assert_eq!((edited.strategy, edited.verbatim), (Strategy::LineTrimmed, false));
    assert_eq!(edited.text, "alpha\nx\n");
    let twice = "  f(a)\n  x\n    f(a)\n";
    let miss = substitute(twice, "f(a)  \n", "g", false, false).expect_err("two places");
    let lines = vec![1, 3];
    assert_eq!(miss, Miss::Ambiguous { strategy: Strategy::LineTrimmed, count: 2, lines });
    let all = substitute(twice, "f(a)  \n", "g\n", true, false).expect("all of them");
    assert_eq!((all.text.as_str(), all.replaced), ("g\n  x\ng\n", 2));
}

/// A file of one long line has no ending near any place; each place must not look for it again.
#[test]
fn a_million_places_in_one_line_take_no_square() {
    let line = "ab".repeat(2_000_000);
    let started = std::time::Instant::now();
    let flat = substitute(&line, "a", "c", true, false).expect("found");
    assert_eq!(flat.replaced, 2_000_000);
    let broken = substitute(&line, "a", "c\n", true, false).expect("found");
    assert_eq!(broken.text.len(), 6_000_000);
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}

#[test]
fn what_would_grow_without_bound_is_refused() {
    let line = "a".repeat(1_000_000);
    let miss = substitute(&line, "a", &"b".repeat(100_000), true, false).expect_err("100 GB");
    assert_eq!(miss, Miss::TooLarge { most: 64 << 20 });
}

#[test]
fn field_a08_a_match_much_longer_than_the_text_is_none() {
    let blanks = " ".repeat(20_000);
    assert!(find(&format!("a{blanks}b\n"), "a b ", false).is_none());
}

#[test]
fn field_a10_an_lf_text_is_found_in_a_crlf_file() {
    let content = "def f():\r\n    pass\r\n\r\nend\r\n";
    for (anchor, replacement, after) in [
        ("def f():\n    pass\n", "def g():\n    return\n", "def g():\r\n    return\r\n\r\nend\r\n"),
        ("f():\n    pa", "f(x):\n    pa", "def f(x):\r\n    pass\r\n\r\nend\r\n"),
        ("\nend", "\nfin", "def f():\r\n    pass\r\n\r\nfin\r\n"),
        ("pass\n", "", "def f():\r\n    \r\nend\r\n"),
    ] {
        assert_eq!(edited(content, anchor, replacement), after, "{anchor:?}");
    }
}

#[test]
fn field_a10_a_mixed_file_stays_mixed() {
    let content = "a\r\nb\nc\r\nd\n";
    assert_eq!(edited(content, "b", "b1\nb2"), "a\r\nb1\nb2\nc\r\nd\n");
    assert_eq!(edited(content, "c", "c1\nc2"), "a\r\nb\nc1\r\nc2\r\nd\n");
    assert_eq!(edited(content, "d\n", "d1\r\nd2\r\n"), "a\r\nb\nc\r\nd1\nd2\n");
}

#[test]
fn field_c06_replace_all_is_one_pass_over_the_text_as_it_was() {
    let all = |content: &str, anchor: &str, replacement: &str| {
        substitute(content, anchor, replacement, true, false).expect("found")
    };
    assert_eq!(all("a b a\n", "a", "aa").text, "aa b aa\n");
    assert_eq!(all("aaaa", "aa", "a").text, "aa");
    let many = all(&"x\n".repeat(5000), "x", "y");
    assert_eq!((many.places, many.replaced), (5000, 5000));
    assert_eq!(many.text, "y\n".repeat(5000));
}

#[test]
fn a_blank_text_is_no_place() {
    for anchor in ["", "   ", "\n\n\n"] {
        let miss = substitute("aaa\nbbb\n", anchor, "x", true, false).expect_err(anchor);
        assert_eq!(miss, Miss::Blank, "{anchor:?}");
    }
    assert_eq!(edited("", "", "x\r\n"), "x\n");
}

#[test]
fn part_of_a_line_never_takes_the_rest_of_it_along() {
    for (content, anchor) in [
        ("abcdef\nxyz\n", "  cd  "),
        ("pre x = 1 post\n", "x  =  1 "),
        ("max\n", "    x"),
        ("foobar\n", "\nfoo\n"),
        ("keep me\n  foo\n  bar\nend\n", "\nfoo\nbaz\n"),
    ] {
        assert!(find(content, anchor, false).is_none(), "{content:?} {anchor:?}");
    }
}

#[test]
fn a_text_that_repeats_itself_is_given_up_in_time() {
    let content: String =
        (0..60_000).map(|line| if line % 2 == 0 { "a\n" } else { "b\n" }).collect();
    let anchor = format!("{}c\n", "a\nb\nb\n".repeat(3000));
    let start = std::time::Instant::now();
    assert!(find(&content, &anchor, false).is_none());
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}

#[test]
fn equal_lines_by_the_thousand_take_no_long_time() {
    let start = std::time::Instant::now();
    for (content, anchor) in [
        ("a\n".repeat(60_000), "  a\n".repeat(30_000) + "b\n"),
        ("a\r\n".repeat(60_000), "a\n".repeat(30_000) + "b\n"),
        ("a  b\n".repeat(60_000), "a b\n".repeat(30_000) + "b\n"),
    ] {
        assert!(find(&content, &anchor, false).is_none());
    }
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}

#[test]
fn a_long_diff_takes_no_long_time() {
    let text = |sign: char| -> String {
        (0..20_000)
            .map(|line| if line % 2 == 0 { format!("{line}\n") } else { format!("{sign}{line}\n") })
            .collect()
    };
    let start = std::time::Instant::now();
    let diff = unified("f", &text('a'), &text('b'));
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    assert_eq!(diff.lines().filter(|line| line.starts_with("-a")).count(), 10_000);
}

/// Texts of few different lines, in which much is found.
fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    let line = prop_oneof![
        Just("a"),
        Just("  a"),
        Just("\ta b"),
        Just("a  b"),
        Just(""),
        Just("é─"),
        Just("x\\ty"),
        Just("   "),
        Just("long line of text"),
    ];
    let ending = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    proptest::collection::vec((line, ending), 0..14)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, ending)| [line, ending]).collect())
}

proptest! {
    #[test]
    fn nothing_outside_of_the_place_changes(
        content in texts(), anchor in texts(), replacement in texts(), cut in any::<(u8, u8)>(),
    ) {
        let take = usize::from(cut.0) % (anchor.chars().count() + 1);
        let anchor: String = anchor.chars().skip(usize::from(cut.1) % 4).take(take).collect();
        if let Ok(edited) = substitute(&content, &anchor, &replacement, false, false) {
            let found = find(&content, &anchor, false).expect("found");
            let mut range = found.range();
            let part = |range: std::ops::Range<usize>| content.get(range).expect("boundaries");
            if part(0..range.start).ends_with('\r') && part(range.clone()).starts_with('\n') {
                range.start -= 1;
            }
            let (before, behind) = (part(0..range.start), part(range.end..content.len()));
            prop_assert!(edited.text.starts_with(before), "{:?}", edited);
            prop_assert!(edited.text.ends_with(behind), "{:?}", edited);
            let inner = edited.text.get(before.len()..edited.text.len() - behind.len());
            let inner = inner.expect("boundaries");
            let endings = [LineEnding::Lf, LineEnding::Crlf];
            let fits = endings.iter().any(|ending| ending.apply(&replacement) == inner);
            prop_assert!(fits, "{:?} is not {:?}", inner, replacement);
        }
    }

    #[test]
    fn a_found_text_is_found_whole(content in texts(), from in any::<u8>(), length in 1u8..40) {
        let characters = content.chars().count();
        prop_assume!(characters > 0);
        let from = usize::from(from) % characters;
        let anchor: String = content.chars().skip(from).take(usize::from(length)).collect();
        let found = find(&content, &anchor, false).expect("it is there");
        prop_assert_eq!(found.strategy, Strategy::Exact);
        prop_assert_eq!(content.get(found.range()), Some(anchor.as_str()));
    }

    #[test]
    fn a_diff_shows_both_sides(before in texts(), after in texts()) {
        let diff = unified_exact("f", &before, &after);
        let count = |text: &str, skip: char| {
            diff.lines().skip(2).filter(|line| !line.starts_with([skip, '@', '\\'])).count() <= text.split('\n').count()
        };
        prop_assert!(count(&before, '+') && count(&after, '-'));
    }
}

/// Ann, who has read the one file there is.
fn tree_with(content: &str) -> (Tree, std::sync::Arc<akgentic_workspace::tree::Tree>) {
    let tree = Tree::new();
    tree.put("f", content);
    let owner = akgentic_workspace::tree::Tree::open(tree.files(), TreeOptions::default());
    let owner = owner.expect("an owner");
    owner.read("ann", "f").expect("a file");
    (tree, owner)
}

fn item(old: impl Into<String>, new: impl Into<String>) -> EditItem {
    let (old_string, new_string) = (old.into(), new.into());
    EditItem { path: "f".to_owned(), old_string, new_string, replace_all: false }
}

#[test]
fn thousands_of_edits_of_a_large_file_take_seconds() {
    const LINES: usize = 100_000;
    const EDITS: usize = 4000;
    let line = |number: usize| format!("line {number:06}: {}\n", "text ".repeat(8));
    let content: String = (0..LINES).map(line).collect();
    let (tree, owner) = tree_with(&content);
    let at = |edit: usize| edit * (LINES / EDITS) + 3;
    let edits: Vec<_> = (0..EDITS)
        .map(|edit| item(format!("line {:06}:", at(edit)), format!("edit {edit}\nline:")))
        .collect();
    let started = std::time::Instant::now();
    owner.multi_edit("ann", &edits).expect("edited");
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    let mut expected: Vec<String> = (0..LINES).map(line).collect();
    for edit in 0..EDITS {
        let line = &mut expected[at(edit)];
        let rest = line.split_once(':').expect("a number").1;
        *line = format!("edit {edit}\nline:{rest}");
    }
    assert!(tree.bytes("f") == expected.concat().into_bytes());
}

#[test]
fn more_edits_than_a_call_may_make_are_refused() {
    let (tree, owner) = tree_with("a\n");
    let edits = vec![item("a", "a"); 10_001];
    let Err(Stop::Refused(refusal)) = owner.multi_edit("ann", &edits) else { panic!("refused") };
    assert_eq!(refusal.code.as_str(), "too_many");
    assert!(refusal.to_string().contains("at most 10000 edits"), "{refusal}");
    assert_eq!(tree.bytes("f"), b"a\n");
    // Each of these is looked for in all of a large file, by every strategy there is.
    let large = "x y\n".repeat(2_000_000) + "a b c\n";
    let (tree, owner) = tree_with(&large);
    let edits: Vec<_> = (0..1000)
        .map(|n| {
            item(
                format!("a  b  {}", if n == 0 { "c".to_owned() } else { n.to_string() }),
                format!("a b {}", n + 1),
            )
        })
        .collect();
    let started = std::time::Instant::now();
    let Err(Stop::Refused(refusal)) = owner.multi_edit("ann", &edits) else { panic!("refused") };
    assert_eq!(refusal.code.as_str(), "too_many");
    assert!(started.elapsed() < 6 * LONG, "{:?}", started.elapsed());
    assert!(tree.bytes("f") == large.into_bytes());
}

proptest! {
    /// A batch gives what its edits give one after the other, and what it says is the same.
    #[test]
    fn a_batch_is_its_edits_in_order(
        content in "(ab?|c| |\t|\r?\n){0,24}",
        edits in proptest::collection::vec(("[abc \n]{1,4}", "[abx\n]{0,4}", any::<bool>()), 1..6),
    ) {
        let mut text = content.clone();
        let outcome = edits.iter().try_for_each(|(old, new, all)| {
            substitute(&text, old, new, *all, false).map(|edited| text = edited.text)
        });
        let (tree, owner) = tree_with(&content);
        let items: Vec<_> = edits
            .iter()
            .map(|(old, new, all)| EditItem { replace_all: *all, ..item(old, new) })
            .collect();
        let batch = owner.multi_edit("ann", &items);
        prop_assert_eq!(outcome.is_ok(), batch.is_ok(), "{:?}", batch);
        let expected = if batch.is_ok() { text } else { content };
        prop_assert_eq!(String::from_utf8(tree.bytes("f")).expect("text"), expected);
    }
}
