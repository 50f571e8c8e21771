//! Benchmarks, one target after another so that none disturbs the next.

use anyhow::{Result, bail};
use cargo_metadata::TargetKind;

use crate::shell::Shell;
use crate::workspace::Workspace;

/// Runs the benchmarks whose crate or name contains `filter`.
pub(crate) fn run(
    workspace: &Workspace,
    shell: &Shell,
    filter: Option<&str>,
    quick: bool,
) -> Result<()> {
    let mut ran = 0;
    for package in &workspace.members {
        for target in &package.targets {
            let wanted =
                filter.is_none_or(|part| package.name.contains(part) || target.name.contains(part));
            if !wanted || !target.kind.contains(&TargetKind::Bench) {
                continue;
            }
            let mut command =
                shell.cargo(&["bench", "--package", &package.name, "--bench", &target.name]);
            if quick {
                command.args(["--", "--quick"]);
            }
            shell.run(command)?;
            ran += 1;
        }
    }
    if ran == 0 {
        bail!("no benchmark matches");
    }
    Ok(())
}
