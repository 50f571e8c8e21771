//! The whole gate: every step in turn, one line each.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::{Done, Shell};
use crate::workspace::Workspace;
use crate::{coverage, deny, deps, each, lint, test, tidy};

type Step = fn(&Workspace, &Shell) -> Result<Done>;

/// Cheap steps first.
const STEPS: &[(&str, Step)] = &[
    ("tidy", tidy::run),
    ("deps", deps::run),
    ("fmt", lint::fmt),
    ("deny", deny::run),
    ("clippy", lint::clippy),
    ("rustdoc", lint::rustdoc),
    ("each", each::run),
    (TEST, test::nextest),
    ("doctest", test::doctest),
    ("coverage", coverage::run),
];

const TEST: &str = "test";

/// Lines of a failed step's output that are shown.
const TAIL: usize = 80;

/// Runs the steps until one fails.
pub(crate) fn run(workspace: &Workspace, tests_under_coverage: bool) -> Result<()> {
    let start = Instant::now();
    for (name, step) in STEPS {
        if tests_under_coverage && *name == TEST {
            println!("{name:<9} left to coverage");
            continue;
        }
        print!("{name:<9} ");
        std::io::stdout().flush()?;
        let log = workspace.target.join("xtask").join(format!("{name}.log"));
        let shell = Shell::logging(&workspace.root, log.clone())?;
        let begin = Instant::now();
        match step(workspace, &shell) {
            Ok(done) => {
                println!("ok     {:>8}  {}", seconds(begin.elapsed()), done.summary);
                for line in done.details {
                    println!("          {line}");
                }
            }
            Err(error) => {
                println!("FAILED {:>8}", seconds(begin.elapsed()));
                let output = shell.output();
                for line in tail(&output, TAIL) {
                    println!("  | {line}");
                }
                println!("  full output: {}", log.display());
                bail!("{name}: {error:#}");
            }
        }
    }
    println!("gate      ok     {:>8}", seconds(start.elapsed()));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn tail(text: &str, lines: usize) -> Vec<&str> {
    let all: Vec<&str> = text.lines().collect();
    all.iter().skip(all.len().saturating_sub(lines)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end() {
        assert_eq!(tail("a\nb\nc", 2), ["b", "c"]);
        assert_eq!(tail("a", 2), ["a"]);
        assert!(tail("", 2).is_empty());
    }

    #[test]
    fn times_read_as_seconds() {
        assert_eq!(seconds(Duration::from_millis(61_240)), "61.2 s");
    }
}
