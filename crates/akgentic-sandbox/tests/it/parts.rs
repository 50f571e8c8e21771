//! What the tests share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_sandbox::{
    AllowedCommand, Backend, BackendError, Bwrap, Ended, Local, Outcome, Place, Run, Session,
};
use tempfile::TempDir;

/// A workspace with a started backend.
pub(crate) struct Stage {
    pub folder: TempDir,
    pub session: Arc<dyn Session>,
}

impl Stage {
    pub(crate) async fn start(backend: &dyn Backend) -> Result<Self, BackendError> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("ws");
        fs::create_dir(&root).expect("a folder");
        let place = Place { team_id: "t".to_owned(), workspace_id: None, directory: root };
        Ok(Self { session: backend.start(place).await?, folder })
    }

    pub(crate) async fn local() -> Self {
        Self::start(&Local::default()).await.expect("a fence")
    }

    /// Nothing where bwrap does not work, which is said; in CI it has to.
    pub(crate) async fn bwrap() -> Option<Self> {
        Self::bwrap_with(&Bwrap::default()).await
    }

    pub(crate) async fn bwrap_with(bwrap: &Bwrap) -> Option<Self> {
        match Self::start(bwrap).await {
            Ok(stage) => Some(stage),
            Err(error) if is_ci() => panic!("bwrap does not work: {error}"),
            Err(error) => {
                println!("skipped: bwrap does not work here: {error}");
                None
            }
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// Runs a script with bash.
    pub(crate) async fn bash(&self, script: &str) -> Outcome {
        self.run(bash(script)).await
    }

    pub(crate) async fn run(&self, run: Run) -> Outcome {
        self.session.run(run).await.expect("a run")
    }
}

pub(crate) fn bash(script: &str) -> Run {
    command(&["bash", "-c", script])
}

pub(crate) fn command(argv: &[&str]) -> Run {
    Run::new(AllowedCommand::trusted(argv.iter().copied()).expect("a command"))
}

pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Standard output and error of a command that ended by itself.
pub(crate) fn said(outcome: &Outcome) -> (String, String, i32) {
    assert_eq!(outcome.ended, Ended::Exited, "{outcome:?}");
    (outcome.stdout.text(1 << 16), outcome.stderr.text(1 << 16), outcome.exit_code)
}

/// Processes whose command line holds `mark`.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("a process table");
    entries
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}

/// A number no other process has in its command line, for sleeps that are looked for.
pub(crate) fn unlikely(base: u32) -> String {
    format!("{base}.{}", std::process::id())
}

pub(crate) fn within(limit: Duration, started: Instant) {
    let took = started.elapsed();
    assert!(took < limit, "took {took:?}, at most {limit:?}");
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}
