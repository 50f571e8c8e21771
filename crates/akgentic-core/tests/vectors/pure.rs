//! Topics that need no actor: `handler_dispatch`, `roster`, `catalog`, `stop_plan`,
//! `state_notify`, `timer`.

use std::collections::BTreeMap;
use std::sync::Arc;

use akgentic_core::dispatch::DispatchTable;
use akgentic_core::message::{EventMessage, ReceivedMessage, StartMessage, StopMessage};
use akgentic_core::orchestrator::{Catalog, History, HistoryFilter, Roster, StopPlan};
use akgentic_core::prelude::*;
use akgentic_core::wire::{AnyValue, WireType as _};
use akgentic_core::{AddressInfo, TimerState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use akgentic_testkit::Case;

type Checked = Result<(), String>;

fn same(what: &str, got: &Value, want: &Value) -> Checked {
    if got == want { Ok(()) } else { Err(format!("{what}: got {got}, expected {want}")) }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(crate) fn handler_dispatch(case: &Case) -> Checked {
    let Case { input, expect, .. } = case;
    let mut table = DispatchTable::default();
    for layer in input["actor_chain"].as_array().expect("a chain") {
        table.layer(layer["class"].as_str().expect("a class"));
        for (message, behaviour) in layer["handlers"].as_object().expect("handlers") {
            table.add(message.as_str(), behaviour.as_str().expect("a behaviour"));
        }
    }
    let chain = texts(&input["message_chain"]);
    let mut calls = Vec::new();
    let mut handled = false;
    let mut result = Value::Null;
    for (class, message, behaviour) in table.candidates(&chain) {
        calls.push(json!([class, message]));
        if *behaviour != "super" {
            handled = true;
            result = if *behaviour == "none" { Value::Null } else { json!(behaviour) };
            break;
        }
    }
    same("calls", &json!(calls), &expect["calls"])?;
    same("handled", &json!(handled), &expect["handled"])?;
    same("result", &result, expect.get("result").unwrap_or(&Value::Null))
}

fn address(id: &str, name: &str) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes()),
        name: name.to_owned(),
        role: "Member".to_owned(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: String::new(),
        extra: serde_json::Map::new(),
    })
}

pub(crate) fn roster(case: &Case) -> Checked {
    let Case { input, expect, .. } = case;
    let mut roster = Roster::default();
    let mut history = History::default();
    let mut ids = BTreeMap::new();
    for event in input["history"].as_array().expect("a history") {
        let id = event["id"].as_str();
        let member = id.map(|id| address(id, event["name"].as_str().unwrap_or(id)));
        if let (Some(id), Some(member)) = (id, &member) {
            ids.insert(member.agent_id(), id.to_owned());
        }
        let start = || StartMessage { config: BaseConfig::default().into(), parent: None };
        let mut message: Message = match event["ev"].as_str().expect("an event") {
            "start" | "start_no_sender" => start().into(),
            "stop" => StopMessage {}.into(),
            "received" => ReceivedMessage { message_id: Uuid::nil() }.into(),
            "event" => {
                EventMessage { event: AnyValue::from_serialize(&event["v"]).expect("a value") }
                    .into()
            }
            other => panic!("unknown event {other}"),
        };
        message.sender = member.clone();
        match (event["ev"].as_str(), member) {
            (Some("start"), Some(member)) if id != Some("self") => roster.started(member),
            (Some("stop"), Some(member)) => roster.stopped(member.agent_id()),
            _ => {}
        }
        history.push(Arc::new(message));
    }
    let id_of = |member: &ActorAddress| ids[&member.agent_id()].clone();
    let team: Vec<Value> =
        roster.iter().map(|member| json!([id_of(member), member.name()])).collect();
    same("team", &json!(team), &expect["team"])?;
    same("list", &json!(roster.list().len()), &json!(team.len()))?;
    same("len", &json!(roster.len()), &json!(team.len()))?;
    for (name, want) in expect["lookup"].as_object().expect("lookups") {
        let got = roster.member(name).map_or(Value::Null, |member| json!(id_of(member)));
        same(name, &got, want)?;
    }
    let a1 = address("a1", "a1").agent_id();
    let count = |filter: HistoryFilter| json!(history.select(&filter).len());
    let of_type = |path| HistoryFilter { message_type: Some(path), ..Default::default() };
    for (key, want) in expect["counts"].as_object().expect("counts") {
        let got = match key.as_str() {
            "all" => count(HistoryFilter::default()),
            "StartMessage" => count(of_type(StartMessage::PATH)),
            "EventMessage" => count(of_type(EventMessage::PATH)),
            "Message" => count(of_type("akgentic.core.messages.message.Message")),
            "events_of_a1" => {
                count(HistoryFilter { sender: Some(a1), ..of_type(EventMessage::PATH) })
            }
            "str_events" => {
                count(HistoryFilter { event_type: Some("str"), ..of_type(EventMessage::PATH) })
            }
            other => panic!("unknown count {other}"),
        };
        same(key, &got, want)?;
    }
    Ok(())
}

pub(crate) fn catalog(case: &Case) -> Checked {
    let Case { input, expect, .. } = case;
    let mut catalog = Catalog::default();
    for card in input["cards"].as_array().expect("cards") {
        let role = card["role"].as_str().expect("a role");
        let mut built = AgentCard::new(
            "akgentic.core.UserProxy",
            card["description"].as_str().expect("a description"),
            BaseConfig::new("", role),
        )
        .expect("a card");
        built.skills = texts(&card["skills"]).into_iter().map(str::to_owned).collect();
        catalog.register(built);
    }
    let listed: Vec<Value> =
        catalog.cards().iter().map(|card| json!([card.role(), card.description])).collect();
    same("catalog", &json!(listed), &expect["catalog"])?;
    same("roles", &json!(catalog.roles()), &expect["roles"])?;
    same("skills", &json!(catalog.skills()), &expect["all_skills"])?;
    for (skill, want) in expect["by_skill"].as_object().expect("by_skill") {
        let roles: Vec<Value> =
            catalog.with_skill(skill).iter().map(|card| json!(card.role())).collect();
        same(skill, &json!(roles), want)?;
    }
    for (role, want) in expect["profile"].as_object().expect("profile") {
        let got = catalog.get(role).map_or(Value::Null, |card| json!(card.description));
        same(role, &got, want)?;
    }
    Ok(())
}

/// Plays the orchestrator's part over the plan and its roster.
///
/// Tool actors are told one after the other here, so only the order of requests is compared once
/// the first of them has been told.
pub(crate) fn stop_plan(case: &Case) -> Checked {
    let Case { input, expect, .. } = case;
    let mut roster: Vec<String> = Vec::new();
    let mut children = Vec::new();
    for child in input["children"].as_array().expect("children") {
        let name = child["name"].as_str().expect("a name").to_owned();
        if child["alive"].as_bool().unwrap_or(true) {
            roster.push(name.clone());
            children.push(name);
        }
    }
    roster.extend(texts(&input["grandchildren"]).into_iter().map(str::to_owned));
    let mut stopped: Vec<String> = Vec::new();
    let mut timeline = Vec::new();
    let mut finalised = false;
    let (mut plan, mut told) =
        StopPlan::begin(children.iter().map(|name| (name.clone(), name.as_str())));
    let steps = std::iter::once(None).chain(texts(&input["stop_messages"]).into_iter().map(Some));
    for step in steps {
        if let Some(name) = step {
            stopped.push(name.to_owned());
            roster.retain(|member| member != name);
            plan.stopped(&name.to_owned());
        }
        let next = plan.next(roster.iter().map(String::as_str), |key| !stopped.contains(key));
        told.extend(next);
        let ends = roster.is_empty() && !std::mem::replace(&mut finalised, roster.is_empty());
        let after = step.unwrap_or("stop()");
        timeline.push((after.to_owned(), std::mem::take(&mut told), ends));
    }
    let wanted = expect["timeline"].as_array().expect("a timeline");
    let order = |told: &mut dyn Iterator<Item = String>| told.collect::<Vec<_>>();
    let got_order = order(&mut timeline.iter().flat_map(|(_, told, _)| told.clone()));
    let want_order =
        order(&mut wanted.iter().flat_map(|step| texts(&step["told"])).map(str::to_owned));
    // A tool actor that stopped while it waited for its turn is not told here.
    let expected: Vec<_> =
        want_order.iter().filter(|name| got_order.contains(name)).cloned().collect();
    if got_order != expected {
        return Err(format!("told {got_order:?}, expected {want_order:?}"));
    }
    for name in &want_order {
        let stopped_early = name.starts_with('#') && stopped.contains(name);
        if !got_order.contains(name) && !stopped_early {
            return Err(format!("{name} was never told"));
        }
    }
    for ((after, told, ends), want) in timeline.iter().zip(wanted) {
        same("after", &json!(after), &want["after"])?;
        let agents = |names: Vec<&str>| -> Vec<String> {
            names.into_iter().filter(|name| !name.starts_with('#')).map(str::to_owned).collect()
        };
        let got = agents(told.iter().map(String::as_str).collect());
        if got != agents(texts(&want["told"])) {
            return Err(format!("after {after} told {told:?}, expected {}", want["told"]));
        }
        let want_first_tool = texts(&want["told"]).into_iter().find(|name| name.starts_with('#'));
        let got_first_tool = told.iter().find(|name| name.starts_with('#')).map(String::as_str);
        if want_first_tool.is_some() && got_first_tool != want_first_tool {
            return Err(format!("after {after} the first tool actor told is {got_first_tool:?}"));
        }
        let finalise_calls = want["finalize_calls"].as_u64().expect("a count");
        if *ends && finalise_calls == 0 {
            return Err(format!("finalised too early, after {after}"));
        }
    }
    let got = timeline.iter().position(|(_, _, now)| *now);
    let want = wanted.iter().position(|step| step["finalize_calls"] != 0);
    if got == want { Ok(()) } else { Err(format!("finalised at {got:?}, expected {want:?}")) }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Watched {
    n: i64,
    items: Vec<String>,
}
state!(Watched = "vec.pure.Watched");

pub(crate) fn state_notify(case: &Case) -> Checked {
    let Case { input, expect, .. } = case;
    let mut state = Tracked::new(Watched::default());
    let mut delivered = 0;
    let mut notifications = Vec::new();
    for op in input["ops"].as_array().expect("ops") {
        let published = match op["op"].as_str().expect("an op") {
            "attach" => state.observe(),
            "detach" => {
                state.detach();
                None
            }
            "set" => {
                state.n = op["v"].as_i64().expect("v");
                None
            }
            "append" => {
                state
                    .items
                    .push(op["v"].as_str().map_or_else(|| op["v"].to_string(), str::to_owned));
                None
            }
            "clear" => {
                state.items.clear();
                None
            }
            "notify" => state.notify(),
            "notify_if_changed" => state.notify_if_changed(),
            "copy" => {
                state = state.copy();
                None
            }
            other => panic!("unknown op {other}"),
        };
        delivered += u32::from(published.is_some());
        notifications.push(delivered);
    }
    same("notifications", &json!(notifications), &expect["notifications"])
}

pub(crate) fn timer(case: &Case) -> Checked {
    let Case { input, expect, .. } = case;
    let mut timer = TimerState::default();
    let mut fired = 0;
    let mut states = Vec::new();
    for op in texts(&input["ops"]) {
        match op {
            "start" => timer.start(),
            "cancel" => timer.cancel(),
            "close" => timer.close(),
            "task_started" => timer.task_started(),
            "task_completed" => timer.task_completed(),
            "fire" => fired += u32::from(timer.fire()),
            other => panic!("unknown op {other}"),
        }
        states.push(json!({"armed": timer.is_armed(), "count": timer.count(), "fired": fired}));
    }
    same("states", &json!(states), &expect["states"])
}
