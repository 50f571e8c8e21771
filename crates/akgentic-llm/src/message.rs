//! Messages of a conversation: requests to a model and responses from it.

use std::sync::Arc;

use akgentic_core::coerce::EXTENSION;
use akgentic_core::wire::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::form::{Form, InForm, Written, object, persisted, same_in_both};
use crate::part::{RequestPart, ResponsePart, ToolCallPart, UserPromptPart};
use crate::usage::RequestUsage;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "messages live behind an Arc")]
pub enum ModelMessage {
    /// To the model.
    Request(ModelRequest),
    /// From the model.
    Response(ModelResponse),
}

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelRequest {
    /// The parts in order.
    pub parts: Vec<RequestPart>,
    /// When it was made; none when it was added outside a run.
    pub timestamp: Option<Timestamp>,
    /// Instructions beside the system prompts.
    pub instructions: Option<String>,
    /// The run that made it.
    pub run_id: Option<String>,
    /// The conversation it belongs to.
    pub conversation_id: Option<String>,
    /// Opaque.
    pub metadata: Option<Value>,
    /// Whether it was finished.
    pub state: MessageState,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelResponse {
    /// The parts in order.
    pub parts: Vec<ResponsePart>,
    /// What it cost in tokens.
    pub usage: RequestUsage,
    /// The model, as the provider names it.
    pub model_name: Option<String>,
    /// When it arrived; none until the run stamps it.
    pub timestamp: Option<Timestamp>,
    /// The provider.
    pub provider_name: Option<String>,
    /// Where the provider was reached.
    pub provider_url: Option<String>,
    /// What else the provider said.
    pub provider_details: Option<Map<String, Value>>,
    /// The provider's id of the response.
    pub provider_response_id: Option<String>,
    /// Why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// The run that received it.
    pub run_id: Option<String>,
    /// The conversation it belongs to.
    pub conversation_id: Option<String>,
    /// Opaque.
    pub metadata: Option<Value>,
    /// Opaque, kept when read.
    pub workspace_ref: Option<Value>,
    /// Opaque, kept when read.
    pub history_digest: Option<Value>,
    /// Opaque, kept when read.
    pub failed_attempts: Option<Value>,
    /// Whether it was finished.
    pub state: MessageState,
}

/// Whether a message was finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// It was.
    #[default]
    Complete,
    /// The run ended in the middle of it.
    Interrupted,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// The output cap cut it.
    Length,
    /// The provider refused content.
    ContentFilter,
    /// It wants tools called.
    ToolCall,
    /// Something broke.
    Error,
}

impl ModelMessage {
    /// `request` or `response`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Response(_) => "response",
        }
    }

    /// The request, when it is one.
    pub fn as_request(&self) -> Option<&ModelRequest> {
        match self {
            Self::Request(request) => Some(request),
            Self::Response(_) => None,
        }
    }

    /// The response, when it is one.
    pub fn as_response(&self) -> Option<&ModelResponse> {
        match self {
            Self::Response(response) => Some(response),
            Self::Request(_) => None,
        }
    }

    /// The run it belongs to.
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Request(request) => request.run_id.as_deref(),
            Self::Response(response) => response.run_id.as_deref(),
        }
    }

    /// The conversation it belongs to.
    pub fn conversation_id(&self) -> Option<&str> {
        match self {
            Self::Request(request) => request.conversation_id.as_deref(),
            Self::Response(response) => response.conversation_id.as_deref(),
        }
    }

    /// Whether it is a request with a system prompt.
    pub fn bears_system_prompt(&self) -> bool {
        self.as_request().is_some_and(|request| {
            request.parts.iter().any(|part| matches!(part, RequestPart::SystemPrompt(_)))
        })
    }

    /// The message as JSON of either form.
    pub fn to_json(&self, form: Form) -> Result<Value, serde_json::Error> {
        serde_json::to_value(InForm(self, form))
    }

    /// The message as JSON text of either form.
    pub fn to_json_text(&self, form: Form) -> Result<String, serde_json::Error> {
        serde_json::to_string(&InForm(self, form))
    }
}

impl From<ModelRequest> for ModelMessage {
    fn from(request: ModelRequest) -> Self {
        Self::Request(request)
    }
}

impl From<ModelResponse> for ModelMessage {
    fn from(response: ModelResponse) -> Self {
        Self::Response(response)
    }
}

impl From<ModelRequest> for Arc<ModelMessage> {
    fn from(request: ModelRequest) -> Self {
        Arc::new(request.into())
    }
}

impl From<ModelResponse> for Arc<ModelMessage> {
    fn from(response: ModelResponse) -> Self {
        Arc::new(response.into())
    }
}

impl ModelRequest {
    /// A request of one user prompt, not stamped by any run.
    pub fn user(part: UserPromptPart) -> Self {
        Self { parts: vec![RequestPart::UserPrompt(part)], ..Self::default() }
    }
}

impl ModelResponse {
    /// A response of these parts.
    pub fn new(parts: Vec<ResponsePart>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// All text parts joined without separator.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ResponsePart::Text(text) => Some(text.content.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        self.parts.iter().filter_map(|part| match part {
            ResponsePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

same_in_both!(MessageState, FinishReason);

object!(ModelRequest as "pydantic_ai.messages.ModelRequest" {
    parts, timestamp, instructions, kind = "request", run_id, conversation_id, metadata, state
});
object!(ModelResponse as "pydantic_ai.messages.ModelResponse" {
    parts, usage, model_name, timestamp, kind = "response", provider_name, provider_url,
    provider_details, provider_response_id, finish_reason, run_id, conversation_id, metadata,
    workspace_ref, history_digest, failed_attempts, state
});

impl Written for ModelMessage {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Request(request) => request.write(form, out),
            Self::Response(response) => response.write(form, out),
        }
    }
}

persisted!(ModelMessage);

impl<'de> Deserialize<'de> for ModelMessage {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(input)?;
        let message = match value.get("kind").and_then(Value::as_str) {
            Some("request") => serde_json::from_value(value).map(Self::Request),
            Some("response") => serde_json::from_value(value).map(Self::Response),
            _ => return Err(D::Error::custom("a message has kind request or response")),
        };
        message.map_err(D::Error::custom)
    }
}

impl JsonSchema for ModelMessage {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModelMessage".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        // messages have markers and a reader of their own
        json_schema!({"type": "object", (EXTENSION): {"value": "opaque"}})
    }
}
