//! Everything a command on the host started, as far as it can be found.

use std::time::Duration;

use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::Tree;

/// How long what is left may take to go.
const GONE: Duration = Duration::from_secs(5);

/// How often what is left is looked for.
const AGAIN: Duration = Duration::from_millis(5);

/// The process group of the command, its control group where there is one, and what carries the mark
/// of the run in its environment.
pub(crate) struct LocalTree {
    pub leader: i32,
    /// `name=value`, unlike that of any other run.
    pub mark: Vec<u8>,
    #[cfg(target_os = "linux")]
    pub group: Option<std::sync::Arc<crate::process::cgroup::Group>>,
}

impl LocalTree {
    fn signal_group(&self, signal: Signal) {
        if let Some(leader) = Pid::from_raw(self.leader) {
            // The group may be gone already.
            let _gone = kill_process_group(leader, signal).is_err();
        }
    }

    /// Whether anything is left; what is found is sent `signal`.
    #[cfg(target_os = "linux")]
    fn hunt(&self, signal: Signal) -> bool {
        use crate::process::proc::{self, Process};

        if let Some(group) = &self.group {
            // Nothing leaves the group, so what it holds is all there is.
            if signal == Signal::KILL {
                group.kill();
            } else {
                group.signal(signal);
            }
            return !group.is_empty();
        }
        let table = proc::since(self.leader);
        let below = proc::below(self.leader, &table);
        let mut left = false;
        for entry in table.iter().filter(|entry| !entry.ended) {
            let known =
                entry.group == self.leader || entry.session == self.leader || below.contains(entry);
            if !known && !proc::has_variable(entry.pid, &self.mark) {
                continue;
            }
            let same = |pid| {
                proc::entry(pid).is_some_and(|now| {
                    now.group == entry.group && now.session == entry.session && !now.ended
                })
            };
            if let Some(process) = Process::open(entry.pid, same) {
                process.signal(signal);
                left = true;
            }
        }
        left
    }

    #[cfg(not(target_os = "linux"))]
    fn hunt(&self, signal: Signal) -> bool {
        self.signal_group(signal);
        Pid::from_raw(self.leader)
            .is_some_and(|leader| rustix::process::test_kill_process_group(leader).is_ok())
    }
}

impl Tree for LocalTree {
    fn terminate(&self) {
        self.signal_group(Signal::TERM);
        self.hunt(Signal::TERM);
    }

    fn kill(&self) {
        self.signal_group(Signal::KILL);
        self.hunt(Signal::KILL);
    }

    fn gone(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let hunting = async {
                while self.hunt(Signal::KILL) {
                    tokio::time::sleep(AGAIN).await;
                }
            };
            tokio::time::timeout(GONE, hunting).await.is_ok()
        })
    }
}
