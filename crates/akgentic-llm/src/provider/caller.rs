//! What every model of a provider works with, and how it tells of failures.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use akgentic_tool_core::ToolDefinition;

use super::endpoint::Endpoint;
use super::http::{Failure, HttpClient};
use super::wire::{self, Fault, WireTool, without_files};
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::history::History;
use crate::model::ModelInput;
use crate::retry::{RetryPolicy, TransportFailure};

/// How much of a failure's body an error tells.
const TOLD: usize = 4096;

/// A model, where it is reached and within which limits.
pub(super) struct Caller {
    pub config: ModelConfig,
    pub endpoint: Endpoint,
    pub http: Arc<HttpClient>,
    pub policy: RetryPolicy,
    /// The tools of the last request and their rewritten schemas.
    tools: Mutex<Option<Rewritten>>,
}

/// Tools as they were given, and as they are sent.
struct Rewritten {
    tools: Arc<[ToolDefinition]>,
    output: Option<ToolDefinition>,
    sent: Arc<[WireTool]>,
}

impl Caller {
    pub(super) fn new(
        config: ModelConfig,
        endpoint: Endpoint,
        http: Arc<HttpClient>,
        policy: RetryPolicy,
    ) -> Self {
        Self { config, endpoint, http, policy, tools: Mutex::default() }
    }

    /// Bounds a request with all its retries and waits.
    pub(super) async fn within<T>(
        &self,
        request: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        let Some(deadline) = self.policy.deadline else { return request.await };
        match tokio::time::timeout(deadline, request).await {
            Ok(result) => result,
            Err(_) => Err(self.timeout(deadline)),
        }
    }

    /// The tools with the schemas this provider takes; those of one run are rewritten once.
    pub(super) fn tools(&self, input: &ModelInput) -> Arc<[WireTool]> {
        let output = input.output.tool();
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && (Arc::ptr_eq(&known.tools, &input.tools) || *known.tools == *input.tools)
            && known.output == output
        {
            return Arc::clone(&known.sent);
        }
        let sent: Arc<[WireTool]> =
            wire::wire_tools(&self.config, &input.tools, output.as_ref()).into();
        let tools = Arc::clone(&input.tools);
        *known = Some(Rewritten { tools, output, sent: Arc::clone(&sent) });
        sent
    }

    /// The same conversation without files, when the provider may have refused one of them: it
    /// would refuse every later request as well.
    pub(super) fn without_refused_files(
        &self,
        error: &ModelError,
        messages: &History,
    ) -> Option<History> {
        const TOLD_BY: [&str; 6] = ["image", "media", "file", "document", "pdf", "base64"];
        let ModelError::Status { status: 400 | 413 | 415 | 422, body, .. } = error else {
            return None;
        };
        let body = body.to_lowercase();
        if !TOLD_BY.iter().any(|word| body.contains(word)) {
            return None;
        }
        let without = without_files(messages)?;
        tracing::warn!(model = self.config.model, %error, "asked again without files");
        Some(without)
    }

    /// The start of a body, without the key.
    pub(super) fn told(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let start = text.get(..text.floor_char_boundary(TOLD)).unwrap_or_default();
        let value = &self.endpoint.auth.value;
        let secret = value.strip_prefix("Bearer ").unwrap_or(value);
        let mut told = start.to_owned();
        if !secret.is_empty() {
            told = told.replace(secret, "[key]");
        }
        if start.len() < text.len() {
            told.push('…');
        }
        told
    }

    pub(super) fn faulty(&self, fault: Fault) -> ModelError {
        let model = self.config.model.clone();
        match fault {
            Fault::Unexpected(message) => ModelError::UnexpectedReply { model, message },
            Fault::Failed { status, body } => {
                ModelError::Status { model, status, body: self.told(body.as_bytes()) }
            }
            Fault::Cut => {
                let message = "the reply ended before it was complete".to_owned();
                ModelError::Connection { model, message }
            }
        }
    }

    pub(super) fn failed(&self, failure: &Failure) -> ModelError {
        let model = self.config.model.clone();
        let message = failure.message.clone();
        match failure.kind {
            TransportFailure::ConnectTimeout
            | TransportFailure::ReadTimeout
            | TransportFailure::WriteTimeout
            | TransportFailure::PoolTimeout => ModelError::Timeout { model, after: self.limit() },
            TransportFailure::LocalProtocol | TransportFailure::UnsupportedProtocol => {
                ModelError::Usage(format!("{model} cannot be asked: {message}"))
            }
            TransportFailure::Connect
            | TransportFailure::Read
            | TransportFailure::Write
            | TransportFailure::Close
            | TransportFailure::Proxy
            | TransportFailure::RemoteProtocol => ModelError::Connection { model, message },
        }
    }

    pub(super) fn limit(&self) -> Duration {
        self.http.limit()
    }

    pub(super) fn timeout(&self, after: Duration) -> ModelError {
        ModelError::Timeout { model: self.config.model.clone(), after }
    }

    pub(super) fn unexpected(&self, message: &str) -> ModelError {
        let (model, message) = (self.config.model.clone(), message.to_owned());
        ModelError::UnexpectedReply { model, message }
    }
}
