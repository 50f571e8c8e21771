//! OpenAI's Responses API, at OpenAI and at Azure.

use serde_json::{Map, Value, json};

use super::chat::schema_name;
use super::pieces::{self, Piece, Return, pieces};
use super::tools::NativeOutput;
use super::{
    Asked, Fault, Ids, Outgoing, Reader, arguments_text, count, counters, error_text, failed, list,
    media, nameless, profile, set, stamp, text, think, unmeasured,
};
use crate::content::{BinaryContent, ToolItem, UserItem};
use crate::error::ModelError;
use crate::message::{FinishReason, ModelMessage, ModelResponse};
use crate::model::{StreamEvent, ToolCallDelta};
use crate::part::{ResponsePart, TextPart, ThinkingPart, ToolArgs};
use crate::usage::RequestUsage;

pub(super) fn request(asked: &Asked<'_>) -> Result<Outgoing, ModelError> {
    let (config, settings) = (asked.config, asked.settings);
    let reasons = profile::reasons(&config.model);
    let writer = Writer { asked, ids: asked.ids(), reasons };
    let mut body = json!({
        "model": config.model,
        "stream": asked.stream,
        "input": writer.input(),
    });
    let instructions = pieces::instructions(asked.messages);
    set(&mut body, "instructions", instructions.map(Value::from));
    if reasons {
        set(&mut body, "include", json!(["reasoning.encrypted_content"]));
    }
    if !asked.tools.is_empty() {
        let tools = asked.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": asked.name(&tool.name),
                "description": tool.description,
                "parameters": tool.schema,
                "strict": tool.strict == Some(true),
            })
        });
        set(&mut body, "tools", tools.collect::<Value>());
        set(&mut body, "tool_choice", json!(if asked.needs_call() { "required" } else { "auto" }));
        set(&mut body, "parallel_tool_calls", asked.one_call().then_some(Value::Bool(false)));
    }
    if let Some(NativeOutput { name, description, schema }) = asked.native_output()? {
        let mut format = json!({
            "type": "json_schema",
            "name": schema_name(name),
            "schema": schema,
            "strict": true,
        });
        set(&mut format, "description", description.map(Value::from));
        set(&mut body, "text", json!({"format": format}));
    }
    let effort = settings.reasoning_effort;
    let warm = profile::takes_temperature(&config.model, effort.is_some());
    set(&mut body, "temperature", settings.temperature.filter(|_| warm).map(Value::from));
    set(&mut body, "max_output_tokens", settings.max_tokens.map(Value::from));
    let mut reasoning = json!({});
    set(&mut reasoning, "effort", effort.map(|effort| json!(effort)));
    let all_turns = profile::keeps_all_turns(&config.model);
    set(&mut reasoning, "context", all_turns.then(|| json!("all_turns")));
    let says_something = reasoning.as_object().is_some_and(|fields| !fields.is_empty());
    set(&mut body, "reasoning", says_something.then_some(reasoning));
    Ok(Outgoing { body, streamed: asked.stream })
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    ids: Ids,
    /// Whether items can be sent back as the items they were.
    reasons: bool,
}

impl Writer<'_> {
    fn input(&self) -> Vec<Value> {
        let messages = self.asked.messages;
        let mut input = Vec::with_capacity(messages.len());
        for message in messages {
            match &**message {
                ModelMessage::Request(request) => {
                    input.extend(pieces(request).filter_map(|piece| self.item(&piece)));
                }
                ModelMessage::Response(response) => self.answer(response, &mut input),
            }
        }
        input
    }

    fn item(&self, piece: &Piece<'_>) -> Option<Value> {
        match piece {
            Piece::Return(result) => Some(json!({
                "type": "function_call_output",
                "call_id": self.ids.wire(result.id),
                "output": output(result),
            })),
            said => said.said(user_item),
        }
    }

    fn answer(&self, response: &ModelResponse, input: &mut Vec<Value>) {
        for part in &response.parts {
            match part {
                ResponsePart::Text(part) => match part.id.as_deref().filter(|_| self.reasons) {
                    Some(id) => push_message(input, id, part),
                    None => input.push(json!({"role": "assistant", "content": part.content})),
                },
                ResponsePart::Thinking(part) => {
                    // thoughts of the Chat API are named after their field
                    let named = |id: &&str| id.starts_with("reasoning") || *id == "content";
                    let id = part.id.as_deref().filter(|id| self.reasons && !named(id));
                    match id {
                        Some(id) => push_reasoning(input, id, part),
                        None if part.content.is_empty() => {}
                        None => input
                            .push(json!({"role": "assistant", "content": think(&part.content)})),
                    }
                }
                ResponsePart::ToolCall(call) => {
                    let mut item = json!({
                        "type": "function_call",
                        "name": self.asked.name(&call.tool_name),
                        "arguments": arguments_text(&call.args),
                        "call_id": self.ids.wire(&call.tool_call_id),
                    });
                    let id = call.id.as_deref().filter(|_| self.reasons);
                    set(&mut item, "id", id.map(Value::from));
                    input.push(item);
                }
                ResponsePart::Other(_) => {}
            }
        }
    }
}

/// Texts of one message stay together.
fn push_message(input: &mut Vec<Value>, id: &str, part: &TextPart) {
    let item = json!({"type": "output_text", "text": part.content, "annotations": []});
    if let Some(Value::Array(content)) = input
        .last_mut()
        .filter(|last| text(last, "type") == Some("message") && text(last, "id") == Some(id))
        .and_then(|last| last.get_mut("content"))
    {
        content.push(item);
        return;
    }
    let mut message = json!({
        "type": "message",
        "role": "assistant",
        "id": id,
        "status": "completed",
        "content": [item],
    });
    let phase = part.provider_details.as_ref().and_then(|details| details.get("phase"));
    set(&mut message, "phase", phase.cloned());
    input.push(message);
}

/// Summaries of one thought stay together.
fn push_reasoning(input: &mut Vec<Value>, id: &str, part: &ThinkingPart) {
    let summary =
        (!part.content.is_empty()).then(|| json!({"type": "summary_text", "text": part.content}));
    if let Some(last) = input
        .last_mut()
        .filter(|last| text(last, "type") == Some("reasoning") && text(last, "id") == Some(id))
    {
        if let Some(Value::Array(all)) = last.get_mut("summary") {
            all.extend(summary);
        }
        return;
    }
    let summary: Vec<Value> = summary.into_iter().collect();
    let mut item = json!({"type": "reasoning", "id": id, "summary": summary});
    set(&mut item, "encrypted_content", part.signature.as_deref().map(Value::from));
    input.push(item);
}

fn output(result: &Return<'_>) -> Value {
    if result.files().is_empty() {
        return Value::from(result.text());
    }
    let items = result.items().into_iter().map(|item| match item {
        ToolItem::Json(Value::String(text)) => text_item(&text),
        ToolItem::Json(value) => text_item(&value.to_string()),
        ToolItem::Binary(file) => file_item(&file),
    });
    items.collect()
}

fn text_item(content: &str) -> Value {
    json!({"type": "input_text", "text": content})
}

fn user_item(item: &UserItem) -> Option<Value> {
    match item {
        UserItem::Text(text) => Some(text_item(text)),
        UserItem::Binary(file) => Some(file_item(file)),
        UserItem::Other(_) => None,
    }
}

fn file_item(file: &BinaryContent) -> Value {
    if media::is_image(file) {
        let uri = media::data_uri(file);
        return json!({"type": "input_image", "image_url": uri, "detail": "auto"});
    }
    let ending = match media::bare_type(file) {
        "application/pdf" => "pdf",
        "text/plain" => "txt",
        "text/csv" => "csv",
        "text/html" => "html",
        "text/markdown" => "md",
        _ => return text_item(&media::as_text(file)),
    };
    json!({
        "type": "input_file",
        "file_data": media::data_uri(file),
        "filename": format!("filename.{ending}"),
    })
}

pub(super) fn read(reader: &Reader<'_>, body: &Value) -> Result<ModelResponse, Fault> {
    let status = text(body, "status");
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(match status {
            Some(_) => Fault::Failed { status: 500, body: error_text(error) },
            None => failed(error),
        });
    }
    let output = body.get("output").and_then(Value::as_array);
    let output = output.ok_or_else(|| Fault::Unexpected("there is no output in it".to_owned()))?;
    let mut parts = Vec::new();
    let mut refusal = None;
    for item in output {
        match text(item, "type") {
            Some("reasoning") => read_reasoning(reader, item, &mut parts),
            Some("message") => {
                for content in list(item, "content") {
                    refusal = refusal.or_else(|| text(content, "refusal"));
                    let said = text(content, "text").filter(|said| !said.is_empty());
                    parts.extend(said.map(|said| read_text(reader, item, said)));
                }
            }
            Some("function_call") => {
                let name = text(item, "name").filter(|name| !name.is_empty());
                let args = ToolArgs::Text(text(item, "arguments").unwrap_or_default().to_owned());
                let name = name.ok_or_else(nameless)?;
                let mut call = reader.call(name, args, text(item, "call_id"));
                call.id = text(item, "id").map(str::to_owned);
                call.provider_name = Some(reader.provider.to_owned());
                parts.push(ResponsePart::ToolCall(call));
            }
            _ => {}
        }
    }
    let mut details = Map::new();
    let finish_reason = if let Some(refusal) = refusal {
        parts.clear();
        details.insert("refusal".to_owned(), Value::from(refusal));
        Some(FinishReason::ContentFilter)
    } else {
        let reason = body.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let reason = reason.or(status);
        if let Some(reason) = reason {
            details.insert("finish_reason".to_owned(), Value::from(reason));
        }
        reason.and_then(finish_reason)
    };
    if let Some(time) = stamp(body.get("created_at")) {
        details.insert("timestamp".to_owned(), time);
    }
    Ok(ModelResponse {
        parts,
        usage: usage(body.get("usage")),
        model_name: text(body, "model").map(str::to_owned),
        provider_response_id: text(body, "id").map(str::to_owned),
        provider_details: Some(details),
        finish_reason,
        ..ModelResponse::default()
    })
}

fn finish_reason(raw: &str) -> Option<FinishReason> {
    match raw {
        "completed" => Some(FinishReason::Stop),
        "max_output_tokens" => Some(FinishReason::Length),
        "content_filter" => Some(FinishReason::ContentFilter),
        "cancelled" | "failed" => Some(FinishReason::Error),
        _ => None,
    }
}

fn read_reasoning(reader: &Reader<'_>, item: &Value, parts: &mut Vec<ResponsePart>) {
    let mut summaries: Vec<&str> =
        list(item, "summary").iter().filter_map(|part| text(part, "text")).collect();
    if summaries.is_empty() {
        summaries.push("");
    }
    for (index, summary) in summaries.into_iter().enumerate() {
        let signature = text(item, "encrypted_content").filter(|_| index == 0);
        parts.push(ResponsePart::Thinking(ThinkingPart {
            content: summary.to_owned(),
            id: text(item, "id").map(str::to_owned),
            signature: signature.map(str::to_owned),
            provider_name: Some(reader.provider.to_owned()),
            provider_details: None,
        }));
    }
}

fn read_text(reader: &Reader<'_>, item: &Value, said: &str) -> ResponsePart {
    let phase = text(item, "phase");
    let details = phase.map(|phase| Map::from_iter([("phase".to_owned(), Value::from(phase))]));
    ResponsePart::Text(TextPart {
        id: text(item, "id").map(str::to_owned),
        provider_name: Some(reader.provider.to_owned()),
        provider_details: details,
        ..TextPart::new(said)
    })
}

fn usage(reported: Option<&Value>) -> RequestUsage {
    let Some(usage) = reported.filter(|usage| usage.is_object()) else { return unmeasured() };
    let none = Value::Null;
    let output = usage.get("output_tokens_details").unwrap_or(&none);
    RequestUsage {
        input_tokens: count(usage, "input_tokens"),
        cache_read_tokens: count(
            usage.get("input_tokens_details").unwrap_or(&none),
            "cached_tokens",
        ),
        output_tokens: count(usage, "output_tokens"),
        output_reasoning_tokens: count(output, "reasoning_tokens"),
        details: counters(output).collect(),
        ..RequestUsage::default()
    }
}

/// A reply in pieces; its last event holds the whole of it.
#[derive(Default)]
pub(in crate::provider) struct Deltas {
    body: Option<Value>,
    /// Place in the output, id and name of each call so far.
    calls: Vec<(u64, String, String)>,
}

impl Deltas {
    pub(super) fn take(
        &mut self,
        mut data: Value,
        news: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        let kind = text(&data, "type").unwrap_or_default().to_owned();
        let delta = text(&data, "delta").unwrap_or_default();
        match kind.as_str() {
            "response.output_text.delta" => news.push(StreamEvent::Text(delta.to_owned())),
            "response.reasoning_summary_text.delta" => {
                news.push(StreamEvent::Thinking(delta.to_owned()));
            }
            "response.output_item.added" => {
                if let Some(item) = data.get("item").filter(|item| is_call(item)) {
                    let id = text(item, "call_id").unwrap_or_default().to_owned();
                    let name = text(item, "name").unwrap_or_default().to_owned();
                    if self.calls.len() < super::CALLS {
                        self.calls.push((count(&data, "output_index"), id, name));
                    }
                }
            }
            "response.function_call_arguments.delta" => {
                let place = count(&data, "output_index");
                let index = self.calls.iter().position(|(at, ..)| *at == place);
                if let Some((index, (_, id, name))) =
                    index.and_then(|index| Some((index, self.calls.get(index)?)))
                {
                    news.push(StreamEvent::ToolCall(ToolCallDelta {
                        index,
                        id: id.clone(),
                        name: name.clone(),
                        arguments: delta.to_owned(),
                    }));
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.body = data.get_mut("response").map(Value::take);
            }
            "error" => return Err(failed(data.get("error").unwrap_or(&data))),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Value, Fault> {
        self.body.ok_or(Fault::Cut)
    }
}

fn is_call(item: &Value) -> bool {
    text(item, "type") == Some("function_call")
}
