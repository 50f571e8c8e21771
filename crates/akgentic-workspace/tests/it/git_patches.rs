//! What git makes of a patch is what we make of it, or nothing.
//!
//! Real changes of source files stand in `testdata/patches`; others are made up. Each is applied to
//! the file it was made for and to that file with other changes around.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use akgentic_workspace::patch::{apply_hunks, parse_patch};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::patching::{git, has_git, pairs};

/// What was seen, so that a test that compares nothing fails.
#[derive(Debug, Default)]
struct Tally {
    same: usize,
    only_git: usize,
    elsewhere: usize,
    neither: usize,
}

/// Our text, or why there is none.
fn ours(before: &str, patch: &str) -> Result<String, String> {
    let patch = parse_patch(patch).map_err(|error| error.to_string())?;
    let mut text = before.to_owned();
    for section in &patch.sections {
        let applied = apply_hunks(&section.path, &text, &section.hunks);
        text = applied.map_err(|error| error.to_string())?.text;
    }
    Ok(text)
}

fn gits(folder: &Path, before: &str, patch: &str) -> Option<String> {
    fs::write(folder.join("f"), before).expect("a file");
    fs::write(folder.join("p"), patch).expect("a file");
    let args = ["apply", "--whitespace=nowarn", "--unidiff-zero", "p"];
    let Output { status, .. } = git(folder, &args);
    status.success().then(|| fs::read_to_string(folder.join("f")).unwrap_or_default())
}

/// Compares both on one text.
fn compare(folder: &Path, before: &str, patch: &str, tally: &mut Tally) -> Result<(), String> {
    match (gits(folder, before, patch), ours(before, patch)) {
        (Some(git), Ok(ours)) if git == ours => tally.same += 1,
        // Git takes the nearest of several places, and the end of a file that is too short; we ask.
        (Some(_), Err(reason)) if reason.contains(" places") || reason.contains("not there") => {
            tally.only_git += 1;
        }
        // Of several places git takes the one nearest to the line in the header; we move with the
        // hunk before, as `patch` does.
        (Some(_), Ok(_)) if is_ambiguous(before, patch) => tally.elsewhere += 1,
        (None, _) => tally.neither += 1,
        (git, ours) => {
            return Err(format!("git: {git:?}\nours: {ours:?}\non {before:?} by\n{patch}"));
        }
    }
    Ok(())
}

/// Whether the lines of some hunk stand in the text more than once.
fn is_ambiguous(before: &str, patch: &str) -> bool {
    let hunks = parse_patch(patch).expect("a patch").sections.into_iter().flat_map(|one| one.hunks);
    let lines: Vec<&str> = before.lines().collect();
    hunks.into_iter().any(|hunk| {
        let old = hunk.lines.iter().filter(|line| !line.starts_with('+'));
        let old: Vec<&str> = old.map(|line| line.get(1..).unwrap_or_default()).collect();
        !old.is_empty() && lines.windows(old.len()).filter(|window| *window == old).count() > 1
    })
}

/// Whether git takes the hunks where their lines stand. Without context it goes by line numbers alone,
/// and of a line without an ending and the next one it makes one line.
fn git_looks(patch: &str) -> bool {
    let hunks = parse_patch(patch).expect("a patch").sections.into_iter().flat_map(|one| one.hunks);
    let has_context = |lines: &[String]| lines.iter().any(|line| line.starts_with(' '));
    !patch.contains("\n\\ No newline") && hunks.into_iter().all(|hunk| has_context(&hunk.lines))
}

/// A diff of two texts as git makes it, about the file `f`.
fn diff(folder: &Path, before: &str, after: &str, options: &[&str]) -> String {
    for (side, text) in [("a", before), ("b", after)] {
        fs::create_dir_all(folder.join(side)).expect("a folder");
        fs::write(folder.join(side).join("f"), text).expect("a file");
    }
    let mut args = vec!["diff", "--no-index", "--no-prefix", "--no-color"];
    args.extend(options);
    args.extend(["a/f", "b/f"]);
    String::from_utf8(git(folder, &args).stdout).expect("text")
}

/// The text with lines put in and taken out, by what is drawn.
fn disturbed(text: &str, changes: &[(u16, u8)]) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for (at, kind) in changes {
        let at = usize::from(*at) % (lines.len() + 1);
        match kind % 4 {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = format!("other {}", lines[at]),
            2 if at < lines.len() => lines.insert(at, lines[at].clone()),
            _ => {
                if let Some(open) = lines.last_mut().filter(|line| !line.ends_with('\n')) {
                    open.push('\n');
                }
                lines.insert(at, format!("new {at}\n"));
            }
        }
    }
    lines.concat()
}

fn changes(most: usize) -> impl Strategy<Value = Vec<(u16, u8)>> {
    proptest::collection::vec(any::<(u16, u8)>(), 0..most)
}

#[test]
fn serial_made_up_patches_give_what_git_gives() {
    if !has_git() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    let mut runner = TestRunner::new(Config { cases: CASES, ..Config::default() });
    let tally = std::cell::RefCell::new(Tally::default());
    // Without context git does not even give back what it made the diff from; we do, as is tested
    // beside.
    let context = prop_oneof![Just("-U3"), Just("-U2"), Just("-U1")];
    let outcome =
        runner.run(&(pairs(), context, changes(3)), |((before, after), context, more)| {
            let patch = diff(place, &before, &after, &[context]);
            prop_assume!(!patch.is_empty());
            let before = if git_looks(&patch) { disturbed(&before, &more) } else { before.clone() };
            let compared = compare(place, &before, &patch, &mut tally.borrow_mut());
            prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
            Ok(())
        });
    outcome.expect("git and we agree");
    let tally = tally.into_inner();
    println!("{tally:?}");
    assert!(tally.same >= 40, "{tally:?}");
}

/// How many made-up patches are compared; git runs once or twice for each.
const CASES: u32 = 150;

fn real_changes() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/patches");
    let entries = fs::read_dir(corpus).expect("the corpus");
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.expect("a case").path()).collect();
    cases.sort();
    assert!(cases.len() >= 10, "{cases:?}");
    cases
}

#[test]
fn real_patches_give_the_file_they_were_made_from() {
    for case in real_changes() {
        let text = |name: &str| fs::read_to_string(case.join(name)).expect("a text");
        let (before, after, patch) = (text("before"), text("after"), text("patch"));
        assert_eq!(ours(&before, &patch), Ok(after.clone()), "{}", case.display());
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(ours(&crlf(&before), &patch), Ok(crlf(&after)), "{}", case.display());
    }
}

#[test]
fn serial_real_patches_give_what_git_gives_on_files_that_changed_since() {
    if !has_git() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    let tally = std::cell::RefCell::new(Tally::default());
    for case in real_changes() {
        let text = |name: &str| fs::read_to_string(case.join(name)).expect("a text");
        let (before, patch) = (text("before"), text("patch"));
        let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
        let outcome = runner.run(&changes(4), |more| {
            let before = if git_looks(&patch) { disturbed(&before, &more) } else { before.clone() };
            let compared = compare(place, &before, &patch, &mut tally.borrow_mut());
            prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    }
    let tally = tally.into_inner();
    println!("{tally:?}");
    assert!(tally.same >= 40 && tally.neither >= 10, "{tally:?}");
}
