//! The parts that requests and responses are made of.

use akgentic_core::wire::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::content::{ToolContent, UserContent};
use crate::feedback::{Feedback, RetryInfo};
use crate::form::{Form, Written, object, persisted, same_in_both};

/// A part of a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RequestPart {
    /// What the agent is.
    SystemPrompt(SystemPromptPart),
    /// What somebody asks.
    UserPrompt(UserPromptPart),
    /// What a tool gave back, or why it did not.
    ToolReturn(ToolReturnPart),
    /// Why the last reply cannot be used.
    RetryFeedback(RetryFeedbackPart),
    /// As older stores keep feedback; read, never made.
    RetryPrompt(RetryPromptPart),
    /// A kind this version does not know; kept as it was read, not sent.
    Other(Value),
}

/// A part of a response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponsePart {
    /// Text for the caller.
    Text(TextPart),
    /// What the model thought.
    Thinking(ThinkingPart),
    /// A tool the model wants called.
    ToolCall(ToolCallPart),
    /// A kind this version does not know; kept as it was read, not sent.
    Other(Value),
}

/// System prompt text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SystemPromptPart {
    /// The text.
    pub content: String,
    /// When it was made.
    #[serde(default = "Timestamp::now")]
    pub timestamp: Timestamp,
    /// Name of the function that renders it anew for each run.
    #[serde(default)]
    pub dynamic_ref: Option<String>,
    /// How far it reaches.
    #[serde(default = "conversation")]
    pub scope: String,
    /// Opaque.
    #[serde(default)]
    pub metadata: Option<Value>,
}

/// What somebody asks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct UserPromptPart {
    /// Text, or texts and binary items.
    pub content: UserContent,
    /// When it was made.
    #[serde(default = "Timestamp::now")]
    pub timestamp: Timestamp,
}

/// The answer to one tool call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ToolReturnPart {
    /// The tool.
    pub tool_name: String,
    /// What it gave back, or the text or errors that explain why not.
    pub content: ToolContent,
    /// The call it answers.
    pub tool_call_id: String,
    /// Opaque.
    #[serde(default)]
    pub tool_kind: Option<String>,
    /// Opaque; marks returns that nobody produced.
    #[serde(default)]
    pub metadata: Option<Value>,
    /// When it was made.
    #[serde(default = "Timestamp::now")]
    pub timestamp: Timestamp,
    /// How the call ended.
    #[serde(default)]
    pub outcome: Outcome,
    /// What is retried, when the outcome is `retried`.
    #[serde(default)]
    pub retry: Option<RetryInfo>,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It gave a result.
    #[default]
    Success,
    /// It failed for good.
    Failed,
    /// It was not allowed.
    Denied,
    /// It failed, and the model may correct the call.
    Retried,
    /// It was stopped before it ended, or never started.
    Interrupted,
}

/// Why the last reply cannot be used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RetryFeedbackPart {
    /// Text, or validation errors.
    pub content: Feedback,
    /// What is retried.
    #[serde(default)]
    pub retry: Option<RetryInfo>,
    /// When it was made.
    #[serde(default = "Timestamp::now")]
    pub timestamp: Timestamp,
}

/// Feedback in the shape of older stores.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RetryPromptPart {
    /// Text, or validation errors.
    pub content: Feedback,
    /// The tool whose call is answered; none for feedback on an output.
    #[serde(default)]
    pub tool_name: Option<String>,
    /// The call that is answered.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// When it was made.
    #[serde(default = "Timestamp::now")]
    pub timestamp: Timestamp,
}

/// Text of the model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TextPart {
    /// The text.
    pub content: String,
    /// The provider's id for it.
    pub id: Option<String>,
    /// The provider that made it.
    pub provider_name: Option<String>,
    /// What else the provider said.
    pub provider_details: Option<Map<String, Value>>,
    /// Opaque.
    pub citations: Option<Value>,
}

/// What the model thought.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ThinkingPart {
    /// The thought; empty when the provider hides it.
    pub content: String,
    /// The provider's id for it.
    pub id: Option<String>,
    /// What the provider wants back to recognise it.
    pub signature: Option<String>,
    /// The provider that made it.
    pub provider_name: Option<String>,
    /// What else the provider said.
    pub provider_details: Option<Map<String, Value>>,
}

/// A tool the model wants called.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ToolCallPart {
    /// The tool.
    pub tool_name: String,
    /// The arguments as the provider sent them.
    #[serde(default)]
    pub args: ToolArgs,
    /// Links call and return.
    pub tool_call_id: String,
    /// Opaque.
    #[serde(default)]
    pub tool_kind: Option<String>,
    /// The provider's id for the item.
    #[serde(default)]
    pub id: Option<String>,
    /// The provider that made it.
    #[serde(default)]
    pub provider_name: Option<String>,
    /// What else the provider said.
    #[serde(default)]
    pub provider_details: Option<Map<String, Value>>,
}

/// Arguments of a call as the provider sent them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolArgs {
    /// None at all.
    #[default]
    None,
    /// JSON as text, possibly broken.
    Text(String),
    /// An object.
    Object(Map<String, Value>),
}

impl ToolArgs {
    /// The arguments as text: raw text as it is, an object as compact JSON, none as `{}`.
    pub fn to_text(&self) -> String {
        match self {
            Self::None => "{}".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Object(map) => serde_json::to_string(map).unwrap_or_default(),
        }
    }

    /// The arguments as JSON; nothing and empty text are the empty object.
    pub fn parse(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::None => Ok(Value::Object(Map::new())),
            Self::Text(text) if text.is_empty() => Ok(Value::Object(Map::new())),
            Self::Text(text) => serde_json::from_str(text),
            Self::Object(map) => Ok(Value::Object(map.clone())),
        }
    }
}

impl SystemPromptPart {
    /// A system prompt, rendered anew for each run when it has a `dynamic_ref`.
    pub fn new(content: impl Into<String>, dynamic_ref: Option<String>, at: Timestamp) -> Self {
        Self {
            content: content.into(),
            timestamp: at,
            dynamic_ref,
            scope: conversation(),
            metadata: None,
        }
    }
}

impl UserPromptPart {
    /// A prompt made at `at`.
    pub fn new(content: impl Into<UserContent>, at: Timestamp) -> Self {
        Self { content: content.into(), timestamp: at }
    }
}

impl ToolReturnPart {
    /// The successful answer to `call`.
    pub fn success(call: &ToolCallPart, content: impl Into<ToolContent>, at: Timestamp) -> Self {
        Self {
            tool_name: call.tool_name.clone(),
            content: content.into(),
            tool_call_id: call.tool_call_id.clone(),
            tool_kind: None,
            metadata: None,
            timestamp: at,
            outcome: Outcome::Success,
            retry: None,
        }
    }

    /// The answer to a `call` that was stopped, or never started.
    pub fn interrupted(call: &ToolCallPart, text: impl Into<ToolContent>, at: Timestamp) -> Self {
        Self { outcome: Outcome::Interrupted, ..Self::success(call, text, at) }
    }

    /// The answer to a `call` that the model may correct.
    pub fn retried(
        call: &ToolCallPart,
        content: impl Into<ToolContent>,
        retry: RetryInfo,
        at: Timestamp,
    ) -> Self {
        Self { outcome: Outcome::Retried, retry: Some(retry), ..Self::success(call, content, at) }
    }
}

impl TextPart {
    /// Text and nothing else.
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

impl ToolCallPart {
    /// A call with arguments as JSON text.
    pub fn new(
        tool_name: impl Into<String>,
        args: impl Into<String>,
        tool_call_id: impl Into<String>,
    ) -> Self {
        Self {
            tool_name: tool_name.into(),
            args: ToolArgs::Text(args.into()),
            tool_call_id: tool_call_id.into(),
            tool_kind: None,
            id: None,
            provider_name: None,
            provider_details: None,
        }
    }
}

impl RequestPart {
    /// The `part_kind`.
    pub fn kind(&self) -> &str {
        match self {
            Self::SystemPrompt(_) => "system-prompt",
            Self::UserPrompt(_) => "user-prompt",
            Self::ToolReturn(_) => "tool-return",
            Self::RetryFeedback(_) => "retry-feedback",
            Self::RetryPrompt(_) => "retry-prompt",
            Self::Other(value) => part_kind(value),
        }
    }

    /// The id of the call this part answers.
    pub fn answers(&self) -> Option<&str> {
        match self {
            Self::ToolReturn(part) => Some(&part.tool_call_id),
            Self::RetryPrompt(part) if part.tool_name.is_some() => part.tool_call_id.as_deref(),
            _ => None,
        }
    }
}

impl ResponsePart {
    /// The `part_kind`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Thinking(_) => "thinking",
            Self::ToolCall(_) => "tool-call",
            Self::Other(value) => part_kind(value),
        }
    }
}

fn part_kind(value: &Value) -> &str {
    value.get("part_kind").and_then(Value::as_str).unwrap_or("")
}

fn conversation() -> String {
    "conversation".to_owned()
}

same_in_both!(Outcome, ToolArgs);

object!(SystemPromptPart as "pydantic_ai.messages.SystemPromptPart" {
    content, timestamp, dynamic_ref, scope, metadata, part_kind = "system-prompt"
});
object!(UserPromptPart as "pydantic_ai.messages.UserPromptPart" {
    content, timestamp, part_kind = "user-prompt"
});
object!(ToolReturnPart as "pydantic_ai.messages.ToolReturnPart" {
    tool_name, content, tool_call_id, tool_kind, metadata, timestamp, outcome, retry,
    part_kind = "tool-return"
});
object!(RetryFeedbackPart as "pydantic_ai.messages.RetryFeedbackPart" {
    content, retry, timestamp, part_kind = "retry-feedback"
});
object!(RetryPromptPart as "pydantic_ai.messages.RetryPromptPart" {
    content, tool_name, tool_call_id, timestamp, part_kind = "retry-prompt"
});
object!(TextPart as "pydantic_ai.messages.TextPart" {
    content, id, provider_name, provider_details, citations, part_kind = "text"
});
object!(ThinkingPart as "pydantic_ai.messages.ThinkingPart" {
    content, id, signature, provider_name, provider_details, part_kind = "thinking"
});
object!(ToolCallPart as "pydantic_ai.messages.ToolCallPart" {
    tool_name, args, tool_call_id, tool_kind, id, provider_name, provider_details,
    part_kind = "tool-call"
});

impl Written for RequestPart {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SystemPrompt(part) => part.write(form, out),
            Self::UserPrompt(part) => part.write(form, out),
            Self::ToolReturn(part) => part.write(form, out),
            Self::RetryFeedback(part) => part.write(form, out),
            Self::RetryPrompt(part) => part.write(form, out),
            Self::Other(value) => value.write(form, out),
        }
    }
}

impl Written for ResponsePart {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(part) => part.write(form, out),
            Self::Thinking(part) => part.write(form, out),
            Self::ToolCall(part) => part.write(form, out),
            Self::Other(value) => value.write(form, out),
        }
    }
}

persisted!(RequestPart, ResponsePart);

impl<'de> Deserialize<'de> for RequestPart {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(input)?;
        let part = match part_kind(&value) {
            "system-prompt" => serde_json::from_value(value).map(Self::SystemPrompt),
            "user-prompt" => serde_json::from_value(value).map(Self::UserPrompt),
            "tool-return" => serde_json::from_value(value).map(Self::ToolReturn),
            "retry-feedback" => serde_json::from_value(value).map(Self::RetryFeedback),
            "retry-prompt" => serde_json::from_value(value).map(Self::RetryPrompt),
            _ => kept(value).map(Self::Other),
        };
        part.map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for ResponsePart {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(input)?;
        let part = match part_kind(&value) {
            "text" => serde_json::from_value(value).map(Self::Text),
            "thinking" => serde_json::from_value(value).map(Self::Thinking),
            "tool-call" => serde_json::from_value(value).map(Self::ToolCall),
            _ => kept(value).map(Self::Other),
        };
        part.map_err(D::Error::custom)
    }
}

/// A part of an unknown kind is kept; something without a kind is not a part.
fn kept(value: Value) -> Result<Value, serde_json::Error> {
    if part_kind(&value).is_empty() {
        return Err(serde_json::Error::custom("a message part needs a part_kind"));
    }
    Ok(value)
}
