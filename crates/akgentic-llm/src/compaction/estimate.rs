//! How many tokens a text has, about; for display only.

use std::sync::Arc;

use crate::content::{ToolContent, UserContent};
use crate::feedback::Feedback;
use crate::message::ModelMessage;
use crate::part::{RequestPart, ResponsePart};

/// A quarter of the characters.
pub fn estimate_tokens(text: &str) -> u64 {
    characters(text) / 4
}

/// The estimate for the texts of messages joined by line breaks.
pub(super) fn estimate_messages<'a>(
    messages: impl IntoIterator<Item = &'a Arc<ModelMessage>>,
) -> u64 {
    let mut counter = Counter::default();
    for message in messages {
        match &**message {
            ModelMessage::Request(request) => {
                request.parts.iter().for_each(|part| counter.request_part(part));
            }
            ModelMessage::Response(response) => {
                response.parts.iter().for_each(|part| counter.response_part(part));
            }
        }
    }
    let breaks = counter.texts.saturating_sub(1);
    (counter.characters + breaks) / 4
}

#[derive(Default)]
struct Counter {
    characters: u64,
    texts: u64,
}

impl Counter {
    fn add(&mut self, characters: u64) {
        self.characters += characters;
        self.texts += 1;
    }

    fn request_part(&mut self, part: &RequestPart) {
        match part {
            RequestPart::SystemPrompt(part) => self.add(characters(&part.content)),
            RequestPart::UserPrompt(part) => self.add(match &part.content {
                UserContent::Text(text) => characters(text),
                items @ UserContent::Items(_) => characters(&items.to_text()),
            }),
            RequestPart::ToolReturn(part) => {
                let content = match &part.content {
                    ToolContent::Json(serde_json::Value::String(text)) => characters(text),
                    other => characters(&other.to_text()),
                };
                self.add(characters("[tool_return:] ") + characters(&part.tool_name) + content);
            }
            RequestPart::RetryFeedback(part) => self.feedback(&part.content),
            RequestPart::RetryPrompt(part) => self.feedback(&part.content),
            RequestPart::Other(value) => self.add(characters(&value.to_string())),
        }
    }

    fn feedback(&mut self, feedback: &Feedback) {
        self.add(characters(&feedback.to_text()));
    }

    fn response_part(&mut self, part: &ResponsePart) {
        match part {
            ResponsePart::Text(part) => self.add(characters(&part.content)),
            ResponsePart::ToolCall(call) => {
                let args = characters(&call.args.to_text());
                self.add(characters("[tool_call:] ") + characters(&call.tool_name) + args);
            }
            ResponsePart::Thinking(_) => {}
            ResponsePart::Other(value) => self.add(characters(&value.to_string())),
        }
    }
}

fn characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
