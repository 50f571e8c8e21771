//! The model of a real provider.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use akgentic_tool_core::ToolDefinition;
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::endpoint::Endpoint;
use super::http::{Call, Failure, HttpAnswer, HttpClient, Rest};
use super::sse::{EventReader, TooLong};
use super::wire::{self, Asked, Collector, Fault, Language, Reader, WireTool, without_files};
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::foreign::{ForeignThinking, for_provider};
use crate::history::History;
use crate::message::ModelResponse;
use crate::model::{Model, ModelInput, StreamEvent};
use crate::retry::{Answer as _, RetryPolicy, TransportFailure};
use crate::schema::ToolNames;

/// How much of a failure's body an error tells.
const TOLD: usize = 4096;

/// A model that is asked over HTTP.
pub(super) struct ProviderModel {
    config: ModelConfig,
    endpoint: Endpoint,
    language: Language,
    http: Arc<HttpClient>,
    policy: RetryPolicy,
    /// The tools of the last request and their rewritten schemas.
    tools: Mutex<Option<Rewritten>>,
}

/// Tools as they were given, and as they are sent.
struct Rewritten {
    tools: Arc<[ToolDefinition]>,
    output: Option<ToolDefinition>,
    sent: Arc<[WireTool]>,
}

/// A request, ready to be sent.
struct Ready {
    call: Call,
    streamed: bool,
    names: ToolNames,
}

impl ProviderModel {
    pub(super) fn new(
        config: ModelConfig,
        endpoint: Endpoint,
        http: Arc<HttpClient>,
        policy: RetryPolicy,
    ) -> Self {
        let language = Language::of(config.provider);
        Self { config, endpoint, language, http, policy, tools: Mutex::default() }
    }

    async fn ask(&self, mut input: ModelInput) -> Result<ModelResponse, ModelError> {
        match self.ask_once(&input).await {
            Err(error) => match self.without_refused_files(&error, &input.messages) {
                Some(messages) => {
                    input.messages = messages;
                    self.ask_once(&input).await
                }
                None => Err(error),
            },
            response => response,
        }
    }

    async fn ask_once(&self, input: &ModelInput) -> Result<ModelResponse, ModelError> {
        let ready = self.ready(input, false)?;
        let answer = self.within(self.send(&ready.call, true)).await?;
        let body = answer.whole().ok_or_else(|| self.unexpected("the reply is too long"))?;
        let streamed = ready.streamed && !is_json(&answer);
        let body = if streamed { self.collected(body)? } else { self.parsed(body)? };
        self.read(&ready, &body)
    }

    /// Bounds a request with all its retries and waits.
    async fn within<T>(
        &self,
        request: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        let Some(deadline) = self.policy.deadline else { return request.await };
        match tokio::time::timeout(deadline, request).await {
            Ok(result) => result,
            Err(_) => Err(self.timeout(deadline)),
        }
    }

    /// Sends until there is an answer that counts; its body may be left to come.
    async fn send(&self, call: &Call, whole: bool) -> Result<HttpAnswer, ModelError> {
        let last: Mutex<Option<Failure>> = Mutex::default();
        let attempt = || async {
            let answer =
                if whole { self.http.exchange(call).await } else { self.http.open(call).await };
            answer.map_err(|failure| {
                let kind = failure.kind;
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                kind
            })
        };
        let result = self.policy.run(rand::random::<f64>, attempt).await;
        match result {
            Ok(answer) if answer.is_success() => Ok(answer),
            Ok(answer) => Err(ModelError::Status {
                model: self.config.model.clone(),
                status: answer.status(),
                body: self.told(answer.body()),
            }),
            Err(kind) => {
                let failure = last.into_inner().unwrap_or_else(PoisonError::into_inner);
                Err(self.failed(&failure.unwrap_or(Failure { kind, message: String::new() })))
            }
        }
    }

    fn ready(&self, input: &ModelInput, stream: bool) -> Result<Ready, ModelError> {
        let tools = self.tools(input);
        let names = wire::spelled(&tools, &input.messages);
        let provider = self.config.provider.recorded_name();
        let messages = for_provider(&input.messages, provider, ForeignThinking::Keep);
        let asked = Asked {
            config: &self.config,
            messages: &messages,
            output: &input.output,
            settings: &input.settings,
            tools: &tools,
            names: &names,
            stream,
        };
        let outgoing = self.language.request(&asked)?;
        let body = serde_json::to_vec(&outgoing.body)
            .map_err(|error| ModelError::Usage(format!("the request is no JSON: {error}")))?;
        let url = if outgoing.streamed {
            self.language.streaming_url(&self.endpoint.url)
        } else {
            self.endpoint.url.clone()
        };
        let call = Call {
            url,
            auth: self.endpoint.auth.clone(),
            headers: self.language.headers(),
            body: Bytes::from(body),
        };
        Ok(Ready { call, streamed: outgoing.streamed, names })
    }

    /// The tools with the schemas this provider takes; those of one run are rewritten once.
    fn tools(&self, input: &ModelInput) -> Arc<[WireTool]> {
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

    fn parsed(&self, body: &[u8]) -> Result<Value, ModelError> {
        serde_json::from_slice(body).map_err(|error| {
            self.unexpected(&format!("it is no JSON ({error}): {}", self.told(body)))
        })
    }

    /// The body that the events of a reply make up.
    fn collected(&self, body: &[u8]) -> Result<Value, ModelError> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        let all = reader.take(body, &mut events).and_then(|()| reader.finish(&mut events));
        all.map_err(|TooLong| self.unexpected("an event of the stream is too long"))?;
        let mut collector = self.language.collector();
        for event in &events {
            collector.take(event, &mut Vec::new()).map_err(|fault| self.faulty(fault))?;
        }
        collector.finish().map_err(|fault| self.faulty(fault))
    }

    fn read(&self, ready: &Ready, body: &Value) -> Result<ModelResponse, ModelError> {
        let reader = Reader {
            provider: self.config.provider.recorded_name(),
            provider_url: &self.endpoint.provider_url,
            names: &ready.names,
            language: self.language,
        };
        let mut response = reader.read(body).map_err(|fault| self.faulty(fault))?;
        response.model_name.get_or_insert_with(|| self.config.model.clone());
        Ok(response)
    }

    /// The same conversation without files, when the provider may have refused one of them: it
    /// would refuse every later request as well.
    fn without_refused_files(&self, error: &ModelError, messages: &History) -> Option<History> {
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
    fn told(&self, body: &[u8]) -> String {
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

    fn faulty(&self, fault: Fault) -> ModelError {
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

    fn failed(&self, failure: &Failure) -> ModelError {
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

    fn limit(&self) -> Duration {
        self.http.limit()
    }

    fn timeout(&self, after: Duration) -> ModelError {
        ModelError::Timeout { model: self.config.model.clone(), after }
    }

    fn unexpected(&self, message: &str) -> ModelError {
        let (model, message) = (self.config.model.clone(), message.to_owned());
        ModelError::UnexpectedReply { model, message }
    }
}

/// A server may answer a wish for events with one piece all the same.
fn is_json(answer: &HttpAnswer) -> bool {
    answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"))
}

impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.config.model
    }

    fn native_output(&self) -> Option<bool> {
        Some(wire::has_native_output(&self.config))
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        self.ask(input).boxed()
    }

    fn stream(&self, input: ModelInput) -> BoxStream<'_, Result<StreamEvent, ModelError>> {
        let reply =
            Reply { model: self, state: State::Start(Box::new(input)), news: VecDeque::new() };
        stream::try_unfold(reply, |mut reply| async move {
            Ok(reply.next().await?.map(|event| (event, reply)))
        })
        .boxed()
    }
}

impl fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProviderModel").field(&self.config.key()).finish()
    }
}

/// A reply that comes piece by piece.
struct Reply<'a> {
    model: &'a ProviderModel,
    state: State,
    news: VecDeque<StreamEvent>,
}

enum State {
    Start(Box<ModelInput>),
    Open(Box<Open>),
    Ended,
}

struct Open {
    ready: Ready,
    rest: Rest,
    reader: EventReader,
    collector: Collector,
    deadline: Option<Instant>,
    /// Set when the server answers in one piece.
    whole: Option<Vec<u8>>,
}

impl Reply<'_> {
    async fn next(&mut self) -> Result<Option<StreamEvent>, ModelError> {
        loop {
            if let Some(event) = self.news.pop_front() {
                return Ok(Some(event));
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(None),
                State::Start(input) => self.state = State::Open(self.open(*input).await?),
                State::Open(mut open) => match self.piece(&mut open).await? {
                    Some(piece) => {
                        self.take(&mut open, &piece)?;
                        self.state = State::Open(open);
                    }
                    None => self.finish(*open)?,
                },
            }
        }
    }

    async fn open(&self, mut input: ModelInput) -> Result<Box<Open>, ModelError> {
        match self.open_once(&input).await {
            Err(error) => match self.model.without_refused_files(&error, &input.messages) {
                Some(messages) => {
                    input.messages = messages;
                    self.open_once(&input).await
                }
                None => Err(error),
            },
            open => open,
        }
    }

    async fn open_once(&self, input: &ModelInput) -> Result<Box<Open>, ModelError> {
        let model = self.model;
        let started = Instant::now();
        let ready = model.ready(input, true)?;
        let answer = model.within(model.send(&ready.call, false)).await?;
        let whole = is_json(&answer).then(Vec::new);
        let rest = answer.into_rest().ok_or_else(|| model.unexpected("there is no reply"))?;
        Ok(Box::new(Open {
            ready,
            rest,
            reader: EventReader::default(),
            collector: model.language.collector(),
            deadline: model.policy.deadline.and_then(|deadline| started.checked_add(deadline)),
            whole,
        }))
    }

    async fn piece(&self, open: &mut Open) -> Result<Option<Bytes>, ModelError> {
        let piece = match open.deadline {
            None => open.rest.next().await,
            Some(deadline) => timeout_at(deadline, open.rest.next())
                .await
                .map_err(|_| self.model.timeout(self.model.policy.deadline.unwrap_or_default()))?,
        };
        let piece = piece.map_err(|failure| self.model.failed(&failure))?;
        if open.rest.is_too_long() {
            return Err(self.model.unexpected("the reply is too long"));
        }
        Ok(piece)
    }

    fn take(&mut self, open: &mut Open, piece: &[u8]) -> Result<(), ModelError> {
        if let Some(whole) = &mut open.whole {
            whole.extend_from_slice(piece);
            return Ok(());
        }
        let mut events = Vec::new();
        let taken = open.reader.take(piece, &mut events);
        taken.map_err(|TooLong| self.model.unexpected("an event of the stream is too long"))?;
        let mut news = Vec::new();
        for event in &events {
            open.collector.take(event, &mut news).map_err(|fault| self.model.faulty(fault))?;
        }
        self.news.extend(news);
        Ok(())
    }

    fn finish(&mut self, open: Open) -> Result<(), ModelError> {
        let model = self.model;
        let Open { ready, reader, mut collector, whole, .. } = open;
        let body = if let Some(whole) = whole {
            model.parsed(&whole)?
        } else {
            let (mut events, mut news) = (Vec::new(), Vec::new());
            let rest = reader.finish(&mut events);
            rest.map_err(|TooLong| model.unexpected("an event of the stream is too long"))?;
            for event in &events {
                collector.take(event, &mut news).map_err(|fault| model.faulty(fault))?;
            }
            self.news.extend(news);
            collector.finish().map_err(|fault| model.faulty(fault))?
        };
        let response = model.read(&ready, &body)?;
        self.news.push_back(StreamEvent::Finished(Box::new(response)));
        Ok(())
    }
}
