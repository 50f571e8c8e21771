//! Searches by content beside ripgrep's own program.

use std::process::Command;

use akgentic_workspace::grep::{Query, search};

use crate::tree::Tree;

const WORDS: [&str; 12] = [
    "needle",
    "Needle",
    "haystack",
    "straw",
    "été",
    "naïve",
    "x1",
    "fn main()",
    "a.b",
    "tab\there",
    "http://example.org",
    "─",
];

/// A tree of files with hidden, ignored, binary and odd ones among them.
fn generate(tree: &Tree, mut seed: u64) {
    let mut next = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("a number") % below
    };
    for file in 0..60 {
        let folder = ["", "src/", "src/deep/er/", ".hidden/", "target/", ".git/", "a b/"][next(7)];
        let name = ["a.rs", "b.py", ".env", "c.txt", "no suffix"][next(5)];
        let mut text = Vec::new();
        for _ in 0..next(40) {
            for _ in 0..next(6) {
                text.extend(WORDS[next(WORDS.len())].as_bytes());
                text.push(b' ');
            }
            match next(30) {
                0 => text.extend(b"caf\xE9 needle"),
                1 => text.push(b'\r'),
                _ => {}
            }
            text.push(b'\n');
        }
        match next(20) {
            0 => text.push(0),
            1 => text.extend(b"needle at the very end"),
            _ => {}
        }
        tree.put(&format!("{folder}{file}{name}"), text);
    }
    tree.put(".gitignore", "target/\n*.py\n");
    tree.put(".ignore", "*.txt\n");
    tree.put("empty", "");
}

fn of_ripgrep(tree: &Tree, pattern: &str) -> Option<Vec<String>> {
    let mut command = Command::new("rg");
    command
        .args(["--hidden", "--no-ignore", "--no-config", "--glob", "!.git", "--line-number"])
        .args(["--no-heading", "--with-filename", "-e", pattern, "."])
        .current_dir(tree.root());
    let Ok(output) = command.output() else {
        assert!(std::env::var_os("CI").is_none(), "CI needs ripgrep for this test");
        println!("ripgrep is not here: nothing was compared");
        return None;
    };
    let lines = output.stdout.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    // A line of ours has a blank behind its number, and a file with a NUL byte is not searched at all.
    let lines = lines.filter(|line| !line.is_empty() && !line.contains("binary file matches"));
    let mut lines: Vec<String> = lines
        .map(|line| {
            let line = line.strip_prefix("./").unwrap_or(&line).trim_end_matches('\r').to_owned();
            let mut parts = line.splitn(3, ':');
            let mut part = || parts.next().unwrap_or_default().to_owned();
            format!("{}:{}: {}", part(), part(), part())
        })
        .collect();
    lines.sort_unstable();
    Some(lines)
}

#[test]
fn the_same_lines_as_ripgrep() {
    for seed in 1..=6 {
        let tree = Tree::new();
        generate(&tree, seed);
        for pattern in [
            "needle",
            "(?i)needle$",
            "^x1",
            r"\bfn\s+main\(\)",
            "é",
            r"a.b",
            r"tab\t",
            "─+",
            r"\w+://",
            "nothing like this",
            "e",
        ] {
            let Some(mut expected) = of_ripgrep(&tree, pattern) else { return };
            let query = Query {
                pattern,
                path: "",
                include: "",
                max_results: 100_000,
                max_line_length: 100_000,
            };
            let found = search(&tree.files(), &query, &|| false).expect("searched").text();
            let mut lines: Vec<String> = found
                .lines()
                .filter(|line| !line.starts_with("[... ") && *line != "No matches found.")
                .map(|line| line.trim_end_matches('\r').to_owned())
                .collect();
            // Binary files are not compared: ripgrep shows what stands before their first NUL byte.
            let binary = |line: &String| {
                let path = line.split(':').next().unwrap_or_default();
                tree.bytes(path).contains(&0)
            };
            expected.retain(|line| !binary(line));
            lines.sort_unstable();
            assert_eq!(lines, expected, "{pattern} in tree {seed}");
        }
    }
}
