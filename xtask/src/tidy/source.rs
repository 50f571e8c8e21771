//! Rules about source files.

use std::path::Path;

use super::{Fault, Page};

/// Longest source file, in lines.
const LONGEST: usize = 700;

/// Files that may be longer, and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// Names that say nothing about what is inside.
const BAD_NAMES: &[&str] =
    &["common", "helper", "helpers", "misc", "types", "util", "utilities", "utils"];

/// Unfinished work, spelled in pieces so that this file does not hold it.
const UNFINISHED: &[&str] = &[concat!("todo", "!("), concat!("unimplemented", "!(")];
const NOTE: &str = concat!("FIX", "ME");
const IGNORED: &str = concat!("#[", "ignore");

/// Rules of Rust files.
pub(super) fn check(page: &Page) -> Vec<Fault> {
    let path = page.path.as_str();
    let mut faults = Vec::new();
    let length = page.text.lines().count();
    if length > LONGEST && !LONG_FILES.iter().any(|(listed, _)| *listed == path) {
        let text = format!("{length} lines, at most {LONGEST}: split it, or list it with a reason");
        faults.push(Fault::new(path, 0, text));
    }
    if let Some(name) = bad_name(path) {
        faults.push(Fault::new(path, 0, format!("`{name}` does not say what is inside")));
    }
    for (index, line) in page.text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        if let Some(word) = UNFINISHED.iter().find(|word| code.contains(**word)) {
            faults.push(Fault::new(path, index + 1, format!("unfinished: `{word}…)`")));
        }
        if code.starts_with(IGNORED) {
            faults.push(Fault::new(path, index + 1, "a test runs or goes"));
        }
        if let Some(name) = inline_module(code).filter(|name| BAD_NAMES.contains(name)) {
            faults.push(Fault::new(
                path,
                index + 1,
                format!("`{name}` does not say what is inside"),
            ));
        }
        if (code.starts_with("#[allow(") || code.starts_with("#![allow("))
            && !has_reason(page, index)
        {
            faults.push(Fault::new(path, index + 1, "an `allow` says why: `reason = \"…\"`"));
        }
    }
    faults
}

/// Rules of every text file.
pub(super) fn check_any(page: &Page) -> Vec<Fault> {
    let lines = page.text.lines().enumerate().filter(|(_, line)| line.contains(NOTE));
    lines
        .map(|(index, _)| Fault::new(&page.path, index + 1, format!("unfinished: {NOTE}")))
        .collect()
}

/// The list of long files names only files that are long.
pub(super) fn check_exceptions(pages: &[Page]) -> Vec<Fault> {
    let stale = |path: &str| {
        !pages.iter().any(|page| page.path == path && page.text.lines().count() > LONGEST)
    };
    LONG_FILES
        .iter()
        .filter(|(path, reason)| stale(path) || reason.is_empty())
        .map(|(path, _)| Fault::new(path, 0, "is listed as a long file without need or reason"))
        .collect()
}

/// The part of a path or package name that says nothing, if there is one.
pub(super) fn bad_name(path: &str) -> Option<&str> {
    path.split(['/', '-']).map(|part| part.strip_suffix(".rs").unwrap_or(part)).find(|part| {
        let stem = Path::new(part).file_stem().and_then(|stem| stem.to_str());
        stem.is_some_and(|stem| BAD_NAMES.contains(&stem))
    })
}

/// The functions a file defines.
pub(super) fn functions(page: &Page) -> impl Iterator<Item = &str> {
    page.text.lines().filter_map(|line| {
        let (before, after) = line.split_once("fn ")?;
        if !before.is_empty() && !before.ends_with(' ') {
            return None;
        }
        after.split(['(', '<']).next()
    })
}

/// The name in `mod name {` or `mod name;`, whatever its visibility.
fn inline_module(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("mod ")?;
    let visible = before.is_empty() || before.starts_with("pub");
    visible.then(|| after.trim_end_matches([' ', '{', '}', ';']))
}

/// Whether the attribute that starts on a line closes with a reason.
fn has_reason(page: &Page, start: usize) -> bool {
    for line in page.text.lines().skip(start) {
        if line.contains("reason") {
            return true;
        }
        if line.contains(")]") {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.to_owned(), text: text.to_owned() }
    }

    fn texts(path: &str, text: &str) -> Vec<String> {
        check(&page(path, text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn plain_code_passes() {
        let text = format!("mod card;\n// {} is banned\nfn a() {{}}\n", UNFINISHED[0]);
        assert!(texts("crates/a/src/lib.rs", &text).is_empty());
    }

    #[test]
    fn a_long_file_fails() {
        let found = texts("crates/a/src/lib.rs", &"\n".repeat(LONGEST + 1));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn names_that_say_nothing_fail() {
        assert_eq!(bad_name("crates/a/src/utils.rs"), Some("utils"));
        assert_eq!(bad_name("crates/a/tests/common/mod.rs"), Some("common"));
        assert_eq!(bad_name("crates/akgentic-types"), Some("types"));
        assert_eq!(bad_name("crates/a/src/type_registry.rs"), None);
        assert_eq!(
            texts("a.rs", "pub(crate) mod helpers {\n"),
            ["a.rs:1: `helpers` does not say what is inside"]
        );
    }

    #[test]
    fn unfinished_work_fails() {
        let text = format!("{}\n    {})\n{}]\n", NOTE, UNFINISHED[0], IGNORED);
        let mut found = check(&page("a.rs", &text));
        found.extend(check_any(&page("a.rs", &text)));
        let lines: Vec<usize> = found.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 3, 1]);
    }

    #[test]
    fn an_allow_needs_a_reason() {
        assert!(texts("a.rs", "#[allow(dead_code, reason = \"x\")]\n").is_empty());
        assert!(texts("a.rs", "#![allow(\n    dead_code,\n    reason = \"x\"\n)]\n").is_empty());
        assert_eq!(texts("a.rs", "#[allow(dead_code)]\nlet reason = 1;\n").len(), 1);
    }

    #[test]
    fn functions_are_found_by_name() {
        let page = page("a.rs", "fn one() {}\n    pub async fn two<T>(t: T) {}\n// often true\n");
        assert_eq!(functions(&page).collect::<Vec<_>>(), ["one", "two"]);
    }
}
