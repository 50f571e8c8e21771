//! One run from its start to its report, in the time it has.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::budget::{REPLY_GRACE_S, ask_seconds, seconds};
use super::models::ExecOutcome;
use super::text;

/// What is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// The command line.
    pub cmd: String,
    /// The directory it runs in, relative to the tree.
    pub cwd: String,
    /// Seconds it may take.
    pub timeout_s: f64,
}

/// A command as it is handed to a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The command line.
    pub cmd: String,
    /// The directory it runs in, relative to the tree.
    pub cwd: String,
    /// How long it may take before the backend kills it.
    pub budget: Duration,
    /// How long its answer is waited for.
    pub wait: Duration,
}

/// Why a command came to no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandFault {
    /// Its budget killed it; what is known of it.
    TimedOut(ExecOutcome),
    /// Anything else, in words.
    Failed(String),
}

/// What commands run in.
///
/// Both questions may be dropped before they are answered.
pub trait Sandbox: Send + Sync {
    /// Answers when commands can be run.
    fn ready(&self, within: Duration) -> impl Future<Output = Result<(), String>> + Send;

    /// Runs a command to its end, and the whole of its process tree with it.
    fn run(
        &self,
        command: Command,
    ) -> impl Future<Output = Result<ExecOutcome, CommandFault>> + Send;
}

/// Is told when a command begins.
pub trait Started: Send {
    /// The command begins now.
    fn started(&mut self);
}

impl<F: FnMut() + Send> Started for F {
    fn started(&mut self) {
        self();
    }
}

/// Works on one run: finds the sandbox, waits until it is ready, runs the command.
///
/// All of it together may take `budget`. The error says why there is no outcome; it is never empty.
pub async fn run_worker<S: Sandbox>(
    payload: Payload,
    budget: Duration,
    find: impl Future<Output = Result<S, String>> + Send,
    mut started: impl Started,
) -> Result<ExecOutcome, String> {
    let deadline = Instant::now() + budget;
    let remaining = || deadline.saturating_duration_since(Instant::now());
    let sandbox = find.await.map_err(|reason| never_empty(reason, "no sandbox was found"))?;

    let whole = ask_seconds(remaining().as_secs_f64());
    let within = Duration::from_secs(whole);
    match timeout(within, sandbox.ready(within)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(%error, "the sandbox did not get ready");
            return Err(text::backend_not_ready(whole));
        }
        Err(_) => return Err(text::backend_not_ready(whole)),
    }

    started.started();
    let budget = seconds(payload.timeout_s).min(remaining());
    let wait = Duration::from_secs(ask_seconds(budget.as_secs_f64())) + seconds(REPLY_GRACE_S);
    let command = Command { cmd: payload.cmd, cwd: payload.cwd, budget, wait };
    match timeout(wait, sandbox.run(command)).await {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(CommandFault::TimedOut(outcome))) => {
            let told = text::killed(budget.as_secs_f64());
            let stderr = match outcome.stderr.trim_end_matches('\n') {
                "" => told,
                written => format!("{written}\n{told}"),
            };
            Ok(ExecOutcome { stderr, exit_code: 124, timed_out: true, ..outcome })
        }
        Ok(Err(CommandFault::Failed(reason))) => {
            Err(never_empty(reason, "the command could not be run"))
        }
        Err(_) => Err(format!("the sandbox did not answer within {}s", wait.as_secs())),
    }
}

fn never_empty(reason: String, otherwise: &str) -> String {
    if reason.trim().is_empty() { otherwise.to_owned() } else { reason }
}
