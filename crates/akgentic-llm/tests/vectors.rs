//! Replays the golden vectors of the LLM layer.
//!
//! `AKGENTIC_VECTORS` names a directory that holds `llm/*.json`; without it the copies in
//! `testdata/vectors` are used. Topics this crate does not claim yet are listed in `NOT_YET`; any
//! other unknown topic fails.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    missing_docs,
    reason = "tests"
)]

#[path = "double/mod.rs"]
#[allow(dead_code, reason = "the behaviour tests use the rest")]
mod double;

#[path = "vectors/agent_world.rs"]
mod agent_world;
#[path = "vectors/compaction.rs"]
mod compaction;
#[path = "vectors/compare.rs"]
mod compare;
#[path = "vectors/config.rs"]
mod config;
#[path = "vectors/context.rs"]
mod context;
#[path = "vectors/loadtest.rs"]
mod loadtest;
#[path = "vectors/models.rs"]
mod models;
#[path = "vectors/notation.rs"]
mod notation;
#[path = "vectors/plain.rs"]
mod plain;
#[path = "vectors/prices.rs"]
mod prices;
#[path = "vectors/recorder.rs"]
mod recorder;
#[path = "vectors/schemas.rs"]
mod schemas;
#[path = "vectors/traces.rs"]
mod traces;
#[path = "vectors/wire.rs"]
mod wire;

use std::path::PathBuf;

use serde_json::Value;

type Replay = fn(&Value) -> Result<(), String>;

const CLAIMED: &[(&str, Replay)] = &[
    ("compaction_split", compaction::compaction_split),
    ("compaction_summarise", compaction::compaction_summarise),
    ("compaction_traces", traces::trace),
    ("config_validation", config::config_validation),
    ("context_ops", context::context_ops),
    ("enqueue", traces::enqueue),
    ("events_json", plain::events_json),
    ("fallback_chain", models::fallback_chain),
    ("fold_compaction", context::fold_compaction),
    ("history_cleaning", context::history_cleaning),
    ("hook_order", traces::trace),
    ("http_retry", models::http_retry),
    ("limit_traces", traces::trace),
    ("loadtest", loadtest::loadtest),
    ("merge_outputs", plain::merge_outputs),
    ("messages_json", plain::messages_json),
    ("mistral_ids", schemas::mistral_ids),
    ("model_settings", models::model_settings),
    ("output_text", plain::output_text),
    ("price_table", prices::price_table),
    ("pricing", prices::pricing),
    ("prompt_template", plain::prompt_template),
    ("provider_env", models::provider_env),
    ("react_traces", traces::trace),
    ("restore_events", context::restore_events),
    ("roster", config::roster),
    ("schema_transform", schemas::schema_transform),
    ("switch_model", models::switch_model),
    ("system_prompt_hash", plain::system_prompt_hash),
    ("token_estimate", compaction::token_estimate),
    ("tool_args", plain::tool_args),
    ("usage_aggregation", prices::usage_aggregation),
    ("wire_requests", wire::wire_requests),
    ("wire_responses", wire::wire_responses),
];

const NOT_YET: &[&str] = &[];

/// Cases of claimed topics that belong to parts this crate does not have yet, or that differ on
/// purpose.
const SKIPPED: &[(&str, &str, &str)] = &[(
    "wire_requests",
    "openrouter/anthropic/claude-sonnet-4.5/thinking_replay",
    "thoughts of its own are sent back; the recorded request sends an empty text in their place",
)];

fn directory() -> PathBuf {
    let root = std::env::var_os("AKGENTIC_VECTORS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/vectors")),
        PathBuf::from,
    );
    root.join("llm")
}

#[test]
fn every_topic_is_claimed_or_named_as_missing() {
    let mut missing = Vec::new();
    for entry in std::fs::read_dir(directory()).expect("the vectors are there") {
        let path = entry.expect("a directory entry").path();
        let topic = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if CLAIMED.iter().any(|(claimed, _)| *claimed == topic) {
            continue;
        }
        assert!(NOT_YET.contains(&topic.as_str()), "nobody claims the topic {topic}");
        missing.push(topic);
    }
    missing.sort();
    println!("not yet claimed: {}", missing.join(", "));
}

#[test]
fn claimed_topics_hold() {
    let mut failures = Vec::new();
    let (mut replayed, mut skipped) = (0, 0);
    for (topic, replay) in CLAIMED {
        let path = directory().join(format!("{topic}.json"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file: Value = serde_json::from_str(&text).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            let on_purpose =
                SKIPPED.iter().find(|(of, start, _)| of == topic && name.starts_with(start));
            if on_purpose.is_some() {
                skipped += 1;
                continue;
            }
            replayed += 1;
            if let Err(message) = replay(case) {
                failures.push(format!("{topic} {name}: {message}"));
            }
        }
    }
    println!("{replayed} cases replayed, {skipped} skipped");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

/// Recorded requests of Chat Completions that come out otherwise through the general client: texts
/// of one message and first system prompts are joined, later ones are told as the user.
#[cfg(feature = "genai")]
const OTHERWISE: [&str; 4] = [
    "openai-chat/gpt-4o/merge_requests",
    "openai-chat/gpt-4o/late_system",
    "openai-chat/gpt-4o/feedback_no_output",
    "openai-chat/gpt-4o/structured",
];

#[cfg(feature = "genai")]
#[test]
fn recorded_requests_mean_the_same_through_the_general_client() {
    let text = std::fs::read_to_string(directory().join("wire_requests.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let (mut otherwise, mut told) = (Vec::new(), Vec::new());
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        if !name.starts_with("openai-chat/gpt-4o/") {
            continue;
        }
        if let Err(message) = wire::through_the_general_client(case) {
            otherwise.push(name);
            told.push(format!("{name}: {message}"));
        }
    }
    assert_eq!(otherwise, OTHERWISE, "{}", told.join("\n"));
}
