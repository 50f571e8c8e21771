//! The warden: a shell that outlives this process by a moment, to end what it left running.
//!
//! A process that is killed cannot end its commands. The warden reads from a pipe of which this
//! process alone holds the other end: whatever ends this process, the system closes it, and the
//! warden ends every command, by control group where there are such, and by the mark that commands
//! carry in their environment. After an orderly end it finds nothing.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::{MARK, cgroup, mark};

/// `sh -c` this, with the mark and the beginnings of the paths of groups.
///
/// What is being started while the pipe closes may come up a little later, so two looks in a row have
/// to find nothing.
const SCRIPT: &str = r#"
while read -r _; do :; done
mark=$1
shift
empty=0 looks=0
while [ "$empty" -lt 2 ] && [ "$looks" -lt 100 ]; do
    found=
    for groups; do
        for group in "$groups"*; do
            [ -e "$group/cgroup.procs" ] || continue
            [ ! -e "$group/cgroup.kill" ] || echo 1 >"$group/cgroup.kill"
            while read -r pid; do
                found=1
                kill -KILL "$pid"
            done <"$group/cgroup.procs"
            rmdir "$group"
        done
    done
    for marked in $(grep -ls -e "$mark" /proc/[0-9]*/environ); do
        pid=${marked#/proc/}
        found=1
        kill -KILL "${pid%/environ}"
    done
    if [ -n "$found" ]; then empty=0; else empty=$((empty + 1)); fi
    looks=$((looks + 1))
    sleep 0.1 || sleep 1
done
"#;

static WARDEN: Mutex<Option<Child>> = Mutex::new(None);

/// Sees to it that there is a warden. Without one, a killed process leaves its commands to the next.
pub(crate) fn ensure() {
    let mut place = WARDEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_there = place.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
    if !is_there {
        match start() {
            Ok(child) => *place = Some(child),
            Err(error) => {
                tracing::warn!(%error, "nobody ends commands when this process is killed");
            }
        }
    }
}

fn start() -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "sh"]).arg(format!("{MARK}={}", mark("")));
    command.args(cgroup::own_groups());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
    if let Some(outer) = std::env::var_os(MARK) {
        // This process is itself a command of another one, and so is its warden.
        command.env(MARK, outer);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // What a terminal sends to this process's group is not meant for it.
    command.process_group(0).spawn()
}
