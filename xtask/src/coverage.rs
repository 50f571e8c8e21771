//! Line coverage of the workspace.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::{Done, Shell};
use crate::workspace::Workspace;
use crate::{llvm, test};

/// Lowest share of lines that tests must reach, in percent.
const FLOOR: f64 = 80.0;

/// Not counted: the gate runs these itself.
const NOT_COUNTED: &[&str] = &["xtask"];

#[derive(Clone, Copy, Default)]
struct Lines {
    all: u64,
    covered: u64,
}

impl Lines {
    fn percent(self) -> f64 {
        if self.all == 0 {
            return 100.0;
        }
        // Exact below 2^53 lines.
        #[expect(clippy::cast_precision_loss, reason = "line counts are small")]
        let share = self.covered as f64 / self.all as f64;
        share * 100.0
    }

    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.covered += other.covered;
    }
}

/// Runs every test under `cargo llvm-cov` and compares the sum with the floor.
pub(crate) fn run(workspace: &Workspace, shell: &Shell) -> Result<Done> {
    shell.need("nextest")?;
    shell.need("llvm-cov")?;
    let report = workspace.target.join("xtask").join("coverage.json");
    if let Some(folder) = report.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut command = shell.cargo(&[
        "llvm-cov",
        "nextest",
        "--workspace",
        "--all-features",
        "--no-cfg-coverage",
        "--json",
        "--summary-only",
        "--output-path",
    ]);
    command.arg(&report);
    if let Some([cov, profdata]) = llvm::tools()? {
        command.env("LLVM_COV", cov).env("LLVM_PROFDATA", profdata);
    }
    shell.run(command)?;

    let text = std::fs::read_to_string(&report).context("cargo llvm-cov wrote no report")?;
    let folders: Vec<(String, &str)> = workspace
        .members
        .iter()
        .map(|package| (workspace.folder(package), package.name.as_str()))
        .collect();
    let lines = per_crate(&serde_json::from_str(&text)?, &workspace.root, &folders)?;
    let mut done = table(&lines)?;
    done.details.extend(test::summary(&shell.output()));
    Ok(done)
}

/// Adds up the files of each crate.
fn per_crate<'a>(
    report: &Value,
    root: &Path,
    folders: &[(String, &'a str)],
) -> Result<BTreeMap<&'a str, Lines>> {
    let files = report["data"][0]["files"].as_array().context("no files in the report")?;
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    for file in files {
        let name = file["filename"].as_str().context("a file without a name in the report")?;
        let Ok(path) = Path::new(name).strip_prefix(root) else { continue };
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        let home = folders
            .iter()
            .filter(|(folder, _)| path.starts_with(folder))
            .max_by_key(|(folder, _)| folder.len());
        let Some((_, home)) = home else { continue };
        let count = &file["summary"]["lines"];
        let number = |key: &str| count[key].as_u64().context("a file without line counts");
        let lines = Lines { all: number("count")?, covered: number("covered")? };
        crates.entry(home).or_default().add(lines);
    }
    Ok(crates)
}

fn table(crates: &BTreeMap<&str, Lines>) -> Result<Done> {
    let mut sum = Lines::default();
    let mut details = vec![format!("{:<28}{:>8}{:>9}{:>8}", "crate", "lines", "covered", "%")];
    for (name, lines) in crates {
        let counted = !NOT_COUNTED.contains(name);
        if counted {
            sum.add(*lines);
        }
        let note = if counted { "" } else { "  not counted" };
        details.push(row(name, *lines) + note);
    }
    details.push(row("workspace", sum));
    if sum.percent() < FLOOR {
        bail!("line coverage is below {FLOOR} %\n  {}", details.join("\n  "));
    }
    Ok(Done { summary: format!("{:.1} % of lines, floor {FLOOR} %", sum.percent()), details })
}

fn row(name: &str, lines: Lines) -> String {
    format!("{name:<28}{:>8}{:>9}{:>8.1}", lines.all, lines.covered, lines.percent())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(name: &str, count: u64, covered: u64) -> Value {
        json!({"filename": name, "summary": {"lines": {"count": count, "covered": covered}}})
    }

    fn folders() -> Vec<(String, &'static str)> {
        vec![
            ("crates/a".to_owned(), "a"),
            ("crates/a-b".to_owned(), "a-b"),
            ("xtask".to_owned(), "xtask"),
        ]
    }

    fn measure(files: &[Value]) -> Result<Done> {
        let report = json!({"data": [{"files": files}]});
        table(&per_crate(&report, Path::new("/w"), &folders())?)
    }

    #[test]
    fn files_count_for_the_crate_they_lie_in() {
        let done = measure(&[
            file("/w/crates/a/src/lib.rs", 50, 45),
            file("/w/crates/a-b/src/lib.rs", 50, 40),
            file("/w/crates/a/src/tests.rs", 1000, 0),
            file("/w/xtask/src/main.rs", 1000, 0),
            file("/elsewhere/lib.rs", 1000, 0),
        ])
        .unwrap();
        assert_eq!(done.summary, "85.0 % of lines, floor 80 %");
        assert_eq!(
            done.details,
            [
                "crate                          lines  covered       %",
                "a                                 50       45    90.0",
                "a-b                               50       40    80.0",
                "xtask                           1000        0     0.0  not counted",
                "workspace                        100       85    85.0",
            ]
        );
    }

    #[test]
    fn below_the_floor_fails_and_shows_the_table() {
        let error = measure(&[file("/w/crates/a/src/lib.rs", 100, 79)]).err().unwrap().to_string();
        assert!(error.starts_with("line coverage is below 80 %"), "{error}");
        assert!(error.contains("79.0"), "{error}");
    }

    #[test]
    fn a_report_of_another_shape_fails() {
        assert!(measure(&[json!({"filename": "/w/crates/a/src/lib.rs"})]).is_err());
        assert!(per_crate(&json!({}), Path::new("/w"), &folders()).is_err());
    }
}
