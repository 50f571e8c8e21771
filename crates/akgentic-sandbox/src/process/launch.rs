//! The launcher: a few lines of POSIX shell between us and the program.
//!
//! The shell joins control groups, sets limits, opens the descriptors the program inherits, and
//! becomes the program. So nothing has to run between fork and exec in this process, and the system
//! can start the child without copying our memory map.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use crate::limits::{Limit, shell_lines};

/// What to start.
#[derive(Debug, Default)]
pub(crate) struct Launch {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub folder: Option<PathBuf>,
    /// Files a process joins a control group by.
    pub joins: Vec<PathBuf>,
    /// What descriptors from 3 on are opened to, in order.
    pub opens: Vec<Open>,
    /// What it and everything below it is bound by.
    pub limits: Vec<Limit>,
}

/// A file the program inherits open.
#[derive(Debug)]
pub(crate) enum Open {
    Read(PathBuf),
    Write(PathBuf),
}

/// The first inherited descriptor beyond the standard ones.
pub(crate) const FIRST_FD: usize = 3;

/// Shells, by what they can do with descriptors of more than one digit.
const SHELL: &str = "/bin/sh";
const SHELL_FOR_MANY: &str = "/bin/bash";

/// Descriptors that this process, or one before it, left open for whatever it starts.
///
/// Nothing of ours is among them. A command must not get them: a folder held open is a way out.
pub(crate) fn strays() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fdinfo") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|fd| *fd >= 3 && is_inherited(*fd)).collect()
}

fn is_inherited(fd: u32) -> bool {
    const CLOSED_ON_EXEC: u32 = 0o2_000_000;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & CLOSED_ON_EXEC == 0)
}

impl Launch {
    fn script(&self, strays: &[u32]) -> String {
        let mut script = String::new();
        for fd in strays {
            let _infallible = writeln!(script, "exec {fd}>&-");
        }
        for _ in &self.joins {
            script.push_str("echo 0 >\"$1\" || exit 125\nshift\n");
        }
        for (open, fd) in self.opens.iter().zip(FIRST_FD..) {
            let sign = match open {
                Open::Read(_) => '<',
                Open::Write(_) => '>',
            };
            let _infallible = writeln!(script, "exec {fd}{sign}\"$1\" || exit 125\nshift");
        }
        script.push_str(&shell_lines(&self.limits));
        script.push_str("exec \"$@\"");
        script
    }

    fn command(self) -> io::Result<Command> {
        let strays = strays();
        let many = strays.iter().any(|fd| *fd > 9);
        if many && !Path::new(SHELL_FOR_MANY).exists() {
            return Err(io::Error::other(format!(
                "this process was started with open descriptors ({strays:?}) that a command must not get, and {SHELL_FOR_MANY}, which could close them, is not here"
            )));
        }
        let mut command = Command::new(if many { SHELL_FOR_MANY } else { SHELL });
        if many {
            // Units of limits are those of POSIX then.
            command.arg("--posix");
        }
        command.arg("-c").arg(self.script(&strays)).arg("sh");
        command.args(self.joins);
        command.args(self.opens.into_iter().map(|open| match open {
            Open::Read(path) | Open::Write(path) => path,
        }));
        command.args(self.argv);
        command.env_clear().envs(self.env);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        Ok(command)
    }
}

/// Keeps the thread that started a child, for as long as the child may run.
///
/// "Dies with its parent" means the thread that started it, so that thread has to outlive the run.
pub(crate) struct Parent {
    _ends: std::sync::mpsc::SyncSender<()>,
}

/// Starts the child from a thread of its own, after `confine` has worked on that thread.
pub(crate) async fn spawn(
    launch: Launch,
    confine: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<(Child, Parent)> {
    let runtime = tokio::runtime::Handle::current();
    let (started, child) = oneshot::channel();
    let (ends, ended) = std::sync::mpsc::sync_channel::<()>(1);
    let work = move || {
        let _entered = runtime.enter();
        let child = (|| {
            let mut command = launch.command()?;
            confine()?;
            command.spawn()
        })();
        if started.send(child).is_ok() {
            // Ends when the other side is dropped.
            let _never_sent = ended.recv();
        }
    };
    std::thread::Builder::new().name("sandbox-run".to_owned()).stack_size(256 << 10).spawn(work)?;
    let child = child.await.map_err(|_| io::Error::other("the starting thread panicked"))??;
    Ok((child, Parent { _ends: ends }))
}
