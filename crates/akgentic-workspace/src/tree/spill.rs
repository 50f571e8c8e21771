//! What commands wrote beyond what is kept in memory: files beside the tree, read by paths that
//! stand for them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::admission::RelPath;
use crate::root::Root;

/// Where the outputs of runs are read; nothing is there in the tree itself.
pub(crate) const RUNS: &str = ".akgentic/runs";

/// Whether a path stands for the output of a run, or for the folder of them.
pub(super) fn is_reserved(path: &RelPath) -> bool {
    path.as_path().starts_with(RUNS)
}

/// The outputs of the runs of one tree.
#[derive(Debug)]
pub(super) struct Spills {
    /// Where they lie, made when it is needed first.
    path: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    root: Option<Root>,
    /// Runs that may have written files.
    runs: BTreeSet<String>,
}

impl Spills {
    /// Outputs of the tree at `tree`, beside it.
    pub(super) fn beside(tree: &Path) -> Self {
        let path = tree.file_name().map(|name| {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(".runs");
            tree.with_file_name(hidden)
        });
        Self { path, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder for the outputs of a run, made if it is missing.
    pub(super) fn folder(&self, run: &str) -> std::io::Result<PathBuf> {
        let path = self.path.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        let mut state = self.state();
        if state.root.is_none() {
            state.root = Some(Root::create(path)?);
        }
        state.runs.insert(run.to_owned());
        Ok(path.clone())
    }

    /// The output that a path stands for, with its size.
    pub(super) fn open(&self, path: &RelPath) -> Option<(File, u64)> {
        let name = path.as_path().strip_prefix(RUNS).ok()?;
        if name.components().count() != 1 {
            return None;
        }
        let root = self.state().root.clone()?;
        let (file, status) = root.directory().open_file(name.as_os_str()).ok()?;
        Some((file, status.size))
    }

    /// Removes the outputs of a run that nobody can ask for any more.
    pub(super) fn forget(&self, run: &str) {
        self.state().forget(run);
    }
}

impl State {
    fn forget(&mut self, run: &str) {
        let Some(root) = &self.root else { return };
        if self.runs.remove(run) {
            for stream in ["stdout", "stderr"] {
                // Most runs have none.
                _ = root.directory().unlink(OsStr::new(&format!("{run}.{stream}")));
            }
        }
    }
}

impl Drop for Spills {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for run in std::mem::take(&mut state.runs) {
            state.runs.insert(run.clone());
            state.forget(&run);
        }
        if let Some(root) = state.root.take() {
            root.remove_if_empty();
        }
    }
}
