//! A team whose agents share a workspace.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use akgentic_core::orchestrator::Orchestrator;
use akgentic_core::{ActorRef, ActorSystem, BaseConfig, CallError, Origin};
use akgentic_sandbox::Registry;
use akgentic_tool_core::{
    AnyCard, Capabilities, ToolCall, ToolError, ToolHost, ToolHostConfig, ToolHostRef,
};
use akgentic_workspace::params::WorkspaceExec;
use akgentic_workspace::{WorkspaceTool, register};
use serde_json::Value;

pub(crate) const WAIT: Duration = Duration::from_secs(30);

pub(crate) struct Team {
    _system: ActorSystem,
    pub team: ActorRef<Orchestrator>,
}

impl Team {
    pub(crate) fn new() -> Self {
        register();
        let system = ActorSystem::new();
        let team = system
            .create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())
            .expect("a team");
        Self { _system: system, team }
    }

    /// A member with these cards, or why they cannot be bound.
    pub(crate) async fn try_member(
        &self,
        name: &str,
        cards: Vec<AnyCard>,
    ) -> Result<Member, String> {
        let config = ToolHostConfig::new(name, cards);
        let host = ToolHost::create_in(&self.team, config, Capabilities::default()).await;
        host.map(Member).map_err(|error| error.to_string())
    }

    pub(crate) async fn member(&self, name: &str, card: WorkspaceTool) -> Member {
        self.try_member(name, vec![AnyCard::from(card)]).await.expect("a member")
    }

    pub(crate) async fn stop(&self) -> Result<(), CallError> {
        self.team.stop(WAIT).await.map(drop)
    }
}

pub(crate) struct Member(pub ToolHostRef);

impl Member {
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<String, ToolError> {
        self.call_with(tool, args, ToolCall::default()).await
    }

    pub(crate) async fn call_with(
        &self,
        tool: &str,
        args: Value,
        call: ToolCall,
    ) -> Result<String, ToolError> {
        let content = self.0.call_with(&format!("workspace_{tool}"), args, call).await?;
        Ok(content.as_text().expect("text").to_owned())
    }

    /// The answer, which is none of a failure.
    pub(crate) async fn ok(&self, tool: &str, args: Value) -> String {
        self.call(tool, args).await.expect(tool)
    }

    /// The refusal, which the model may react to.
    pub(crate) async fn refused(&self, tool: &str, args: Value) -> String {
        match self.call(tool, args).await {
            Err(ToolError::Retriable(text) | ToolError::Busy(text)) => text,
            other => panic!("{tool} was not refused: {other:?}"),
        }
    }
}

/// A card with commands, run in `local` so that it works wherever tests do.
pub(crate) fn with_commands(root: &Path) -> WorkspaceTool {
    // Where nothing can be enforced, tests of the workspace still have to run.
    let local =
        akgentic_sandbox::Local { fence: akgentic_sandbox::Fence::None, ..Default::default() };
    Registry::global().register(Arc::new(local));
    with_exec(root, WorkspaceExec { mode: "local".to_owned(), ..WorkspaceExec::default() })
}

pub(crate) fn with_exec(root: &Path, exec: WorkspaceExec) -> WorkspaceTool {
    WorkspaceTool { workspace_exec: exec.into(), ..WorkspaceTool::at(root) }
}
