//! The launcher: a POSIX shell between us and the program.
//!
//! The shell sets limits and opens the descriptors the program inherits, waits for the line that
//! names the program, and becomes it. So nothing has to run between fork and exec in this process,
//! the system can start the child without copying our memory map, and a shell can be started before
//! it is needed.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::limits::{Limit, shell_lines};
#[cfg(target_os = "linux")]
use crate::process::cgroup::Group;

/// How long a shell may take to read its line.
const HAND_OVER: Duration = Duration::from_secs(10);

/// What is known before the program is.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub folder: Option<PathBuf>,
    /// What descriptors from 3 on are opened to, in order.
    pub opens: Vec<Open>,
    /// What it and everything below it is bound by.
    pub limits: Vec<Limit>,
    /// What it is in from its start.
    #[cfg(target_os = "linux")]
    pub group: Option<Arc<Group>>,
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

impl Frame {
    fn script(&self, strays: &[u32]) -> io::Result<Vec<u8>> {
        let mut script = Vec::new();
        for fd in strays {
            writeln!(script, "exec {fd}>&-")?;
        }
        for (open, fd) in self.opens.iter().zip(FIRST_FD..) {
            let (sign, path) = match open {
                Open::Read(path) => ('<', path),
                Open::Write(path) => ('>', path),
            };
            write!(script, "exec {fd}{sign}")?;
            quote(path.as_os_str(), &mut script);
            writeln!(script, " || exit 125")?;
        }
        script.extend(shell_lines(&self.limits).into_bytes());
        Ok(script)
    }

    /// Starts the shell, confined, in its group.
    #[cfg(target_os = "linux")]
    fn start(mut self, confine: impl FnOnce() -> io::Result<()>) -> io::Result<(Child, Vec<u8>)> {
        let Some(group) = self.group.take() else { return self.start_outside(confine) };
        // What is confined may not be able to open them any more.
        let doors = group.doors()?;
        let (mut child, script) = doors.inside(|| self.start_outside(confine))?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(-1);
        if let Err(error) = group.join(pid) {
            child.start_kill()?;
            return Err(error);
        }
        Ok((child, script))
    }

    #[cfg(not(target_os = "linux"))]
    fn start(self, confine: impl FnOnce() -> io::Result<()>) -> io::Result<(Child, Vec<u8>)> {
        self.start_outside(confine)
    }

    fn start_outside(
        self,
        confine: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<(Child, Vec<u8>)> {
        let (mut command, script) = self.command()?;
        confine()?;
        Ok((command.spawn()?, script))
    }

    /// The shell, and what it reads first.
    fn command(self) -> io::Result<(Command, Vec<u8>)> {
        let strays = strays();
        let many = strays.iter().any(|fd| *fd > 9);
        if many && !Path::new(SHELL_FOR_MANY).exists() {
            return Err(io::Error::other(format!(
                "this process was started with open descriptors ({strays:?}) that a command must not get, and {SHELL_FOR_MANY}, which could close them, is not here"
            )));
        }
        let script = self.script(&strays)?;
        let mut command = Command::new(if many { SHELL_FOR_MANY } else { SHELL });
        command.arg0("sh");
        if many {
            // Units of limits are those of POSIX then.
            command.arg("--posix");
        }
        command.env_clear().envs(self.env);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        Ok((command, script))
    }
}

/// The line by which the shell becomes a program.
pub(crate) fn line<S: AsRef<OsStr>>(argv: &[S]) -> Vec<u8> {
    let mut script = b"exec".to_vec();
    for word in argv {
        script.push(b' ');
        quote(word.as_ref(), &mut script);
    }
    script.extend(b" </dev/null\n");
    script
}

/// A word as the shell reads it back, whatever it holds.
fn quote(word: &OsStr, script: &mut Vec<u8>) {
    script.push(b'\'');
    for byte in word.as_bytes() {
        match byte {
            b'\'' => script.extend(br"'\''"),
            byte => script.push(*byte),
        }
    }
    script.push(b'\'');
}

/// Keeps the thread that started a child, for as long as the child may run.
///
/// "Dies with its parent" means the thread that started it, so that thread has to outlive the run.
pub(crate) struct Parent {
    _ends: std::sync::mpsc::SyncSender<()>,
}

/// A shell that waits for its line; killed when dropped.
pub(crate) struct Launcher {
    child: Child,
    id: i32,
    line: ChildStdin,
    parent: Parent,
}

/// A shell that was handed its line.
pub(crate) struct Launched {
    pub child: Child,
    pub parent: Parent,
    /// Whether it was still there to take the line; it says why not.
    pub took_it: bool,
}

impl Launcher {
    /// Starts the shell from a thread of its own, after `confine` has worked on that thread.
    pub(crate) async fn start(
        frame: Frame,
        confine: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Handle::current();
        let (started, child) = oneshot::channel();
        let (ends, ended) = std::sync::mpsc::sync_channel::<()>(1);
        let work = move || {
            let _entered = runtime.enter();
            let child = frame.start(confine);
            if started.send(child).is_ok() {
                // Ends when the other side is dropped.
                let _never_sent = ended.recv();
            }
        };
        let thread = std::thread::Builder::new().name("sandbox-run".to_owned());
        thread.stack_size(256 << 10).spawn(work)?;
        let parent = Parent { _ends: ends };
        let panicked = |_| io::Error::other("the starting thread panicked");
        let (mut child, script): (Child, _) =
            child.await.map_err(panicked).and_then(|started| started)?;
        let missing = || io::Error::other("the launcher has no number or no standard input");
        let id = child.id().and_then(|pid| i32::try_from(pid).ok()).ok_or_else(missing)?;
        let mut line = child.stdin.take().ok_or_else(missing)?;
        hand(&mut line, &script).await?;
        Ok(Self { child, id, line, parent })
    }

    /// Its number; the program will have the same.
    pub(crate) fn id(&self) -> i32 {
        self.id
    }

    /// Ends it before it becomes anything.
    #[cfg(test)]
    pub(crate) async fn end(&mut self) {
        self.child.kill().await.expect("it ended");
    }

    /// Lets it read this, and nothing after it.
    pub(crate) async fn run(mut self, line: &[u8]) -> io::Result<Launched> {
        if self.child.id().is_some()
            && let Some(pid) = Pid::from_raw(self.id)
        {
            // Somebody may have frozen it while it waited.
            let _gone = kill_process(pid, Signal::CONT).is_err();
        }
        let took_it = hand(&mut self.line, line).await?;
        Ok(Launched { child: self.child, parent: self.parent, took_it })
    }
}

/// Gives the shell something to read; says whether it still reads.
async fn hand(line: &mut ChildStdin, script: &[u8]) -> io::Result<bool> {
    match timeout(HAND_OVER, line.write_all(script)).await {
        Ok(Ok(())) => Ok(true),
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("the launcher did not read its line within {HAND_OVER:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    async fn said(frame: Frame, argv: &[OsString]) -> (Vec<u8>, String) {
        let launcher = Launcher::start(frame, || Ok(())).await.expect("a shell");
        let running = launcher.run(&line(argv)).await.expect("handed over");
        let output = running.child.wait_with_output().await.expect("it ended");
        (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn frame() -> Frame {
        let path = ("PATH".into(), "/usr/bin:/bin".into());
        Frame { env: vec![path, ("A".into(), "a $b 'c'\nd".into())], ..Frame::default() }
    }

    #[tokio::test]
    async fn serial_files_and_variables_are_there_and_input_is_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("it's here");
        std::fs::write(&path, "text").expect("written");
        let out = folder.path().join("out");
        let opens = vec![Open::Read(path), Open::Write(out.clone())];
        let script = "cat; cat <&3; echo \"$A\" >&4";
        let argv = ["sh", "-c", script].map(OsString::from);
        let said = said(Frame { opens, ..frame() }, &argv).await;
        assert_eq!(said, (b"text".to_vec(), String::new()));
        assert_eq!(std::fs::read_to_string(out).expect("written"), "a $b 'c'\nd\n");
    }

    #[tokio::test]
    async fn serial_a_shell_that_gave_up_says_why() {
        let opens = vec![Open::Read("/not/here".into())];
        let (_, stderr) = said(Frame { opens, ..frame() }, &["true".into()]).await;
        assert!(stderr.contains("/not/here"), "{stderr}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever a word holds, the program gets that.
        #[test]
        fn serial_words_arrive_as_they_are(
            words in prop::collection::vec(prop::collection::vec(1_u8.., 0..300), 1..8)
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime");
            let expected: Vec<u8> =
                words.iter().flat_map(|word| word.iter().copied().chain([0])).collect();
            let words = words.into_iter().map(OsString::from_vec);
            let argv: Vec<_> = ["printf", "%s\\0"].map(OsString::from).into_iter().chain(words).collect();
            prop_assert_eq!(runtime.block_on(said(frame(), &argv)), (expected, String::new()));
        }
    }
}
