//! Topic `assembly`: commands and tools of an agent that has started.

use akgentic_core::message::EventMessage;
use akgentic_testkit::{Case, same};
use akgentic_tool_core::CommandsAnnouncedEvent;
use serde_json::{Value, json};

use crate::world::{Shared, World};

/// The report of what members are doing is not in this version of the team card.
const REPORT: &str = "team_activity";

pub(crate) fn assembly(case: &Case) -> Result<(), String> {
    crate::block_on(replay(case))
}

async fn replay(case: &Case) -> Result<(), String> {
    let mut member = case.input.clone();
    for (key, value) in
        [("name", "@A"), ("role", "Assistant"), ("class", "BaseAgent"), ("model", "a")]
    {
        member[key] = json!(value);
    }
    let human = json!({"name": "@Human", "role": "Human", "class": "HumanProxy"});
    let shared = Shared::new(&json!({}), json!({"respond": [{"output": {"messages": []}}]}));
    let world = World::new(&json!({"team": [human, member]}), shared.clone(), None).await;
    let records = world.records.0.lock().expect("lock").clone();
    let announced = records.iter().find_map(|record| {
        let event = &record.body::<EventMessage>()?.event;
        event.downcast::<CommandsAnnouncedEvent>().cloned()
    });
    let commands = announced.expect("announced").commands;
    let commands = commands.iter().map(|command| {
        let args = command
            .args
            .iter()
            .map(|arg| json!({"name": arg.name, "type": arg.kind, "required": arg.required}));
        json!({
            "name": command.name,
            "tool_card": command.tool_card,
            "args": args.collect::<Vec<_>>(),
        })
    });
    let wanted = case.expect["commands"].as_array().expect("commands").iter();
    let wanted: Vec<&Value> = wanted.filter(|command| command["name"] != REPORT).collect();
    same("commands", &json!(commands.collect::<Vec<_>>()), &json!(wanted))?;
    world.play(&json!([{"from": "@Human", "to": "@A", "content": "go"}])).await;
    let tools = shared.lock().tools.clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let wanted = case.expect["tools"].as_array().expect("tools").iter();
    let wanted: Vec<&Value> = wanted.filter(|name| **name != REPORT).collect();
    same("tools", &json!(names), &json!(wanted))?;
    for tool in &tools {
        let wanted = &case.expect["tool_schemas"][&tool.name];
        for (name, schema) in wanted["properties"].as_object().into_iter().flatten() {
            let got = &tool.parameters["properties"][name];
            same(&format!("type of {name}"), &got["type"], &schema["type"])?;
        }
        let required =
            |schema: &Value| schema.get("required").cloned().unwrap_or_else(|| json!([]));
        same("required", &required(&tool.parameters), &required(wanted))?;
    }
    world.end().await;
    Ok(())
}
