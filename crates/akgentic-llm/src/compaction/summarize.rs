//! The strategy that has a model sum up the whole conversation.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use akgentic_core::wire::Timestamp;
use futures_util::future::{BoxFuture, FutureExt as _};
use indexmap::IndexMap;
use tokio_util::sync::CancellationToken;

use super::estimate::{estimate_messages, estimate_tokens};
use super::transcript::transcript;
use super::{Compaction, CompactionStrategy, Spent};
use crate::chain::FallbackModel;
use crate::config::ModelConfig;
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::model::{Model, ModelInput, ModelSettings, OutputRequest};
use crate::part::UserPromptPart;
use crate::roster::BuildModel;

/// The version of instructions that others fall back to.
const DEFAULT_VERSION: &str = "v1";

const V1: &str = "You sum up a conversation between a person, an assistant and its tools. Your \
    summary replaces the messages: whatever it leaves out is lost for good.\n\
    - First list every name and identifier that occurs, word for word: people, agents, files, \
    paths, addresses, keys, numbers of things, commands, code names.\n\
    - Give the original request in full, with every later change to it.\n\
    - State the facts that were established and the decisions that were taken, with their reasons.\n\
    - State the data that tools returned and that still matters, and name the tools that ran, so \
    that nothing is done twice.\n\
    - End with the open points: what is unfinished, what was promised, what comes next.\n\
    Write concise bullet points. Write no preamble and no closing remark.";

/// Instructions for summarising models, by version.
#[derive(Clone, Debug)]
pub struct SummaryInstructions(IndexMap<String, String>);

impl Default for SummaryInstructions {
    fn default() -> Self {
        Self(IndexMap::from([(DEFAULT_VERSION.to_owned(), V1.to_owned())]))
    }
}

impl SummaryInstructions {
    /// Adds a version, or replaces one.
    pub fn set(&mut self, version: impl Into<String>, text: impl Into<String>) {
        self.0.insert(version.into(), text.into());
    }

    /// The instructions of a version; those of `v1` for one that is not known.
    pub fn of(&self, version: &str) -> &str {
        self.0.get(version).or_else(|| self.0.get(DEFAULT_VERSION)).map_or(V1, String::as_str)
    }

    /// The versions there are.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The model that sums up: built when it is first asked.
#[derive(Clone)]
pub struct Summarizer {
    model: Arc<OnceLock<Result<Arc<dyn Model>, String>>>,
    build: Option<Arc<BuildModel>>,
    config: ModelConfig,
    deadline: Duration,
}

impl Summarizer {
    /// A model that exists already.
    pub fn ready(model: Arc<dyn Model>, config: ModelConfig, deadline: Duration) -> Self {
        Self { model: Arc::new(OnceLock::from(Ok(model))), build: None, config, deadline }
    }

    /// A model that is built when it is first asked.
    pub fn lazy(build: Option<Arc<BuildModel>>, config: ModelConfig, deadline: Duration) -> Self {
        Self { model: Arc::default(), build, config, deadline }
    }

    fn model(&self) -> Result<&Arc<dyn Model>, &str> {
        let built = self.model.get_or_init(|| match self.build.as_deref() {
            Some(build) => {
                FallbackModel::build(&self.config, build).map_err(|error| error.to_string())
            }
            None => Err("the agent was given no way to build models".to_owned()),
        });
        built.as_ref().map_err(String::as_str)
    }

    async fn ask(&self, instructions: &str, prompt: String) -> Result<ModelResponse, String> {
        let model = self.model()?;
        let part = UserPromptPart::new(prompt, Timestamp::now());
        let instructions = Some(instructions.to_owned());
        let request = ModelRequest { instructions, ..ModelRequest::user(part) };
        let cancel = CancellationToken::new();
        let _abandoned = cancel.clone().drop_guard();
        let input = ModelInput {
            messages: vec![request.into()].into(),
            tools: Arc::from([]),
            output: OutputRequest::text(),
            settings: ModelSettings::from(&self.config),
            cancel,
        };
        let answer = tokio::time::timeout(self.deadline, model.request(input)).await;
        let answer =
            answer.map_err(|_| format!("no summary within {} s", self.deadline.as_secs_f64()))?;
        let mut response = answer.map_err(|error| error.to_string())?;
        response.model_name.get_or_insert_with(|| model.name().to_owned());
        Ok(response)
    }
}

/// Has a model sum up everything but the system prompts.
#[derive(Clone)]
pub struct Summarize {
    /// The model.
    pub summarizer: Summarizer,
    /// What it is told.
    pub instructions: String,
    /// How many tokens it may write, about.
    pub target_tokens: u64,
}

impl Summarize {
    async fn sum_up(&self, messages: &[Arc<ModelMessage>]) -> Compaction {
        let systems = messages.iter().filter(|message| message.bears_system_prompt());
        let replaced = messages.len() - systems.clone().count();
        if replaced == 0 {
            return Compaction::default();
        }
        let prompt = format!(
            "Sum up the conversation below in at most about {} tokens.\n\n---\n{}\n---",
            self.target_tokens,
            transcript(messages)
        );
        let (summary, degraded, spent) = match self.summarizer.ask(&self.instructions, prompt).await
        {
            Ok(response) => {
                let summary = response.text();
                let spent = Some(Spent {
                    model_name: response.model_name.unwrap_or_default(),
                    provider_name: response.provider_name.unwrap_or_default(),
                    usage: response.usage,
                });
                if summary.trim().is_empty() {
                    let reason = "the model gave an empty summary".to_owned();
                    (note(replaced), Some(reason), spent)
                } else {
                    (summary, None, spent)
                }
            }
            Err(reason) => (note(replaced), Some(reason), None),
        };
        let tokens_after = Some(estimate_messages(systems) + estimate_tokens(&summary));
        Compaction { summary, replaced, tokens_after, degraded, spent }
    }
}

impl CompactionStrategy for Summarize {
    fn compact<'a>(&'a self, messages: &'a [Arc<ModelMessage>]) -> BoxFuture<'a, Compaction> {
        self.sum_up(messages).boxed()
    }
}

/// What stands for messages that nobody summed up.
fn note(replaced: usize) -> String {
    format!(
        "[NOTE: {replaced} earlier conversation message(s) were truncated to fit the context window.]"
    )
}
