//! What a chat model is to this crate.

use std::sync::Arc;

use akgentic_tool_core::ToolDefinition;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio_util::sync::CancellationToken;

use crate::config::{ModelConfig, ReasoningEffort};
use crate::error::ModelError;
use crate::history::History;
use crate::message::ModelResponse;
use crate::output::{OutputMode, OutputSchema};

/// A chat model: turns a conversation into the next response.
///
/// Dropping the future or the stream of a request abandons it.
pub trait Model: Send + Sync {
    /// The name responses are recorded under when the provider reports none.
    fn name(&self) -> &str;

    /// Whether the model can be held to a JSON schema; `None` when its configuration decides.
    fn native_output(&self) -> Option<bool> {
        None
    }

    /// Asks for the next response.
    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>>;

    /// Asks for the next response, piece by piece; the last event carries the whole of it.
    ///
    /// Models that cannot stream answer in one piece.
    fn stream(&self, input: ModelInput) -> BoxStream<'_, Result<StreamEvent, ModelError>> {
        let whole = async move {
            self.request(input).await.map(|response| StreamEvent::Finished(Box::new(response)))
        };
        stream::once(whole).boxed()
    }
}

/// A piece of a streamed response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More text.
    Text(String),
    /// More thoughts.
    Thinking(String),
    /// A call begins, or more of its arguments.
    ToolCall(ToolCallDelta),
    /// The end: the whole response.
    Finished(Box<ModelResponse>),
}

/// A piece of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallDelta {
    /// Which call of the response, from 0.
    pub index: usize,
    /// Its id as far as it is known; the whole response has one for each call.
    pub id: String,
    /// The tool as far as it is known, in the spelling of the provider.
    pub name: String,
    /// More of the arguments, JSON in pieces.
    pub arguments: String,
}

/// Everything a model needs to know for one request.
#[derive(Clone, Debug)]
pub struct ModelInput {
    /// The conversation, clean: every call has one result, requests and responses alternate.
    pub messages: History,
    /// Function tools the model may call.
    pub tools: Arc<[ToolDefinition]>,
    /// What the answer has to look like.
    pub output: OutputRequest,
    /// Settings of this request.
    pub settings: ModelSettings,
    /// Fires when nobody waits for the answer any more.
    pub cancel: CancellationToken,
}

/// What the answer has to look like.
#[derive(Clone, Debug)]
pub struct OutputRequest {
    /// How structured output is asked for.
    pub mode: OutputMode,
    /// The schema of structured output; `None` for plain text.
    pub schema: Option<Arc<OutputSchema>>,
}

impl OutputRequest {
    /// Plain text.
    pub fn text() -> Self {
        Self { mode: OutputMode::Text, schema: None }
    }

    /// Whether text may end the run; otherwise only the output tool can.
    pub fn allows_text(&self) -> bool {
        self.mode != OutputMode::Tool
    }

    /// The output tool, when output is asked for through one.
    pub fn tool(&self) -> Option<ToolDefinition> {
        let schema = self.schema.as_ref().filter(|_| self.mode == OutputMode::Tool)?;
        Some(schema.as_tool())
    }
}

/// Settings of a model request; what is `None` is left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSettings {
    /// Sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Cap on output tokens.
    pub max_tokens: Option<u64>,
    /// Seed for sampling.
    pub seed: Option<i64>,
    /// How hard to think.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whether several tool calls in one response are welcome.
    pub parallel_tool_calls: Option<bool>,
}

impl ModelSettings {
    /// The settings that a run may give beside those bound to the model: what to sample with, and
    /// one tool call at a time where output goes through a tool. `None` when there are none.
    pub fn for_run(config: &ModelConfig) -> Option<Self> {
        let settings = Self {
            reasoning_effort: None,
            parallel_tool_calls: (!config.native_output()).then_some(false),
            ..Self::from(config)
        };
        (settings != Self::default()).then_some(settings)
    }
}

impl From<&ModelConfig> for ModelSettings {
    fn from(config: &ModelConfig) -> Self {
        Self {
            temperature: config.temperature,
            max_tokens: config.max_tokens,
            seed: config.seed,
            reasoning_effort: config.reasoning_effort,
            parallel_tool_calls: None,
        }
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn native_output(&self) -> Option<bool> {
        (**self).native_output()
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        (**self).request(input)
    }

    fn stream(&self, input: ModelInput) -> BoxStream<'_, Result<StreamEvent, ModelError>> {
        (**self).stream(input)
    }
}
