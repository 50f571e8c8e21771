//! Unified diffs: read, written, applied.

use akgentic_workspace::diff::unified_exact;
use akgentic_workspace::patch::{Hunk, Section, SectionKind, apply_hunks, parse_patch};

use crate::parts::{lines, texts};

/// Longest text that is compared, which keeps a run quick.
const LENGTH_MAX: usize = 4096;

/// The diff of two texts makes one into the other; a patch that is read and written is read the same;
/// hunks applied where they say change the lines they say.
pub fn patch(data: &[u8]) {
    let [text, patch, other] = texts(data);
    if text.len() > LENGTH_MAX || other.len() > LENGTH_MAX {
        return;
    }
    diff_applies(&text.replace('\r', ""), &other.replace('\r', ""));
    let Ok(patch) = parse_patch(&patch) else { return };
    for section in &patch.sections {
        for hunk in &section.hunks {
            assert_eq!(count(hunk.old_lines()), hunk.old_count, "{hunk:?}");
            assert_eq!(count(hunk.new_lines()), hunk.new_count, "{hunk:?}");
        }
        reads_back(section);
        if let Ok(applied) = apply_hunks(&section.path, &text, &section.hunks)
            && applied.moved.is_empty()
            && !section.hunks.iter().any(ends_in_nothing)
        {
            let expected = replaced(&text, &section.hunks);
            assert_eq!(bare(lines(&applied.text)), bare(expected), "{text:?} by {section:?}");
        }
    }
}

/// Whether a hunk asks for an empty last line that nothing ends, which is no line.
fn ends_in_nothing(hunk: &Hunk) -> bool {
    hunk.new_open && hunk.new_lines().last() == Some("")
}

/// Lines without a `\r` at their end: with a `\n` put behind it, it is a part of what ends the line.
fn bare(lines: Vec<&str>) -> Vec<&str> {
    lines.into_iter().map(|line| line.trim_end_matches('\r')).collect()
}

fn count<'l>(lines: impl Iterator<Item = &'l str>) -> u64 {
    lines.fold(0, |count, _| count + 1)
}

fn diff_applies(before: &str, after: &str) {
    let diff = unified_exact("f", before, after);
    if diff.is_empty() {
        assert_eq!(before, after, "no diff");
        return;
    }
    let patch = parse_patch(&diff);
    let patch = patch.unwrap_or_else(|error| unreachable!("{error}: {diff}"));
    assert_eq!(patch.sections.len(), 1, "{diff}");
    for section in &patch.sections {
        match apply_hunks("f", before, &section.hunks) {
            Ok(applied) => {
                assert_eq!(applied.text, after, "{before:?} by {diff}");
                assert!(applied.moved.is_empty(), "{before:?} by {diff}: {:?}", applied.moved);
            }
            Err(error) => unreachable!("{before:?} by {diff}: {error}"),
        }
    }
}

fn reads_back(section: &Section) {
    // What ends a line of the patch is not part of it.
    if section.hunks.iter().any(|hunk| hunk.lines.iter().any(|line| line.ends_with('\r'))) {
        return;
    }
    let text = written(section);
    let again = parse_patch(&text).unwrap_or_else(|error| unreachable!("{error}: {text}"));
    let [again] = again.sections.as_slice() else { unreachable!("one section: {again:?}: {text}") };
    let facts = |section: &Section| (section.kind, section.path.clone(), section.hunks.clone());
    assert_eq!(facts(again), facts(section), "{text}");
}

/// A section as a patch.
fn written(section: &Section) -> String {
    let path = &section.path;
    // The path is spelled as it is shown; only space at its end would be lost without quotes.
    let named = |side: &str| {
        if path.trim_end() == path {
            return format!("{side}/{path}");
        }
        format!("\"{side}/{}\"", path.replace('\\', r"\\").replace('"', "\\\""))
    };
    let (old, new) = match section.kind {
        SectionKind::Create => ("/dev/null".to_owned(), named("b")),
        SectionKind::Update => (named("a"), named("b")),
        SectionKind::Delete => (named("a"), "/dev/null".to_owned()),
    };
    let hunks: String = section.hunks.iter().map(written_hunk).collect();
    format!("--- {old}\n+++ {new}\n{hunks}")
}

fn written_hunk(hunk: &Hunk) -> String {
    const OPEN: &str = "\\ No newline at end of file\n";
    let mut text = hunk.header() + "\n";
    if hunk.old_open && hunk.new_open {
        text += OPEN;
    }
    let last = |sign: char| hunk.lines.iter().rposition(|line| line.starts_with(sign));
    let open = match (hunk.old_open, hunk.new_open) {
        (true, false) => last('-'),
        (false, true) => last('+'),
        _ => None,
    };
    for (at, line) in hunk.lines.iter().enumerate() {
        text += line;
        text.push('\n');
        if open == Some(at) {
            text += OPEN;
        }
    }
    text
}

/// The lines of a text after hunks that stand where they say, by replacing ranges from the last one on.
fn replaced<'t>(text: &'t str, hunks: &'t [Hunk]) -> Vec<&'t str> {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let mut all = lines(text);
    let mut placed: Vec<(usize, usize, &Hunk)> = hunks
        .iter()
        .map(|hunk| {
            let (start, count) = (number(hunk.old_start), number(hunk.old_count));
            // With no lines of its own a hunk goes behind the line it names.
            let start = start - usize::from(count > 0);
            (start, start + count, hunk)
        })
        .collect();
    placed.sort_by_key(|(start, end, _)| (*start, *end));
    for (start, end, hunk) in placed.into_iter().rev() {
        all.splice(start..end, hunk.new_lines());
    }
    all
}
