//! Models that write down what they were asked and answered, and models that answer from that.
//!
//! A [`RecordingModel`] around a real model fills a [`Recording`], without secrets; a
//! [`ReplayingModel`] answers the same requests from it, without key or network.

mod replay;
mod scrub;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use replay::ReplayingModel;
pub use scrub::Scrubber;

use crate::error::ModelError;
use crate::form::Form;
use crate::message::{ModelMessage, ModelResponse};
use crate::model::{Model, ModelInput};
use crate::output::OutputMode;

/// How many requests a recording holds; further ones are answered but not recorded.
const CAPACITY: usize = 10_000;

/// Requests with their answers, in order; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Vec<Interaction>>>);

/// A recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file.
    #[error("the recording {path}: {source}")]
    File {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A line.
    #[error("line {line} of the recording: {source}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Interaction {
    request: Value,
    answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Response(Value),
    Error(RecordedError),
}

/// A failure that can be told again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum RecordedError {
    Status { model: String, status: u16, body: String },
    Connection { model: String, message: String },
    Timeout { model: String, seconds: f64 },
    UnexpectedReply { model: String, message: String },
    Other { message: String },
}

impl Recording {
    /// Reads a recording: one JSON object on each line.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = lines.map(|(index, line)| {
            serde_json::from_str(line)
                .map_err(|source| RecordingError::Line { line: index + 1, source })
        });
        Ok(Self(Arc::new(Mutex::new(read.collect::<Result<_, _>>()?))))
    }

    /// Reads a recording from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        Self::parse(&std::fs::read_to_string(path).map_err(|source| file_error(path, source))?)
    }

    /// Writes it to a file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), RecordingError> {
        let path = path.as_ref();
        std::fs::write(path, self.to_text()).map_err(|source| file_error(path, source))
    }

    /// The recording as text: one JSON object on each line.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for interaction in &*self.lock() {
            // plain JSON values can always be written
            text.push_str(&serde_json::to_string(interaction).unwrap_or_default());
            text.push('\n');
        }
        text
    }

    /// How many requests it holds.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn add(&self, interaction: Interaction) {
        let mut interactions = self.lock();
        if interactions.len() < CAPACITY {
            interactions.push(interaction);
        } else {
            tracing::warn!("the recording is full; a request is not recorded");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Interaction>> {
        // the list is whole after every statement, so a poisoned lock is still good
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn file_error(path: &Path, source: std::io::Error) -> RecordingError {
    RecordingError::File { path: path.display().to_string(), source }
}

/// Asks another model and writes down what was said, without secrets.
pub struct RecordingModel {
    inner: Arc<dyn Model>,
    recording: Recording,
    scrubber: Scrubber,
}

impl RecordingModel {
    /// Records what `inner` is asked and answers.
    pub fn new(inner: Arc<dyn Model>, recording: Recording, scrubber: Scrubber) -> Self {
        Self { inner, recording, scrubber }
    }

    async fn record(&self, input: ModelInput) -> Result<ModelResponse, ModelError> {
        let mut request = request_json(&input);
        let mut result = self.inner.request(input).await;
        if let Ok(response) = &mut result {
            // later requests carry the response with the name of its model
            response.model_name.get_or_insert_with(|| self.inner.name().to_owned());
        }
        let mut answer = match &result {
            Ok(response) => {
                let message = ModelMessage::Response(response.clone());
                Answer::Response(message.to_json(Form::Adapter).unwrap_or_default())
            }
            Err(error) => Answer::Error(error.into()),
        };
        self.scrubber.scrub(&mut request);
        self.scrubber.scrub_answer(&mut answer);
        self.recording.add(Interaction { request, answer });
        result
    }
}

impl Model for RecordingModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn native_output(&self) -> Option<bool> {
        self.inner.native_output()
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        self.record(input).boxed()
    }
}

impl fmt::Debug for RecordingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingModel").field("model", &self.inner.name()).finish_non_exhaustive()
    }
}

/// A request without what differs from run to run: times and ids of runs.
fn request_json(input: &ModelInput) -> Value {
    let messages = input.messages.iter().map(|message| {
        let mut json = message.to_json(Form::Adapter).unwrap_or_default();
        drop_stamps(&mut json);
        json
    });
    let tools = input.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
    });
    let settings = &input.settings;
    json!({
        "messages": messages.collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
        "output": {
            "mode": match input.output.mode {
                OutputMode::Text => "text",
                OutputMode::Native => "native",
                OutputMode::Tool => "tool",
            },
            "schema": input.output.schema.as_ref().map(|schema| &schema.schema),
        },
        "settings": {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": settings.seed,
            "reasoning_effort": settings.reasoning_effort,
            "parallel_tool_calls": settings.parallel_tool_calls,
        },
    })
}

fn drop_stamps(message: &mut Value) {
    let Value::Object(fields) = message else { return };
    let drop_from = |fields: &mut Map<String, Value>| {
        for stamp in ["timestamp", "run_id", "conversation_id"] {
            fields.shift_remove(stamp);
        }
    };
    drop_from(fields);
    if let Some(Value::Array(parts)) = fields.get_mut("parts") {
        parts.iter_mut().filter_map(Value::as_object_mut).for_each(drop_from);
    }
}

impl From<&ModelError> for RecordedError {
    fn from(error: &ModelError) -> Self {
        let model = error.model().to_owned();
        match error {
            ModelError::Status { status, body, .. } => {
                Self::Status { model, status: *status, body: body.clone() }
            }
            ModelError::Connection { message, .. } => {
                Self::Connection { model, message: message.clone() }
            }
            ModelError::Timeout { after, .. } => {
                Self::Timeout { model, seconds: after.as_secs_f64() }
            }
            ModelError::UnexpectedReply { message, .. } => {
                Self::UnexpectedReply { model, message: message.clone() }
            }
            ModelError::AllFailed { .. } | ModelError::Usage(_) => {
                Self::Other { message: error.to_string() }
            }
        }
    }
}
