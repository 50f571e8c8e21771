//! A command as an agent meets it, beside the same command run by the sandbox alone.
//!
//! Both are taken in turns, so that what else the machine does meets both alike.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_core::orchestrator::Orchestrator;
use akgentic_core::{ActorSystem, BaseConfig, Origin};
use akgentic_sandbox::{AllowedCommand, Backend, Bwrap, Local, Place, Registry, Run};
use akgentic_tool_core::{AnyCard, Capabilities, ToolHost, ToolHostConfig};
use akgentic_workspace::params::WorkspaceExec;
use akgentic_workspace::{WorkspaceTool, register};
use serde_json::json;

const RUNS: usize = 200;

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

async fn figures(mode: &str, backend: Arc<dyn Backend>) {
    let folder = tempfile::tempdir().unwrap();
    let place = Place {
        team_id: "bench".to_owned(),
        workspace_id: None,
        directory: folder.path().join("alone"),
    };
    let Ok(session) = backend.start(place).await else {
        println!("{mode}: cannot be used here");
        return;
    };
    Registry::global().register(backend);
    let system = ActorSystem::new();
    let config = BaseConfig::new("@Team", "Orchestrator");
    let team: akgentic_core::ActorRef<Orchestrator> =
        system.create_team(config, Origin::default()).unwrap();
    let exec = WorkspaceExec { mode: mode.to_owned(), ..WorkspaceExec::default() };
    let card = WorkspaceTool {
        workspace_exec: exec.into(),
        ..WorkspaceTool::at(folder.path().join("tree"))
    };
    let config = ToolHostConfig::new("@A", vec![AnyCard::from(card)]);
    let host = ToolHost::create_in(&team, config, Capabilities::default()).await.unwrap();
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let command = AllowedCommand::trusted(["python3", "-c", ""]).unwrap();
        let begun = Instant::now();
        assert_eq!(session.run(Run::new(command)).await.unwrap().exit_code, 0);
        alone.push(begun.elapsed());
        let begun = Instant::now();
        let said = host.call("workspace_exec", json!({"cmd": "python3 -c ''"})).await.unwrap();
        whole.push(begun.elapsed());
        assert!(said.as_text().unwrap().contains("exit_code: 0"), "{said:?}");
    }
    let (alone, whole) = (median(alone), median(whole));
    println!(
        "`python3 -c ''` in {mode}: the sandbox alone {alone:.2?}, workspace_exec {whole:.2?}, added {:.2?}",
        whole.saturating_sub(alone)
    );
    team.stop(Duration::from_secs(10)).await.unwrap();
}

#[tokio::main]
async fn main() {
    register();
    figures("local", Arc::new(Local::default())).await;
    figures("bwrap", Arc::new(Bwrap::default())).await;
}
