//! Topic `restore`: a second life from the records of the first.

use std::sync::Arc;

use akgentic_agent::AgentState;
use akgentic_core::Message;
use akgentic_core::log::{LogContents, restore_team};
use akgentic_core::message::load_message;
use akgentic_core::message::{EventMessage, StartMessage, StateChangedMessage};
use akgentic_core::wire::dump;
use akgentic_testkit::{Case, known_keys, same};
use serde_json::{Map, Value, json};

use crate::notation::events;
use crate::traces::same_list;
use crate::world::{Records, Shared, World, system};

pub(crate) fn restore(case: &Case) -> Result<(), String> {
    known_keys(
        "input",
        &case.input,
        &[
            "before",
            "after",
            "state_index",
            "drop_history",
            "keep_events",
            "extra_team",
            "new_config",
        ],
    )?;
    crate::block_on(replay(case))
}

fn answers() -> Shared {
    let hi = json!({"message_type": "response", "recipient": "@Human", "message": "hi"});
    Shared::new(&json!({}), json!({"respond": [{"output": {"messages": [hi]}}]}))
}

async fn replay(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let team = json!({"team": [
        {"name": "@Human", "role": "Human", "class": "HumanProxy"},
        {"name": "@A", "role": "Assistant", "class": "BaseAgent", "model": "a", "tools": ["echo"]},
    ]});
    let first = World::new(&team, answers(), Some(&path)).await;
    first.play(&input["before"]).await;
    let before = first.records.0.lock().expect("lock").len();
    first.end().await;

    let mut log = LogContents::read(&path).expect("a log");
    // the end of the first life is not part of what is restored
    log.messages.truncate(before);
    let kept = log.messages.iter().filter(|message| is_kept(message, input, &log.messages));
    log.messages = kept.map(|message| configured(message, &input["new_config"])).collect();
    let shared = answers();
    let (system, audit) = system(&shared);
    let records = Records::default();
    let back = restore_team(&system, &log, vec![Arc::new(records.clone())]).await;
    let back = back.expect("restored");
    assert_eq!(back.report.failed, []);
    for member in back.team.get_team().await.expect("members").iter() {
        shared.lock().members.insert(member.name().to_owned(), member.clone());
    }
    let world = World { system, team: back.team, records, shared, audit };
    world.idle().await;
    for member in input["extra_team"].as_array().into_iter().flatten() {
        world.member(member).await;
    }
    world.idle().await;
    let restored = world.records.0.lock().expect("lock").len();
    let in_history = history_at(&world, restored);
    same("restored messages", &json!(in_history), &expect["restored_messages"])?;
    world.play(&input["after"]).await;
    let all = world.records.0.lock().expect("lock").clone();
    let (requests, found) = {
        let mut script = world.shared.lock();
        let requests = script.requests.remove("a").unwrap_or_default();
        (requests, events(&all[restored..], &mut script.labels))
    };
    let state = last_state(&all).expect("a state");
    world.end().await;
    same_list("requests", &Value::Array(requests), &expect["requests"])?;
    same_list("events", &found["@A"], &expect["events"])?;
    same("backstory", &json!(state.backstory), &expect["backstory"])?;
    let seq = state.tool_state.get().context_update_seq;
    same("context_update_seq", &json!(seq), &expect["context_update_seq"])
}

fn is_of_agent(message: &Message) -> bool {
    message.sender.as_ref().is_some_and(|sender| sender.name() == "@A")
}

/// Whether a record of the first life is among those replayed.
fn is_kept(message: &Arc<Message>, input: &Value, all: &[Arc<Message>]) -> bool {
    if !is_of_agent(message) {
        return true;
    }
    if message.body::<StateChangedMessage>().is_some()
        && let Some(index) = input["state_index"].as_u64()
    {
        let states = all
            .iter()
            .filter(|one| is_of_agent(one) && one.body::<StateChangedMessage>().is_some());
        let at = states.take_while(|one| one.id != message.id).count();
        return at as u64 <= index;
    }
    let Some(event) = message.body::<EventMessage>() else { return true };
    let Some(class) = akgentic_llm::LlmEvent::from_value(&event.event) else { return true };
    let class = match class {
        akgentic_llm::LlmEvent::Message(_) => "LlmMessageEvent",
        akgentic_llm::LlmEvent::ToolCall(_) => "ToolCallEvent",
        akgentic_llm::LlmEvent::ToolReturn(_) => "ToolReturnEvent",
        akgentic_llm::LlmEvent::Usage(_) => "LlmUsageEvent",
        akgentic_llm::LlmEvent::SystemPrompt(_) => "LlmSystemPromptEvent",
        akgentic_llm::LlmEvent::Compacted(_) => "LlmContextCompactedEvent",
        akgentic_llm::LlmEvent::Cleared(_) => "LlmContextClearedEvent",
    };
    if input["drop_history"] == true {
        return false;
    }
    let kept = input["keep_events"].as_array();
    kept.is_none_or(|kept| kept.iter().any(|name| name == class))
}

/// The start of the agent with another configuration.
fn configured(message: &Arc<Message>, changes: &Value) -> Arc<Message> {
    let changes: Option<&Map<String, Value>> = changes.as_object();
    let (true, true, Some(changes)) =
        (is_of_agent(message), message.body::<StartMessage>().is_some(), changes)
    else {
        return Arc::clone(message);
    };
    let mut written = dump(&**message).expect("written");
    for (key, value) in changes {
        let value = match (key.as_str(), value) {
            ("prompt", Value::String(template)) => json!({"template": template}),
            _ => value.clone(),
        };
        written["config"][key] = value;
    }
    Arc::new(load_message(written).expect("a start"))
}

/// How many messages the agent's conversation has after these records.
fn history_at(world: &World, records: usize) -> usize {
    let all = world.records.0.lock().expect("lock").clone();
    let of_agent = all.iter().take(records).filter(|record| is_of_agent(record));
    let events = of_agent.filter_map(|record| record.body::<EventMessage>());
    let events: Vec<_> =
        events.filter_map(|event| akgentic_llm::LlmEvent::from_value(&event.event)).collect();
    let mut context = akgentic_llm::ContextManager::new(None);
    context.restore_from(&events, akgentic_core::wire::Timestamp::now());
    context.messages().len()
}

fn last_state(records: &[Arc<Message>]) -> Option<AgentState> {
    let states = records.iter().rev().filter(|record| is_of_agent(record));
    let mut states = states.filter_map(|record| record.body::<StateChangedMessage>());
    (*states.next()?.state.0).as_any().downcast_ref::<AgentState>().cloned()
}
