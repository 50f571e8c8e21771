//! Patches: where they apply, what they say when they do not, and git's word on them.

use std::fs;
use std::process::Command;

use akgentic_workspace::diff::unified_exact;
use akgentic_workspace::patch::{apply_hunks, parse_patch};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Applies a patch of one file.
fn apply(raw: &str, patch: &str) -> Result<String, String> {
    let patch = parse_patch(patch).map_err(|error| error.to_string())?;
    let mut text = raw.to_owned();
    for section in &patch.sections {
        let applied = apply_hunks(&section.path, &text, &section.hunks);
        text = applied.map_err(|error| error.to_string())?.text;
    }
    Ok(text)
}

fn patch(body: &str) -> String {
    format!("--- a/f\n+++ b/f\n{body}")
}

/// Each added line takes an ending; where the file is one long line none must be looked for twice.
#[test]
fn many_lines_added_to_one_long_line_take_no_square() {
    let line = "x".repeat(8_000_000);
    let added = "+y\n".repeat(100_000);
    let started = std::time::Instant::now();
    let text = apply(&line, &patch(&format!("@@ -0,0 +1,100000 @@\n{added}"))).expect("applied");
    assert_eq!(text.len(), 8_200_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn field_a06_a_hunk_needs_its_context() {
    let error = apply("a\nb\nc\n", &patch("@@ -2 +2 @@\n-zzz\n+Y\n")).expect_err("nowhere");
    assert_eq!(
        error,
        "hunk @@ -2,1 +2,1 @@: its lines are absent from the file. Nothing like them is in it: read the \
         file before you change it"
    );
}

#[test]
fn field_c03_a_failure_names_the_place_and_the_line_that_differs() {
    let file = (1..=40).fold(String::new(), |file, line| format!("{file}line {line}\n"));
    let body: String = (10..=34)
        .map(
            |line| if line == 30 { " line thirty\n".to_owned() } else { format!(" line {line}\n") },
        )
        .collect();
    let error = apply(&file, &patch(&format!("@@ -9,26 +9,26 @@\n{body}-line 35\n+x\n")));
    assert_eq!(
        error.expect_err("one line differs"),
        "hunk @@ -9,26 +9,26 @@: its lines are absent from the file. Closest is line 10, where 25 of 26 \
         lines are equal; line 30 should be \"line thirty\" and is \"line 30\". Write the lines as they \
         stand in the file"
    );
    let error = apply("  a\n", &patch("@@ -1 +1,2 @@\n-a\n+b\n+c\n")).expect_err("white space");
    assert!(error.contains("absent"), "{error}");
    let again =
        apply("x\nb\nz\n", &patch("@@ -1,3 +1,3 @@\n x\n-a\n+b\n z\n")).expect_err("applied");
    assert!(
        again.ends_with("The change is there already, at line 1: leave this hunk out"),
        "{again}"
    );
}

#[test]
fn field_c04_a_repeated_context_is_taken_behind_the_hunk_before() {
    let file = "A\nA\nA\nold\nA\nold\n";
    let first = patch("@@ -3,2 +3,2 @@\n A\n-old\n+new\n");
    assert_eq!(apply(file, &first).expect("applied"), "A\nA\nA\nnew\nA\nold\n");
    let both = patch("@@ -3,2 +3,2 @@\n A\n-old\n+new\n@@ -9,2 +9,2 @@\n A\n-old\n+new\n");
    assert_eq!(apply(file, &both).expect("applied"), "A\nA\nA\nnew\nA\nnew\n");
    let ambiguous =
        apply(file, &patch("@@ -1,2 +1,2 @@\n A\n-old\n+new\n")).expect_err("two places");
    assert!(ambiguous.contains("stand in 2 places (lines 3, 5)"), "{ambiguous}");
}

#[test]
fn lines_are_not_added_behind_a_line_that_is_not_there() {
    // What is to be added stands in the file, which does not make it the place that was meant.
    let error = apply("d\na\nc\n", &patch("@@ -4,0 +5 @@\n+d\n")).expect_err("no line 4");
    assert_eq!(
        error,
        "hunk @@ -4,0 +5,1 @@: it adds behind a line that is not there: the file has 3 lines. Give the \
         line to add behind, or the lines around"
    );
}

#[test]
fn bodies_are_read_by_their_counts() {
    let dashes = patch("@@ -1,3 +1,2 @@\n a\n--- b\n c\n");
    assert_eq!(apply("a\n-- b\nc\n", &dashes).expect("applied"), "a\nc\n");
    let blank = patch("@@ -1,3 +1,3 @@\n a\n\n-c\n+C\n");
    assert_eq!(apply("a\n\nc\n", &blank).expect("applied"), "a\n\nC\n");
    let signed = patch("@@ -1,2 +1,2 @@\n a\n-b\n+B\n-- \n2.43.0\n");
    assert_eq!(apply("a\nb\n", &signed).expect("applied"), "a\nB\n");
    for (body, says) in [
        ("@@ -2,7 +2,9 @@\n-b\n+B\n", "write `@@ -2,1 +2,1 @@`"),
        ("@@ -2 +2 @@\n-b\n+B\n+C\n", "write `@@ -2,1 +2,2 @@`"),
        ("@@ -x,2 +1 @@\n-a\n", "is no hunk header"),
        ("@@ -1,1 +1,1 @@\n", "has no lines"),
    ] {
        let error = apply("a\nb\n", &patch(body)).expect_err(body);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_header_without_hunks_changes_nothing_and_is_told() {
    let read = parse_patch("--- a/f\n+++ b/f\n").expect("a patch");
    assert_eq!((read.sections.len(), read.without_hunks), (0, vec![("f".to_owned(), 1)]));
    let read = parse_patch("+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").expect("a patch");
    assert_eq!((read.sections.len(), read.stray_hunk), (0, Some(2)));
}

#[test]
fn endings_stay_as_they_are() {
    let swap = patch("@@ -2 +2 @@\n-b\n+B\n");
    assert_eq!(apply("a\r\nb\r\nc\r\n", &swap).expect("applied"), "a\r\nB\r\nc\r\n");
    assert_eq!(apply("a\nb\r\nc\n", &swap).expect("applied"), "a\nB\r\nc\n");
    assert_eq!(apply("a\nb", &swap).expect("applied"), "a\nB");
    // An empty line is one by what ends it.
    let blank = patch("@@ -1,0 +2,2 @@\n+x\n+\n");
    assert_eq!(apply("a", &blank).expect("applied"), "a\nx\n\n");
    assert_eq!(apply("a\r\n\r\nb", &patch("@@ -3 +2,0 @@\n-b\n")).expect("applied"), "a\r\n\r\n");
    let grow = patch("@@ -2 +2,2 @@\n b\n+c\n");
    assert_eq!(apply("a\r\nb", &grow).expect("applied"), "a\r\nb\r\nc");
    let empty = patch("@@ -1 +0,0 @@\n-a\n");
    assert_eq!(apply("a\n", &empty).expect("applied"), "");
    let open = patch("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    assert_eq!(apply("a\n", &open).expect("applied"), "a");
    let insert = patch("@@ -2,0 +3 @@\n+NEW\n");
    assert_eq!(apply("a\nb\nc\n", &insert).expect("applied"), "a\nb\nNEW\nc\n");
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[a-e]",
        2 => Just(String::new()),
        1 => Just("--- x".to_owned()),
        1 => Just("+++ y".to_owned()),
        1 => Just("@@ -1 +1 @@".to_owned()),
        1 => Just("\\ z".to_owned()),
        1 => Just("é─ 日本".to_owned()),
        1 => Just("-- ".to_owned()),
    ];
    (proptest::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, open)| {
        let mut text = lines.iter().fold(String::new(), |text, line| text + line + "\n");
        if open && !text.ends_with("\n\n") && text.len() > 1 {
            text.pop();
        }
        text
    })
}

/// A text and one that some lines of it were changed in.
pub(crate) fn pairs() -> impl Strategy<Value = (String, String)> {
    let change = (any::<u8>(), prop_oneof![Just(None), "[a-f]{1,2}".prop_map(Some)]);
    (lines(), proptest::collection::vec(change, 0..5), any::<bool>()).prop_map(
        |(before, changes, anew)| {
            let mut lines: Vec<String> = before.split_inclusive('\n').map(str::to_owned).collect();
            for (at, line) in changes {
                let at = usize::from(at) % (lines.len() + 1);
                match line {
                    Some(line) if lines.get(at).is_none_or(|line| line.ends_with('\n')) => {
                        lines.insert(at, format!("{line}\n"));
                    }
                    Some(line) => lines[at] = line,
                    None if at < lines.len() => {
                        lines.remove(at);
                    }
                    None => {}
                }
            }
            let last = lines.len().saturating_sub(1);
            for (index, line) in lines.iter_mut().enumerate() {
                if index < last && !line.ends_with('\n') {
                    line.push('\n');
                }
            }
            let after = lines.concat();
            if anew { (after, before) } else { (before, after) }
        },
    )
}

proptest! {
    #[test]
    fn a_diff_applied_gives_the_other_text((before, after) in pairs()) {
        let diff = unified_exact("f", &before, &after);
        prop_assert_eq!(apply(&before, &diff), Ok(after.clone()), "{}", diff);
        // A text without a line ending has none to keep.
        prop_assume!(before.contains('\n'));
        let crlf = before.replace('\n', "\r\n");
        prop_assert_eq!(apply(&crlf, &diff), Ok(after.replace('\n', "\r\n")), "{}", diff);
    }

    #[test]
    fn no_text_is_a_patch_that_hangs_or_panics(text in "([-+@ ]{0,3}[ab0-9,]{0,4}\n?){0,40}") {
        drop(apply("a\nb\na\n", &text));
        drop(apply("a\nb\na\n", &patch(&text)));
    }
}

/// Whether the git program is here; in CI it has to be.
pub(crate) fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        assert!(std::env::var_os("CI").is_none(), "CI needs the git program for this test");
        println!("skipped: the git program is not here");
    }
    found
}

pub(crate) fn git(folder: &std::path::Path, args: &[&str]) -> std::process::Output {
    let mut command = Command::new("git");
    command.args(["-c", "core.autocrlf=false", "-c", "diff.noprefix=false"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.current_dir(folder).output().expect("git runs")
}

#[test]
fn serial_git_and_we_agree_on_patches() {
    if !has_git() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let mut runner = TestRunner::new(Config { cases: 60, ..Config::default() });
    let context = prop_oneof![Just("-U3"), Just("-U1"), Just("-U0")];
    let outcome = runner.run(&(pairs(), context), |((before, after), context)| {
        for side in ["a", "b"] {
            fs::create_dir_all(path.join(side)).expect("a folder");
        }
        fs::write(path.join("a/f"), &before).expect("a file");
        fs::write(path.join("b/f"), &after).expect("a file");
        let args = ["diff", "--no-index", "--no-prefix", "--no-color", context, "a/f", "b/f"];
        let diff = String::from_utf8(git(path, &args).stdout).expect("text");
        // Git's diff, applied by us.
        prop_assert_eq!(apply(&before, &diff), Ok(after.clone()), "{}", &diff);
        // Our diff, applied by git.
        let ours = unified_exact("f", &before, &after);
        if !ours.is_empty() {
            fs::write(path.join("f"), &before).expect("a file");
            fs::write(path.join("ours.patch"), format!("{ours}\n")).expect("a file");
            let applied = git(path, &["apply", "--whitespace=nowarn", "ours.patch"]);
            prop_assert!(applied.status.success(), "{:?}\n{}", applied, ours);
            let got = fs::read_to_string(path.join("f")).expect("the file");
            prop_assert_eq!(got, after, "{}", ours);
        }
        Ok(())
    });
    outcome.expect("git and we agree");
}
