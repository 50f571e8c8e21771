//! What providers are sent and what they answer, as pure functions; one file for each language.

mod anthropic;
pub(super) mod chat;
mod chat_deltas;
mod gemini;
pub(super) mod media;
mod mistral;
pub(super) mod pieces;
mod profile;
mod responses;
pub(super) mod tools;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(super) use self::media::without_files;
pub(super) use self::tools::{WireTool, spelled, wire_tools};
use super::sse::Event;
use crate::config::{ModelConfig, Provider};
use crate::error::ModelError;
use crate::message::{ModelMessage, ModelResponse};
use crate::model::{ModelSettings, OutputRequest, StreamEvent};
use crate::part::{ToolArgs, ToolCallPart};
use crate::schema::{CallIds, ToolNames};
use crate::usage::RequestUsage;

/// The version of its API that Anthropic is asked for.
///
/// Later versions refuse a temperature, which a configuration may hold.
pub const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The language a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Mistral,
}

/// A request, ready to be written in the language of its provider.
pub(super) struct Asked<'a> {
    pub config: &'a ModelConfig,
    /// The conversation, without what other providers tied to themselves.
    pub messages: &'a [Arc<ModelMessage>],
    pub output: &'a OutputRequest,
    pub settings: &'a ModelSettings,
    pub tools: &'a [WireTool],
    pub names: &'a ToolNames,
    /// Whether the reply is wanted piece by piece.
    pub stream: bool,
}

/// A request as it is sent.
pub(super) struct Outgoing {
    pub body: Value,
    /// Whether the reply comes as events.
    pub streamed: bool,
}

/// What is known about a reply before it is read.
pub(super) struct Reader<'a> {
    pub provider: &'static str,
    pub provider_url: &'a str,
    pub names: &'a ToolNames,
    pub language: Language,
}

/// What is wrong with a reply.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is not what its API promises.
    Unexpected(String),
    /// It tells of a failure.
    Failed { status: u16, body: String },
    /// It ends too early.
    Cut,
}

/// Puts the events of a reply together to the body that a reply in one piece would have.
pub(super) enum Collector {
    Chat(chat_deltas::Deltas),
    Responses(responses::Deltas),
    Anthropic(anthropic::Deltas),
    Gemini(gemini::Deltas),
}

/// Whether the output of a model can be held to a schema.
pub(super) fn has_native_output(config: &ModelConfig) -> bool {
    let by_name = config.provider != Provider::Anthropic;
    config.native_output() && (by_name || anthropic::has_native_output(&config.model))
}

impl Language {
    pub(super) fn of(provider: Provider) -> Self {
        match provider {
            Provider::OpenAi | Provider::Azure => Self::Responses,
            Provider::Anthropic => Self::Anthropic,
            Provider::GoogleGla => Self::Gemini,
            Provider::Mistral => Self::Mistral,
            Provider::OpenAiChat
            | Provider::AzureChat
            | Provider::Nvidia
            | Provider::OpenRouter
            | Provider::Groq
            | Provider::DeepSeek
            | Provider::Ollama
            | Provider::AwsBedrock
            | Provider::Cohere
            | Provider::OpenAiCompatible
            // their models are of a kind of their own and ask for no language
            | Provider::General(_) => Self::Chat,
        }
    }

    pub(super) fn request(self, asked: &Asked<'_>) -> Result<Outgoing, ModelError> {
        match self {
            Self::Chat => chat::request(asked),
            Self::Responses => responses::request(asked),
            Self::Anthropic => anthropic::request(asked),
            Self::Gemini => gemini::request(asked),
            Self::Mistral => mistral::request(asked),
        }
    }

    /// Where a request goes whose reply is wanted as events.
    pub(super) fn streaming_url(self, url: &str) -> String {
        match self {
            Self::Gemini => url.replace(":generateContent", ":streamGenerateContent?alt=sse"),
            _ => url.to_owned(),
        }
    }

    /// Headers beside those that all requests have.
    pub(super) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", ANTHROPIC_VERSION)],
            _ => &[],
        }
    }

    pub(super) fn collector(self) -> Collector {
        match self {
            Self::Chat | Self::Mistral => Collector::Chat(chat_deltas::Deltas::default()),
            Self::Responses => Collector::Responses(responses::Deltas::default()),
            Self::Anthropic => Collector::Anthropic(anthropic::Deltas::default()),
            Self::Gemini => Collector::Gemini(gemini::Deltas::default()),
        }
    }
}

impl Reader<'_> {
    /// Reads the body of a reply.
    pub(super) fn read(&self, body: &Value) -> Result<ModelResponse, Fault> {
        let mut response = match self.language {
            Language::Chat | Language::Mistral => chat::read(self, body)?,
            Language::Responses => responses::read(self, body)?,
            Language::Anthropic => anthropic::read(self, body)?,
            Language::Gemini => gemini::read(self, body)?,
        };
        response.provider_name = Some(self.provider.to_owned());
        response.provider_url = Some(self.provider_url.to_owned());
        Ok(response)
    }

    /// A call of the model; one without an id gets one.
    pub(super) fn call(&self, name: &str, args: ToolArgs, id: Option<&str>) -> ToolCallPart {
        let id = id.filter(|id| !id.is_empty());
        let id = id.map_or_else(|| format!("pyd_ai_{}", Uuid::new_v4().simple()), str::to_owned);
        ToolCallPart { args, ..ToolCallPart::new(self.names.original(name), "", id) }
    }
}

impl Collector {
    /// Takes one event; what it brings is added to `news`.
    pub(super) fn take(&mut self, event: &Event, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if event.data == "[DONE]" {
            if let Self::Chat(deltas) = self {
                deltas.done();
            }
            return Ok(());
        }
        let data: Value = serde_json::from_str(&event.data).map_err(|error| {
            Fault::Unexpected(format!("an event of the stream is no JSON: {error}"))
        })?;
        match self {
            Self::Chat(deltas) => deltas.take(&data, news),
            Self::Responses(deltas) => deltas.take(data, news),
            Self::Anthropic(deltas) => deltas.take(&data, news),
            Self::Gemini(deltas) => deltas.take(&data, news),
        }
    }

    /// The body, when everything has come.
    pub(super) fn finish(self) -> Result<Value, Fault> {
        match self {
            Self::Chat(deltas) => deltas.finish(),
            Self::Responses(deltas) => deltas.finish(),
            Self::Anthropic(deltas) => deltas.finish(),
            Self::Gemini(deltas) => deltas.finish(),
        }
    }
}

impl Asked<'_> {
    /// Whether at most one call per reply is wanted.
    pub(super) fn one_call(&self) -> bool {
        self.settings.parallel_tool_calls == Some(false)
    }

    /// The ids of calls as they are spelled on the wire.
    pub(super) fn ids(&self) -> Ids {
        let mut ids = Ids::default();
        let mut short = CallIds::default();
        for response in self.messages.iter().filter_map(|message| message.as_response()) {
            let provider = self.config.provider.recorded_name();
            for call in response.tool_calls() {
                let id = &call.tool_call_id;
                if ids.0.contains_key(id) {
                    continue;
                }
                let maker = call.provider_name.as_deref().or(response.provider_name.as_deref());
                let wire = if self.config.provider == Provider::Mistral {
                    short.wire(id)
                } else if maker == Some(provider) || is_common(id) {
                    continue;
                } else {
                    respelled(id)
                };
                ids.0.insert(id.clone(), wire);
            }
        }
        ids
    }
}

/// Ids of calls that other providers gave in a spelling that this one may refuse.
#[derive(Default)]
pub(super) struct Ids(std::collections::HashMap<String, String>);

impl Ids {
    pub(super) fn wire<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

/// Whether every provider takes an id.
fn is_common(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=40).contains(&id.len()) && id.bytes().all(fits)
}

/// The id in a spelling that every provider takes; the same for the same id.
fn respelled(id: &str) -> String {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(id);
    digest.iter().take(12).fold("call_".to_owned(), |mut text, byte| {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Arguments as an object; what is none is told as it is.
pub(super) fn arguments(args: &ToolArgs) -> Map<String, Value> {
    match args.parse() {
        Ok(Value::Object(map)) => map,
        _ => Map::from_iter([("INVALID_JSON".to_owned(), Value::from(args.to_text()))]),
    }
}

fn arguments_text(args: &ToolArgs) -> String {
    Value::Object(arguments(args)).to_string()
}

/// A thought of somebody else, as text.
pub(super) fn think(content: &str) -> String {
    format!("<think>\n{content}\n</think>")
}

/// What the system says, where only the user can speak.
pub(super) fn as_user(system: &str) -> String {
    format!("<system>{}</system>", crate::feedback::escape_framing(system))
}

/// Adds a member that is set.
fn set(body: &mut Value, key: &str, value: impl Into<Option<Value>>) {
    if let (Some(fields), Some(value)) = (body.as_object_mut(), value.into()) {
        fields.insert(key.to_owned(), value);
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Usage of a reply that reports none.
pub(super) fn unmeasured() -> RequestUsage {
    RequestUsage { unmeasured_requests: 1, ..RequestUsage::default() }
}

/// The whole numbers of an object, as counters.
fn counters(value: &Value) -> impl Iterator<Item = (String, i64)> + '_ {
    let fields = value.as_object().into_iter().flatten();
    fields.filter_map(|(name, count)| Some((name.clone(), count.as_i64()?)))
}

/// A time in seconds as responses tell it.
fn stamp(seconds: Option<&Value>) -> Option<Value> {
    let seconds = seconds?.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds are enough")]
    let time = jiff::Timestamp::from_second(seconds as i64).ok()?;
    Some(Value::from(time.to_string()))
}

/// The message of an error that came inside a reply.
fn error_text(error: &Value) -> String {
    text(error, "message").map_or_else(|| error.to_string(), str::to_owned)
}

/// A failure told inside a reply, under a status that says about the same.
pub(super) fn failed(error: &Value) -> Fault {
    let code = error.get("code").and_then(Value::as_u64);
    let code = code.and_then(|code| u16::try_from(code).ok());
    let by_type = match text(error, "type") {
        Some("rate_limit_error" | "rate_limit_exceeded") => 429,
        Some("authentication_error") => 401,
        Some("permission_error") => 403,
        Some("not_found_error") => 404,
        Some("invalid_request_error") => 400,
        Some("overloaded_error") => 503,
        _ => 500,
    };
    let status = code.filter(|code| (400..600).contains(code)).unwrap_or(by_type);
    Fault::Failed { status, body: error_text(error) }
}

/// How many calls one reply may hold.
pub(super) const CALLS: usize = 1024;

/// A name without which nothing is known about a call is refused.
pub(super) fn nameless() -> Fault {
    Fault::Unexpected("a tool call has no name".to_owned())
}

fn data_image(uri: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": uri}})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LANGUAGES: [Language; 5] = [
        Language::Chat,
        Language::Responses,
        Language::Anthropic,
        Language::Gemini,
        Language::Mistral,
    ];

    /// Words that replies are made of, so that something is found in the noise.
    fn word() -> impl Strategy<Value = String> {
        let words = [
            "choices",
            "message",
            "content",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "id",
            "delta",
            "index",
            "output",
            "type",
            "text",
            "reasoning",
            "summary",
            "function_call",
            "candidates",
            "parts",
            "functionCall",
            "args",
            "usage",
            "thinking",
            "tool_use",
            "content_block_start",
            "content_block_delta",
            "message_delta",
            "message_stop",
            "response.completed",
            "response",
            "input_json_delta",
            "partial_json",
            "finish_reason",
            "stop_reason",
            "thought",
            "thoughtSignature",
            "error",
            "code",
            "status",
            "<think>",
        ];
        proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
    }

    fn noise() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            word().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                proptest::collection::vec((word(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_reply_makes_a_reader_panic(body in noise(), events in proptest::collection::vec(noise(), 0..6)) {
            for language in LANGUAGES {
                let names = ToolNames::default();
                let reader = Reader { provider: "p", provider_url: "u", names: &names, language };
                if let Ok(response) = reader.read(&body) {
                    for call in response.tool_calls() {
                        prop_assert!(!call.tool_call_id.is_empty() && !call.tool_name.is_empty());
                    }
                }
                let mut collector = language.collector();
                let mut news = Vec::new();
                let mut whole = true;
                for event in &events {
                    let event = Event { data: event.to_string() };
                    whole &= collector.take(&event, &mut news).is_ok();
                }
                if let Ok(body) = collector.finish() && whole {
                    let _read = reader.read(&body).is_ok();
                }
            }
        }
    }
}
