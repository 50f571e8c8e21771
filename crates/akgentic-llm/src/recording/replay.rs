//! A model that answers from a recording.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use serde_json::Value;

use super::{Answer, Interaction, RecordedError, Recording, Scrubber, request_json};
use crate::error::ModelError;
use crate::message::{ModelMessage, ModelResponse};
use crate::model::{Model, ModelInput};

/// Answers each request with the answer to the same request in a recording, each at most once.
///
/// The same request has the same messages, tools, output and settings; times and ids of runs do
/// not matter, and both are compared without secrets. A request that was not recorded is an error.
pub struct ReplayingModel {
    name: String,
    interactions: Vec<Interaction>,
    used: Mutex<HashSet<usize>>,
    scrubber: Scrubber,
}

impl ReplayingModel {
    /// A model of this name; `scrubber` is the one the recording was made with.
    pub fn new(name: impl Into<String>, recording: &Recording, scrubber: Scrubber) -> Self {
        let interactions = recording.lock().clone();
        Self { name: name.into(), interactions, used: Mutex::default(), scrubber }
    }

    fn answer(&self, input: &ModelInput) -> Result<ModelResponse, ModelError> {
        let mut request = request_json(input);
        self.scrubber.scrub(&mut request);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unused =
            self.interactions.iter().enumerate().filter(|(index, _)| !used.contains(index));
        let Some((index, found)) = unused.find(|(_, known)| known.request == request) else {
            let left = self.interactions.len() - used.len();
            return Err(ModelError::Usage(format!(
                "the recording has no answer to this request ({left} of {} are left); record again",
                self.interactions.len()
            )));
        };
        used.insert(index);
        match &found.answer {
            Answer::Response(json) => read_response(json),
            Answer::Error(error) => Err(error.into()),
        }
    }
}

fn read_response(json: &Value) -> Result<ModelResponse, ModelError> {
    match serde_json::from_value(json.clone()) {
        Ok(ModelMessage::Response(response)) => Ok(response),
        Ok(ModelMessage::Request(_)) => {
            Err(ModelError::Usage("the recording answers with a request".to_owned()))
        }
        Err(error) => Err(ModelError::Usage(format!("the recording has no response: {error}"))),
    }
}

impl From<&RecordedError> for ModelError {
    fn from(error: &RecordedError) -> Self {
        match error.clone() {
            RecordedError::Status { model, status, body } => Self::Status { model, status, body },
            RecordedError::Connection { model, message } => Self::Connection { model, message },
            RecordedError::Timeout { model, seconds } => {
                let after = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                Self::Timeout { model, after }
            }
            RecordedError::UnexpectedReply { model, message } => {
                Self::UnexpectedReply { model, message }
            }
            RecordedError::Other { message } => Self::Usage(message),
        }
    }
}

impl Model for ReplayingModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        ready(self.answer(&input)).boxed()
    }
}

impl fmt::Debug for ReplayingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayingModel")
            .field("name", &self.name)
            .field("interactions", &self.interactions.len())
            .finish_non_exhaustive()
    }
}
