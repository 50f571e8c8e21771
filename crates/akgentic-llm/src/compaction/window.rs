//! Strategies without a model: keep everything, or only the newest messages.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};

use super::estimate::{estimate_messages, estimate_tokens};
use super::split::{Split, split, split_fused};
use super::{Compaction, CompactionStrategy};
use crate::message::ModelMessage;

/// Changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Keep;

impl CompactionStrategy for Keep {
    fn compact<'a>(&'a self, _: &'a [Arc<ModelMessage>]) -> BoxFuture<'a, Compaction> {
        ready(Compaction::default()).boxed()
    }
}

/// Keeps the newest messages and drops the others.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    /// How many stay, about: never a tool result without its call.
    pub keep: usize,
    /// Whether a prompt in one request with the system prompt may go, too.
    pub split_first: bool,
}

impl SlidingWindow {
    /// Decides at once.
    pub fn decide(&self, messages: &[Arc<ModelMessage>]) -> Compaction {
        if self.split_first { self.of(&split_fused(messages)) } else { self.of(messages) }
    }

    fn of(&self, messages: &[Arc<ModelMessage>]) -> Compaction {
        let Split { system, middle, tail } = split(messages, self.keep);
        let replaced = middle.len();
        if replaced == 0 {
            return Compaction::default();
        }
        let summary = format!("[Sliding window: dropped {replaced} earlier message(s)]");
        let estimate = |indexes: &[usize]| {
            estimate_messages(indexes.iter().filter_map(|index| messages.get(*index)))
        };
        let tokens_after = estimate(&system) + estimate_tokens(&summary) + estimate(&tail);
        Compaction { summary, replaced, tokens_after: Some(tokens_after), ..Compaction::default() }
    }
}

impl CompactionStrategy for SlidingWindow {
    fn compact<'a>(&'a self, messages: &'a [Arc<ModelMessage>]) -> BoxFuture<'a, Compaction> {
        ready(self.decide(messages)).boxed()
    }
}
