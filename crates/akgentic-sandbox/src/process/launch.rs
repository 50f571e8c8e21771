//! The launcher: a few lines of POSIX shell between us and the program.
//!
//! The shell joins control groups, sets limits, opens the descriptors the program inherits, and
//! becomes the program. So nothing has to run between fork and exec in this process, and the system
//! can start the child without copying our memory map.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
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

impl Launch {
    fn script(&self) -> String {
        let mut script = String::new();
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

    fn command(self) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(self.script()).arg("sh");
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
        command
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
        let child = confine().and_then(|()| launch.command().spawn());
        if started.send(child).is_ok() {
            // Ends when the other side is dropped.
            let _never_sent = ended.recv();
        }
    };
    std::thread::Builder::new().name("sandbox-run".to_owned()).stack_size(256 << 10).spawn(work)?;
    let child = child.await.map_err(|_| io::Error::other("the starting thread panicked"))??;
    Ok((child, Parent { _ends: ends }))
}
