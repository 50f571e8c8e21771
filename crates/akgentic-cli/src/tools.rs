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
    let loaded = cards::load(path)?;
    let mut notes = loaded.notes;
    let mut session = Session::start(loaded.cards)?;
    let host = session.host("@host").await?;
    let tools = host.tools().await?;
    let commands = host.descriptors().await?;
    let offers = host.offers().await?;
    session.stop().await?;
    notes.extend(offers.warnings.iter().map(ToString::to_string));
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
            "warnings": notes,
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
    for note in &notes {
        eprintln!("note: {note}");
    }
    Ok(ExitCode::SUCCESS)
}

fn show_tool(tool: &ToolDefinition, lines: &mut Vec<String>) {
    lines.push(tool.name.clone());
    show_text(&tool.description, lines);
    show_fields(&tool.parameters, &tool.parameters, 1, lines);
}

/// The fields of an object, and below each those of the objects it is made of.
fn show_fields(object: &Value, whole: &Value, depth: usize, lines: &mut Vec<String>) {
    let required = texts(&object["required"]);
    let indent = "  ".repeat(depth);
    for (name, schema) in object["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(name) { "" } else { ", optional" };
        let description = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        let kind = kind_of(schema, whole, DEEPEST);
        lines.push(
            format!("{indent}- {name} ({kind}{optional}) {description}").trim_end().to_owned(),
        );
        let mut inner = resolved(schema, whole);
        if inner["items"].is_object() {
            inner = resolved(&inner["items"], whole);
        }
        if depth < DEEPEST {
            show_fields(inner, whole, depth + 1, lines);
        }
    }
}

/// How deep objects within objects are shown.
const DEEPEST: usize = 4;

fn show_text(text: &str, lines: &mut Vec<String>) {
    lines.extend(text.lines().map(|line| format!("    {line}").trim_end().to_owned()));
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// What a schema refers to in the whole it is part of, or the schema itself.
fn resolved<'a>(schema: &'a Value, whole: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    target.and_then(|pointer| whole.pointer(pointer)).unwrap_or(schema)
}

/// The type of a parameter in one word or a few; `depth` bounds schemas that refer to themselves.
fn kind_of(schema: &Value, whole: &Value, depth: usize) -> String {
    if depth == 0 {
        return "any".to_owned();
    }
    let schema = resolved(schema, whole);
    if let Some(kind) = schema["type"].as_str() {
        return match (kind, &schema["items"]) {
            ("array", items) if items.is_object() => {
                format!("array of {}", kind_of(items, whole, depth - 1))
            }
            _ => kind.to_owned(),
        };
    }
    let kinds = texts(&schema["type"]);
    if !kinds.is_empty() {
        return kinds.join(" or ");
    }
    let branches = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let branches: Vec<String> =
        branches.into_iter().flatten().map(|branch| kind_of(branch, whole, depth - 1)).collect();
    if branches.is_empty() { "any".to_owned() } else { branches.join(" or ") }
}
