//! Runs of commands: the actor owns what works on them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use akgentic_core::{ActorError, Context, Handle};
use akgentic_sandbox::{
    CommandPolicy, Ended, Outcome, OutputLimits, Run as SandboxRun, RunError, Sandbox, SpillStore,
};
use tokio_util::sync::CancellationToken;

use super::WorkspaceActor;
use super::requests::{NoRun, StartRun, StartedRun};
use crate::gate::{Code, FileCode, Refusal};
use crate::lease::{
    Command, CommandFault, ExecOutcome, Payload, STREAM_SHOWN, WORKER_BUDGET_S, run_worker,
};
use crate::spelling;
use crate::tree::{Run, file_refusal};

impl Handle<StartRun> for WorkspaceActor {
    type Reply = Result<StartedRun, NoRun>;

    async fn handle(
        &mut self,
        request: StartRun,
        _: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        while self.tasks.try_join_next().is_some() {}
        let tree = match &self.tree {
            Ok(tree) => Arc::clone(tree),
            Err(reason) => return Ok(Err(NoRun::Unusable(reason.clone()))),
        };
        if let Err(error) = request.policy.check(&request.cmd) {
            let refusal = Refusal::told(Code::CommandNotAllowed, "", error.to_string());
            return Ok(Err(NoRun::Refused(Box::new(refusal))));
        }
        if let Err(error) = tree.files().root().resolve(&request.cwd) {
            return Ok(Err(NoRun::Refused(Box::new(file_refusal(&error)))));
        }
        let Some(cwd) = spelling::read(&request.cwd).to_str().map(str::to_owned) else {
            let text = format!(
                "{} is no text, so no command is run in it. Use another folder.",
                request.cwd
            );
            let refusal = Refusal::told(Code::File(FileCode::NotUtf8), request.cwd, text);
            return Ok(Err(NoRun::Refused(Box::new(refusal))));
        };
        let (agent, cmd) = (request.agent.clone(), request.cmd.clone());
        let timeout_s = request.timeout_s;
        // It may wait for the journal, and for those who are changing files.
        let begun =
            tokio::task::spawn_blocking(move || tree.begin_run_within(&agent, &cmd, timeout_s));
        let run = match begun.await {
            Ok(Ok(run)) => run,
            Ok(Err(refusal)) => return Ok(Err(NoRun::Refused(Box::new(refusal)))),
            Err(error) => return Ok(Err(NoRun::Unusable(error.to_string()))),
        };
        let cancel = self.stopping.child_token();
        let started = StartedRun::new(run.id().to_owned(), cancel.clone());
        self.tasks.spawn(work(StartRun { cwd, ..request }, run, cancel));
        Ok(Ok(started))
    }
}

/// Works on one run to its report.
async fn work(request: StartRun, run: Run, cancel: CancellationToken) {
    let confined = Confined {
        sandbox: request.sandbox,
        policy: request.policy,
        spill: run.spill_store(),
        cancel,
    };
    let payload = Payload { cmd: request.cmd, cwd: request.cwd, timeout_s: request.timeout_s };
    let budget = Duration::from_secs_f64(WORKER_BUDGET_S);
    let result = run_worker(payload, budget, async { Ok(confined) }, || run.started()).await;
    // What the run changed is handed to the journal, which may have to make room.
    let reported = tokio::task::spawn_blocking(move || run.report(result)).await;
    if let Err(error) = reported {
        tracing::warn!(%error, "a run ended without a report");
    }
}

/// The sandbox of a workspace, as a run uses it.
struct Confined {
    sandbox: Sandbox,
    policy: CommandPolicy,
    spill: Option<Arc<dyn SpillStore>>,
    cancel: CancellationToken,
}

impl crate::lease::Sandbox for Confined {
    async fn ready(&self, within: Duration) -> Result<(), String> {
        self.unless_cancelled(self.sandbox.ready(within)).await.map(drop)
    }

    async fn run(&self, command: Command) -> Result<ExecOutcome, CommandFault> {
        let failed = |error: String| CommandFault::Failed(error);
        let allowed = self.policy.check(&command.cmd).map_err(|error| failed(error.to_string()))?;
        let mut run = SandboxRun::new(allowed)
            .in_folder(command.cwd)
            .within(command.budget)
            .keeping(OutputLimits { display: STREAM_SHOWN, ..OutputLimits::default() })
            .cancelled_by(self.cancel.clone());
        run.spill = self.spill.clone();
        let outcome = self.sandbox.run(run).await.map_err(|error| failed(error.to_string()))?;
        let told = told(&outcome);
        if matches!(outcome.ended, Ended::TimedOut(_)) {
            return Err(CommandFault::TimedOut(told));
        }
        Ok(told)
    }
}

impl Confined {
    async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, String> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err("it was stopped before it began".to_owned()),
            done = work => done.map_err(|error| error.to_string()),
        }
    }
}

/// What is kept of an outcome.
fn told(outcome: &Outcome) -> ExecOutcome {
    let mut stderr = outcome.stderr.text(STREAM_SHOWN);
    let reason = match outcome.ended {
        // Told with the budget, by the one who set it.
        Ended::TimedOut(_) => None,
        _ => outcome.reason(),
    };
    if let Some(reason) = reason {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(&reason);
    }
    ExecOutcome {
        stdout: outcome.stdout.text(STREAM_SHOWN),
        stderr,
        exit_code: i64::from(outcome.exit_code),
        timed_out: outcome.timed_out(),
        enforcement: Some(outcome.enforcement.to_string()),
        notices: outcome.notices.clone(),
    }
}
