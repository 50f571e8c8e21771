//! The command line of bwrap; nothing here touches the system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::view::{Part, USER_ID};
use crate::limits::{Limit, shell_lines};
use crate::local::Network;

/// Where the workspace is inside.
pub const WORKSPACE: &str = "/workspace";

/// Where programs are looked for inside.
pub const PATH: &str = "/usr/bin:/bin:/usr/local/bin";

/// Most words of the whole command line that bwrap takes.
pub(super) const ARGUMENTS_MAX: usize = 9000;

/// Descriptors that bwrap inherits.
pub(super) const SECCOMP_FD: usize = crate::process::launch::FIRST_FD;
pub(super) const ROOT_FD: usize = SECCOMP_FD + 1;
pub(super) const STATUS_FD: usize = SECCOMP_FD + 2;

/// What differs from one run to the next, and what does not.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    pub program: &'a Path,
    pub network: Network,
    pub parts: &'a [Part],
    pub temporary: u64,
    /// Whether there is a filter on system calls.
    pub filtered: bool,
    /// Paths below the workspace that are read-only, with what is seen there instead of themselves.
    pub read_only: &'a [(PathBuf, PathBuf)],
    /// Bounds that are set inside.
    pub limits: &'a [Limit],
}

/// The command line of bwrap for a command in a folder of the workspace.
pub(super) fn arguments(plan: &Plan<'_>, folder: &str, argv: &[String]) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![plan.program.into()];
    let mut add = |words: &[&std::ffi::OsStr]| line.extend(words.iter().map(OsString::from));
    macro_rules! add {
        ($($word:expr),* $(,)?) => { add(&[$(std::ffi::OsStr::new($word)),*]) };
    }
    add!("--as-pid-1", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts");
    add!("--unshare-cgroup-try");
    if plan.network == Network::None {
        add!("--unshare-net");
    }
    add!("--uid", USER_ID, "--gid", USER_ID, "--hostname", "sandbox");
    add!("--cap-drop", "ALL", "--die-with-parent", "--new-session");
    add!("--json-status-fd", &STATUS_FD.to_string());
    if plan.filtered {
        add!("--seccomp", &SECCOMP_FD.to_string());
    }
    add!("--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/tmp");
    add!("--setenv", "LANG", "C.UTF-8");
    // A root behind the commands, even without any capability, could write to much of /proc by
    // ownership alone. bwrap covers what looks writable to itself, and that check does not see this.
    add!("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev");
    for part in plan.parts {
        match part {
            Part::Bind { from, to } => add!("--ro-bind", from, to),
            Part::Link { target, at } => add!("--symlink", target, at),
        }
    }
    add!("--size", &plan.temporary.to_string(), "--tmpfs", "/tmp");
    add!("--bind-fd", &ROOT_FD.to_string(), WORKSPACE);
    for (path, shown) in plan.read_only {
        add!("--ro-bind", shown, &Path::new(WORKSPACE).join(path));
    }
    add!("--remount-ro", "/");
    add!("--chdir", &folder_inside(folder));
    add!("/bin/sh", "-c", &script(plan), "sh");
    line.extend(argv.iter().map(OsString::from));
    line
}

fn folder_inside(folder: &str) -> String {
    if folder.is_empty() { WORKSPACE.to_owned() } else { format!("{WORKSPACE}/{folder}") }
}

/// What runs inside as the first process and the parent of the command.
///
/// It sets the bounds that count per user, gives what the command left behind a moment to finish
/// writing, and hands on the exit code; with its end the kernel ends the rest. Its own remarks about
/// signals go nowhere.
fn script(plan: &Plan<'_>) -> String {
    let limits = shell_lines(plan.limits);
    format!(
        "{limits}exec 9>&2 2>/dev/null\n(exec 2>&9 9>&-; exec \"$@\")\nstatus=$?\nset -- /proc/[0-9]*\n[ $# -le 1 ] || sleep 0.15\nexit $status"
    )
}

/// The command as it is run: the words, where it starts inside, and the variables it is given.
pub fn command_line(
    folder: &str,
    argv: &[String],
) -> (Vec<String>, String, [(&'static str, &'static str); 3]) {
    let env = [("PATH", PATH), ("HOME", "/tmp"), ("LANG", "C.UTF-8")];
    (argv.to_vec(), folder_inside(folder), env)
}
