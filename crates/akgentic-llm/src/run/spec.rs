//! What a run is started with.

use std::fmt;
use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::ToolSet;
use crate::config::{EndStrategy, RunUsageLimits};
use crate::content::UserContent;
use crate::hook::Hooks;
use crate::message::ModelMessage;
use crate::model::{ModelSettings, OutputRequest};

/// What a run is started with.
#[derive(Clone)]
pub struct RunSpec {
    /// The conversation so far, as it is stored.
    pub history: Vec<Arc<ModelMessage>>,
    /// System prompts, rendered: names and texts in order.
    pub system_prompts: Vec<(String, String)>,
    /// What is asked.
    pub prompt: UserContent,
    /// Tools the model may call.
    pub tools: Arc<ToolSet>,
    /// What the run is to produce.
    pub output: OutputRequest,
    /// Code around its steps, outermost first.
    pub hooks: Hooks,
    /// How it goes.
    pub options: RunOptions,
    /// Where times and ids come from.
    pub stamps: Stamps,
}

impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("history", &self.history.len())
            .field("prompt", &self.prompt)
            .finish_non_exhaustive()
    }
}

/// How a run goes.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What it may consume.
    pub limits: RunUsageLimits,
    /// How often a failing tool, or an unusable output, may be retried.
    pub retries: u32,
    /// When a reply with both tool calls and an output ends it.
    pub end_strategy: EndStrategy,
    /// How many characters of text a tool result may have before its middle is left out; `None`
    /// for any number.
    pub result_characters: Option<usize>,
    /// Whether a reply that is a final answer stands although its tokens are above a limit.
    pub final_answer_may_exceed: bool,
    /// Settings of its model requests.
    pub settings: ModelSettings,
    /// Ends it when it fires.
    pub cancel: CancellationToken,
}

/// Where the times and ids of messages come from.
#[derive(Clone)]
pub struct Stamps {
    /// The time.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// A fresh id for a run or a conversation.
    pub id: Arc<dyn Fn() -> Uuid + Send + Sync>,
    /// A random id for a tool call whose provider gave it none.
    pub call_id: Arc<dyn Fn() -> Uuid + Send + Sync>,
}

impl Default for Stamps {
    fn default() -> Self {
        Self {
            now: Arc::new(Timestamp::now),
            id: Arc::new(Uuid::now_v7),
            call_id: Arc::new(Uuid::new_v4),
        }
    }
}

impl fmt::Debug for Stamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stamps")
    }
}
