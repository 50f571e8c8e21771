//! Licences, banned crates and sources.

use anyhow::Result;

use crate::shell::{Done, Shell};
use crate::workspace::Workspace;

/// Everything `cargo deny` can tell without a database from outside the registry.
pub(crate) fn run(_: &Workspace, shell: &Shell) -> Result<Done> {
    shell.need("deny")?;
    shell.run(shell.cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
    Ok(Done::line("licences, bans, sources; advisories need their own database"))
}
