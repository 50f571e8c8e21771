//! A history of several providers, made fit for one of them.

use std::sync::Arc;

use crate::history::History;
use crate::message::{ModelMessage, ModelResponse};
use crate::part::{ResponsePart, TextPart, ThinkingPart};

/// What becomes of thoughts that another provider's model had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForeignThinking {
    /// They are left out.
    #[default]
    Drop,
    /// They become text between `<think>` tags.
    Inline,
    /// They stay thoughts, without what only their provider understands.
    Keep,
}

/// The history as a provider may read it back: what other providers tied to themselves is gone.
///
/// Ids of items, signatures and details mean something only to the provider that made them; sent to
/// another they are refused, and nobody knows who made what bears no name. Thoughts of others are dropped or told as text. Calls and their
/// results stay tied by the ids of the calls. A history of one provider is shared, not copied.
pub fn for_provider(messages: &History, provider: &str, thinking: ForeignThinking) -> History {
    let foreign = |message: &ModelMessage| {
        message.as_response().is_some_and(|response| {
            response.parts.iter().any(|part| is_foreign(part, response, provider))
        })
    };
    if !messages.iter().any(|message| foreign(message)) {
        return messages.clone();
    }
    let adapted = messages.iter().map(|message| match &**message {
        ModelMessage::Response(response) if foreign(message) => {
            adapt(response, provider, thinking).into()
        }
        _ => Arc::clone(message),
    });
    adapted.collect()
}

fn adapt(response: &ModelResponse, provider: &str, thinking: ForeignThinking) -> ModelResponse {
    let parts = response.parts.iter().filter_map(|part| {
        if !is_foreign(part, response, provider) {
            return Some(part.clone());
        }
        match part {
            ResponsePart::Thinking(part) if part.content.is_empty() => None,
            ResponsePart::Thinking(part) => match thinking {
                ForeignThinking::Drop => None,
                ForeignThinking::Inline => {
                    let text = format!("<think>\n{}\n</think>", part.content);
                    Some(ResponsePart::Text(TextPart::new(text)))
                }
                ForeignThinking::Keep => {
                    let content = part.content.clone();
                    let thought = ThinkingPart { content, ..ThinkingPart::default() };
                    Some(ResponsePart::Thinking(thought))
                }
            },
            ResponsePart::Text(part) => Some(ResponsePart::Text(TextPart::new(&part.content))),
            ResponsePart::ToolCall(call) => {
                let mut call = call.clone();
                call.id = None;
                call.provider_name = None;
                call.provider_details = None;
                Some(ResponsePart::ToolCall(call))
            }
            ResponsePart::Other(_) => None,
        }
    });
    ModelResponse { parts: parts.collect(), provider_details: None, ..response.clone() }
}

/// Whether a part bears something that only another provider understands.
fn is_foreign(part: &ResponsePart, response: &ModelResponse, provider: &str) -> bool {
    let (maker, tied) = match part {
        ResponsePart::Thinking(part) => (&part.provider_name, true),
        ResponsePart::Text(part) => {
            (&part.provider_name, part.id.is_some() || part.provider_details.is_some())
        }
        ResponsePart::ToolCall(call) => {
            (&call.provider_name, call.id.is_some() || call.provider_details.is_some())
        }
        ResponsePart::Other(_) => (&None, true),
    };
    let maker = maker.as_ref().or(response.provider_name.as_ref());
    tied && maker.is_none_or(|maker| maker != provider)
}
