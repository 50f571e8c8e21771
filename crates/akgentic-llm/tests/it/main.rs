//! Behaviour of the LLM layer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "tests")]

#[cfg(feature = "providers")]
#[path = "../double/mod.rs"]
mod double;

mod cancelling;
mod compacting;
mod conversation;
mod costs;
mod deadlines;
#[cfg(feature = "genai")]
mod general;
mod history;
mod hooking;
mod invariants;
mod load;
mod models;
#[cfg(feature = "providers")]
mod providers;
mod recorded;
#[cfg(feature = "providers")]
mod refusals;
mod running;
mod scenarios;
mod schemas;

use akgentic_llm::{
    ModelMessage, ModelResponse, RequestPart, ResponsePart, TextPart, ToolCallPart,
};

fn say(text: &str) -> ModelResponse {
    ModelResponse::new(vec![ResponsePart::Text(TextPart::new(text))])
}

fn call(calls: &[(&str, &str, &str)]) -> ModelResponse {
    let part = |(tool, args, id): &(&str, &str, &str)| {
        ResponsePart::ToolCall(ToolCallPart::new(*tool, *args, *id))
    };
    ModelResponse::new(calls.iter().map(part).collect())
}

/// Outcomes and texts of all tool returns in a message.
fn returns(message: &ModelMessage) -> Vec<(String, akgentic_llm::Outcome, String)> {
    let request = message.as_request().unwrap();
    let returns = request.parts.iter().filter_map(|part| match part {
        RequestPart::ToolReturn(part) => {
            Some((part.tool_call_id.clone(), part.outcome, part.content.to_text()))
        }
        _ => None,
    });
    returns.collect()
}
