//! `workspace_exec` and `workspace_exec_result`.

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::ActorRef;
use akgentic_sandbox::{CommandPolicy, Sandbox};
use akgentic_tool_core::{ObserverError, Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hand, refused};
use crate::actor::{NoRun, StartRun, WorkspaceActor};
use crate::gate::Refusal;
use crate::lease::{ExecStatus, Patience, text};
use crate::params::WorkspaceExec;

/// How long the actor may take to start a run: it waits for changes that are being made, and for the
/// journal.
const START_WAIT: Duration = Duration::from_secs(30);

/// What commands of one card run in.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    hand: Hand,
    place: Result<RunPlace, ObserverError>,
    policy: CommandPolicy,
    patience: Patience,
    timeout_s: f64,
    owner_only: bool,
}

/// The actors that run commands.
#[derive(Clone, Debug)]
pub(crate) struct RunPlace {
    pub workspace: ActorRef<WorkspaceActor>,
    pub sandbox: Sandbox,
}

/// How a call for a command ended that did not end in an answer.
pub(crate) enum Unrun {
    /// It is refused.
    Refused(Box<Refusal>),
    /// It cannot be done at all.
    Failed(ToolError),
}

impl Runner {
    /// Runs commands for `hand`; without a team there is no place, and every call says so.
    pub(crate) fn new(
        hand: &Hand,
        place: Result<RunPlace, ObserverError>,
        param: &WorkspaceExec,
    ) -> Self {
        let patience = Patience::of(param.timeout_s, param.poll_attempts, param.poll_delay_seconds);
        Self {
            hand: hand.clone(),
            place,
            policy: param.policy(),
            patience,
            timeout_s: param.timeout_s,
            owner_only: param.owner_only,
        }
    }

    /// The programs it may start, for a description.
    pub(crate) fn programs(&self) -> String {
        self.policy.listed()
    }

    /// Runs a command and waits for it as long as the card's patience lasts.
    ///
    /// When the caller gives up before that, the command is ended.
    pub(crate) async fn run(
        &self,
        cmd: String,
        cwd: String,
        call: &ToolCall,
    ) -> Result<String, Unrun> {
        let place = self.place.clone().map_err(|error| Unrun::Failed(error.into()))?;
        let request = StartRun {
            agent: self.hand.agent.to_string(),
            cmd,
            cwd,
            sandbox: place.sandbox,
            policy: self.policy.clone(),
            timeout_s: self.timeout_s,
        };
        let waited = call.bound(async {
            let asked = place.workspace.ask_within(request, START_WAIT).await;
            let run = match asked? {
                Ok(run) => run,
                Err(NoRun::Refused(refusal)) => return Ok(Err(refusal)),
                Err(error @ NoRun::Unusable(_)) => return Err(ToolError::fatal(error)),
            };
            let (tree, agent) = (&self.hand.tree, &self.hand.agent);
            let settled = tree.wait_for_run(agent, run.id(), &self.patience).await;
            let text = match settled {
                Some(status) => text::status(&status),
                None => self.unsettled(run.id()),
            };
            run.leave();
            Ok(Ok(text))
        });
        match waited.await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(refusal)) => Err(Unrun::Refused(refusal)),
            Err(error) => Err(Unrun::Failed(error)),
        }
    }

    fn unsettled(&self, run: &str) -> String {
        if !self.hand.tree.has_begun(run) {
            text::starting(run)
        } else if self.patience.waits_out {
            text::timed_out(run, self.patience.run_budget_s)
        } else {
            text::in_progress(run)
        }
    }

    fn status(&self, run: &str) -> ExecStatus {
        self.hand.tree.run_status_for(&self.hand.agent, run, self.owner_only)
    }
}

#[derive(Deserialize, JsonSchema)]
struct ExecArgs {
    /// The command line: a program and its arguments, quoted as for a POSIX shell.
    cmd: String,
    /// Directory to run it in, relative to the workspace; empty for the workspace itself.
    #[serde(default, deserialize_with = "crate::spelling::given")]
    cwd: String,
}

#[derive(Deserialize, JsonSchema)]
struct ResultArgs {
    /// The id of the run, as `workspace_exec` gave it.
    run_id: String,
}

/// `workspace_exec` and `workspace_exec_result`, which exist together or not at all.
pub(crate) fn exec(runner: &Runner, param: &WorkspaceExec) -> [Tool; 2] {
    let description = format!(
        "Runs a command in the workspace, confined by a sandbox, and waits for it. While it runs, the \
         workspace is held: everybody may read files, nobody may change them. All that it changes counts \
         as one change of yours; read the files again before you edit them. The program has to be one of: \
         {}. There is no shell: for pipes, redirections and several commands use bash -c '…' or a script \
         file. Gives the exit code, standard output, standard error and what the sandbox enforced; the \
         middle of long output is left out, and where all of it can be read is said. A run id comes back \
         instead only when the command takes longer than this tool waits.",
        runner.programs()
    );
    let runs = Arc::new(runner.clone());
    let results = Arc::clone(&runs);
    let run = Tool::new("workspace_exec", description, move |args: ExecArgs, call: ToolCall| {
        let runs = Arc::clone(&runs);
        async move {
            match runs.run(args.cmd, args.cwd, &call).await {
                Ok(text) => Ok(text),
                Err(Unrun::Refused(refusal)) => Err(refused(&refusal)),
                Err(Unrun::Failed(error)) => Err(error),
            }
        }
    });
    let description = "Gives the result of a command that was still running when workspace_exec came \
        back: what it wrote and its exit code, or that it still runs. Takes the run id.";
    let result =
        Tool::new("workspace_exec_result", description, move |args: ResultArgs, _: ToolCall| {
            let text = text::status(&results.status(&args.run_id));
            async move { Ok::<_, ToolError>(text) }
        });
    [run, result].map(|tool| tool.with_instructions(param.instructions.as_deref()))
}
