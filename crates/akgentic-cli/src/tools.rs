//! Showing what cards offer.

use std::path::Path;
use std::process::ExitCode;

use akgentic::tool::ToolDefinition;
use serde_json::{Value, json};

use crate::cards;
use crate::output::print;
use crate::session::Session;

/// Lists everything the cards offer.
pub(crate) async fn run(path: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut session = Session::start(cards::load(path)?)?;
    let host = session.host("@host").await?;
    let tools = host.tools().await?;
    let commands = host.descriptors().await?;
    let offers = host.offers().await?;
    session.stop().await?;
    if as_json {
        let tools = tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            })
        });
        let shown = json!({
            "tools": tools.collect::<Vec<_>>(),
            "commands": commands,
            "context_states": offers.offers.context_states,
            "system_prompts": offers.offers.system_prompts,
            "toolsets": offers.offers.toolsets,
            "warnings": offers.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        print(&(serde_json::to_string_pretty(&shown)? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = Vec::new();
    for tool in &tools {
        show_tool(tool, &mut lines);
    }
    for command in &commands {
        let args = command.args.iter().map(|arg| {
            let (open, close) = if arg.required { ("", "") } else { ("[", "]") };
            format!(" {open}{}: {}{close}", arg.name, arg.kind)
        });
        lines.push(format!("/{}{}", command.name, args.collect::<String>()));
        show_text(&command.description, &mut lines);
    }
    for (what, names) in [
        ("context", &offers.offers.context_states),
        ("prompt", &offers.offers.system_prompts),
        ("toolset", &offers.offers.toolsets),
    ] {
        for name in names {
            lines.push(format!("{name} ({what})"));
        }
    }
    lines.push(String::new());
    print(&lines.join("\n"))?;
    for warning in &offers.warnings {
        eprintln!("note: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}

fn show_tool(tool: &ToolDefinition, lines: &mut Vec<String>) {
    lines.push(tool.name.clone());
    show_text(&tool.description, lines);
    let required = texts(&tool.parameters["required"]);
    let properties = tool.parameters["properties"].as_object();
    for (name, schema) in properties.into_iter().flatten() {
        let optional = if required.contains(name) { "" } else { ", optional" };
        let description = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        lines.push(format!("  - {name} ({}{optional}) {description}", kind_of(schema)));
    }
}

fn show_text(text: &str, lines: &mut Vec<String>) {
    lines.extend(text.lines().map(|line| format!("    {line}")));
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The type of a parameter in one word or a few.
fn kind_of(schema: &Value) -> String {
    if let Some(kind) = schema["type"].as_str() {
        return match (kind, &schema["items"]) {
            ("array", items) if items.is_object() => format!("array of {}", kind_of(items)),
            _ => kind.to_owned(),
        };
    }
    let kinds = texts(&schema["type"]);
    if !kinds.is_empty() {
        return kinds.join(" or ");
    }
    let branches = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let branches: Vec<String> = branches.into_iter().flatten().map(kind_of).collect();
    if branches.is_empty() { "any".to_owned() } else { branches.join(" or ") }
}
