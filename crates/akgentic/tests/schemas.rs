//! The schemas of every shipped tool as each family of providers gets them.
//!
//! `tests/schemas/*.json` hold them. `AKGENTIC_BLESS=1 cargo test -p akgentic --test schemas`
//! writes them anew; look at the difference before you commit it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "tests")]
#![cfg(all(feature = "agent", feature = "providers", feature = "team", feature = "workspace"))]

use std::path::{Path, PathBuf};
use std::time::Duration;

use akgentic::agent::StructuredOutput;
use akgentic::core::wire::{Kind, registry};
use akgentic::llm::schema::{SchemaStyle, ToolNames};
use akgentic::llm::{ModelConfig, OutputSpec};
use akgentic::prelude::*;
use akgentic::tool::{Capabilities, ToolDefinition, ToolHostConfig, load_card};
use serde_json::{Map, Value, json};

/// One model for each way schemas are written.
const FAMILIES: [(&str, &str); 7] = [
    ("openai", "openai:gpt-5.2"),
    ("openai-like", "azure:gpt-4o"),
    ("anthropic", "anthropic:claude-sonnet-4-5"),
    ("gemini", "google-gla:gemini-2.5-flash"),
    ("mistral", "mistral:mistral-large-latest"),
    ("openrouter-gemini", "openrouter:google/gemini-2.5-flash"),
    ("openrouter-qwen", "openrouter:qwen/qwen3-32b"),
];

/// A card with everything it can offer switched on.
fn card(path: &str, root: &Path) -> Value {
    let mut card = json!({"__model__": path});
    if path.starts_with("akgentic.tool.workspace.") {
        card["workspace_exec"] = json!(true);
    }
    if ["akgentic.tool.workspace.", "akgentic.tool.sandbox."]
        .iter()
        .any(|part| path.starts_with(part))
    {
        card["root"] = json!(root);
    }
    card
}

/// The tools of every card the registry knows, by name.
async fn shipped() -> Vec<ToolDefinition> {
    akgentic::register();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("notes");
    std::fs::create_dir(&root).unwrap();
    let system = ActorSystem::new();
    let mut all: Vec<ToolDefinition> = Vec::new();
    for entry in registry().entries().filter(|entry| entry.kind() == Kind::Card) {
        let loaded = load_card(card(entry.path(), &root));
        let loaded = loaded.unwrap_or_else(|error| panic!("{}: {error}", entry.path()));
        let team = system
            .create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())
            .unwrap();
        let config = ToolHostConfig::new("@Host", vec![loaded]);
        let host = ToolHost::create_in(&team, config, Capabilities::default()).await;
        let host = host.unwrap_or_else(|error| {
            panic!("{} does not bind here; give `card` what it needs: {error}", entry.path())
        });
        for tool in host.tools().await.unwrap() {
            if !all.iter().any(|known| known.name == tool.name) {
                all.push(tool);
            }
        }
        team.stop(Duration::from_secs(10)).await.unwrap();
    }
    system.shutdown(Duration::from_secs(10)).await;
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn golden(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(format!("{family}.json"))
}

fn written(model: &str, tools: &[ToolDefinition]) -> Value {
    let config: ModelConfig = model.parse().unwrap();
    let style = SchemaStyle::of(&config);
    let mut shown = Map::new();
    for tool in tools {
        let schema = style.tool(&tool.parameters);
        assert!(schema.repairs.is_empty(), "{} for {model}: {:?}", tool.name, schema.repairs);
        assert_eq!(schema.schema["type"], "object", "{} for {model}", tool.name);
        assert!(schema.schema["properties"].is_object(), "{} for {model}", tool.name);
        let mut one = json!({"schema": schema.schema});
        if let Some(strict) = schema.strict {
            one["strict"] = json!(strict);
        }
        shown.insert(tool.name.clone(), one);
    }
    let output = OutputSpec::of::<StructuredOutput>();
    let output = output.schema().unwrap();
    shown.insert(
        "(output of agents)".to_owned(),
        if config.native_output() {
            json!({"held to": style.output(&output.schema).unwrap()})
        } else {
            json!({"schema": style.tool(&output.schema).schema})
        },
    );
    Value::Object(shown)
}

#[tokio::test]
async fn every_shipped_tool_has_the_schema_that_its_golden_file_shows() {
    let tools = shipped().await;
    for name in ["workspace_read", "workspace_exec", "exec_command", "hire_members", "read_mailbox"]
    {
        assert!(tools.iter().any(|tool| tool.name == name), "{name} is missing");
    }
    let bless = std::env::var_os("AKGENTIC_BLESS").is_some();
    let mut stale = Vec::new();
    for (family, model) in FAMILIES {
        let found = serde_json::to_string_pretty(&written(model, &tools)).unwrap() + "\n";
        let path = golden(family);
        if bless {
            std::fs::write(&path, &found).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != found {
            stale.push(path.display().to_string());
        }
    }
    assert!(
        stale.is_empty(),
        "other schemas than in {}; look with AKGENTIC_BLESS=1 and git diff",
        stale.join(", ")
    );
}

#[tokio::test]
async fn every_shipped_tool_has_a_name_that_all_providers_take() {
    let tools = shipped().await;
    let names = ToolNames::new(tools.iter().map(|tool| tool.name.as_str()));
    for tool in &tools {
        assert_eq!(names.wire(&tool.name), tool.name);
        assert!(!tool.description.is_empty(), "{} does not say what it does", tool.name);
    }
}
