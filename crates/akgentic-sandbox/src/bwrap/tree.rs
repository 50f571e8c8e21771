//! Everything in the PID namespace of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use crate::process::Tree;
use crate::process::cgroup::Group;
use crate::process::proc::{self, Process};

/// How long the namespace may take to go.
const GONE: Duration = Duration::from_secs(5);

const AGAIN: Duration = Duration::from_millis(2);

/// What bwrap says about the namespace it made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Status {
    child_pid: Option<i32>,
    pid_namespace: Option<u64>,
    exit_code: Option<i32>,
}

/// What was written to the status file so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Setup {
    init: Option<(i32, u64)>,
    /// Set once the command has been run.
    pub exit_code: Option<i32>,
}

pub(super) fn setup(file: &Path) -> Setup {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut setup = Setup::default();
    for status in serde_json::Deserializer::from_str(&text).into_iter::<Status>() {
        let Ok(status) = status else { break };
        if let (Some(pid), Some(namespace)) = (status.child_pid, status.pid_namespace) {
            setup.init = Some((pid, namespace));
        }
        setup.exit_code = status.exit_code.or(setup.exit_code);
    }
    setup
}

/// One run: bwrap itself, and the first process of the namespace, with which all others end.
pub(super) struct BwrapTree {
    pub outer: i32,
    pub status: PathBuf,
    pub group: Option<Arc<Group>>,
}

impl BwrapTree {
    fn init(&self) -> Option<(i32, Process)> {
        let (pid, namespace) = setup(&self.status).init?;
        let is_meant = |pid| proc::pid_namespace(pid) == Some(namespace);
        Some((pid, Process::open(pid, is_meant)?))
    }
}

impl Tree for BwrapTree {
    /// Asks the command and everything it started; not the first process, which waits for them.
    fn terminate(&self) {
        let Some((init, _held)) = self.init() else { return };
        let table = proc::since(init);
        for entry in proc::below(init, &table) {
            let same = |pid| proc::entry(pid).is_some_and(|now| now.session == entry.session);
            if let Some(process) = Process::open(entry.pid, same) {
                process.signal(Signal::TERM);
            }
        }
    }

    fn kill(&self) {
        if let Some((_, init)) = self.init() {
            init.signal(Signal::KILL);
        }
        if let Some(outer) = Pid::from_raw(self.outer) {
            // It may be gone already.
            let _gone = kill_process_group(outer, Signal::KILL).is_err();
        }
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    fn gone(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            if let Some((_, init)) = self.init() {
                init.signal(Signal::KILL);
                if !init.ended(GONE).await {
                    return false;
                }
            }
            let Some(group) = &self.group else { return true };
            let emptying = async {
                while !group.is_empty() {
                    group.kill();
                    tokio::time::sleep(AGAIN).await;
                }
            };
            tokio::time::timeout(GONE, emptying).await.is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_file_is_read_as_far_as_it_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("status");
        let read = |text: &str| {
            fs::write(&file, text).expect("written");
            setup(&file)
        };
        assert_eq!(read(""), Setup::default());
        let first = "{ \"child-pid\": 7, \"mnt-namespace\": 1, \"pid-namespace\": 9 }\n";
        assert_eq!(read(first), Setup { init: Some((7, 9)), exit_code: None });
        let both = format!("{first}{{ \"exit-code\": 3 }}\n");
        assert_eq!(read(&both), Setup { init: Some((7, 9)), exit_code: Some(3) });
        assert_eq!(read("{ \"child-pid\": 7, \"mn"), Setup::default());
    }
}
