//! What providers are sent, and what becomes of their replies, against a provider on this machine.

use std::cell::OnceCell;
use std::sync::{Arc, Mutex};

use akgentic_core::wire::Timestamp;
use akgentic_llm::*;
use akgentic_tool_core::ToolDefinition;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::compare::same;
use crate::double::{Double, Reply, answer, json_answer};
use crate::models::class_name;

struct World {
    runtime: Runtime,
    double: Double,
    reply: Arc<Mutex<Reply>>,
    providers: Providers,
}

thread_local! {
    static WORLD: OnceCell<World> = const { OnceCell::new() };
}

impl World {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let reply: Arc<Mutex<Reply>> = Arc::default();
        let next = Arc::clone(&reply);
        let double = runtime.block_on(Double::start(move |_, _| next.lock().unwrap().clone()));
        let address = double.address;
        let providers = Providers::new(move |name| Double::variable(address, name));
        Self { runtime, double, reply, providers }
    }

    fn ask(
        &self,
        config: &ModelConfig,
        input: ModelInput,
        reply: Reply,
    ) -> Result<ModelResponse, ModelError> {
        *self.reply.lock().unwrap() = reply;
        let http = HttpClientConfig { max_retries: 1, ..HttpClientConfig::default() };
        let model = self.providers.model(config, &http).unwrap();
        self.runtime.block_on(model.request(input))
    }
}

fn config(input: &Value) -> ModelConfig {
    let config = json!({"provider": input["provider"], "model": input["model"]});
    ModelConfig::from_json(config).unwrap()
}

fn history(messages: &Value, instructions: Option<&str>) -> History {
    let mut messages: Vec<Value> = messages.as_array().unwrap().clone();
    for message in &mut messages {
        for part in message["parts"].as_array_mut().unwrap() {
            if part["part_kind"] == "tool-return" {
                // null is left out in the notation
                let part = part.as_object_mut().unwrap();
                part.entry("content").or_insert(Value::Null);
            }
        }
    }
    if let Some(instructions) = instructions {
        messages.last_mut().unwrap()["instructions"] = json!(instructions);
    }
    let messages: Vec<Arc<ModelMessage>> =
        messages.into_iter().map(|message| serde_json::from_value(message).unwrap()).collect();
    sendable(&messages, Timestamp::parse("2026-01-02T03:04:05Z").unwrap())
}

fn output(asked: &Value) -> OutputRequest {
    let mode = match asked["kind"].as_str().unwrap() {
        "text" => return OutputRequest::text(),
        "native" => OutputMode::Native,
        "auto" => OutputMode::Tool,
        other => panic!("output {other}"),
    };
    let object = &asked["object"];
    let mut schema = object["schema"].clone();
    if object["description"].is_string() {
        schema["description"] = object["description"].clone();
    }
    let spec = OutputSpec::from_schema(object["name"].as_str().unwrap(), schema);
    OutputRequest { mode, schema: spec.schema().cloned() }
}

/// What is asked in a case.
fn asked(input: &Value, config: &ModelConfig) -> ModelInput {
    let tools = input["tools"].as_array().unwrap().iter().map(|tool| ToolDefinition {
        name: tool["name"].as_str().unwrap().to_owned(),
        description: tool["description"].as_str().unwrap().to_owned(),
        parameters: tool["parameters"].clone(),
    });
    ModelInput {
        messages: history(&input["messages"], input["instructions"].as_str()),
        tools: tools.collect(),
        output: output(&input["output"]),
        settings: ModelSettings::from(config),
        cancel: CancellationToken::new(),
    }
}

pub(crate) fn wire_requests(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let config = ModelConfig::from_json(input["config"].clone()).map_err(|e| format!("{e:?}"))?;
    let asked = asked(input, &config);
    WORLD.with(|world| {
        let world = world.get_or_init(World::new);
        let before = world.double.seen().len();
        let refusal = json_answer(400, &json!({"error": {"message": "no"}}));
        let error = world.ask(&config, asked, refusal).expect_err("nothing is accepted");
        let seen = world.double.seen();
        if case["expect"]["error"] == "usage_error" {
            let refused = matches!(error, ModelError::Usage(_)) && seen.len() == before;
            return if refused { Ok(()) } else { Err(format!("expected a usage error: {error}")) };
        }
        if seen.len() != before + 1 {
            return Err(format!("{} requests instead of one: {error}", seen.len() - before));
        }
        let (seen, request) = (seen.last().unwrap(), &case["expect"]["request"]);
        let url = request["url"].as_str().unwrap();
        let target = url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap();
        same(&json!(target), &json!(seen.target))?;
        for (name, value) in request["headers"].as_object().unwrap() {
            let (name, value) = match name.as_str() {
                // any of them is free to be accepted
                "accept" => continue,
                "authorization" if config.provider == Provider::Anthropic => {
                    ("x-api-key", &json!("sk-test"))
                }
                "anthropic-version" => ("anthropic-version", &json!(ANTHROPIC_VERSION)),
                name => (name, value),
            };
            same(value, &json!(seen.header(name))).map_err(|text| format!("{name}{text}"))?;
        }
        same(&by_meaning(&request["body"]), &by_meaning(&seen.json()))
    })
}

/// Settings that are null say nothing, nor does an empty text in a result.
fn by_meaning(body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if block["type"] == "tool_result" {
                block["content"].as_array_mut().unwrap().retain(|block| block["text"] != "");
            }
        }
    }
    body
}

/// A recorded request of Chat Completions, made through the general client instead.
#[cfg(feature = "genai")]
pub(crate) fn through_the_general_client(case: &Value) -> Result<(), String> {
    // what the provider said before, this one said
    let said = case["input"].to_string().replace(r#""openai""#, r#""aihubmix""#);
    let input = &serde_json::from_str(&said).unwrap();
    let mut config = ModelConfig::from_json(case["input"]["config"].clone()).unwrap();
    config.provider = Provider::General(GeneralProvider::Aihubmix);
    let asked = asked(input, &config);
    WORLD.with(|world| {
        let world = world.get_or_init(World::new);
        let refusal = json_answer(400, &json!({"error": {"message": "no"}}));
        world.ask(&config, asked, refusal).expect_err("nothing is accepted");
        let sent = world.double.seen().last().unwrap().json();
        same(&by_general_meaning(&case["expect"]["request"]["body"]), &by_general_meaning(&sent))
    })
}

/// What genai says in other words: that there is no text, that a tool is not strict, that a stream
/// is wanted, and what the cap on output is called.
#[cfg(feature = "genai")]
fn by_general_meaning(body: &Value) -> Value {
    let mut body = by_meaning(body);
    let fields = body.as_object_mut().unwrap();
    fields.remove("stream");
    fields.remove("stream_options");
    if let Some(most) = fields.remove("max_tokens") {
        fields.insert("max_completion_tokens".to_owned(), most);
    }
    for tool in body["tools"].as_array_mut().into_iter().flatten() {
        tool["function"].as_object_mut().unwrap().remove("strict");
    }
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        let message = message.as_object_mut().unwrap();
        if message.get("content").is_none_or(|content| content.is_null() || content == "") {
            message.remove("content");
        }
    }
    if body["tools"].as_array().is_none() {
        body.as_object_mut().unwrap().remove("tools");
    }
    body
}

pub(crate) fn wire_responses(case: &Value) -> Result<(), String> {
    let (input, expect) = (&case["input"], &case["expect"]);
    let config = config(input);
    let status = u16::try_from(input["status"].as_u64().unwrap()).unwrap();
    let reply = match &input["body"] {
        Value::String(events) => answer(status, "text/event-stream", "", events),
        body => json_answer(status, body),
    };
    let hello = ModelRequest::user(UserPromptPart::new("hello", Timestamp::now()));
    let asked = ModelInput {
        messages: History::from(vec![hello.into()]),
        tools: Arc::new([]),
        output: OutputRequest::text(),
        settings: ModelSettings::from(&config),
        cancel: CancellationToken::new(),
    };
    let (result, address) = WORLD.with(|world| {
        let world = world.get_or_init(World::new);
        (world.ask(&config, asked, reply), world.double.address)
    });
    let error = match result {
        Ok(response) => {
            let found = short(response, &format!("http://{address}"), config.provider);
            return same(&expect["response"], &found);
        }
        Err(error) => error,
    };
    let kind = error.kind();
    same(&expect["is_model_api_error"], &json!(kind.advances_chain()))?;
    if let (Some(expected), ModelError::Status { status, .. }) = (expect.get("status_code"), &error)
    {
        same(expected, &json!(status))?;
    }
    match expect["error"].as_str() {
        // the one that names no kind
        Some("ModelAPIError") => Ok(()),
        Some("UnexpectedModelBehavior") => {
            same(&json!("UnexpectedReply"), &json!(format!("{kind:?}")))
        }
        Some(class) => same(&json!(class), &json!(class_name(kind))),
        None => Err(format!("unexpected: {error}")),
    }
}

/// The compact notation of a response.
fn short(response: ModelResponse, origin: &str, provider: Provider) -> Value {
    let unmeasured = response.usage.unmeasured_requests;
    let mut found = ModelMessage::from(response).to_json(Form::Adapter).unwrap();
    // this form leaves it out
    found["usage"]["unmeasured_requests"] = json!(unmeasured);
    if let Some(url) = found["provider_url"].as_str() {
        let home = match provider {
            Provider::OpenRouter => "https://openrouter.ai",
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::GoogleGla => "https://generativelanguage.googleapis.com",
            Provider::Mistral => "https://api.mistral.ai",
            _ => "https://api.openai.com",
        };
        found["provider_url"] = json!(url.replace(origin, home));
    }
    let usage = found["usage"].as_object_mut().unwrap();
    usage.retain(|_, count| !(count.is_null() || *count == json!(0) || *count == json!(0.0)));
    if usage.get("details").is_some_and(|details| *details == json!({})) {
        usage.remove("details");
    }
    for part in found["parts"].as_array_mut().unwrap() {
        part.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    }
    let fields = found.as_object().unwrap().clone();
    let kept: Map<String, Value> = fields
        .into_iter()
        .filter(|(key, value)| !value.is_null() && key != "state" && key != "timestamp")
        .collect();
    Value::Object(kept)
}
