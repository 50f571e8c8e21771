//! Mistral's dialect of Chat Completions; its replies are read like those of the others.

use serde_json::{Value, json};

use super::chat::text_item;
use super::pieces::{self, Piece, Return, pieces};
use super::tools::NativeOutput;
use super::{Asked, Ids, Outgoing, arguments_text, data_image, media, set};
use crate::content::{BinaryContent, UserItem};
use crate::error::ModelError;
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::part::ResponsePart;

pub(super) fn request(asked: &Asked<'_>) -> Result<Outgoing, ModelError> {
    let settings = asked.settings;
    let mut body = json!({
        "model": asked.config.model,
        "messages": Writer { asked, ids: asked.ids() }.messages(),
        "stream": asked.stream,
        "top_p": 1.0,
        "n": 1,
    });
    if !asked.tools.is_empty() {
        let tools = asked.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": asked.name(&tool.name),
                "description": tool.description,
                "parameters": tool.schema,
            }})
        });
        set(&mut body, "tools", tools.collect::<Value>());
        set(&mut body, "tool_choice", json!(if asked.needs_call() { "any" } else { "auto" }));
        set(&mut body, "parallel_tool_calls", asked.one_call().then_some(Value::Bool(false)));
    }
    if let Some(NativeOutput { name, description, schema }) = asked.native_output()? {
        let name = super::chat::schema_name(name);
        let mut format = json!({"name": name, "schema": schema, "strict": true});
        set(&mut format, "description", description.map(Value::from));
        set(&mut body, "response_format", json!({"type": "json_schema", "json_schema": format}));
    }
    set(&mut body, "temperature", settings.temperature.map(Value::from));
    set(&mut body, "max_tokens", settings.max_tokens.map(Value::from));
    set(&mut body, "random_seed", settings.seed.map(Value::from));
    Ok(Outgoing { body, streamed: asked.stream })
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    ids: Ids,
}

impl Writer<'_> {
    fn messages(&self) -> Vec<Value> {
        let messages = self.asked.messages;
        let mut written = Vec::with_capacity(messages.len());
        if let Some(instructions) = pieces::instructions(messages) {
            written.push(json!({"role": "system", "content": instructions}));
        }
        for message in messages {
            match &**message {
                ModelMessage::Request(request) => self.request(request, &mut written),
                ModelMessage::Response(response) => written.push(self.answer(response)),
            }
        }
        written
    }

    fn request(&self, request: &ModelRequest, written: &mut Vec<Value>) {
        let mut files = Vec::new();
        for piece in pieces(request) {
            if let Piece::Return(result) = &piece {
                written.push(json!({
                    "role": "tool",
                    "tool_call_id": self.ids.wire(result.id),
                    "content": result.text(),
                }));
                files.extend(self.shown(result));
                continue;
            }
            for file in files.drain(..) {
                push(written, file);
            }
            if let Some(message) = piece.said(user_item) {
                push(written, message);
            }
        }
        for file in files {
            push(written, file);
        }
    }

    fn shown(&self, result: &Return<'_>) -> Option<Value> {
        let (tool, call) = (self.asked.name(result.name), self.ids.wire(result.id));
        media::shown(result, tool, call, text_item, shown_file)
    }

    fn answer(&self, response: &ModelResponse) -> Value {
        let (mut content, mut calls) = (Vec::new(), Vec::new());
        for part in &response.parts {
            match part {
                ResponsePart::Text(part) => content.push(text_item(&part.content)),
                ResponsePart::Thinking(part) if part.content.is_empty() => {}
                ResponsePart::Thinking(part) => content
                    .push(json!({"type": "thinking", "thinking": [text_item(&part.content)]})),
                ResponsePart::ToolCall(call) => calls.push(json!({
                    "id": self.ids.wire(&call.tool_call_id),
                    "type": "function",
                    "index": 0,
                    "function": {
                        "name": self.asked.name(&call.tool_name),
                        "arguments": arguments_text(&call.args),
                    },
                })),
                ResponsePart::Other(_) => {}
            }
        }
        json!({"role": "assistant", "content": content, "tool_calls": calls, "prefix": false})
    }
}

/// Users may not speak right after a tool.
fn push(written: &mut Vec<Value>, message: Value) {
    let role = |message: &Value| message.get("role").and_then(Value::as_str).map(str::to_owned);
    let after_tool = written.last().and_then(role).as_deref() == Some("tool");
    if after_tool && role(&message).as_deref() == Some("user") {
        written.push(json!({"role": "assistant", "content": [text_item("OK")], "prefix": false}));
    }
    written.push(message);
}

fn user_item(item: &UserItem) -> Option<Value> {
    match item {
        UserItem::Text(text) => Some(text_item(text)),
        UserItem::Binary(file) if media::is_shown(file) => Some(shown_file(file)),
        UserItem::Binary(file) => Some(text_item(media::as_text(file))),
        UserItem::Other(_) => None,
    }
}

fn shown_file(file: &BinaryContent) -> Value {
    let uri = media::data_uri(file);
    if media::is_pdf(file) {
        return json!({"type": "document_url", "document_url": uri});
    }
    data_image(&uri)
}
