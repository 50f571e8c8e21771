//! Each crate alone, so that none leans on a feature another one turns on.

use anyhow::Result;

use crate::shell::{Done, Shell};
use crate::workspace::Workspace;

/// Checks every crate by itself with the ends of its feature range.
pub(crate) fn run(workspace: &Workspace, shell: &Shell) -> Result<Done> {
    let mut checks = 0;
    for package in &workspace.members {
        if package.name == env!("CARGO_PKG_NAME") {
            continue;
        }
        for features in variants(!package.features.is_empty()) {
            let mut command = shell.cargo(&["clippy", "--package", &package.name]);
            command.args(*features).args(["--", "-D", "warnings"]);
            shell.run(command)?;
            checks += 1;
        }
    }
    Ok(Done::line(format!("{checks} checks")))
}

fn variants(has_features: bool) -> &'static [&'static [&'static str]] {
    if has_features { &[&["--no-default-features"], &["--all-features"]] } else { &[&[]] }
}
