//! From the start of a child to the end of everything it started.

use std::future::Future;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture;
use tokio::process::Child;
use tokio::time::timeout;

use super::Tree;
use crate::output::{Flow, Output, Stream, pump};
use crate::run::{Ended, Run, STOPPED, TIMED_OUT};

/// How long output is awaited after the command itself has ended.
pub(crate) const DRAIN: Duration = Duration::from_millis(150);

/// How long the rest of the output and the child's status are awaited once everything was killed.
pub(crate) const REST: Duration = Duration::from_secs(1);

/// How a supervised child ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// How the direct child ended; nothing when it could not be reaped in time.
    pub status: Option<ExitStatus>,
    pub ended: Ended,
    pub stdout: Output,
    pub stderr: Output,
    /// Whether nothing of the run is left.
    pub gone: bool,
}

impl Ending {
    /// The exit code to report: the status, −n for signal n, or the code of what ended the run.
    pub(crate) fn exit_code(&self) -> i32 {
        match self.ended {
            Ended::TimedOut(_) => TIMED_OUT,
            Ended::Cancelled | Ended::TooMuchOutput(_) => STOPPED,
            Ended::Exited => {
                let status = self.status;
                let by_signal = || status.and_then(|status| status.signal()).map(|n| -n);
                status.and_then(|status| status.code()).or_else(by_signal).unwrap_or(-1)
            }
        }
    }
}

/// Ends everything when a run is dropped in the middle.
struct KillOnDrop<'a>(Option<&'a dyn Tree>);

impl KillOnDrop<'_> {
    /// Nothing is left, and the numbers of what was there may come to mean something else.
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for KillOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(tree) = self.0 {
            tree.kill();
        }
    }
}

/// Waits for the child and reads its output; afterwards nothing it started is left.
///
/// The run is over when the child has ended and its output was drained for a moment, at the time
/// limit, when it is cancelled, or when it gave too much output.
pub(crate) async fn supervise(
    mut child: Child,
    tree: &dyn Tree,
    run: &Run,
    grace: Duration,
) -> io::Result<Ending> {
    let guard = KillOnDrop(Some(tree));
    let flow = Flow::default();
    let mut out = pump(Stream::Stdout, &run.output, run.spill.clone());
    let mut err = pump(Stream::Stderr, &run.output, run.spill.clone());
    let (mut out_pipe, mut err_pipe) = (child.stdout.take(), child.stderr.take());
    let status;
    let ended;
    {
        let reading = async {
            let read_out = async {
                if let Some(pipe) = &mut out_pipe {
                    out.read(pipe, &flow).await;
                }
            };
            let read_err = async {
                if let Some(pipe) = &mut err_pipe {
                    err.read(pipe, &flow).await;
                }
            };
            tokio::join!(read_out, read_err);
        };
        let mut reading = pin!(reading.fuse());
        ended = tokio::select! {
            biased;
            () = run.cancel.cancelled() => Ended::Cancelled,
            result = with(&mut reading, child.wait()) => { result?; Ended::Exited }
            () = flow.exceeded() => Ended::TooMuchOutput(run.output.kill.unwrap_or_default()),
            () = tokio::time::sleep(run.timeout) => Ended::TimedOut(run.timeout),
        };
        if ended == Ended::Exited {
            drain(&mut reading, DRAIN).await;
        } else {
            tree.terminate();
            let _ended_by_itself = timeout(grace, with(&mut reading, child.wait())).await.is_ok();
        }
        tree.kill();
        let rest = timeout(REST, with(&mut reading, child.wait())).await;
        status = match rest {
            Ok(result) => Some(result?),
            Err(_) => None,
        };
        drain(&mut reading, REST).await;
    }
    let gone = tree.gone().await;
    if !gone {
        tracing::error!("processes of a sandboxed run are left after they were killed");
    }
    guard.disarm();
    Ok(Ending { status, ended, stdout: out.finish(), stderr: err.finish(), gone })
}

/// Does `work` while the output is read.
pub(crate) async fn with<R, T>(reading: &mut R, work: impl Future<Output = T>) -> T
where
    R: FusedFuture<Output = ()> + Unpin,
{
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = &mut *reading, if !reading.is_terminated() => {}
        }
    }
}

/// Reads what is left, for a while.
pub(crate) async fn drain(reading: &mut (impl FusedFuture<Output = ()> + Unpin), within: Duration) {
    if !reading.is_terminated() && timeout(within, reading).await.is_err() {
        tracing::debug!("the output of a run was still open when its reading ended");
    }
}
