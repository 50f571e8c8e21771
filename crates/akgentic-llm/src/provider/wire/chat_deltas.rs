//! Replies of Chat Completions and of Mistral, piece by piece.

use serde_json::{Map, Value, json};

use super::chat::{THOUGHTS, text_item};
use super::{CALLS, Fault, failed, list, set, text};
use crate::model::{StreamEvent, ToolCallDelta};

/// A reply in pieces.
#[derive(Default)]
pub(in crate::provider) struct Deltas {
    body: Map<String, Value>,
    content: String,
    chunks: Vec<Value>,
    thoughts: Option<(&'static str, String)>,
    refusal: String,
    calls: Vec<Call>,
    finish_reason: Option<Value>,
    saw_choice: bool,
    done: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Deltas {
    pub(super) fn done(&mut self) {
        self.done = true;
    }

    pub(super) fn take(&mut self, data: &Value, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(failed(error));
        }
        for key in ["id", "model", "created", "usage", "provider"] {
            if let Some(value) = data.get(key).filter(|value| !value.is_null()) {
                self.body.insert(key.to_owned(), value.clone());
            }
        }
        let Some(choice) = list(data, "choices").first() else { return Ok(()) };
        self.saw_choice = true;
        if let Some(reason) = choice.get("finish_reason").filter(|reason| reason.is_string()) {
            self.finish_reason = Some(reason.clone());
        }
        let Some(delta) = choice.get("delta") else { return Ok(()) };
        self.refusal.push_str(text(delta, "refusal").unwrap_or_default());
        let thought = THOUGHTS.iter().find_map(|field| Some((*field, text(delta, field)?)));
        if let Some((field, thought)) = thought.filter(|(_, thought)| !thought.is_empty()) {
            self.thoughts.get_or_insert((field, String::new())).1.push_str(thought);
            news.push(StreamEvent::Thinking(thought.to_owned()));
        }
        match delta.get("content") {
            Some(Value::String(content)) if !content.is_empty() => {
                self.add_text(content);
                news.push(StreamEvent::Text(content.clone()));
            }
            Some(Value::Array(chunks)) => self.add_chunks(chunks, news),
            _ => {}
        }
        for call in list(delta, "tool_calls") {
            self.add_call(call, news)?;
        }
        Ok(())
    }

    fn add_text(&mut self, content: &str) {
        if self.chunks.is_empty() {
            self.content.push_str(content);
        } else {
            self.add_chunk("text", content);
        }
    }

    fn add_chunks(&mut self, chunks: &[Value], news: &mut Vec<StreamEvent>) {
        if !self.content.is_empty() {
            let before = std::mem::take(&mut self.content);
            self.add_chunk("text", &before);
        }
        for chunk in chunks {
            if text(chunk, "type") == Some("thinking") {
                let texts = list(chunk, "thinking").iter().filter_map(|part| text(part, "text"));
                let thought: String = texts.collect();
                self.add_chunk("thinking", &thought);
                news.push(StreamEvent::Thinking(thought));
            } else if let Some(content) = text(chunk, "text").filter(|content| !content.is_empty())
            {
                self.add_chunk("text", content);
                news.push(StreamEvent::Text(content.to_owned()));
            }
        }
    }

    /// Adds to the last chunk when it is of the same kind.
    fn add_chunk(&mut self, kind: &str, content: &str) {
        let last = self.chunks.last_mut().filter(|last| text(last, "type") == Some(kind));
        let slot = match (kind, last) {
            ("thinking", Some(last)) => last.pointer_mut("/thinking/0/text"),
            (_, Some(last)) => last.get_mut("text"),
            (_, None) => None,
        };
        if let Some(Value::String(before)) = slot {
            before.push_str(content);
        } else if kind == "thinking" {
            self.chunks.push(json!({"type": kind, "thinking": [text_item(content)]}));
        } else {
            self.chunks.push(text_item(content));
        }
    }

    fn add_call(&mut self, delta: &Value, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let index = delta.get("index").and_then(Value::as_u64);
        let id = text(delta, "id").unwrap_or_default();
        let known = match index {
            // some number all calls alike, but give each an id
            Some(_) => self.calls.iter().rposition(|call| {
                call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
            }),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|call| call.id == id),
        };
        let at = known.unwrap_or(self.calls.len());
        if at >= CALLS {
            return Err(Fault::Unexpected(format!("more than {CALLS} tool calls")));
        }
        if at == self.calls.len() {
            self.calls.push(Call { index, ..Call::default() });
        }
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let function = delta.get("function").unwrap_or(delta);
        let name = text(function, "name").unwrap_or_default();
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        let arguments = match function.get("arguments") {
            Some(Value::String(piece)) => piece.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        call.arguments.push_str(&arguments);
        news.push(StreamEvent::ToolCall(ToolCallDelta {
            index: at,
            id: call.id.clone(),
            name: call.name.clone(),
            arguments,
        }));
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Value, Fault> {
        if !self.done && self.finish_reason.is_none() {
            return Err(Fault::Cut);
        }
        let mut body = self.body;
        let mut choices = Vec::new();
        if self.saw_choice {
            let calls = self.calls.into_iter().map(|call| {
                json!({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}})
            });
            let mut message = json!({"tool_calls": calls.collect::<Vec<_>>()});
            let content = if self.chunks.is_empty() {
                json!(self.content)
            } else {
                Value::Array(self.chunks)
            };
            set(&mut message, "content", content);
            if let Some((field, thoughts)) = self.thoughts {
                set(&mut message, field, Value::from(thoughts));
            }
            set(&mut message, "refusal", (!self.refusal.is_empty()).then(|| self.refusal.into()));
            choices.push(json!({"message": message, "finish_reason": self.finish_reason}));
        }
        body.insert("choices".to_owned(), Value::Array(choices));
        Ok(Value::Object(body))
    }
}
