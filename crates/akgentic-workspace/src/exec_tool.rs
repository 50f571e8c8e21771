//! The deprecated card for commands, over the path of `workspace_exec`.

use std::path::PathBuf;
use std::sync::Arc;

use akgentic_core::wire::Record as _;
use akgentic_tool_core::{
    BindError, BoundCard, Capability, Channel, Exposure, Observer, ObserverError, Tool, ToolCall,
    ToolCard, ToolError, tool_card, tool_param,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::card::{WorkspaceTool, run_place};
use crate::gate::Code;
use crate::params::{WorkspaceExec, known_mode};
use crate::tools::{Runner, Unrun};

/// Configures `exec_command`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecCommand {
    /// Text that goes after the description of the tool.
    pub instructions: Option<String>,
    /// Where it is offered; the model only, unless said otherwise.
    pub expose: Exposure,
}

impl Default for ExecCommand {
    fn default() -> Self {
        Self { instructions: None, expose: Exposure::TOOL_CALL }
    }
}
tool_param!(ExecCommand = "akgentic.tool.sandbox.tool.ExecCommand", served: [ToolCall]);

/// Commands in the team's workspace; deprecated.
///
/// [`WorkspaceTool`] with `workspace_exec` replaces it: it can be given a time limit, and has a tool
/// for results that come late. Binding this card logs a warning that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecTool {
    /// `exec_command`
    pub exec_command: Capability<ExecCommand>,
    /// Name of a registered sandbox backend, or `auto` for the first that works.
    #[serde(deserialize_with = "known_mode")]
    pub mode: String,
    /// Name of the workspace below the base directory; the team's id unless said otherwise.
    pub workspace_id: Option<String>,
    /// The folder itself, in place of a name below the base directory; written only when set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

tool_card!(ExecTool = "akgentic.tool.sandbox.tool.ExecTool",
aliases: ["akgentic.tool.sandbox.ExecTool"],
capabilities: [exec_command]);

impl Default for ExecTool {
    fn default() -> Self {
        Self {
            exec_command: Capability::On,
            mode: akgentic_sandbox::AUTO.to_owned(),
            workspace_id: None,
            root: None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct CommandArgs {
    /// The command line: a program and its arguments, quoted as for a POSIX shell.
    cmd: String,
    /// Directory to run it in, relative to the workspace; empty for the workspace itself.
    #[serde(default)]
    cwd: String,
}

/// What a failure of this card begins with.
const FAILED: &str = "SandboxError: RuntimeError: ";

impl ToolCard for ExecTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            tracing::warn!(
                card = self.class_name(),
                "this card is deprecated: use WorkspaceTool with workspace_exec"
            );
            let mut bound = BoundCard::new();
            if let Some(param) = self.exec_command.on(Channel::ToolCall) {
                bound.tools.push(match self.runner(observer).await? {
                    Ok(runner) => command(Ok(Arc::new(runner)), &param),
                    Err(gone) => command(Err(gone), &param),
                });
            }
            Ok(bound)
        })
    }
}

impl ExecTool {
    /// What runs its commands; nothing without a team.
    async fn runner(
        &self,
        observer: &Observer,
    ) -> Result<Result<Runner, ObserverError>, BindError> {
        if let Err(error) = observer.orchestrator() {
            return Ok(Err(error));
        }
        let card = WorkspaceTool {
            workspace_id: self.workspace_id.clone(),
            root: self.root.clone(),
            ..WorkspaceTool::default()
        };
        let wired = card.open(observer).await?;
        let Some(workspace) = &wired.workspace else { return Ok(Err(ObserverError::Gone)) };
        let name = card.workspace_name(observer)?;
        let place = run_place(&self.mode, &name, workspace, &wired.hand, observer).await?;
        Ok(Ok(Runner::new(&wired.hand, Ok(place), &WorkspaceExec::default())))
    }
}

/// `exec_command`: what is refused or fails is an answer, never an error.
fn command(runner: Result<Arc<Runner>, ObserverError>, param: &ExecCommand) -> Tool {
    let description = format!(
        "Runs a command in the workspace, confined by a sandbox, and waits for it. While it runs nobody \
         may change files. There is no shell: for pipes, redirections and several commands use \
         bash -c '…' or a script file. Gives the exit code and what it wrote.\nAllowed binaries: {}",
        WorkspaceExec::default().policy().listed()
    );
    let tool = Tool::new("exec_command", description, move |args: CommandArgs, call: ToolCall| {
        let runner = runner.clone();
        async move {
            let runner = match runner {
                Ok(runner) => runner,
                Err(error) => return Ok(format!("{FAILED}{error}")),
            };
            match runner.run(args.cmd, args.cwd, &call).await {
                Ok(text) => Ok(text),
                Err(Unrun::Refused(refusal)) if refusal.code == Code::CommandNotAllowed => {
                    Ok(format!("CommandNotAllowedError: {refusal}"))
                }
                Err(Unrun::Refused(refusal)) => Ok(refusal.to_string()),
                Err(Unrun::Failed(error)) if was_stopped(&error) => Err(error),
                Err(Unrun::Failed(error)) => Ok(format!("{FAILED}{error}")),
            }
        }
    });
    tool.with_instructions(param.instructions.as_deref())
}

fn was_stopped(error: &ToolError) -> bool {
    error.downcast_ref::<akgentic_tool_core::CallStopped>().is_some()
}
