//! How a history shrinks, as a pure function that live contexts and restored ones share.

use std::sync::Arc;

use akgentic_core::wire::Timestamp;

use crate::compaction::{SLIDING_WINDOW_SPLIT, SUMMARIZE, split_fused};
use crate::event::LlmContextCompactedEvent;
use crate::message::{ModelMessage, ModelRequest};
use crate::part::{RequestPart, UserPromptPart};

/// The history after `event`. `now` stamps the prompt that carries the summary.
///
/// * Nothing replaced: the history as it is.
/// * Strategy `summarize`: system prompts and the summary.
/// * Strategy `sliding_window_split`: as any other, but a prompt in one request with the system
///   prompts is a message of its own.
/// * Any other: the first so many messages without system prompt give way to the summary; tool
///   results whose calls went with them are dropped.
pub fn fold(
    history: &[Arc<ModelMessage>],
    event: &LlmContextCompactedEvent,
    now: Timestamp,
) -> Vec<Arc<ModelMessage>> {
    let Ok(replaced) = usize::try_from(event.replaced_message_count) else {
        return history.to_vec();
    };
    if replaced == 0 {
        return history.to_vec();
    }
    if event.strategy_id == SUMMARIZE {
        let systems = history.iter().filter(|message| message.bears_system_prompt());
        let mut folded: Vec<Arc<ModelMessage>> = systems.map(only_system_parts).collect();
        folded.push(summary_request(&event.summary, now));
        return folded;
    }
    let apart;
    let history = if event.strategy_id == SLIDING_WINDOW_SPLIT {
        apart = split_fused(history);
        &apart
    } else {
        history
    };
    let mut folded = Vec::with_capacity(history.len());
    let mut removed = 0;
    for message in history {
        if message.bears_system_prompt() || removed == replaced {
            folded.push(Arc::clone(message));
            continue;
        }
        if removed == 0 {
            folded.push(summary_request(&event.summary, now));
        }
        removed += 1;
    }
    without_orphans(folded)
}

fn only_system_parts(message: &Arc<ModelMessage>) -> Arc<ModelMessage> {
    let Some(request) = message.as_request() else { return Arc::clone(message) };
    let is_system = |part: &&RequestPart| matches!(part, RequestPart::SystemPrompt(_));
    if request.parts.iter().all(|part| is_system(&part)) {
        return Arc::clone(message);
    }
    let parts = request.parts.iter().filter(is_system).cloned().collect();
    ModelRequest { parts, ..request.clone() }.into()
}

fn summary_request(summary: &str, now: Timestamp) -> Arc<ModelMessage> {
    let text = format!("[Conversation summary] {summary}");
    ModelRequest::user(UserPromptPart::new(text, now)).into()
}

/// Drops results whose call is not in the latest response before them.
fn without_orphans(history: Vec<Arc<ModelMessage>>) -> Vec<Arc<ModelMessage>> {
    let mut calls: Vec<String> = Vec::new();
    let mut kept = Vec::with_capacity(history.len());
    for message in history {
        match &*message {
            ModelMessage::Response(response) => {
                calls = response.tool_calls().map(|call| call.tool_call_id.clone()).collect();
                kept.push(message);
            }
            ModelMessage::Request(request) => {
                let known = |part: &&RequestPart| {
                    part.answers().is_none_or(|id| calls.iter().any(|call| call == id))
                };
                if request.parts.iter().all(|part| known(&part)) {
                    kept.push(message);
                    continue;
                }
                let parts: Vec<RequestPart> = request.parts.iter().filter(known).cloned().collect();
                if !parts.is_empty() {
                    kept.push(ModelRequest { parts, ..ModelRequest::default() }.into());
                }
            }
        }
    }
    kept
}
