//! Rules about pages that people read.

use super::{Fault, Page};
use crate::edges;

pub(super) const ARCHITECTURE: &str = "docs/architecture.md";
pub(super) const PARITY: &str = "docs/parity.md";

/// Beginnings of paths that exist on one machine only.
const PRIVATE_PATHS: &[&str] = &["/home/", "/root/", "/tmp/", "/Users/", "C:\\Users"];

/// How far a feature is.
const STATUSES: &[&str] = &["done", "partial", "planned", "dropped"];

/// Rules of every page.
pub(super) fn check(page: &Page) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        if let Some(path) = PRIVATE_PATHS.iter().find(|path| line.contains(**path)) {
            let text = format!("`{path}…` exists on one machine only");
            faults.push(Fault::new(&page.path, index + 1, text));
        }
        if line.trim_start().starts_with("```") && line.contains("ignore") {
            faults.push(Fault::new(&page.path, index + 1, "an example compiles or is ```text"));
        }
    }
    faults
}

/// Every crate is named in the architecture page.
pub(super) fn check_architecture(page: &Page, members: &[&str]) -> Vec<Fault> {
    members
        .iter()
        .filter(|name| !page.text.contains(&format!("`{name}`")))
        .map(|name| Fault::new(&page.path, 0, format!("says nothing about `{name}`")))
        .collect()
}

/// The table of features names crates, statuses and tests that exist.
///
/// A table belongs to it when its head has the columns `crate`, `status` and `test`.
pub(super) fn check_parity(
    page: &Page,
    members: &[&str],
    test_exists: impl Fn(&str) -> bool,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut columns: Option<[usize; 3]> = None;
    let mut rows = 0;
    for (index, line) in page.text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            columns = None;
            continue;
        };
        let Some([home, status, test]) = columns else {
            columns = head(&cells);
            continue;
        };
        if cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':'))) {
            continue;
        }
        rows += 1;
        let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
        for text in row_faults(cell(home), cell(status), cell(test), members, &test_exists) {
            faults.push(Fault::new(&page.path, index + 1, text));
        }
    }
    if rows == 0 {
        let text = "has no table with the columns `crate`, `status` and `test`";
        faults.push(Fault::new(&page.path, 0, text));
    }
    faults
}

fn row_faults(
    home: &str,
    status: &str,
    test: &str,
    members: &[&str],
    test_exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    if !STATUSES.contains(&status) {
        faults.push(format!("status `{status}` is none of {}", STATUSES.join(", ")));
    }
    let built = matches!(status, "done" | "partial");
    let homes = names(home);
    if homes.is_empty() {
        faults.push("names no crate".to_owned());
    }
    for name in homes {
        if edges::rule(name).is_none() {
            faults.push(format!("no crate is called `{name}`"));
        } else if built && !members.contains(&name) {
            faults.push(format!("`{name}` is not built yet"));
        }
    }
    let tests = names(test);
    if tests.is_empty() && status == "done" {
        faults.push("what is done has a test".to_owned());
    }
    for name in tests {
        if !test_exists(name) {
            faults.push(format!("no test or file is called `{name}`"));
        }
    }
    faults
}

/// The names in a cell: in backticks and between commas; a dash names nothing.
fn names(cell: &str) -> Vec<&str> {
    cell.split(',')
        .map(|name| name.trim().trim_matches('`'))
        .filter(|name| !matches!(*name, "" | "-" | "–" | "—"))
        .collect()
}

/// The cells of a table row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, letter) in row.char_indices() {
        if letter == '|' && !escaped {
            cells.push(row.get(start..at).unwrap_or_default().trim());
            start = at + 1;
        }
        escaped = letter == '\\';
    }
    cells.push(row.get(start..).unwrap_or_default().trim());
    Some(cells)
}

/// Where a table's head has the columns that matter.
fn head(cells: &[&str]) -> Option<[usize; 3]> {
    let column = |name: &str| cells.iter().position(|cell| cell.eq_ignore_ascii_case(name));
    Some([column("crate")?, column("status")?, column("test").or_else(|| column("tests"))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page { path: "docs/parity.md".to_owned(), text: text.to_owned() }
    }

    fn parity(row: &str) -> Vec<String> {
        let head = "| feature | crate | status | test |\n|---|---|---|---|\n";
        let page = page(&format!("{head}{row}\n"));
        let members = ["akgentic-core", "akgentic-team"];
        let faults = check_parity(&page, &members, |name| name == "real" || name == "core/address");
        faults.iter().map(|fault| fault.text.clone()).collect()
    }

    #[test]
    fn rows_that_name_real_things_pass() {
        for row in [
            "| ask `a \\| b` | `akgentic-core` | done | `real`, `core/address` |",
            "| teams | akgentic-core, akgentic-team | partial | — |",
            "| search | `akgentic-search` | planned | — |",
        ] {
            assert_eq!(parity(row), Vec::<String>::new(), "{row}");
        }
    }

    #[test]
    fn rows_that_name_nothing_real_fail() {
        assert_eq!(parity("| a | `akgentic-core` | done | — |"), ["what is done has a test"]);
        assert_eq!(
            parity("| a | `akgentic-core` | done | `gone` |"),
            ["no test or file is called `gone`"]
        );
        assert_eq!(
            parity("| a | `akgentic-other` | planned | |"),
            ["no crate is called `akgentic-other`"]
        );
        assert_eq!(
            parity("| a | `akgentic-search` | done | `real` |"),
            ["`akgentic-search` is not built yet"]
        );
        assert_eq!(
            parity("| a | `akgentic-core` | soon | |"),
            ["status `soon` is none of done, partial, planned, dropped"]
        );
    }

    #[test]
    fn a_page_without_the_table_fails() {
        assert_eq!(check_parity(&page("| a | b |\n|---|---|\n"), &[], |_| true).len(), 1);
    }

    #[test]
    fn every_crate_is_described() {
        let found = check_architecture(&page("`akgentic-core` holds"), &["akgentic-core", "xtask"]);
        assert_eq!(found, [Fault::new("docs/parity.md", 0, "says nothing about `xtask`")]);
    }

    #[test]
    fn private_paths_and_ignored_examples_fail() {
        let private = ["see /ho", "me/me/file\n"].concat();
        assert_eq!(check(&page(&private)).len(), 1);
        assert_eq!(check(&page("```rust,ignore\n```\n")).len(), 1);
        assert!(check(&page("a /path/of/anything\n```rust\n```\n")).is_empty());
    }
}
