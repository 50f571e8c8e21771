//! The model of a provider behind genai.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use super::exchange::{Exchange, Question};
use super::trouble::{Refusal, Trouble};
use super::{request, target};
use crate::config::GeneralProvider;
use crate::error::ModelError;
use crate::foreign::{ForeignThinking, for_provider};
use crate::message::ModelResponse;
use crate::model::{Model, ModelInput, StreamEvent};
use crate::provider::caller::Caller;
use crate::provider::http::Failure;
use crate::provider::wire::{self, Asked, Fault, Language, Reader};
use crate::retry::Answer;
use crate::schema::ToolNames;

/// A model that genai asks.
pub(in crate::provider) struct GeneralModel {
    provider: GeneralProvider,
    caller: Caller,
}

/// A request, ready to be sent.
struct Ready {
    question: Question,
    names: ToolNames,
}

/// What came of an attempt.
#[derive(Debug)]
enum Outcome {
    /// A reply, begun or whole; with the pieces that have come.
    Begun(Box<Exchange>, Vec<StreamEvent>),
    Refused(Refusal),
    /// Something that no further attempt would mend.
    Faulty(Fault),
    Usage(String),
}

/// How much of a reply an attempt waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    FirstPiece,
    End,
}

impl Answer for Outcome {
    fn status(&self) -> u16 {
        match self {
            Self::Refused(refusal) => refusal.status(),
            Self::Begun(..) | Self::Faulty(_) | Self::Usage(_) => 200,
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.header(name),
            Self::Begun(..) | Self::Faulty(_) | Self::Usage(_) => None,
        }
    }

    fn body(&self) -> &[u8] {
        match self {
            Self::Refused(refusal) => refusal.body(),
            Self::Begun(..) | Self::Faulty(_) | Self::Usage(_) => &[],
        }
    }
}

impl GeneralModel {
    pub(in crate::provider) fn new(provider: GeneralProvider, caller: Caller) -> Self {
        Self { provider, caller }
    }

    /// Asks, and once more without files when the provider may have refused one of them.
    async fn ask(
        &self,
        mut input: ModelInput,
        until: Until,
    ) -> Result<(Ready, Exchange, Vec<StreamEvent>), ModelError> {
        match self.ask_once(&input, until).await {
            Err(error) => match self.caller.without_refused_files(&error, &input.messages) {
                Some(messages) => {
                    input.messages = messages;
                    self.ask_once(&input, until).await
                }
                None => Err(error),
            },
            begun => begun,
        }
    }

    async fn ask_once(
        &self,
        input: &ModelInput,
        until: Until,
    ) -> Result<(Ready, Exchange, Vec<StreamEvent>), ModelError> {
        let ready = self.ready(input)?;
        let last: Mutex<Option<Failure>> = Mutex::default();
        let attempt = || async {
            let outcome = self.attempt(&ready.question, until).await;
            outcome.map_err(|failure| {
                let kind = failure.kind;
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                kind
            })
        };
        let outcome = self
            .caller
            .within(async { Ok(self.caller.policy.run(rand::random::<f64>, attempt).await) })
            .await?;
        match outcome {
            Ok(Outcome::Begun(exchange, news)) => Ok((ready, *exchange, news)),
            Ok(Outcome::Refused(refusal)) => Err(self.refused(&refusal)),
            Ok(Outcome::Faulty(fault)) => Err(self.faulty(fault)),
            Ok(Outcome::Usage(text)) => Err(self.usage(&text)),
            Err(kind) => {
                let failure = last.into_inner().unwrap_or_else(PoisonError::into_inner);
                Err(self.caller.failed(&failure.unwrap_or_else(|| Failure::new(kind, ""))))
            }
        }
    }

    async fn attempt(&self, question: &Question, until: Until) -> Result<Outcome, Failure> {
        let trouble = match Exchange::begin(&self.caller.http, question).await {
            Err(trouble) => trouble,
            Ok(mut exchange) => {
                let mut news = Vec::new();
                loop {
                    match exchange.next(&mut news).await {
                        Ok(true) if until == Until::FirstPiece && !news.is_empty() => {
                            return Ok(Outcome::Begun(Box::new(exchange), news));
                        }
                        Ok(true) if until == Until::End => news.clear(),
                        Ok(true) => {}
                        Ok(false) => return Ok(Outcome::Begun(Box::new(exchange), news)),
                        Err(trouble) => break trouble,
                    }
                }
            }
        };
        match trouble {
            Trouble::Refused(refusal) => Ok(Outcome::Refused(refusal)),
            Trouble::Transport(failure) => Err(failure),
            Trouble::Fault(fault) => Ok(Outcome::Faulty(fault)),
            Trouble::Usage(text) => Ok(Outcome::Usage(text)),
        }
    }

    fn ready(&self, input: &ModelInput) -> Result<Ready, ModelError> {
        let config = &self.caller.config;
        let language = self.provider.language(&config.model);
        let tools = self.caller.tools(input);
        let names = wire::spelled(&tools, &input.messages);
        let provider = config.provider.recorded_name();
        let messages = for_provider(&input.messages, provider, ForeignThinking::Inline);
        let asked = Asked {
            config,
            messages: &messages,
            output: &input.output,
            settings: &input.settings,
            tools: &tools,
            names: &names,
            stream: true,
        };
        let question = Question {
            target: target::target(self.provider, &config.model, &self.caller.endpoint),
            request: request::request(&asked, language),
            options: request::options(&asked, language)?,
            language,
        };
        Ok(Ready { question, names })
    }

    fn read(&self, ready: &Ready, exchange: Exchange) -> Result<ModelResponse, ModelError> {
        let reader = Reader {
            provider: self.caller.config.provider.recorded_name(),
            provider_url: &self.caller.endpoint.provider_url,
            names: &ready.names,
            language: Language::Chat,
        };
        let response = exchange.gathered.finish(&reader);
        let mut response = response.map_err(|fault| self.faulty(fault))?;
        response.model_name.get_or_insert_with(|| self.caller.config.model.clone());
        Ok(response)
    }

    fn refused(&self, refusal: &Refusal) -> ModelError {
        ModelError::Status {
            model: self.caller.config.model.clone(),
            status: refusal.status(),
            body: self.caller.told(refusal.body()),
        }
    }

    /// What genai tells may hold what the provider said.
    fn faulty(&self, fault: Fault) -> ModelError {
        self.caller.faulty(match fault {
            Fault::Unexpected(text) => Fault::Unexpected(self.caller.told(text.as_bytes())),
            other => other,
        })
    }

    fn usage(&self, text: &str) -> ModelError {
        let (key, text) = (self.caller.config.key(), self.caller.told(text.as_bytes()));
        ModelError::Usage(format!("{key} cannot be asked: {text}"))
    }

    fn troubled(&self, trouble: Trouble) -> ModelError {
        match trouble {
            Trouble::Refused(refusal) => self.refused(&refusal),
            Trouble::Transport(failure) => self.caller.failed(&failure),
            Trouble::Fault(fault) => self.faulty(fault),
            Trouble::Usage(text) => self.usage(&text),
        }
    }
}

impl Model for GeneralModel {
    fn name(&self) -> &str {
        &self.caller.config.model
    }

    fn native_output(&self) -> Option<bool> {
        Some(self.caller.config.native_output())
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        async move {
            let (ready, exchange, _) = self.ask(input, Until::End).await?;
            self.read(&ready, exchange)
        }
        .boxed()
    }

    fn stream(&self, input: ModelInput) -> BoxStream<'_, Result<StreamEvent, ModelError>> {
        let state = State::Start(Box::new(input));
        let reply = Reply { model: self, state, news: VecDeque::new() };
        stream::try_unfold(reply, |mut reply| async move {
            Ok(reply.next().await?.map(|event| (event, reply)))
        })
        .boxed()
    }
}

impl fmt::Debug for GeneralModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GeneralModel").field(&self.caller.config.key()).finish()
    }
}

/// A reply that comes piece by piece.
struct Reply<'a> {
    model: &'a GeneralModel,
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
    exchange: Exchange,
    deadline: Option<Instant>,
}

impl Reply<'_> {
    async fn next(&mut self) -> Result<Option<StreamEvent>, ModelError> {
        loop {
            if let Some(event) = self.news.pop_front() {
                return Ok(Some(event));
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(None),
                State::Start(input) => {
                    let started = Instant::now();
                    let (ready, exchange, news) = self.model.ask(*input, Until::FirstPiece).await?;
                    let limit = self.model.caller.policy.deadline;
                    let deadline = limit.and_then(|limit| started.checked_add(limit));
                    self.news.extend(news);
                    self.state = State::Open(Box::new(Open { ready, exchange, deadline }));
                }
                State::Open(mut open) => {
                    if self.piece(&mut open).await? {
                        self.state = State::Open(open);
                    } else {
                        let response = self.model.read(&open.ready, open.exchange)?;
                        self.news.push_back(StreamEvent::Finished(Box::new(response)));
                    }
                }
            }
        }
    }

    async fn piece(&mut self, open: &mut Open) -> Result<bool, ModelError> {
        let mut news = Vec::new();
        let caller = &self.model.caller;
        let next = open.exchange.next(&mut news);
        let more = match open.deadline {
            None => next.await,
            Some(deadline) => timeout_at(deadline, next)
                .await
                .map_err(|_| caller.timeout(caller.policy.deadline.unwrap_or_default()))?,
        };
        let more = more.map_err(|trouble| self.model.troubled(trouble))?;
        self.news.extend(news);
        Ok(more)
    }
}
