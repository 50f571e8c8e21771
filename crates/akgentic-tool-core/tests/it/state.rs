//! The tool state: what is kept, what is dropped, what is shared.

use akgentic_core::message::EventMessage;
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot as _;
use akgentic_core::wire::{AnyValue, Record as _, WireType as _, load};
use akgentic_core::{AnyState, agent_type};
use akgentic_testkit::Logs;
use akgentic_tool_core::host::ToolHostState;
use akgentic_tool_core::{
    AnyContextState, CarriedState, EventPayload, ToolEvents, ToolState, ToolStateEvent,
};
use serde_json::{Value, json};

use crate::parts::{Seen, World};

fn stored(baselines: &Value) -> Value {
    json!({
        "__model__": "akgentic.tool.host.ToolHostState",
        "tool_state": {
            "__model__": "akgentic.tool.core.state.ToolState",
            "context_baselines": baselines, "context_update_seq": 4, "active_model": null,
        },
    })
}

fn loaded(value: Value) -> Result<ToolState, String> {
    let state = AnyState::load(value).map_err(|error| error.to_string())?;
    Ok(state.as_any().downcast_ref::<ToolHostState>().unwrap().tool_state.get())
}

#[test]
fn baselines_that_no_type_claims_are_dropped() {
    let state = loaded(stored(&json!({
        "kept": {"count": 3, "__model__": "it.Seen"},
        "gone": {"__model__": "gone.State", "x": 1},
        "unmarked": {"count": 3},
    })))
    .unwrap();
    assert_eq!(state.context_baselines.keys().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(state.context_update_seq, 4);
    assert!(loaded(stored(&json!({"p": {"__model__": "it.ProbeParam"}}))).is_err());
    assert!(loaded(stored(&json!({"p": 3}))).is_err());
    let plain: ToolHostState =
        serde_json::from_value(stored(&json!({"g": {"__model__": "gone.X"}}))).unwrap();
    assert!(plain.tool_state.get().context_baselines.is_empty());
}

#[test]
fn a_written_state_loads_again() {
    let state = ToolHostState::default();
    state.tool_state.handle().with(|state| {
        state.context_baselines.insert("seen".to_owned(), AnyContextState::from(Seen { count: 2 }));
        state.context_update_seq = 9;
    });
    let written = state.to_json();
    assert_eq!(written["tool_state"]["__model__"], "akgentic.tool.core.state.ToolState");
    assert_eq!(loaded(written).unwrap(), state.tool_state.get());
}

#[test]
fn tools_keep_their_handle_over_a_restore() {
    let mut state = CarriedState::new(ToolHostState::default());
    let handle = state.handle();
    assert!(state.observe().is_some());
    assert!(state.notify_if_changed().is_none());
    handle.with(|state| state.active_model = Some("a:b".to_owned()));
    assert!(state.notify_if_changed().is_some(), "what tools change is published");
    assert!(state.notify_if_changed().is_none(), "once");

    let saved =
        AnyState::load(stored(&json!({"seen": {"count": 3, "__model__": "it.Seen"}}))).unwrap();
    assert!(state.replace_any(&saved).unwrap().is_some());
    assert_eq!(
        handle.read(|state| (state.context_update_seq, state.context_baselines.len())),
        (4, 1)
    );
    assert!(state.notify_if_changed().is_none());
    handle.with(|state| state.context_update_seq = 5);
    assert_eq!(state.tool_state.get().context_update_seq, 5);
    assert!(state.notify_if_changed().is_some());

    let change = json!({"tool_state": {"context_update_seq": 11}});
    let Value::Object(change) = change else { unreachable!() };
    assert!(state.merge(change).unwrap().is_some());
    assert_eq!(handle.read(|state| state.context_update_seq), 11);
}

#[test]
fn an_event_stream_goes_on_after_a_restart() {
    let mut events = ToolEvents::new("#Tool");
    let announced: Vec<AnyValue> = (0..3)
        .map(|_| {
            akgentic_core::Message::new(events.next(akgentic_tool_core::EmptyRecord {})).into()
        })
        .collect();
    let mut again = ToolEvents::new("#Tool");
    again.resume(&announced);
    assert_eq!(again.seq(), 3);
    let mut other = ToolEvents::new("#Other");
    other.resume(&announced);
    assert_eq!(other.seq(), 0);
}

#[test]
fn an_event_keeps_the_type_of_its_payload() {
    let event = ToolStateEvent {
        tool_id: "#Tool".to_owned(),
        seq: 1,
        payload: EventPayload::new(Seen { count: 5 }),
    };
    let written = AnyValue::from(akgentic_core::Message::new(event.clone())).to_json();
    let AnyValue::Message(message) = load(written).unwrap() else { panic!("no message") };
    let read = message.body::<ToolStateEvent>().unwrap();
    assert_eq!(read.payload, event.payload);
    assert_eq!(read.payload.downcast::<Seen>().unwrap().count, 5);
}

/// A tool actor that announces its changes.
struct Board {
    events: ToolEvents,
}
agent_type!(Board = "it.Board");

impl Actor for Board {
    type Config = BaseConfig;

    fn create(config: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { events: ToolEvents::new(config.name.as_str()) })
    }
}

/// Request: the count is another now, or nothing changed.
struct Change(Option<i64>);

impl Handle<Change> for Board {
    type Reply = ();

    async fn handle(&mut self, change: Change, ctx: &mut Context) -> Result<(), ActorError> {
        self.events.announce(ctx, change.0.map(|count| Seen { count }));
        Ok(())
    }
}

#[tokio::test]
async fn changes_are_on_record_before_the_call_returns_and_numbered_without_gaps() {
    let world = World::new();
    let board = world.team.create_actor::<Board>(BaseConfig::new("#Board", "ToolActor"));
    let board = board.await.unwrap();
    // What somebody who comes late reads.
    let announced = || async {
        let filter = HistoryFilter {
            sender: Some(board.address().agent_id()),
            event_type: Some(ToolStateEvent::PATH),
            ..HistoryFilter::default()
        };
        let records = world.team.get_messages(filter).await.unwrap();
        let events = records.iter().map(|record| {
            let AnyValue::Message(event) = &record.body::<EventMessage>().unwrap().event else {
                panic!("{record:?}")
            };
            let event = event.body::<ToolStateEvent>().unwrap();
            let count = event.payload.downcast::<Seen>().unwrap().count;
            (event.tool_id.clone(), event.seq, count)
        });
        events.collect::<Vec<_>>()
    };
    let event = |seq, count| ("#Board".to_owned(), seq, count);
    board.ask(Change(Some(5))).await.unwrap();
    assert_eq!(announced().await, [event(1, 5)]);
    board.ask(Change(None)).await.unwrap();
    assert_eq!(announced().await, [event(1, 5)], "nothing changed, nothing is said");
    board.ask(Change(Some(7))).await.unwrap();
    assert_eq!(announced().await, [event(1, 5), event(2, 7)]);
    world.end().await;
}

#[test]
fn a_moved_type_is_reported_and_written_back_under_its_new_path() {
    let logs = Logs::capture();
    let argument = json!({
        "__model__": "akgentic.tool.event.CommandArg", "name": "role", "type": "string",
        "required": true, "description": null,
    });
    let loaded = load(argument).unwrap();
    assert_eq!(logs.count(&["WARN", "akgentic.tool.event.CommandArg"]), 1, "{:?}", logs.lines());
    assert_eq!(loaded.to_json()["__model__"], "akgentic.tool.core.event.CommandArg");
}
