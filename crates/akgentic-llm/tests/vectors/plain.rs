//! Pure functions: JSON forms, digests, templates, fences, arguments.

use akgentic_core::wire::Record;
use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::compare::same;

pub(crate) fn messages_json(case: &Value) -> Result<(), String> {
    let adapter = &case["input"]["adapter"];
    let persisted = &case["expect"]["persisted"];
    let from_adapter: ModelMessage = read(adapter)?;
    let from_persisted: ModelMessage = read(persisted)?;
    for message in [&from_adapter, &from_persisted] {
        same(adapter, &message.to_json(Form::Adapter).unwrap())?;
        same(persisted, &serde_json::to_value(message).unwrap())?;
        let text = message.to_json_text(Form::Persisted).unwrap();
        same_order(persisted, &serde_json::from_str(&text).unwrap())?;
    }
    if from_adapter == from_persisted { Ok(()) } else { Err("the forms differ".to_owned()) }
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

fn same_order(expected: &Value, found: &Value) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let (keys, others): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
            if keys != others {
                return Err(format!("expected the keys {keys:?}, found {others:?}"));
            }
            a.values().zip(b.values()).try_for_each(|(a, b)| same_order(a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.iter().zip(b).try_for_each(|(a, b)| same_order(a, b))
        }
        _ => Ok(()),
    }
}

pub(crate) fn events_json(case: &Value) -> Result<(), String> {
    if let Some(json) = case["input"].get("json") {
        let event: LlmUsageEvent = read(json)?;
        return same(&case["expect"]["estimated_cost_usd"], &json!(event.estimated_cost_usd));
    }
    let json = &case["expect"]["json"];
    match case["input"]["event"].as_str().unwrap() {
        "ToolCallEvent" => event::<ToolCallEvent>(json),
        "ToolReturnEvent" => event::<ToolReturnEvent>(json),
        "LlmUsageEvent" => event::<LlmUsageEvent>(json),
        "LlmSystemPromptEvent" => event::<LlmSystemPromptEvent>(json),
        "LlmContextCompactedEvent" => event::<LlmContextCompactedEvent>(json),
        "LlmContextClearedEvent" => event::<LlmContextClearedEvent>(json),
        "LlmMessageEvent" => event::<LlmMessageEvent>(json),
        other => panic!("unknown event {other}"),
    }
}

fn event<T>(json: &Value) -> Result<(), String>
where
    T: Record + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let direct: T = read(json)?;
    same(json, &direct.to_json())?;
    same_order(json, &direct.to_json())?;
    let loaded: akgentic_core::wire::AnyValue = read(json)?;
    let written = serde_json::to_value(&loaded).unwrap();
    same(json, &written)
}

pub(crate) fn output_text(case: &Value) -> Result<(), String> {
    let text = strip_fence(case["input"]["text"].as_str().unwrap());
    same(&case["expect"]["text"], &json!(text))
}

pub(crate) fn prompt_template(case: &Value) -> Result<(), String> {
    let template: PromptTemplate = read(&case["input"])?;
    let found = match template.render() {
        Ok(text) => json!({"text": text}),
        Err(TemplateError::MissingParameter(name)) => {
            json!({"error": "missing_parameter", "parameter": name})
        }
        Err(TemplateError::BadTemplate(_)) => json!({"error": "bad_template"}),
    };
    same(&case["expect"], &found)
}

pub(crate) fn system_prompt_hash(case: &Value) -> Result<(), String> {
    let parts: Vec<SystemPromptPartSnapshot> = case["input"]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| SystemPromptPartSnapshot {
            dynamic_ref: part[0].as_str().map(str::to_owned),
            content: part[1].as_str().unwrap().to_owned(),
        })
        .collect();
    same(&case["expect"]["hash"], &json!(akgentic_llm::system_prompt_hash(&parts)))
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    i: i64,
    #[serde(default = "d")]
    s: String,
    #[serde(default)]
    b: bool,
    #[serde(default = "half")]
    n: f64,
    #[serde(default)]
    l: Option<Vec<i64>>,
    #[serde(default)]
    p: Option<Point>,
    #[serde(default)]
    k: Letter,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Point {
    x: i64,
    y: i64,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Letter {
    #[default]
    X,
    Y,
}

fn d() -> String {
    "d".to_owned()
}

fn half() -> f64 {
    0.5
}

/// One run of the loop: the call is made, the tool says what it got.
pub(crate) fn tool_args(case: &Value) -> Result<(), String> {
    let args: ToolArgs = read(&case["input"]["args"])?;
    let tool = Tool::new("f", "", |args: Args, _: ToolCall| async move {
        Ok::<_, ToolError>(serde_json::to_string(&args).unwrap())
    });
    let model = FunctionModel::new(move |input| {
        if input.messages.len() > 1 {
            return Ok(ModelResponse::new(vec![ResponsePart::Text(TextPart::new("done"))]));
        }
        let mut call = ToolCallPart::new("f", "", "c");
        call.args = args.clone();
        Ok(ModelResponse::new(vec![ResponsePart::ToolCall(call)]))
    });
    let mut agent = ReactAgent::builder(model).tools([tool]).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime
        .block_on(agent.run("hi", &OutputSpec::text(), CancellationToken::new()))
        .map_err(|error| error.to_string())?;
    let answer = agent.context().messages()[2].as_request().unwrap().parts[0].clone();
    let RequestPart::ToolReturn(answer) = answer else { panic!("no tool return") };
    let ToolContent::Json(content) = answer.content else { panic!("no JSON") };
    if let Some(expected) = case["expect"].get("args") {
        let found: Value = serde_json::from_str(content.as_str().unwrap_or_default())
            .map_err(|_| format!("refused: {content}"))?;
        return same(expected, &found);
    }
    let errors: Vec<Value> = content
        .as_array()
        .ok_or_else(|| format!("accepted: {content}"))?
        .iter()
        .map(|error| json!({"loc": error["loc"], "type": error["type"]}))
        .collect();
    same(&case["expect"]["errors"], &json!(errors))
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Envelope {
    #[serde(default)]
    items: Vec<Item>,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Item {
    to: String,
    #[serde(default)]
    body: String,
}

impl Mergeable for Envelope {
    fn merge(pieces: Vec<Self>) -> Option<Self> {
        let mut merged = Self { items: Vec::new(), note: None };
        for piece in pieces {
            merged.items.extend(piece.items);
            merged.note = piece.note.filter(|note| !note.is_empty()).or(merged.note);
        }
        Some(merged)
    }
}

pub(crate) fn merge_outputs(case: &Value) -> Result<(), String> {
    let output = OutputSpec::mergeable::<Envelope>();
    let merged = output.schema().unwrap().merged(case["input"]["text"].as_str().unwrap());
    let merged = merged.map_or(Value::Null, |merged| serde_json::from_str(&merged).unwrap());
    same(&case["expect"]["merged"], &merged)
}
