//! The parts of a request as every language needs them.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::media;
use crate::content::{BinaryContent, ToolContent, ToolItem, UserContent, UserItem};
use crate::feedback::{Feedback, RetryCause, errors_json, feedback_text};
use crate::message::{ModelMessage, ModelRequest};
use crate::part::{Outcome, RequestPart, ToolReturnPart};

/// One part of a request.
pub(in crate::provider) enum Piece<'a> {
    /// The voice of the system.
    System(&'a str),
    /// Somebody asks.
    User(&'a UserContent),
    /// A tool gave something back.
    Return(Return<'a>),
    /// Why the last reply cannot be used, framed.
    Feedback(String),
    /// That the last reply held nothing; the system says so.
    Nudge(&'a str),
}

impl Piece<'_> {
    /// What the system or somebody says, as most languages spell it; nothing for a result.
    pub(in crate::provider) fn said(&self, item: fn(&UserItem) -> Option<Value>) -> Option<Value> {
        let (role, content) = match self {
            Piece::System(text) | Piece::Nudge(text) => ("system", Value::from(*text)),
            Piece::Feedback(text) | Piece::User(UserContent::Text(text)) => {
                ("user", Value::from(text.as_str()))
            }
            Piece::User(UserContent::Items(items)) => {
                let items: Vec<Value> = items.iter().filter_map(item).collect();
                if items.is_empty() {
                    return None;
                }
                ("user", Value::from(items))
            }
            Piece::Return(_) => return None,
        };
        Some(json!({"role": role, "content": content}))
    }
}

/// The result of a call.
pub(in crate::provider) struct Return<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub failed: bool,
    content: Cow<'a, ToolContent>,
}

/// The parts of a request in order; kinds nobody knows are left out.
pub(in crate::provider) fn pieces(request: &ModelRequest) -> impl Iterator<Item = Piece<'_>> {
    request.parts.iter().filter_map(|part| match part {
        RequestPart::SystemPrompt(part) if part.content.is_empty() => None,
        RequestPart::SystemPrompt(part) => Some(Piece::System(&part.content)),
        RequestPart::UserPrompt(part) => Some(Piece::User(&part.content)),
        RequestPart::ToolReturn(part) => Some(Piece::Return(Return::of(part))),
        RequestPart::RetryFeedback(part) => {
            let cause = part.retry.as_ref().map(|retry| retry.cause);
            Some(match &part.content {
                Feedback::Text(text) if cause == Some(RetryCause::NoOutput) => Piece::Nudge(text),
                content => Piece::Feedback(feedback_text(content, part.retry.as_ref())),
            })
        }
        RequestPart::RetryPrompt(part) => Some(match (&part.tool_name, &part.tool_call_id) {
            (Some(name), Some(id)) => {
                let content = match &part.content {
                    Feedback::Text(text) => Value::from(text.as_str()),
                    Feedback::Errors(errors) => errors_json(errors),
                };
                let content = Cow::Owned(ToolContent::Json(content));
                Piece::Return(Return { id, name, failed: true, content })
            }
            _ => Piece::Feedback(feedback_text(&part.content, None)),
        }),
        RequestPart::Other(_) => None,
    })
}

/// The system prompts that a conversation begins with.
pub(in crate::provider) fn leading_system(messages: &[std::sync::Arc<ModelMessage>]) -> Vec<&str> {
    let requests = messages.iter().map_while(|message| message.as_request());
    let leading = requests.flat_map(pieces).map_while(|piece| match piece {
        Piece::System(text) => Some(text),
        _ => None,
    });
    leading.collect()
}

/// The instructions that hold for the last request.
pub(in crate::provider) fn instructions(messages: &[std::sync::Arc<ModelMessage>]) -> Option<&str> {
    let mut requests = messages.iter().rev().filter_map(|message| message.as_request());
    requests.find_map(|request| request.instructions.as_deref()).filter(|text| !text.is_empty())
}

impl<'a> Return<'a> {
    fn of(part: &'a ToolReturnPart) -> Self {
        let failed = matches!(part.outcome, Outcome::Failed | Outcome::Denied | Outcome::Retried);
        let content = Cow::Borrowed(&part.content);
        Self { id: &part.tool_call_id, name: &part.tool_name, failed, content }
    }

    /// The content as JSON; a file is named where it stood, one of text stands there itself.
    pub(in crate::provider) fn value(&self) -> Value {
        match &*self.content {
            ToolContent::Json(value) => value.clone(),
            ToolContent::Binary(binary) => Value::from(media::reference(binary)),
            ToolContent::Items(items) => items.iter().map(item_value).collect(),
        }
    }

    /// The content one by one, when it is a list or a file.
    pub(in crate::provider) fn items(&self) -> Vec<ToolItem> {
        match &*self.content {
            ToolContent::Json(Value::Array(items)) => {
                items.iter().cloned().map(ToolItem::Json).collect()
            }
            ToolContent::Json(value) => vec![ToolItem::Json(value.clone())],
            ToolContent::Binary(binary) => vec![ToolItem::Binary(binary.clone())],
            ToolContent::Items(items) => items.clone(),
        }
    }

    /// The content as text, for APIs that have nothing else; failures say that they are some.
    pub(in crate::provider) fn text(&self) -> String {
        match self.value() {
            value if self.failed => json!({"error": value}).to_string(),
            Value::String(text) => text,
            Value::Null => String::new(),
            value => value.to_string(),
        }
    }

    /// The files that have to be shown beside the text.
    pub(in crate::provider) fn files(&self) -> Vec<&BinaryContent> {
        let all: Vec<&BinaryContent> = match &*self.content {
            ToolContent::Json(_) => Vec::new(),
            ToolContent::Binary(binary) => vec![binary],
            ToolContent::Items(items) => {
                let binaries = items.iter().filter_map(|item| match item {
                    ToolItem::Binary(binary) => Some(binary),
                    ToolItem::Json(_) => None,
                });
                binaries.collect()
            }
        };
        all.into_iter().filter(|binary| media::is_shown(binary)).collect()
    }
}

fn item_value(item: &ToolItem) -> Value {
    match item {
        ToolItem::Json(value) => value.clone(),
        ToolItem::Binary(binary) => Value::from(media::reference(binary)),
    }
}
