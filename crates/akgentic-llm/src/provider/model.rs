//! The model of a real provider.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::caller::Caller;
use super::http::{Call, Failure, HttpAnswer, Rest};
use super::sse::{EventReader, TooLong};
use super::wire::{self, Asked, Collector, Language, Reader};
use crate::error::ModelError;
use crate::foreign::{ForeignThinking, for_provider};
use crate::message::ModelResponse;
use crate::model::{Model, ModelInput, StreamEvent};
use crate::retry::Answer as _;
use crate::schema::ToolNames;

/// A model that is asked over HTTP.
pub(super) struct ProviderModel {
    caller: Caller,
    language: Language,
}

/// A request, ready to be sent.
struct Ready {
    call: Call,
    streamed: bool,
    names: ToolNames,
}

impl ProviderModel {
    pub(super) fn new(caller: Caller) -> Self {
        let language = Language::of(caller.config.provider);
        Self { caller, language }
    }

    async fn ask(&self, mut input: ModelInput) -> Result<ModelResponse, ModelError> {
        match self.ask_once(&input).await {
            Err(error) => match self.caller.without_refused_files(&error, &input.messages) {
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
        let answer = self.caller.within(self.send(&ready.call, true)).await?;
        let body = answer.whole().ok_or_else(|| self.caller.unexpected("the reply is too long"))?;
        let streamed = ready.streamed && !is_json(&answer);
        let body = if streamed { self.collected(body)? } else { self.parsed(body)? };
        self.read(&ready, &body)
    }

    /// Sends until there is an answer that counts; its body may be left to come.
    async fn send(&self, call: &Call, whole: bool) -> Result<HttpAnswer, ModelError> {
        let last: Mutex<Option<Failure>> = Mutex::default();
        let attempt = || async {
            let answer = if whole {
                self.caller.http.exchange(call).await
            } else {
                self.caller.http.open(call).await
            };
            answer.map_err(|failure| {
                let kind = failure.kind;
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                kind
            })
        };
        let result = self.caller.policy.run(rand::random::<f64>, attempt).await;
        match result {
            Ok(answer) if answer.is_success() => Ok(answer),
            Ok(answer) => Err(ModelError::Status {
                model: self.caller.config.model.clone(),
                status: answer.status(),
                body: self.caller.told(answer.body()),
            }),
            Err(kind) => {
                let failure = last.into_inner().unwrap_or_else(PoisonError::into_inner);
                Err(self
                    .caller
                    .failed(&failure.unwrap_or(Failure { kind, message: String::new() })))
            }
        }
    }

    fn ready(&self, input: &ModelInput, stream: bool) -> Result<Ready, ModelError> {
        let tools = self.caller.tools(input);
        let names = wire::spelled(&tools, &input.messages);
        let provider = self.caller.config.provider.recorded_name();
        let messages = for_provider(&input.messages, provider, ForeignThinking::Keep);
        let asked = Asked {
            config: &self.caller.config,
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
            self.language.streaming_url(&self.caller.endpoint.url)
        } else {
            self.caller.endpoint.url.clone()
        };
        let call = Call {
            url,
            auth: self.caller.endpoint.auth.clone(),
            headers: self.language.headers(),
            body: Bytes::from(body),
        };
        Ok(Ready { call, streamed: outgoing.streamed, names })
    }

    fn parsed(&self, body: &[u8]) -> Result<Value, ModelError> {
        serde_json::from_slice(body).map_err(|error| {
            self.caller.unexpected(&format!("it is no JSON ({error}): {}", self.caller.told(body)))
        })
    }

    /// The body that the events of a reply make up.
    fn collected(&self, body: &[u8]) -> Result<Value, ModelError> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        let all = reader.take(body, &mut events).and_then(|()| reader.finish(&mut events));
        all.map_err(|TooLong| self.caller.unexpected("an event of the stream is too long"))?;
        let mut collector = self.language.collector();
        for event in &events {
            collector.take(event, &mut Vec::new()).map_err(|fault| self.caller.faulty(fault))?;
        }
        collector.finish().map_err(|fault| self.caller.faulty(fault))
    }

    fn read(&self, ready: &Ready, body: &Value) -> Result<ModelResponse, ModelError> {
        let reader = Reader {
            provider: self.caller.config.provider.recorded_name(),
            provider_url: &self.caller.endpoint.provider_url,
            names: &ready.names,
            language: self.language,
        };
        let mut response = reader.read(body).map_err(|fault| self.caller.faulty(fault))?;
        response.model_name.get_or_insert_with(|| self.caller.config.model.clone());
        Ok(response)
    }
}

/// A server may answer a wish for events with one piece all the same.
fn is_json(answer: &HttpAnswer) -> bool {
    answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"))
}

impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.caller.config.model
    }

    fn native_output(&self) -> Option<bool> {
        Some(wire::has_native_output(&self.caller.config))
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
        f.debug_tuple("ProviderModel").field(&self.caller.config.key()).finish()
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
            Err(error) => match self.model.caller.without_refused_files(&error, &input.messages) {
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
        let answer = model.caller.within(model.send(&ready.call, false)).await?;
        let whole = is_json(&answer).then(Vec::new);
        let rest =
            answer.into_rest().ok_or_else(|| model.caller.unexpected("there is no reply"))?;
        Ok(Box::new(Open {
            ready,
            rest,
            reader: EventReader::default(),
            collector: model.language.collector(),
            deadline: model
                .caller
                .policy
                .deadline
                .and_then(|deadline| started.checked_add(deadline)),
            whole,
        }))
    }

    async fn piece(&self, open: &mut Open) -> Result<Option<Bytes>, ModelError> {
        let piece = match open.deadline {
            None => open.rest.next().await,
            Some(deadline) => timeout_at(deadline, open.rest.next()).await.map_err(|_| {
                self.model.caller.timeout(self.model.caller.policy.deadline.unwrap_or_default())
            })?,
        };
        let piece = piece.map_err(|failure| self.model.caller.failed(&failure))?;
        if open.rest.is_too_long() {
            return Err(self.model.caller.unexpected("the reply is too long"));
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
        taken.map_err(|TooLong| {
            self.model.caller.unexpected("an event of the stream is too long")
        })?;
        let mut news = Vec::new();
        for event in &events {
            open.collector
                .take(event, &mut news)
                .map_err(|fault| self.model.caller.faulty(fault))?;
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
            rest.map_err(|TooLong| model.caller.unexpected("an event of the stream is too long"))?;
            for event in &events {
                collector.take(event, &mut news).map_err(|fault| model.caller.faulty(fault))?;
            }
            self.news.extend(news);
            collector.finish().map_err(|fault| model.caller.faulty(fault))?
        };
        let response = model.read(&ready, &body)?;
        self.news.push_back(StreamEvent::Finished(Box::new(response)));
        Ok(())
    }
}
