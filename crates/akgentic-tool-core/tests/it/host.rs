//! Hosts: calls, failures, state, stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use akgentic_core::log::{EventLog, Fsync, LogContents, restore_team};
use akgentic_core::message::EventMessage;
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::wire::{AnyValue, WireType as _};
use akgentic_core::{ActorRef, ActorSystem, CreateError, State as _};
use akgentic_tool_core::host::{CallTool, ToolHostState};
use akgentic_tool_core::{
    CallStopped, Capabilities, CommandsAnnouncedEvent, DispatchOutcome, Panicked, ToolCall,
    ToolHost, ToolHostConfig, ToolHostRef,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::parts::{Gate, ProbeTool, Renamed, WAIT, World, gate, probe};

#[tokio::test]
async fn an_agent_that_stops_in_the_middle_of_a_call() {
    let world = World::new();
    let (gate, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    let call = {
        let host = host.clone();
        tokio::spawn(async move { host.call("wait", json!({})).await })
    };
    gate.entered.notified().await;
    host.stop(WAIT).await.unwrap();
    let error = call.await.unwrap().unwrap_err();
    assert!(!error.is_retriable());
    assert_eq!(error.to_string(), "the tool host has stopped");
    let later = host.call("wait", json!({})).await.unwrap_err();
    assert!(!later.is_retriable());
    world.end().await;
}

#[tokio::test]
async fn an_unknown_tool_names_the_known_ones() {
    let world = World::new();
    let (gate, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    let error = host.call("wiat", json!({})).await.unwrap_err();
    assert!(error.is_retriable());
    assert_eq!(
        error.to_string(),
        "there is no tool \"wiat\"; the tools are: wait, panic, prefer, far"
    );
    let error = host.call("prefer", json!({"model": 3, "provider": "x"})).await.unwrap_err();
    assert!(error.is_retriable(), "{error}");
    assert!(
        error.to_string().contains("model") && error.to_string().contains("provider"),
        "{error}"
    );
    assert_eq!(gate.connected.load(Ordering::SeqCst), 1);
    world.end().await;
}

#[tokio::test]
async fn a_panicking_tool_is_fatal_and_the_host_lives_on() {
    let world = World::new();
    let (_, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    let error = host.call("panic", json!({})).await.unwrap_err();
    assert_eq!(error.downcast_ref::<Panicked>(), Some(&Panicked("oh no".to_owned())));
    assert!(host.call("prefer", json!({"model": null})).await.is_ok());
    world.end().await;
}

#[tokio::test]
async fn calls_end_by_deadline_and_cancellation() {
    let world = World::new();
    let (gate, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    let soon = ToolCall::until(Instant::now() + Duration::from_millis(20));
    let error = host.call_with("wait", json!({}), soon).await.unwrap_err();
    assert_eq!(error.downcast_ref::<CallStopped>(), Some(&CallStopped::DeadlinePassed));
    gate.entered.notified().await;

    let call = ToolCall { cancel: CancellationToken::new(), ..ToolCall::default() };
    let cancel = call.cancel.clone();
    let running = {
        let host = host.clone();
        tokio::spawn(async move { host.call_with("wait", json!({}), call).await })
    };
    gate.entered.notified().await;
    cancel.cancel();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.downcast_ref::<CallStopped>(), Some(&CallStopped::Cancelled));

    // Giving up cancels as well, and leaves other calls alone.
    let pending = host.actor().ask(CallTool {
        name: "wait".to_owned(),
        arguments: json!({}),
        call: ToolCall::default(),
    });
    drop(pending.await.unwrap());
    assert!(host.call("prefer", json!({})).await.is_ok());
    world.end().await;
}

#[tokio::test]
async fn toolsets_connect_when_needed_and_close_at_the_stop() {
    let world = World::new();
    let (gate, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    host.call("prefer", json!({})).await.unwrap();
    assert_eq!(gate.connected.load(Ordering::SeqCst), 0);
    assert_eq!(host.call("far", json!({})).await.unwrap().as_text(), Some("from afar"));
    let offers = host.offers().await.unwrap();
    assert_eq!(offers.cards, ["ProbeTool"]);
    assert_eq!(offers.offers.toolsets, ["remote"]);
    assert_eq!(offers.warnings, []);
    let names: Vec<_> = host.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["wait", "panic", "prefer", "far"]);
    assert_eq!(gate.connected.load(Ordering::SeqCst), 1);
    host.stop(WAIT).await.unwrap();
    assert_eq!(gate.closed.load(Ordering::SeqCst), 1);
    world.end().await;
}

#[tokio::test]
async fn tools_of_one_name_in_toolsets_are_refused() {
    let world = World::new();
    let (_, capabilities) = gate();
    let twice = vec![probe(), Renamed::default().into()];
    let host = world.host(twice, capabilities).await;
    let error = host.tools().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tool \"far\" of remote has the name of one of remote; give one a prefix"
    );
    assert!(host.call("prefer", json!({})).await.is_ok(), "tools of cards are not touched");
    world.end().await;
}

#[tokio::test]
async fn state_is_published_after_a_call_that_changed_it() {
    let world = World::new();
    let (_, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    let id = host.actor().address().agent_id();
    let published = || async {
        let states = world.team.get_states().await.unwrap();
        let (_, state) = states.into_iter().find(|(agent, _)| *agent == id).unwrap();
        state.as_any().downcast_ref::<ToolHostState>().unwrap().tool_state.get()
    };
    host.call("prefer", json!({"model": "openai:gpt"})).await.unwrap();
    assert_eq!(published().await.active_model.as_deref(), Some("openai:gpt"));
    let block = host.context_update([]).await.unwrap().unwrap();
    assert_eq!(block, "**Context update 1** \u{2014} current state.\n\nseen 0");
    assert_eq!(published().await.context_update_seq, 1);
    let block = host.context_update([block.as_str()]).await.unwrap().unwrap();
    assert!(block.ends_with("state has changed since the last update.\n\nseen 0 -> 1"), "{block}");
    host.reset_context().await.unwrap();
    assert_eq!(published().await.context_update_seq, 0);
    assert_eq!(published().await.active_model.as_deref(), Some("openai:gpt"));
    world.end().await;
}

#[tokio::test]
async fn commands_are_announced_once_and_dispatched() {
    let world = World::new();
    let (_, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    let outcome = host.dispatch("/prefer openai:gpt").await.unwrap();
    assert_eq!(outcome, DispatchOutcome::Reply("openai:gpt".to_owned()));
    assert_eq!(host.dispatch("/prefer").await.unwrap(), DispatchOutcome::Silent);
    let announced: Vec<_> = world
        .team
        .get_messages(HistoryFilter {
            message_type: Some(EventMessage::PATH),
            ..HistoryFilter::default()
        })
        .await
        .unwrap()
        .iter()
        .filter_map(|message| match &message.body::<EventMessage>()?.event {
            AnyValue::Record(record) => {
                record.as_any().downcast_ref::<CommandsAnnouncedEvent>().cloned()
            }
            _ => None,
        })
        .collect();
    assert_eq!(announced.len(), 1);
    assert_eq!(announced[0].agent, *host.actor().address());
    assert_eq!(announced[0].commands.to_vec(), host.descriptors().await.unwrap());
    world.end().await;
}

#[tokio::test]
async fn a_host_whose_cards_do_not_bind_is_not_created() {
    let world = World::new();
    let missing = ProbeTool { needs: vec!["VectorStoreTool".to_owned()], ..ProbeTool::default() };
    let config = ToolHostConfig::new("@Host", vec![missing.into()]);
    let error = ToolHost::create_in(&world.team, config, gate().1).await.unwrap_err();
    let CreateError::Start { error, .. } = &error else { panic!("{error}") };
    assert_eq!(error.to_string(), "ProbeTool needs VectorStoreTool, which is not among the cards");

    let config = ToolHostConfig::new("@Host", vec![probe()]);
    let error =
        ToolHost::create_in(&world.team, config, Capabilities::default()).await.unwrap_err();
    assert!(error.to_string().contains("ProbeTool needs Gate"), "{error}");
    world.end().await;
}

#[tokio::test]
async fn a_published_state_is_a_copy() {
    let state = ToolHostState::default();
    let copy = state.clone_state();
    state.tool_state.handle().with(|state| state.context_update_seq = 7);
    let copy = copy.as_any().downcast_ref::<ToolHostState>().unwrap();
    assert_eq!(copy.tool_state.get().context_update_seq, 0);
}

#[tokio::test]
async fn a_restored_host_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("team.jsonl");
    let world = World::new();
    let log = EventLog::for_team(&path, &world.team, Fsync::Never).unwrap();
    world.team.subscribe(Arc::new(log)).await.unwrap();
    let (_, capabilities) = gate();
    let host = world.host(vec![probe()], capabilities).await;
    host.call("prefer", json!({"model": "openai:gpt"})).await.unwrap();
    let told = host.context_update([]).await.unwrap().unwrap();
    world.team.get_team().await.unwrap();
    world.end().await;

    let system = ActorSystem::new();
    system.provide::<Arc<Gate>>(Arc::default());
    let contents = LogContents::read(&path).unwrap();
    let back = restore_team(&system, &contents, Vec::new()).await.unwrap();
    let address = back.team.get_team_member("@Host").await.unwrap().unwrap();
    let host = ToolHostRef::new(ActorRef::new(&address).unwrap());
    let told = host.context_update([told.as_str()]).await.unwrap().unwrap();
    assert_eq!(
        told,
        "**Context update 2** \u{2014} state has changed since the last update.\n\nseen 0 -> 1"
    );
    system.shutdown(WAIT).await;
}
