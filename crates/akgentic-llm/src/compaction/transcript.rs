//! A conversation as text, for a model that sums it up.

use std::sync::Arc;

use crate::feedback::Feedback;
use crate::message::ModelMessage;
use crate::part::{RequestPart, ResponsePart};

/// Characters of the arguments of a call.
const ARGS: usize = 1000;

/// Characters of a result.
const RESULT: usize = 3000;

/// The conversation as text, one entry for each part. System prompts and thoughts are left out,
/// long arguments and results are cut.
pub fn transcript(messages: &[Arc<ModelMessage>]) -> String {
    let mut entries: Vec<String> = Vec::with_capacity(messages.len());
    for message in messages {
        match &**message {
            ModelMessage::Request(request) => {
                entries.extend(request.parts.iter().filter_map(request_entry));
            }
            ModelMessage::Response(response) => {
                entries.extend(response.parts.iter().filter_map(response_entry));
            }
        }
    }
    entries.join("\n")
}

fn request_entry(part: &RequestPart) -> Option<String> {
    Some(match part {
        RequestPart::SystemPrompt(_) => return None,
        RequestPart::UserPrompt(part) => format!("USER: {}", part.content.to_text()),
        RequestPart::ToolReturn(part) => {
            let content = cut(part.content.to_text(), RESULT);
            format!("TOOL_RESULT ({}): {content}", part.tool_name)
        }
        RequestPart::RetryFeedback(part) => retry_entry(None, &part.content),
        RequestPart::RetryPrompt(part) => retry_entry(part.tool_name.as_deref(), &part.content),
        RequestPart::Other(value) => format!("REQUEST_PART: {}", cut(value.to_string(), RESULT)),
    })
}

fn retry_entry(tool: Option<&str>, content: &Feedback) -> String {
    let text = cut(content.to_text(), RESULT);
    format!("TOOL_RETRY ({}): {text}", tool.unwrap_or("output"))
}

fn response_entry(part: &ResponsePart) -> Option<String> {
    Some(match part {
        ResponsePart::Text(part) => format!("ASSISTANT: {}", part.content),
        ResponsePart::Thinking(_) => return None,
        ResponsePart::ToolCall(call) => {
            format!("TOOL_CALL ({}): {}", call.tool_name, cut(call.args.to_text(), ARGS))
        }
        ResponsePart::Other(value) => format!("RESPONSE_PART: {}", cut(value.to_string(), RESULT)),
    })
}

/// The text, or its first `max` characters with a note.
fn cut(mut text: String, max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max) {
        text.truncate(end);
        text.push_str("... [truncated]");
    }
    text
}
