//! Anthropic's Messages API.

use serde_json::{Map, Value, json};

use super::pieces::{self, Piece, Return, pieces};
use super::profile::Claude;
use super::tools::NativeOutput;
use super::{
    Asked, CALLS, Fault, Ids, Outgoing, Reader, arguments, as_user, count, counters, failed, media,
    nameless, set, text, unmeasured,
};
use crate::content::{BinaryContent, ToolItem, UserContent, UserItem};
use crate::error::ModelError;
use crate::feedback::escape_framing;
use crate::message::{FinishReason, ModelMessage, ModelRequest, ModelResponse};
use crate::model::{StreamEvent, ToolCallDelta};
use crate::part::{ResponsePart, TextPart, ThinkingPart, ToolArgs};
use crate::usage::RequestUsage;

/// Above how many output tokens a reply has to come as events.
const IN_ONE_PIECE: u64 = 21_333;

/// The id of a thought that is kept from everybody.
const REDACTED: &str = "redacted_thinking";

/// Whether a model's output can be held to a schema.
pub(in crate::provider) fn has_native_output(model: &str) -> bool {
    Claude::of(model).native_output
}

pub(super) fn request(asked: &Asked<'_>) -> Result<Outgoing, ModelError> {
    let (config, settings) = (asked.config, asked.settings);
    let claude = Claude::of(&config.model);
    let too_long = settings.max_tokens.is_none() && claude.max_tokens > IN_ONE_PIECE;
    let streamed = asked.stream || too_long;
    let messages = asked.messages;
    let mut body = json!({
        "model": config.model,
        "max_tokens": settings.max_tokens.unwrap_or(claude.max_tokens),
        "stream": streamed,
        "messages": Writer { asked, ids: asked.ids(), claude }.messages(),
    });
    let system = pieces::leading_system(messages).join("\n\n");
    let system = (!system.is_empty()).then_some(system);
    match pieces::instructions(messages) {
        None => set(&mut body, "system", system.map(Value::from)),
        Some(instructions) => {
            let blocks = system.as_deref().into_iter().chain([instructions]).map(text_block);
            set(&mut body, "system", blocks.collect::<Value>());
        }
    }
    if !asked.tools.is_empty() {
        let tools = asked.tools.iter().map(|tool| {
            json!({
                "name": asked.name(&tool.name),
                "description": tool.description,
                "input_schema": tool.schema,
            })
        });
        set(&mut body, "tools", tools.collect::<Value>());
        let mut choice = json!({"type": if asked.needs_call() { "any" } else { "auto" }});
        let one = asked.one_call().then_some(Value::Bool(true));
        set(&mut choice, "disable_parallel_tool_use", one);
        set(&mut body, "tool_choice", choice);
    }
    set(&mut body, "output_config", output_config(asked, claude)?);
    let temperature = settings.temperature.filter(|_| claude.temperature);
    set(&mut body, "temperature", temperature.map(Value::from));
    Ok(Outgoing { body, streamed })
}

fn output_config(asked: &Asked<'_>, claude: Claude) -> Result<Option<Value>, ModelError> {
    let mut config = json!({});
    let effort = asked.settings.reasoning_effort;
    set(&mut config, "effort", effort.map(|effort| json!(effort)));
    if let Some(NativeOutput { schema, .. }) = asked.native_output()? {
        if !claude.native_output {
            return Err(ModelError::Usage(format!(
                "{} cannot be held to a schema; ask for its output through a tool",
                asked.config.model
            )));
        }
        set(&mut config, "format", json!({"type": "json_schema", "schema": schema}));
    }
    Ok((config != json!({})).then_some(config))
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    ids: Ids,
    claude: Claude,
}

impl Writer<'_> {
    fn messages(&self) -> Vec<Value> {
        let messages = self.asked.messages;
        let mut written = Vec::with_capacity(messages.len());
        let mut leading = true;
        for message in messages {
            match &**message {
                ModelMessage::Request(request) => {
                    self.request(request, &mut leading, &mut written);
                }
                ModelMessage::Response(response) => {
                    leading = false;
                    self.answer(response, &mut written);
                }
            }
        }
        written
    }

    fn request(&self, request: &ModelRequest, leading: &mut bool, written: &mut Vec<Value>) {
        let (mut blocks, mut late) = (Vec::new(), Vec::new());
        for piece in pieces(request) {
            *leading &= matches!(piece, Piece::System(_));
            match piece {
                Piece::System(_) if *leading => {}
                Piece::System(content) | Piece::Nudge(content) if self.claude.late_system => {
                    late.push(content);
                }
                Piece::System(content) | Piece::Nudge(content) => {
                    blocks.push(text_block(&as_user(content)));
                }
                Piece::Feedback(content) => blocks.push(text_block(&content)),
                Piece::User(UserContent::Text(content)) if content.is_empty() => {}
                Piece::User(UserContent::Text(content)) => blocks.push(text_block(content)),
                Piece::User(UserContent::Items(items)) => {
                    blocks.extend(items.iter().filter_map(user_block));
                }
                Piece::Return(result) => blocks.push(self.result(&result)),
            }
        }
        if blocks.is_empty() {
            // the system speaks after somebody only
            blocks.extend(late.drain(..).map(|content| text_block(&as_user(content))));
        }
        if !blocks.is_empty() {
            written.push(json!({"role": "user", "content": blocks}));
        }
        if !late.is_empty() {
            let blocks: Vec<Value> = late.into_iter().map(text_block).collect();
            written.push(json!({"role": "system", "content": blocks}));
        }
    }

    fn result(&self, result: &Return<'_>) -> Value {
        json!({
            "type": "tool_result",
            "tool_use_id": self.ids.wire(result.id),
            "content": result_blocks(result),
            "is_error": result.failed,
        })
    }

    fn answer(&self, response: &ModelResponse, written: &mut Vec<Value>) {
        let mut blocks = Vec::new();
        for part in &response.parts {
            match part {
                ResponsePart::Text(part) if part.content.is_empty() => {}
                ResponsePart::Text(part) => blocks.push(text_block(&part.content)),
                ResponsePart::Thinking(part) => match (&part.signature, part.id.as_deref()) {
                    (Some(data), Some(REDACTED)) => {
                        blocks.push(json!({"type": REDACTED, "data": data}));
                    }
                    (Some(signature), _) => blocks.push(json!({
                        "type": "thinking",
                        "thinking": part.content,
                        "signature": signature,
                    })),
                    _ if part.content.is_empty() => {}
                    _ => {
                        let thought = escape_framing(&part.content);
                        let framed =
                            format!("<assistant_thinking>\n{thought}\n</assistant_thinking>");
                        let block = text_block(&framed);
                        written.push(json!({"role": "user", "content": [block]}));
                    }
                },
                ResponsePart::ToolCall(call) => blocks.push(json!({
                    "type": "tool_use",
                    "id": self.ids.wire(&call.tool_call_id),
                    "name": self.asked.name(&call.tool_name),
                    "input": arguments(&call.args),
                })),
                ResponsePart::Other(_) => {}
            }
        }
        if !blocks.is_empty() {
            written.push(json!({"role": "assistant", "content": blocks}));
        }
    }
}

fn text_block(content: &str) -> Value {
    json!({"type": "text", "text": content})
}

/// A list becomes one block for each item, anything else a block of its own.
fn result_blocks(result: &Return<'_>) -> Vec<Value> {
    let items = if result.failed && result.files().is_empty() {
        vec![ToolItem::Json(result.value())]
    } else {
        result.items()
    };
    let blocks = items.into_iter().filter_map(|item| match item {
        // empty blocks are refused
        ToolItem::Json(Value::String(text)) if text.is_empty() => None,
        ToolItem::Json(Value::String(text)) => Some(text_block(&text)),
        ToolItem::Json(value) => Some(text_block(&value.to_string())),
        ToolItem::Binary(file) => Some(file_block(&file)),
    });
    blocks.collect()
}

fn user_block(item: &UserItem) -> Option<Value> {
    match item {
        UserItem::Text(text) => (!text.is_empty()).then(|| text_block(text)),
        UserItem::Binary(file) => Some(file_block(file)),
        UserItem::Other(_) => None,
    }
}

fn file_block(file: &BinaryContent) -> Value {
    let kind = media::bare_type(file);
    if media::is_shown(file) {
        let shown = if media::is_pdf(file) { "document" } else { "image" };
        let data = media::encoded(file);
        return json!({
            "type": shown,
            "source": {"type": "base64", "media_type": kind, "data": data},
        });
    }
    if kind.starts_with("text/") {
        let data = String::from_utf8_lossy(&file.data);
        return json!({
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": data},
        });
    }
    text_block(&media::as_text(file))
}

pub(super) fn read(reader: &Reader<'_>, body: &Value) -> Result<ModelResponse, Fault> {
    if text(body, "type") == Some("error") {
        return Err(failed(body.get("error").unwrap_or(body)));
    }
    let content = body.get("content").and_then(Value::as_array);
    let content =
        content.ok_or_else(|| Fault::Unexpected("there is no content in it".to_owned()))?;
    let mut parts = Vec::new();
    for block in content {
        match text(block, "type") {
            Some("text") => {
                let said = text(block, "text").filter(|said| !said.is_empty());
                parts.extend(said.map(|said| ResponsePart::Text(TextPart::new(said))));
            }
            Some("thinking") => parts.push(ResponsePart::Thinking(ThinkingPart {
                content: text(block, "thinking").unwrap_or_default().to_owned(),
                signature: text(block, "signature").map(str::to_owned),
                provider_name: Some(reader.provider.to_owned()),
                ..ThinkingPart::default()
            })),
            Some(REDACTED) => parts.push(ResponsePart::Thinking(ThinkingPart {
                id: Some(REDACTED.to_owned()),
                signature: text(block, "data").map(str::to_owned),
                provider_name: Some(reader.provider.to_owned()),
                ..ThinkingPart::default()
            })),
            Some("tool_use") => {
                let name = text(block, "name").filter(|name| !name.is_empty());
                let args = match block.get("input") {
                    Some(Value::Object(map)) => ToolArgs::Object(map.clone()),
                    Some(Value::String(raw)) => ToolArgs::Text(raw.clone()),
                    _ => ToolArgs::None,
                };
                let call = reader.call(name.ok_or_else(nameless)?, args, text(block, "id"));
                parts.push(ResponsePart::ToolCall(call));
            }
            _ => {}
        }
    }
    let raw_reason = text(body, "stop_reason");
    let details =
        raw_reason.map(|raw| Map::from_iter([("finish_reason".to_owned(), Value::from(raw))]));
    Ok(ModelResponse {
        parts,
        usage: usage(body.get("usage")),
        model_name: text(body, "model").map(str::to_owned),
        provider_response_id: text(body, "id").map(str::to_owned),
        provider_details: details,
        finish_reason: raw_reason.and_then(finish_reason),
        ..ModelResponse::default()
    })
}

fn finish_reason(raw: &str) -> Option<FinishReason> {
    match raw {
        "end_turn" | "stop_sequence" | "pause_turn" => Some(FinishReason::Stop),
        "max_tokens" | "model_context_window_exceeded" => Some(FinishReason::Length),
        "tool_use" => Some(FinishReason::ToolCall),
        "refusal" => Some(FinishReason::ContentFilter),
        _ => None,
    }
}

fn usage(reported: Option<&Value>) -> RequestUsage {
    let Some(usage) = reported.filter(|usage| usage.is_object()) else { return unmeasured() };
    let written = count(usage, "cache_creation_input_tokens");
    let read = count(usage, "cache_read_input_tokens");
    let none = Value::Null;
    let creation = usage.get("cache_creation").unwrap_or(&none);
    RequestUsage {
        input_tokens: count(usage, "input_tokens").saturating_add(written).saturating_add(read),
        cache_write_tokens: written,
        cache_write_1h_tokens: count(creation, "ephemeral_1h_input_tokens"),
        cache_read_tokens: read,
        output_tokens: count(usage, "output_tokens"),
        details: counters(usage).collect(),
        ..RequestUsage::default()
    }
}

/// A reply in pieces.
#[derive(Default)]
pub(in crate::provider) struct Deltas {
    message: Map<String, Value>,
    blocks: Vec<Block>,
    stopped: bool,
}

struct Block {
    index: u64,
    start: Value,
    text: String,
    signature: String,
}

impl Deltas {
    pub(super) fn take(&mut self, data: &Value, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        match text(data, "type") {
            Some("message_start") => {
                if let Some(Value::Object(message)) = data.get("message") {
                    self.message.clone_from(message);
                }
            }
            Some("content_block_start") => {
                if self.blocks.len() >= CALLS {
                    return Err(Fault::Unexpected(format!("more than {CALLS} parts")));
                }
                self.blocks.push(Block {
                    index: count(data, "index"),
                    start: data.get("content_block").cloned().unwrap_or_default(),
                    text: String::new(),
                    signature: String::new(),
                });
            }
            Some("content_block_delta") => self.take_delta(data, news),
            Some("message_delta") => {
                for from in ["/delta/stop_reason", "/delta/stop_sequence"] {
                    let (_, key) = from.rsplit_once('/').unwrap_or_default();
                    if let Some(value) = data.pointer(from) {
                        self.message.insert(key.to_owned(), value.clone());
                    }
                }
                let usage = self.message.entry("usage").or_insert_with(|| json!({}));
                if let (Some(usage), Some(Value::Object(later))) =
                    (usage.as_object_mut(), data.get("usage"))
                {
                    let later = later.iter().filter(|(_, count)| !count.is_null());
                    usage.extend(later.map(|(key, count)| (key.clone(), count.clone())));
                }
            }
            Some("message_stop") => self.stopped = true,
            Some("error") => return Err(failed(data.get("error").unwrap_or(data))),
            _ => {}
        }
        Ok(())
    }

    fn take_delta(&mut self, data: &Value, news: &mut Vec<StreamEvent>) {
        let index = count(data, "index");
        let calls =
            self.blocks.iter().filter(|block| text(&block.start, "type") == Some("tool_use"));
        let call = calls.take_while(|block| block.index != index).count();
        let block = self.blocks.iter_mut().rev().find(|block| block.index == index);
        let (Some(block), Some(delta)) = (block, data.get("delta")) else { return };
        match text(delta, "type") {
            Some("text_delta") => {
                let piece = text(delta, "text").unwrap_or_default();
                block.text.push_str(piece);
                news.push(StreamEvent::Text(piece.to_owned()));
            }
            Some("thinking_delta") => {
                let piece = text(delta, "thinking").unwrap_or_default();
                block.text.push_str(piece);
                news.push(StreamEvent::Thinking(piece.to_owned()));
            }
            Some("signature_delta") => {
                block.signature.push_str(text(delta, "signature").unwrap_or_default());
            }
            Some("input_json_delta") => {
                let piece = text(delta, "partial_json").unwrap_or_default();
                block.text.push_str(piece);
                news.push(StreamEvent::ToolCall(ToolCallDelta {
                    index: call,
                    id: text(&block.start, "id").unwrap_or_default().to_owned(),
                    name: text(&block.start, "name").unwrap_or_default().to_owned(),
                    arguments: piece.to_owned(),
                }));
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Result<Value, Fault> {
        if !self.stopped {
            return Err(Fault::Cut);
        }
        let mut message = self.message;
        let blocks: Vec<Value> = self.blocks.into_iter().map(Block::whole).collect();
        message.insert("content".to_owned(), Value::Array(blocks));
        Ok(Value::Object(message))
    }
}

impl Block {
    fn whole(self) -> Value {
        let mut block = self.start;
        let key = match text(&block, "type") {
            Some("text") => "text",
            Some("thinking") => "thinking",
            Some("tool_use") => "input",
            _ => return block,
        };
        // what the start already holds comes first; an input begins as an empty object
        let begun = text(&block, key).unwrap_or_default().to_owned();
        if key != "input" || !self.text.is_empty() {
            set(&mut block, key, Value::from(begun + &self.text));
        }
        let signature = (!self.signature.is_empty()).then(|| Value::from(self.signature));
        set(&mut block, "signature", signature);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::super::list;
    use super::*;

    #[test]
    fn a_call_without_arguments_has_an_empty_object() {
        let mut deltas = Deltas::default();
        let start = json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "ping", "input": {}}});
        let mut news = Vec::new();
        deltas.take(&start, &mut news).unwrap();
        deltas.take(&json!({"type": "message_stop"}), &mut news).unwrap();
        let body = deltas.finish().unwrap();
        assert_eq!(list(&body, "content").first().unwrap().get("input"), Some(&json!({})));
    }
}
