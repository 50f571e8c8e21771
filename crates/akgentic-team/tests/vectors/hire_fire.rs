//! Topic `hire_fire`, with a real orchestrator.

use akgentic_core::ActorAddress;
use akgentic_core::message::{StartMessage, StopMessage};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_team::{FireMember, HireMember, TeamTool};
use akgentic_testkit::{Case, same};
use akgentic_tool_core::{
    BoundTools, CommandError, DispatchOutcome, ToolCall, ToolError, ToolFactory,
};
use serde_json::{Value, json};

use crate::world::{WAIT, World};

pub(crate) fn hire_fire(case: &Case) -> Result<(), String> {
    crate::block_on(replay(case))
}

async fn replay(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    let world = World::new(input).await;
    let bound = ToolFactory::new(vec![TeamTool::default().into()]).bind(&world.observer).await;
    let bound = bound.map_err(|error| error.to_string())?;
    let calls = input["calls"].as_array().expect("calls");
    let results = expect["results"].as_array().expect("results");
    for (call, wanted) in calls.iter().zip(results) {
        run(call, wanted, &bound, &world).await.map_err(|error| format!("{call}: {error}"))?;
    }
    let records = world.team.get_messages(HistoryFilter::default()).await.expect("records");
    let created: Vec<Value> = records
        .iter()
        .filter_map(|record| {
            let start = record.body::<StartMessage>()?;
            start.parent.as_ref().filter(|parent| **parent == world.hirer)?;
            let sender = record.sender.as_ref()?;
            Some(json!({
                "name": start.config.base().name,
                "role": start.config.base().role,
                "agent_class": sender.info().actor_type,
                "squad_id": start.config.base().squad_id,
            }))
        })
        .collect();
    if let Some(wanted) = expect.get("created") {
        let mut wanted = wanted.clone();
        // A member without a squad of its own falls back to its parent's.
        for (config, got) in wanted.as_array_mut().expect("a list").iter_mut().zip(&created) {
            if config["squad_id"].is_null() {
                assert_eq!(got["squad_id"], json!(world.hirer.squad_id()));
                config["squad_id"] = got["squad_id"].clone();
            }
        }
        same("created", &json!(created), &wanted)?;
    }
    let stopped: Vec<&str> = records
        .iter()
        .filter(|record| record.body::<StopMessage>().is_some())
        .filter_map(|record| record.sender.as_ref().map(ActorAddress::name))
        .filter(|name| *name != world.hirer.name())
        .collect();
    for (key, got) in [("stopped", json!(stopped)), ("hooks", json!(world.hooks()))] {
        if let Some(wanted) = expect.get(key) {
            same(key, &got, wanted)?;
        }
    }
    // In this world an agent that was collected has left the team.
    match expect.get("team_after") {
        Some(wanted) if world.hirer.is_alive() => {
            same("team after", &json!(world.members().await), wanted)
        }
        _ => Ok(()),
    }
}

async fn run(
    call: &Value,
    wanted: &Value,
    bound: &BoundTools,
    world: &World,
) -> Result<(), String> {
    let text = |key: &str| call[key].as_str().expect("a text").to_owned();
    match call["op"].as_str().expect("op") {
        op @ ("hire_members" | "fire_members") => {
            let key = if op == "hire_members" { "roles" } else { "names" };
            let tool = bound.tool(op).expect("a tool");
            let answer = tool.call(json!({key: call[key]}), ToolCall::default()).await;
            match answer {
                Ok(content) => same("ok", &json!(content.as_text()), &wanted["ok"]),
                Err(error) => facts(&error, wanted),
            }
        }
        "hire_member" => {
            let name = call["name"].as_str().map(str::to_owned);
            match bound.commands().call(HireMember { role: text("role"), name }).await {
                Ok(hired) => {
                    let got = json!({"name": hired.0.name(), "role": hired.0.role()});
                    same("ok", &got, &wanted["ok"])
                }
                Err(CommandError::Failed(error)) => facts(&error, wanted),
                Err(error) => Err(error.to_string()),
            }
        }
        "fire_member" => match bound.commands().call(FireMember { name: text("name") }).await {
            Ok(reply) => same("ok", &json!(reply), &wanted["ok"]),
            Err(CommandError::Failed(error)) => facts(&error, wanted),
            Err(error) => Err(error.to_string()),
        },
        "dispatch" => {
            let outcome = bound.commands().dispatch(&text("text")).await;
            dispatched(&outcome, wanted)
        }
        "drop_agent" => world.hirer.stop(WAIT).await.map(drop).map_err(|error| error.to_string()),
        other => Err(format!("unknown op {other}")),
    }
}

fn dispatched(outcome: &DispatchOutcome, wanted: &Value) -> Result<(), String> {
    let Some(reply) = outcome.reply() else { return Err(format!("{outcome:?}")) };
    if let Some(command) = wanted["command_failed"].as_str() {
        let start = format!("Command '{command}' failed: ");
        let Some(rest) = reply.strip_prefix(&start) else { return Err(reply) };
        return contains_in_order(rest, &wanted["facts"]);
    }
    for key in ["text_names", "text_role"] {
        let Some(fact) = wanted[key].as_str() else { continue };
        if !reply.contains(fact) {
            return Err(format!("{fact} is missing in {reply:?}"));
        }
    }
    match wanted.get("ok") {
        Some(ok) => same("reply", &json!(reply), ok),
        None => Ok(()),
    }
}

fn facts(error: &ToolError, wanted: &Value) -> Result<(), String> {
    let Some(facts) = wanted.get("error") else { return Err(format!("failed: {error}")) };
    let retriable = facts["kind"] == "retriable";
    if error.is_retriable() != retriable {
        return Err(format!("{error} should be {}", facts["kind"]));
    }
    contains_in_order(&error.to_string(), facts)
}

/// `done`, `failed`, `available`, `team` in that order.
fn contains_in_order(text: &str, facts: &Value) -> Result<(), String> {
    let mut rest = text;
    for group in ["done", "failed", "available", "team"] {
        let words: Vec<String> = match &facts[group] {
            Value::Array(words) => {
                words.iter().map(|word| word.as_str().expect("text").to_owned()).collect()
            }
            Value::String(word) => vec![word.clone()],
            _ => Vec::new(),
        };
        for word in words {
            match rest.split_once(&word) {
                Some((_, after)) => rest = after,
                None => return Err(format!("{group} {word:?} is missing in {text:?}")),
            }
        }
    }
    let name = facts["name"].as_str().or(facts["role"].as_str());
    match name {
        Some(name) if !text.contains(name) => Err(format!("{name:?} is missing in {text:?}")),
        _ => Ok(()),
    }
}
