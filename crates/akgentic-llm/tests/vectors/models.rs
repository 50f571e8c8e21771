//! Settings, environments, switching and falling back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use akgentic_llm::retry::*;
use akgentic_llm::*;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::compare::same;

pub(crate) fn model_settings(case: &Value) -> Result<(), String> {
    let config = ModelConfig::from_json(case["input"].clone()).map_err(|e| format!("{e:?}"))?;
    let bound = settings(&ModelSettings::from(&config));
    let mut bound = bound.as_object().cloned().unwrap_or_default();
    if let Some(effort) = config.reasoning_effort {
        let effort = json!(effort);
        match config.provider.effort_style() {
            EffortStyle::OpenAi => bound.insert("openai_reasoning_effort".to_owned(), effort),
            EffortStyle::Anthropic => bound.insert("anthropic_effort".to_owned(), effort),
            EffortStyle::OpenRouter => {
                bound.insert("openrouter_reasoning".to_owned(), json!({"effort": effort}))
            }
            EffortStyle::Ignored => None,
        };
    }
    if let Some(body) = config.openrouter_provider.as_ref().and_then(OpenRouterRouting::to_body) {
        bound.insert("openrouter_provider".to_owned(), Value::Object(body));
    }
    let bound = if bound.is_empty() { Value::Null } else { Value::Object(bound) };
    same(&case["expect"]["model_settings"], &bound)?;
    let of_run = ModelSettings::for_run(&config);
    let of_run = of_run.map_or(Value::Null, |of_run| settings(&of_run));
    same(&case["expect"]["run_settings_helper"], &of_run)
}

fn settings(settings: &ModelSettings) -> Value {
    let mut shown = Map::new();
    let mut show = |name: &str, value: Value| {
        if !value.is_null() {
            shown.insert(name.to_owned(), value);
        }
    };
    show("temperature", json!(settings.temperature));
    show("max_tokens", json!(settings.max_tokens));
    show("seed", json!(settings.seed));
    show("parallel_tool_calls", json!(settings.parallel_tool_calls));
    Value::Object(shown)
}

fn variables(set: &Value) -> impl Fn(&str) -> Option<String> {
    let set = set.clone();
    // every key is set, and whatever else building needs
    let all = set == json!("all keys set");
    move |name: &str| {
        let fallback = if name == "OPENAI_BASE_URL" { None } else { Some("k".to_owned()) };
        if all { fallback } else { set.get(name).and_then(Value::as_str).map(str::to_owned) }
    }
}

pub(crate) fn provider_env(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let config = json!({"provider": input["provider"], "model": input["model"]});
    let config = ModelConfig::from_json(config).map_err(|e| format!("{e:?}"))?;
    match (Endpoint::new(&config, &variables(&input["env"])), case["expect"].get("error")) {
        (Err(_), Some(_)) => Ok(()),
        (Ok(endpoint), None) => {
            same(&case["expect"]["url"], &json!(endpoint.url))?;
            if config.provider == Provider::Anthropic {
                // another header than the reference's, by decision
                return same(&json!("x-api-key"), &json!(endpoint.auth.name));
            }
            same(&case["expect"]["auth"], &json!({endpoint.auth.name: endpoint.auth.value}))
        }
        (found, expected) => Err(format!("expected {expected:?}, found {found:?}")),
    }
}

pub(crate) fn switch_model(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let config =
        ReactAgentConfig::from_json(input["config"].clone()).map_err(|e| format!("{e:?}"))?;
    let set: Arc<Mutex<Value>> = Arc::new(Mutex::new(json!("all keys set")));
    let seen = Arc::clone(&set);
    let build: Arc<BuildModel> = Arc::new(move |config: &ModelConfig| {
        Endpoint::new(config, &variables(&seen.lock().unwrap()))?;
        Ok(Arc::new(FunctionModel::text(|_| String::new())) as Arc<dyn Model>)
    });
    let mut agent = ReactAgent::from_config(config, build).unwrap().build().unwrap();
    *set.lock().unwrap() = input["env_at_switch"].clone();
    let mut steps = Vec::new();
    for key in input["switch"].as_array().unwrap() {
        let switched = agent.switch_model(key.as_str().unwrap());
        let active = agent.active_model().key();
        steps.push(match switched {
            Ok(switch) => json!({
                "active": active,
                "summariser_rebuilt": switch.summarises,
                "structured": if agent.active_model().native_output() { "native" } else { "raw" },
            }),
            Err(ModelSwitchError::NoRoster) => refused("no_roster", &active),
            Err(ModelSwitchError::UnknownKey { listed, .. }) => {
                let mut step = refused("unknown_key", &active);
                step["keys_listed"] = json!(listed);
                step
            }
            Err(ModelSwitchError::CompactionBounds { .. }) => refused("compaction_bounds", &active),
            Err(ModelSwitchError::CannotBuild { .. }) => refused("cannot_build", &active),
            Err(other) => return Err(other.to_string()),
        });
    }
    let roster: Vec<String> = agent.model_roster().iter().map(ModelConfig::key).collect();
    let found = json!({
        "steps": steps,
        "active": without_defaults(agent.active_model()),
        "roster": roster,
        "threshold": agent.compaction_threshold(),
    });
    let mut expect = case["expect"].clone();
    // which fields are written out varies
    expect["active"] = without_defaults(&ModelConfig::from_json(expect["active"].clone()).unwrap());
    same(&expect, &found)
}

fn refused(reason: &str, active: &str) -> Value {
    json!({"error": "model_switch_error", "reason": reason, "active": active})
}

fn without_defaults(config: &ModelConfig) -> Value {
    let default = serde_json::to_value(ModelConfig::default()).unwrap();
    let mut shown = serde_json::to_value(config).unwrap();
    shown.as_object_mut().unwrap().retain(|key, value| default[key.as_str()] != *value);
    shown
}

/// A model that answers like an HTTP endpoint would.
struct Scripted {
    name: String,
    world: Arc<Mutex<World>>,
}

#[derive(Default)]
struct World {
    replies: VecDeque<Value>,
    asked: Vec<String>,
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn request(
        &self,
        _: ModelInput,
    ) -> futures_util::future::BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let mut world = self.world.lock().unwrap();
        world.asked.push(self.name.clone());
        let reply = world.replies.pop_front().unwrap();
        Box::pin(std::future::ready(self.answer(&reply)))
    }
}

impl Scripted {
    fn answer(&self, reply: &Value) -> Result<ModelResponse, ModelError> {
        let model = self.name.clone();
        let Some(status) = reply["status"].as_u64() else {
            let after = std::time::Duration::from_secs(1);
            return Err(ModelError::Timeout { model, after });
        };
        let body = &reply["body"];
        if status != 200 {
            let status = u16::try_from(status).unwrap();
            return Err(ModelError::Status { model, status, body: body.to_string() });
        }
        let Some(choice) = body["choices"].get(0) else {
            return Err(ModelError::UnexpectedReply { model, message: "no choices".to_owned() });
        };
        let text = TextPart::new(choice["message"]["content"].as_str().unwrap());
        Ok(ModelResponse::new(vec![ResponsePart::Text(text)]))
    }
}

pub(crate) fn fallback_chain(case: &Value) -> Result<(), String> {
    let world: Arc<Mutex<World>> = Arc::default();
    world.lock().unwrap().replies =
        case["input"]["replies"].as_array().unwrap().iter().cloned().collect();
    let models = case["input"]["chain"].as_array().unwrap().iter().map(|name| {
        let name = name.as_str().unwrap().to_owned();
        Arc::new(Scripted { name, world: Arc::clone(&world) }) as Arc<dyn Model>
    });
    let mut models = models.collect::<VecDeque<_>>();
    let mut chain = FallbackModel::new(models.pop_front().unwrap());
    for model in models {
        chain = chain.then(model, ModelSettings::default());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let result = runtime.block_on(async {
        let mut agent = ReactAgent::builder(chain).build().unwrap();
        agent.run("hi", &OutputSpec::text(), CancellationToken::new()).await
    });
    let mut found = match result {
        Ok(result) => json!({"result": result.output.to_text()}),
        Err(RunError::Model(ModelError::AllFailed { causes })) => json!({
            "error": "all_models_failed",
            "causes": causes.iter().map(|cause| class_name(cause.kind())).collect::<Vec<_>>(),
        }),
        Err(RunError::Model(error)) if error.kind() == ModelErrorKind::UnexpectedReply => {
            json!({"error": "unexpected_model_behavior"})
        }
        Err(other) => json!({"error": other.to_string()}),
    };
    found["models_asked"] = json!(world.lock().unwrap().asked);
    same(&case["expect"], &found)
}

#[derive(Debug)]
struct Reply(Value);

impl Answer for Reply {
    fn status(&self) -> u16 {
        u16::try_from(self.0["status"].as_u64().unwrap()).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.0["headers"].get(name).and_then(Value::as_str)
    }

    fn body(&self) -> &[u8] {
        self.0["text"].as_str().unwrap().as_bytes()
    }
}

fn failure(name: &str) -> TransportFailure {
    match name {
        "ConnectTimeout" => TransportFailure::ConnectTimeout,
        "ReadTimeout" => TransportFailure::ReadTimeout,
        "WriteTimeout" => TransportFailure::WriteTimeout,
        "PoolTimeout" => TransportFailure::PoolTimeout,
        "ConnectError" => TransportFailure::Connect,
        "ReadError" => TransportFailure::Read,
        "WriteError" => TransportFailure::Write,
        "CloseError" => TransportFailure::Close,
        "ProxyError" => TransportFailure::Proxy,
        "RemoteProtocolError" => TransportFailure::RemoteProtocol,
        "LocalProtocolError" => TransportFailure::LocalProtocol,
        "UnsupportedProtocol" => TransportFailure::UnsupportedProtocol,
        other => panic!("unknown failure {other}"),
    }
}

/// The policy itself says how long a wait may be; running it, with the longest random waits,
/// shows attempts and the time they take.
pub(crate) fn http_retry(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let mut policy = RetryPolicy::from(&HttpClientConfig {
        max_retries: u32::try_from(input["attempts_allowed"].as_u64().unwrap()).unwrap(),
        ..HttpClientConfig::default()
    });
    policy.deadline = None;
    if let Some(cap) = input.get("retry_after_cap_s").and_then(Value::as_f64) {
        policy.retry_after_max = Duration::from_secs_f64(cap);
    }
    let mut replies: VecDeque<Result<Reply, TransportFailure>> = VecDeque::new();
    for reply in input["server"].as_array().unwrap() {
        replies.push_back(if let Some(name) = reply.as_str() {
            Err(failure(name))
        } else {
            let mut reply = reply.clone();
            reply["text"] = match &reply["body"] {
                Value::String(text) => json!(text),
                body => json!(body.to_string()),
            };
            Ok(Reply(reply))
        });
    }
    let mut waits = Vec::new();
    for (made, reply) in (1..).zip(&replies) {
        let attempt = match reply {
            Ok(reply) => Attempt::Answered(reply),
            Err(failure) => Attempt::Failed(*failure),
        };
        match policy.after(made, &attempt, Duration::ZERO, SystemTime::now()) {
            Verdict::Done => break,
            Verdict::Retry(Wait::Exactly(wait)) => {
                waits.push(json!({"exactly": wait.as_secs_f64()}));
            }
            Verdict::Retry(Wait::UpTo(wait)) => {
                waits.push(json!({"jitter_up_to": wait.as_secs_f64()}));
            }
        }
    }
    let expect = &case["expect"];
    same(&expect["waits"], &json!(waits))?;
    let total: f64 = waits
        .iter()
        .map(|wait| wait.as_object().unwrap().values().next().unwrap().as_f64().unwrap())
        .sum();

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (result, attempts, took) = runtime.block_on(async {
        let mut attempts = 0;
        let started = tokio::time::Instant::now();
        let attempt = || {
            attempts += 1;
            std::future::ready(replies.pop_front().unwrap())
        };
        let result = policy.run(|| 1.0, attempt).await;
        (result, attempts, started.elapsed().as_secs_f64())
    });
    same(&expect["attempts"], &json!(attempts))?;
    if (took - total).abs() > 0.1 {
        return Err(format!("waited {took} s instead of {total} s"));
    }
    match result {
        Ok(reply) => {
            same(&expect["status"], &json!(reply.status()))?;
            same(&expect["body_readable"], &json!(!reply.body().is_empty()))
        }
        Err(found) => {
            let expected = failure(expect["raised"].as_str().unwrap());
            same(&json!(format!("{expected:?}")), &json!(format!("{found:?}")))
        }
    }
}

/// The reference's name for a kind.
pub(crate) fn class_name(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::RequestRejected => "ModelRequestRejectedError",
        ModelErrorKind::Authentication => "ModelAuthenticationError",
        ModelErrorKind::NotFound => "ModelNotFoundError",
        ModelErrorKind::RateLimit => "ModelRateLimitError",
        ModelErrorKind::Server => "ModelServerError",
        ModelErrorKind::Unavailable => "ModelUnavailableError",
        _ => "ModelAPIError",
    }
}
