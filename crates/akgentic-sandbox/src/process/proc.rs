//! What the process table says.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    pub ended: bool,
}

/// Every process that may have been started after `first`.
pub(crate) fn since(first: i32) -> Vec<Entry> {
    let lowest = if wrapped(first) { 0 } else { first };
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid >= lowest)
        .filter_map(entry)
        .collect()
}

/// Whether process numbers have started again since `first` was given out.
fn wrapped(first: i32) -> bool {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = load.split_ascii_whitespace().last().and_then(|last| last.parse::<i32>().ok());
    last.is_none_or(|last| last < first)
}

pub(crate) fn entry(pid: i32) -> Option<Entry> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent group session …`; the name may hold anything.
fn parse(stat: &str) -> Option<Entry> {
    let pid = stat.split_once(' ')?.0.parse().ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let mut number = || fields.next()?.parse().ok();
    Some(Entry { pid, parent: number()?, group: number()?, session: number()?, ended })
}

/// Everything below `root` in the table, without it.
pub(crate) fn below(root: i32, table: &[Entry]) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for entry in table.iter().filter(|entry| entry.parent == parent) {
            if !found.contains(entry) {
                parents.push(entry.pid);
                found.push(*entry);
            }
        }
    }
    found
}

/// Whether a process was started with `name=value` in its environment; `pair` ends without NUL.
pub(crate) fn has_variable(pid: i32, pair: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|found| found == pair)
}

/// Number of a process's PID namespace.
pub(crate) fn pid_namespace(pid: i32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// A process held by descriptor, so that its number cannot come to mean another one.
#[derive(Debug)]
pub(crate) struct Process(OwnedFd);

impl Process {
    /// Holds the process, if there is one; `is_meant` is asked while it is held.
    pub(crate) fn open(pid: i32, is_meant: impl FnOnce(i32) -> bool) -> Option<Self> {
        let held = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        is_meant(pid).then_some(Self(held))
    }

    /// Sends a signal; one that has ended meanwhile is no failure.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ended_meanwhile = pidfd_send_signal(&self.0, signal).is_err();
    }

    /// Waits until it has ended; a bounded wait on a thread for blocking work.
    pub(crate) async fn ended(self, within: Duration) -> bool {
        let waiting = tokio::task::spawn_blocking(move || {
            let timeout = Timespec::try_from(within).ok();
            let mut held = [PollFd::new(&self.0, PollFlags::IN)];
            loop {
                match poll(&mut held, timeout.as_ref()) {
                    Err(Errno::INTR) => {}
                    answer => return answer.is_ok_and(|ready| ready > 0),
                }
            }
        });
        waiting.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let entry = parse("42 (a) Z (b) S 1 40 39 0").expect("an entry");
        assert_eq!(entry, Entry { pid: 42, parent: 1, group: 40, session: 39, ended: false });
    }

    #[test]
    fn this_process_is_found() {
        let own = i32::try_from(std::process::id()).expect("a number");
        assert!(since(own).iter().any(|entry| entry.pid == own));
    }
}
