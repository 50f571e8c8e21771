//! How genai tells that something went wrong.

use std::fmt;

use genai::webc::{Error as WebError, StreamTimeout};
use genai::{BoxError, Error};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::provider::http::Failure;
use crate::provider::wire::{Fault, failed};
use crate::retry::{Answer, TransportFailure};

/// What an error holds.
const TELLING: [&str; 3] = ["message", "code", "type"];

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The provider answered with a status of failure.
    Refused(Refusal),
    /// Nothing came, or not all of it.
    Transport(Failure),
    /// What came is no reply.
    Fault(Fault),
    /// The request cannot be made.
    Usage(String),
}

/// An answer with a status of failure.
pub(super) struct Refusal {
    status: u16,
    headers: Box<HeaderMap>,
    body: String,
}

impl Refusal {
    fn new(status: StatusCode, headers: Box<HeaderMap>, body: String) -> Self {
        Self { status: status.as_u16(), headers, body }
    }
}

impl Answer for Refusal {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn body(&self) -> &[u8] {
        self.body.as_bytes()
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refusal({}, {} bytes)", self.status, self.body.len())
    }
}

impl Trouble {
    pub(super) fn of(error: Error) -> Self {
        match error {
            Error::HttpError { status, headers, body, .. } => {
                Self::Refused(Refusal::new(status, headers, body))
            }
            Error::WebStream { cause, error, .. } => Self::of_stream(cause, error),
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                Self::of_web(webc_error)
            }
            Error::ChatResponse { body, .. } => Self::told(&body),
            Error::StreamParse { serde_error, .. } => {
                Self::unexpected(format!("an event of the stream cannot be read: {serde_error}"))
            }
            Error::SerdeJson(error) => Self::unexpected(error.to_string()),
            Error::JsonValueExt(error) => Self::unexpected(error.to_string()),
            Error::ChatResponseGeneration { cause, .. } => Self::unexpected(cause),
            Error::NoChatResponse { .. } | Error::InvalidJsonResponseElement { .. } => {
                Self::unexpected(error.to_string())
            }
            // the rest is found before anything is sent
            error => Self::Usage(error.to_string()),
        }
    }

    fn of_stream(cause: String, error: BoxError) -> Self {
        let error = match error.downcast::<Error>() {
            Ok(error) => return Self::of(*error),
            Err(error) => error,
        };
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            Self::Transport(Failure::of(error))
        } else if error.is::<StreamTimeout>() {
            Self::Transport(Failure::new(TransportFailure::ReadTimeout, cause))
        } else {
            Self::unexpected(cause)
        }
    }

    fn of_web(error: WebError) -> Self {
        match error {
            WebError::Reqwest(error) => Self::Transport(Failure::of(&error)),
            WebError::ResponseFailedStatus { status, body, headers } => {
                Self::Refused(Refusal::new(status, headers, body))
            }
            WebError::ResponseFailedNotJson { .. }
            | WebError::ResponseFailedInvalidJson { .. }
            | WebError::JsonValueExt(_) => Self::unexpected(error.to_string()),
        }
    }

    /// A failure told inside a reply.
    fn told(body: &Value) -> Self {
        let error = body.get("error").unwrap_or(body);
        match error {
            // so genai tells of frames that it cannot read
            Value::String(text) if body.is_object() => Self::unexpected(text.clone()),
            // and so of replies that it finds nothing in
            Value::Object(fields) if !TELLING.iter().any(|name| fields.contains_key(*name)) => {
                Self::unexpected(format!("there is nothing in it: {error}"))
            }
            error => Self::Fault(failed(error)),
        }
    }

    fn unexpected(text: String) -> Self {
        Self::Fault(Fault::Unexpected(text))
    }
}
