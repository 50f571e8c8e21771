//! Whole runs: the loop, its limits, injected content.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use akgentic_llm::run::{ModelStep, Node};
use akgentic_llm::*;
use futures_util::future::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent_world::{output_json, output_spec, reply, tool};
use crate::compare::{compact, same};
use crate::notation::{compacted, short_event};
use crate::recorder::Recorder;

#[derive(Default)]
struct Seen {
    script: VecDeque<Value>,
    requests: Vec<Value>,
    events: Vec<Value>,
}

pub(crate) fn trace(case: &Value) -> Result<(), String> {
    let found = play(case)?;
    let expect = &case["expect"];
    for (key, expected) in expect.as_object().unwrap() {
        let found = match key.strip_prefix("n_") {
            Some(list) => &json!(found[list].as_array().unwrap().len()),
            None => &found[key],
        };
        same(expected, found).map_err(|message| format!("{key}{message}"))?;
    }
    Ok(())
}

pub(crate) fn enqueue(case: &Value) -> Result<(), String> {
    let mut found = play(case)?;
    let only_messages: Vec<Value> = found["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| request["messages"].clone())
        .collect();
    found["requests"] = Value::Array(only_messages);
    let expect = &case["expect"];
    for key in ["runs", "history", "requests"] {
        same(&expect[key], &found[key]).map_err(|message| format!("{key}{message}"))?;
    }
    Ok(())
}

fn play(case: &Value) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(play_async(case))
}

async fn play_async(case: &Value) -> Result<Value, String> {
    let input = &case["input"];
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let hooks: Arc<Mutex<Vec<String>>> = Arc::default();
    let config = input.get("config").cloned().unwrap_or(json!({}));
    let names: Vec<&str> = input
        .get("tools")
        .and_then(Value::as_array)
        .map(|tools| tools.iter().map(|name| name.as_str().unwrap()).collect())
        .unwrap_or_default();

    let shared = Arc::clone(&seen);
    let model = FunctionModel::new(move |input| {
        let mut seen = shared.lock().unwrap();
        seen.requests.push(request(&input));
        match seen.script.pop_front() {
            Some(next) => reply(&next),
            None => Err(ModelError::Usage("the script has ended".to_owned())),
        }
    });
    let mut prompts = SystemPrompts::default();
    for prompt in input.get("system_prompts").and_then(Value::as_array).unwrap_or(&Vec::new()) {
        let texts = Mutex::new(
            prompt["texts"].as_array().unwrap().iter().cloned().collect::<VecDeque<Value>>(),
        );
        prompts
            .add(prompt["ref"].as_str().unwrap(), move || {
                let mut texts = texts.lock().unwrap();
                let text = texts.front().cloned().unwrap();
                if texts.len() > 1 {
                    texts.pop_front();
                }
                text.as_str().map(str::to_owned)
            })
            .unwrap();
    }
    let mut builder = ReactAgent::builder(model)
        .config(ReactAgentConfig::from_json(config).unwrap())
        .tools(names.iter().map(|name| tool(name, &log)))
        .system_prompts(prompts);
    if input.get("recovery") == Some(&json!("declined")) {
        builder = builder.recovery(|_| None);
    }
    for capability in input.get("capabilities").and_then(Value::as_array).unwrap_or(&Vec::new()) {
        builder = if capability.get("enqueue").is_some() {
            let plan = capability["enqueue"].clone();
            builder.hook(Enqueuer { plan, fired: Mutex::default() })
        } else {
            builder.hook(Recorder::new(capability, &hooks))
        };
    }
    let mut agent = builder.build().unwrap();
    let shared = Arc::clone(&seen);
    agent.subscribe_context(Arc::new(move |event: &LlmEvent| {
        shared.lock().unwrap().events.push(short_event(event));
        Ok(())
    }));

    let default_output = input.get("output").and_then(Value::as_str).unwrap_or("text");
    let mut results = Vec::new();
    for step in input["runs"].as_array().unwrap() {
        if let Some(text) = step.get("append_user_prompt") {
            agent.append_user_prompt(text.as_str().unwrap()).unwrap();
            continue;
        }
        let script = step.get("script").and_then(Value::as_array).cloned().unwrap_or_default();
        seen.lock().unwrap().script = script.into();
        let name = step.get("output").and_then(Value::as_str).unwrap_or(default_output);
        let output = output_spec(name);
        let result = match step.get("op").and_then(Value::as_str) {
            None => agent.run(prompt(&step["prompt"]), &output, CancellationToken::new()).await,
            Some("conclude") => {
                let reason = step["reason"].as_str().unwrap();
                agent.conclude_without_tools(reason, &output, CancellationToken::new()).await
            }
            Some("compact") => {
                results.push(json!({"status": agent.compact().await.unwrap()}));
                continue;
            }
            Some("clear") => {
                results.push(json!({"status": agent.clear_context().unwrap()}));
                continue;
            }
            Some(other) => return Err(format!("unknown operation {other}")),
        };
        let mut shown = match result {
            Ok(result) => json!({"result": output_json(name, &result.output)}),
            Err(error) => show_error(&error),
        };
        let unused = seen.lock().unwrap().script.len();
        if unused > 0 {
            shown["unused_script"] = json!(unused);
        }
        results.push(shown);
    }
    let usage = agent.usage();
    let seen = seen.lock().unwrap();
    let history = agent.context().messages();
    Ok(json!({
        "runs": results,
        "requests": seen.requests,
        "history": as_json_returns(compacted(history)),
        "events": seen.events,
        "tool_log": *log.lock().unwrap(),
        "hooks": *hooks.lock().unwrap(),
        "budget": {
            "run_count": agent.runs(),
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "requests": usage.requests,
            "tool_calls": usage.tool_calls,
        },
    }))
}

fn prompt(value: &Value) -> UserContent {
    let item = |item: &Value| match item {
        Value::String(text) => UserItem::Text(text.clone()),
        binary => {
            let hex = binary["hex"].as_str().unwrap();
            let bytes: Vec<u8> = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                .collect();
            let mut content = BinaryContent::new(bytes, binary["media_type"].as_str().unwrap());
            content.explicit_identifier = binary["identifier"].as_str().map(str::to_owned);
            UserItem::Binary(content)
        }
    };
    match value {
        Value::String(text) => UserContent::Text(text.clone()),
        Value::Array(items) => UserContent::Items(items.iter().map(item).collect()),
        other => panic!("no prompt: {other}"),
    }
}

/// What a model without a place of its own for feedback would be sent.
fn request(input: &ModelInput) -> Value {
    let messages = input.messages.iter().map(|message| {
        let mut shown = compact(&message.to_json(Form::Adapter).unwrap());
        let request = message.as_request();
        for (index, part) in request.into_iter().flat_map(|request| &request.parts).enumerate() {
            if let RequestPart::RetryFeedback(part) = part {
                let text = feedback_text(&part.content, part.retry.as_ref());
                shown["parts"][index] = json!({"part_kind": "user-prompt", "content": text});
            }
        }
        shown
    });
    let tools: Vec<&str> = input.tools.iter().map(|tool| tool.name.as_str()).collect();
    let output_tools: Vec<String> = input.output.tool().map(|tool| tool.name).into_iter().collect();
    json!({
        "output_mode": match input.output.mode {
            OutputMode::Text => "text",
            OutputMode::Native => "native",
            OutputMode::Tool => "tool",
        },
        "tools": tools,
        "output_tools": output_tools,
        "allow_text": input.output.allows_text(),
        "messages": as_json_returns(Value::Array(messages.collect())),
    })
}

/// The tools of this crate give text, so JSON of the reference's tools arrives as its text; on the
/// wire both are the same.
fn as_json_returns(mut messages: Value) -> Value {
    for message in messages.as_array_mut().unwrap() {
        for part in message["parts"].as_array_mut().unwrap() {
            if part["part_kind"] != "tool-return" {
                continue;
            }
            let Some(text) = part["content"].as_str() else { continue };
            let name = part["tool_name"].as_str().unwrap();
            let number_or_object = matches!(name, "add" | "info") && part.get("outcome").is_none();
            if number_or_object && let Ok(value) = serde_json::from_str(text) {
                part["content"] = value;
            } else if name == "nothing" && text.is_empty() {
                part.as_object_mut().unwrap().remove("content");
            }
        }
    }
    messages
}

fn show_error(error: &RunError) -> Value {
    let limit = |kind: &str, breach: &LimitBreach| json!({"error": kind, "limit": breach.limit.to_string(), "value": breach.value});
    match error {
        RunError::Model(_) => json!({"error": "model_error"}),
        RunError::Tool { .. } | RunError::ToolPanicked { .. } | RunError::Hook(_) => {
            json!({"error": "tool_error"})
        }
        RunError::RunUsageLimit(breach) => limit("run_usage_limit", breach),
        RunError::AgentUsageLimit(breach) => limit("agent_usage_limit", breach),
        RunError::ContentFilter => json!({"error": "content_filter"}),
        RunError::UnexpectedModelBehavior(behavior) => match behavior {
            UnexpectedBehavior::OutputRetries { .. } => {
                json!({"error": "unexpected_model_behavior", "reason": "output_retries"})
            }
            UnexpectedBehavior::ToolRetries { tool, max } => json!({
                "error": "unexpected_model_behavior", "reason": "tool_retries",
                "tool": tool, "max": max,
            }),
            UnexpectedBehavior::DuplicateToolCallIds { .. } => {
                json!({"error": "unexpected_model_behavior", "reason": "duplicate_tool_call_ids"})
            }
            UnexpectedBehavior::TooManyToolCalls { .. } => {
                json!({"error": "unexpected_model_behavior", "reason": "too_many_tool_calls"})
            }
            UnexpectedBehavior::Length => {
                json!({"error": "unexpected_model_behavior", "reason": "length"})
            }
        },
        other => json!({"error": other.to_string()}),
    }
}

/// Enqueues what the case says the first time a hook fires.
struct Enqueuer {
    plan: Value,
    fired: Mutex<HashSet<String>>,
}

impl Enqueuer {
    fn fire(&self, hook: &str, run: &RunContext) {
        let Some(items) = self.plan.get(hook).and_then(Value::as_array) else { return };
        if !self.fired.lock().unwrap().insert(hook.to_owned()) {
            return;
        }
        for item in items {
            let priority = if item[1] == "asap" { Priority::Asap } else { Priority::WhenIdle };
            run.queue.enqueue(item[0].as_str().unwrap(), priority).unwrap();
        }
    }
}

impl Hook for Enqueuer {
    fn before_run<'a>(&'a self, run: &'a RunContext) -> HookFuture<'a> {
        self.fire("before_run", run);
        async { Ok(()) }.boxed()
    }

    fn before_node<'a>(&'a self, run: &'a RunContext, _: Node) -> HookFuture<'a> {
        self.fire("before_node_run", run);
        async { Ok(()) }.boxed()
    }

    fn after_node<'a>(&'a self, run: &'a RunContext, _: Node, _: Node) -> HookFuture<'a> {
        self.fire("after_node_run", run);
        async { Ok(()) }.boxed()
    }

    fn before_model_request<'a>(
        &'a self,
        run: &'a RunContext,
        _: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        self.fire("before_model_request", run);
        async { Ok(()) }.boxed()
    }

    fn after_model_response<'a>(
        &'a self,
        run: &'a RunContext,
        _: &'a mut ModelResponse,
    ) -> HookFuture<'a> {
        self.fire("after_model_request", run);
        async { Ok(()) }.boxed()
    }

    fn before_tool<'a>(&'a self, run: &'a RunContext, _: &'a ToolCallPart) -> HookFuture<'a> {
        self.fire("before_tool_execute", run);
        async { Ok(()) }.boxed()
    }

    fn after_output<'a>(&'a self, run: &'a RunContext, _: &'a mut Output) -> HookFuture<'a> {
        self.fire("after_output_process", run);
        async { Ok(()) }.boxed()
    }
}
