//! Formatting, clippy and rustdoc.

use anyhow::Result;

use crate::shell::{Done, Shell};
use crate::workspace::Workspace;

/// Every file is formatted.
pub(crate) fn fmt(_: &Workspace, shell: &Shell) -> Result<Done> {
    shell.run(shell.cargo(&["fmt", "--all", "--check"]))?;
    // The fuzz targets are a workspace of their own.
    shell.run(shell.cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    Ok(Done::line("formatted"))
}

/// Clippy has nothing to say, whatever the target.
pub(crate) fn clippy(workspace: &Workspace, shell: &Shell) -> Result<Done> {
    shell.run(shell.cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok(Done::line(format!("{} crates", workspace.members.len())))
}

/// The documentation builds without a warning.
pub(crate) fn rustdoc(workspace: &Workspace, shell: &Shell) -> Result<Done> {
    let mut command = shell.cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    shell.run(command)?;
    Ok(Done::line(format!("{} crates", workspace.members.len())))
}
