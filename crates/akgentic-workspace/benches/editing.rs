//! Edits, diffs and patches on texts of ten thousand lines.
#![allow(missing_docs, clippy::unwrap_used, clippy::string_slice, reason = "a benchmark")]

use std::fmt::Write as _;

use akgentic_workspace::diff::unified;
use akgentic_workspace::edit::{Strategy, find, substitute};
use akgentic_workspace::patch::{apply_hunks, parse_patch};
use criterion::{Criterion, criterion_group, criterion_main};

const LINES: usize = 10_000;

/// Text like code, about 43 bytes a line.
fn code(lines: usize) -> Vec<String> {
    (0..lines)
        .map(|line| match line % 8 {
            0 => format!("def function_{line}(argument_one, argument_two):"),
            3 => "    if argument_one is not None:".to_owned(),
            6 => String::new(),
            7 => "    return result".to_owned(),
            _ => format!("    value_{line} = compute(argument_one, {line})  # step"),
        })
        .collect()
}

fn text(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    text
}

fn edits(c: &mut Criterion) {
    let lines = code(LINES);
    let content = text(&lines);
    let anchor = |count: usize, changed: usize| {
        let mut part = lines[LINES * 9 / 10..LINES * 9 / 10 + count].to_vec();
        for index in 0..changed {
            part[index * count / changed.max(1) + 1].push_str(" edited");
        }
        text(&part)
    };
    let mut run = |name: &str, anchor: &str, expected: Option<Strategy>| {
        c.bench_function(name, |b| {
            b.iter(|| {
                let found = find(&content, anchor, false);
                assert_eq!(found.as_ref().map(|found| found.strategy), expected);
            });
        });
    };
    run("find exact, 10000 lines", &anchor(20, 0), Some(Strategy::Exact));
    let mut indented = String::new();
    for line in anchor(20, 0).lines() {
        writeln!(indented, "  {line}").unwrap();
    }
    run("find line_trimmed, 10000 lines", &indented, Some(Strategy::LineTrimmed));
    run("find fuzzy, 20 lines in 10000", &anchor(20, 2), Some(Strategy::Fuzzy));
    run("find fuzzy, 200 lines in 10000", &anchor(200, 20), Some(Strategy::Fuzzy));
    run("find nothing, 20 lines in 10000", &anchor(20, 10), None);

    let fuzzy = anchor(20, 2);
    c.bench_function("fuzzy edit with its diff, 10000 lines", |b| {
        b.iter(|| {
            let edited = substitute(&content, &fuzzy, "x\n", false, false).unwrap();
            unified("f", &content, &edited.text)
        });
    });
    c.bench_function("replace all, 1250 places in 10000 lines", |b| {
        b.iter(|| substitute(&content, "return result", "return answer", true, false).unwrap());
    });
}

fn diffs(c: &mut Criterion) {
    let lines = code(LINES);
    let before = text(&lines);
    let mut changed = lines.clone();
    for line in changed.iter_mut().step_by(20) {
        line.push_str(" changed");
    }
    let after = text(&changed);
    c.bench_function("diff, one line in twenty of 10000", |b| {
        b.iter(|| unified("f", &before, &after));
    });
    let long = code(2 * LINES);
    let (one, mut other) = (text(&long), long);
    for line in other.iter_mut().step_by(2) {
        line.push_str(" changed");
    }
    let other = text(&other);
    c.bench_function("diff, every other of 20000 lines", |b| b.iter(|| unified("f", &one, &other)));
}

fn patches(c: &mut Criterion) {
    let lines = code(LINES);
    let before = text(&lines);
    let mut changed = lines;
    for index in 0..10 {
        changed[index * 900 + 50].push_str(" changed");
    }
    let after = text(&changed);
    let diff = unified("f", &before, &after);
    let patch = parse_patch(&diff).unwrap();
    let hunks = &patch.sections[0].hunks;
    c.bench_function("parse a patch of 10 hunks", |b| b.iter(|| parse_patch(&diff).unwrap()));
    c.bench_function("apply 10 hunks in place, 10000 lines", |b| {
        b.iter(|| assert_eq!(apply_hunks("f", &before, hunks).unwrap().text.len(), after.len()));
    });
    for (count, name) in [(1000, "1000"), (10_000, "10000")] {
        let shifted =
            format!("{}{}", "shift\n".repeat(37), &before[..before.len() * count / LINES]);
        let hunks: Vec<_> =
            hunks.iter().filter(|hunk| hunk.old_start < count as u64 - 60).cloned().collect();
        c.bench_function(&format!("apply hunks shifted by 37, {name} lines"), |b| {
            b.iter(|| apply_hunks("f", &shifted, &hunks).unwrap());
        });
    }
}

criterion_group!(benches, edits, diffs, patches);
criterion_main!(benches);
