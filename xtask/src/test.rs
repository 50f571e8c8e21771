//! The tests and the documentation's examples.

use anyhow::Result;

use crate::shell::{Done, Shell};
use crate::workspace::Workspace;

/// Every test, through nextest.
pub(crate) fn nextest(_: &Workspace, shell: &Shell) -> Result<Done> {
    shell.need("nextest")?;
    shell.run(shell.cargo(&["nextest", "run", "--workspace", "--all-features"]))?;
    Ok(Done::line(summary(&shell.output()).unwrap_or_default()))
}

/// The examples in documentation, which nextest does not run.
pub(crate) fn doctest(_: &Workspace, shell: &Shell) -> Result<Done> {
    shell.run(shell.cargo(&["test", "--workspace", "--all-features", "--doc"]))?;
    let output = shell.output();
    let results = output.lines().filter(|line| line.starts_with("test result:"));
    let (crates, passed) = results
        .fold((0, 0), |(crates, passed), line| (crates + 1, passed + count_before(line, "passed")));
    Ok(Done::line(format!("{passed} examples of {crates} crates passed")))
}

/// Nextest's closing line: how many ran, passed, were skipped.
pub(crate) fn summary(output: &str) -> Option<String> {
    let line = output.lines().rev().find(|line| line.trim_start().starts_with("Summary ["))?;
    Some(line.trim().to_owned())
}

/// The number that stands before a word, zero when there is none.
fn count_before(line: &str, word: &str) -> usize {
    let words: Vec<&str> = line.split_whitespace().collect();
    words
        .windows(2)
        .find(|pair| pair[1].trim_end_matches([';', ',']) == word)
        .and_then(|pair| pair[0].parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_summary_counts() {
        let output =
            "x\n     Summary [   0.1s] 1 test run\n  Summary [   0.2s] 2 tests run: 2 passed\n";
        assert_eq!(summary(output).unwrap(), "Summary [   0.2s] 2 tests run: 2 passed");
        assert_eq!(summary("nothing"), None);
    }

    #[test]
    fn a_count_stands_before_its_word() {
        let line = "test result: ok. 12 passed; 1 failed; 0 ignored";
        assert_eq!(count_before(line, "passed"), 12);
        assert_eq!(count_before(line, "failed"), 1);
        assert_eq!(count_before(line, "measured"), 0);
    }
}
