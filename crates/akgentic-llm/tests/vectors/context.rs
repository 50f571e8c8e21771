//! Cleaning, folding, the context manager and restoring.

use std::sync::{Arc, Mutex};

use akgentic_core::wire::Timestamp;
use akgentic_llm::*;
use serde_json::{Value, json};

use crate::compare::same;
use crate::notation::{compacted, message, messages, short_event};

pub(crate) fn history_cleaning(case: &Value) -> Result<(), String> {
    let cleaned = clean(&messages(&case["input"]["messages"]), Timestamp::now());
    same(&case["expect"]["messages"], &compacted(&cleaned))
}

fn compaction(strategy: &Value, summary: &Value, replaced: &Value) -> LlmContextCompactedEvent {
    LlmContextCompactedEvent {
        run_id: None,
        strategy_id: strategy.as_str().unwrap().to_owned(),
        summary: summary.as_str().unwrap().to_owned(),
        replaced_message_count: replaced.as_i64().unwrap(),
        summarizer_prompt_version: "v1".to_owned(),
        tokens_before: None,
        tokens_after: None,
    }
}

pub(crate) fn fold_compaction(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let event =
        compaction(&input["strategy_id"], &input["summary"], &input["replaced_message_count"]);
    let folded = fold(&messages(&input["messages"]), &event, Timestamp::now());
    same(&case["expect"]["messages"], &compacted(&folded))
}

pub(crate) fn context_ops(case: &Value) -> Result<(), String> {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let max = case["input"]["max_messages"].as_u64().map(|max| usize::try_from(max).unwrap());
    let mut context = ContextManager::new(max);
    let notes = Arc::clone(&seen);
    context.subscribe(Arc::new(move |event: &LlmEvent| {
        notes.lock().unwrap().push(short_event(event));
        Ok(())
    }));
    let mut results = Vec::new();
    for op in case["input"]["ops"].as_array().unwrap() {
        match op[0].as_str().unwrap() {
            "add" => context.add_message(message(&op[1])).unwrap(),
            "append_user" => {
                context.append_user_prompt(op[1].as_str().unwrap(), Timestamp::now()).unwrap();
            }
            "drain" => results.push(json!(context.drain_pending_user_prompts())),
            "clear" => results.push(json!(context.clear_context().unwrap())),
            "restore" => context.restore(messages(&op[1])),
            "record_system_prompt" => {
                let history = context.messages().to_vec();
                context.record_system_prompt(op[1].as_str().unwrap(), &history).unwrap();
            }
            "seed_hash" => context.seed_system_prompt_hash(op[1].as_str().map(str::to_owned)),
            "compact" => {
                context.compact(compaction(&op[1], &op[2], &op[3]), Timestamp::now()).unwrap();
            }
            other => panic!("unknown operation {other}"),
        }
    }
    let found = json!({
        "messages": compacted(context.messages()),
        "events": *seen.lock().unwrap(),
        "results": results,
        "last_input_tokens": context.last_input_tokens(),
    });
    same(&case["expect"], &found)
}

pub(crate) fn restore_events(case: &Value) -> Result<(), String> {
    let mut events = Vec::new();
    for event in case["input"]["events"].as_array().unwrap() {
        events.push(match event[0].as_str().unwrap() {
            "message" => LlmEvent::Message(LlmMessageEvent { message: message(&event[1]) }),
            "compacted" => LlmEvent::Compacted(compaction(&event[1], &event[2], &event[3])),
            "cleared" => {
                LlmEvent::Cleared(LlmContextClearedEvent { run_id: None, cleared_message_count: 1 })
            }
            "usage" => LlmEvent::Usage(LlmUsageEvent {
                run_id: event[1].as_str().unwrap().to_owned(),
                input_tokens: event[2].as_u64().unwrap(),
                output_tokens: event[3].as_u64().unwrap(),
                requests: 1,
                ..LlmUsageEvent::default()
            }),
            "system_prompt" => LlmEvent::SystemPrompt(LlmSystemPromptEvent {
                run_id: event[1].as_str().unwrap().to_owned(),
                parts: Vec::new(),
                content_hash: event[2].as_str().unwrap().to_owned(),
            }),
            "tool_call" => LlmEvent::ToolCall(ToolCallEvent {
                run_id: String::new(),
                tool_name: "t".to_owned(),
                tool_call_id: "c".to_owned(),
                arguments: String::new(),
            }),
            _ => continue,
        });
    }
    let mut agent = ReactAgent::builder(FunctionModel::text(|_| String::new())).build().unwrap();
    let told: Arc<Mutex<u64>> = Arc::default();
    let counter = Arc::clone(&told);
    agent.subscribe_context(Arc::new(move |_: &LlmEvent| {
        *counter.lock().unwrap() += 1;
        Ok(())
    }));
    for _ in 0..2 {
        agent.restore_context(&events);
        let found = json!({
            "messages": compacted(agent.context().messages()),
            "system_prompt_hash": agent.context().last_system_prompt_hash(),
            "run_count": agent.runs(),
            "input_tokens": agent.usage().input_tokens,
            "output_tokens": agent.usage().output_tokens,
            "notifications": *told.lock().unwrap(),
        });
        same(&case["expect"], &found)?;
    }
    Ok(())
}
