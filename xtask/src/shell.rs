//! Running programs, with their output shown or kept in a log.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What a finished step has to say.
pub(crate) struct Done {
    /// One line.
    pub summary: String,
    /// Further lines, shown beneath.
    pub details: Vec<String>,
}

impl Done {
    /// A step that says one line.
    pub(crate) fn line(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), details: Vec::new() }
    }

    /// Shows it all.
    pub(crate) fn print(&self) {
        for line in &self.details {
            println!("{line}");
        }
        println!("{}", self.summary);
    }
}

/// Starts programs in the workspace root.
pub(crate) struct Shell {
    root: PathBuf,
    log: Option<PathBuf>,
}

impl Shell {
    /// A shell whose programs write to the terminal.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), log: None }
    }

    /// A shell whose programs write to a fresh log file.
    pub(crate) fn logging(root: &Path, log: PathBuf) -> Result<Self> {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        Ok(Self { root: root.to_owned(), log: Some(log) })
    }

    /// What the programs have written so far; empty when it went to the terminal.
    pub(crate) fn output(&self) -> String {
        let bytes = self.log.as_ref().and_then(|log| std::fs::read(log).ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A cargo command in the workspace root, as a user would start it by hand.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root).stdin(Stdio::null());
        // `cargo run` describes this package to us; build scripts below must not see it.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let ours = ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|head| text.starts_with(head));
            if ours || text == "CARGO_BIN_NAME" || text == "CARGO_CRATE_NAME" {
                command.env_remove(&name);
            }
        }
        command
    }

    /// Runs a command to its end; an error tells which one failed and how.
    pub(crate) fn run(&self, mut command: Command) -> Result<()> {
        let title = title(&command);
        if let Some(path) = &self.log {
            let mut log = OpenOptions::new()
                .append(true)
                .open(path)
                .with_context(|| format!("cannot open {}", path.display()))?;
            writeln!(log, "$ {title}")?;
            command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
            command.stdout(log.try_clone()?).stderr(log);
        } else {
            println!("$ {title}");
        }
        let status = command.status().with_context(|| format!("cannot start `{title}`"))?;
        if !status.success() {
            bail!("`{title}` failed ({status})");
        }
        Ok(())
    }

    /// Fails with a hint unless a cargo subcommand is installed.
    pub(crate) fn need(&self, subcommand: &str) -> Result<()> {
        let mut command = self.cargo(&[subcommand, "--version"]);
        let found = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        bail!("cargo-{subcommand} is missing: `cargo install --locked cargo-{subcommand}`")
    }
}

fn title(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_stem().unwrap_or_default().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logging_shell_keeps_the_output_and_tells_the_failed_command() {
        let log = std::env::temp_dir().join(format!("xtask-shell-{}.log", std::process::id()));
        let shell = Shell::logging(&std::env::temp_dir(), log.clone()).unwrap();
        shell.run(shell.cargo(&["--version"])).unwrap();
        let error = shell.run(shell.cargo(&["no-such-subcommand"])).unwrap_err();
        assert!(error.to_string().starts_with("`cargo no-such-subcommand` failed"), "{error}");
        let output = shell.output();
        assert!(output.starts_with("$ cargo --version\ncargo 1."), "{output}");
        std::fs::remove_file(log).unwrap();
    }

    #[test]
    fn a_missing_tool_is_named_with_the_way_to_get_it() {
        let error = Shell::new(&std::env::temp_dir()).need("no-such-tool").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cargo-no-such-tool is missing: `cargo install --locked cargo-no-such-tool`"
        );
    }
}
