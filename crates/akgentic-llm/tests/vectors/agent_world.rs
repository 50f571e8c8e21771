//! The toolbox, output types and scripted replies of the traces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    a: i64,
    #[serde(default = "one")]
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Flaky {
    times: u32,
    #[serde(default = "k")]
    key: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Info {
    #[serde(default)]
    full: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Slow {
    ms: u64,
    tag: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only its validation is looked at")]
struct Nested {
    point: Point,
    #[serde(default)]
    labels: Option<Vec<String>>,
}

fn one() -> i64 {
    1
}

fn k() -> String {
    "k".to_owned()
}

pub(crate) fn tool(name: &str, log: &Arc<Mutex<Vec<String>>>) -> Tool {
    match name {
        "echo" => Tool::new("echo", "", |args: Echo, _: ToolCall| async move {
            Ok::<_, ToolError>(format!("echo:{}", args.text))
        }),
        "add" => Tool::new("add", "", |args: Add, _: ToolCall| async move {
            Ok::<_, ToolError>((args.a + args.b).to_string())
        }),
        "flaky" => {
            let calls: Arc<Mutex<HashMap<String, u32>>> = Arc::default();
            Tool::new("flaky", "", move |args: Flaky, _: ToolCall| {
                let calls = Arc::clone(&calls);
                async move {
                    let mut calls = calls.lock().unwrap();
                    let count = calls.entry(args.key).or_default();
                    *count += 1;
                    if *count <= args.times {
                        return Err(ToolError::retriable("try again"));
                    }
                    Ok("ok")
                }
            })
        }
        "boom" => Tool::new("boom", "", |_: Nothing, _: ToolCall| async move {
            Err::<String, _>(ToolError::fatal("boom"))
        }),
        "info" => Tool::new("info", "", |args: Info, _: ToolCall| async move {
            let info = json!({"name": "é", "n": 1, "tags": ["a"], "full": args.full});
            Ok::<_, ToolError>(info.to_string())
        }),
        "nothing" => {
            Tool::new(
                "nothing",
                "",
                |_: Nothing, _: ToolCall| async move { Ok::<_, ToolError>("") },
            )
        }
        "slow" => {
            let log = Arc::clone(log);
            Tool::new("slow", "", move |args: Slow, _: ToolCall| {
                let log = Arc::clone(&log);
                async move {
                    log.lock().unwrap().push(format!("start {}", args.tag));
                    tokio::time::sleep(std::time::Duration::from_millis(args.ms)).await;
                    log.lock().unwrap().push(format!("end {}", args.tag));
                    Ok::<_, ToolError>(args.tag)
                }
            })
        }
        "nested" => {
            Tool::new(
                "nested",
                "",
                |_: Nested, _: ToolCall| async move { Ok::<_, ToolError>("nested") },
            )
        }
        other => panic!("unknown tool {other}"),
    }
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Plan {
    title: String,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    priority: Priority_,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Step {
    r#do: String,
    #[schemars(range(min = 0))]
    minutes: i64,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority_ {
    #[default]
    Low,
    High,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Point {
    x: i64,
    y: i64,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Envelope {
    #[serde(default)]
    messages: Vec<Point>,
}

pub(crate) fn output_spec(name: &str) -> OutputSpec {
    match name {
        "text" => OutputSpec::text(),
        "Plan" => OutputSpec::of::<Plan>(),
        "Point" => OutputSpec::of::<Point>(),
        "int" => OutputSpec::of::<i64>(),
        "list[int]" => OutputSpec::of::<Vec<i64>>(),
        "Envelope" => OutputSpec::of::<Envelope>(),
        other => panic!("unknown output {other}"),
    }
}

pub(crate) fn output_json(name: &str, output: &Output) -> Value {
    fn typed<T: serde::de::DeserializeOwned + Serialize>(output: &Output) -> Value {
        serde_json::to_value(output.parse::<T>().unwrap()).unwrap()
    }
    match name {
        "text" => json!(output.to_text()),
        "Plan" => typed::<Plan>(output),
        "Point" => typed::<Point>(output),
        "int" => typed::<i64>(output),
        "list[int]" => typed::<Vec<i64>>(output),
        "Envelope" => typed::<Envelope>(output),
        other => panic!("unknown output {other}"),
    }
}

pub(crate) fn reply(reply: &Value) -> Result<ModelResponse, ModelError> {
    if let Some(message) = reply.get("raise") {
        return Err(ModelError::Connection {
            model: "scripted".to_owned(),
            message: message.to_string(),
        });
    }
    let part = |part: &Value| {
        let text = |key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(content) = text("text") {
            ResponsePart::Text(TextPart::new(content))
        } else if let Some(content) = text("thinking") {
            ResponsePart::Thinking(ThinkingPart { content, ..ThinkingPart::default() })
        } else {
            let mut call = ToolCallPart::new(text("tool").unwrap(), "", text("id").unwrap());
            call.args = serde_json::from_value(part["args"].clone()).unwrap();
            ResponsePart::ToolCall(call)
        }
    };
    let parts = reply["parts"].as_array().unwrap().iter().map(part).collect();
    let mut response = ModelResponse::new(parts);
    let mut usage = reply.get("usage").cloned().unwrap_or(json!([10, 2]));
    if usage == json!([0, 0]) {
        // the reference's scripted model estimates usage that is all zero, and the one case that
        // has it records the estimate
        usage = json!([53, 6]);
    }
    response.usage = RequestUsage::tokens(usage[0].as_u64().unwrap(), usage[1].as_u64().unwrap());
    response.finish_reason =
        reply.get("finish_reason").map(|reason| serde_json::from_value(reason.clone()).unwrap());
    Ok(response)
}
