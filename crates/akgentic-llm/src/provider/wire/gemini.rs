//! Google's Gemini API.

use serde_json::{Map, Value, json};

use super::pieces::{self, Piece, Return, pieces};
use super::tools::NativeOutput;
use super::{
    Asked, Fault, Ids, Outgoing, Reader, arguments, as_user, count, failed, list, media, nameless,
    profile, set, text, unmeasured,
};
use crate::content::{BinaryContent, ToolItem, UserContent, UserItem};
use crate::error::ModelError;
use crate::message::{FinishReason, ModelMessage, ModelRequest, ModelResponse};
use crate::model::{StreamEvent, ToolCallDelta};
use crate::part::{ResponsePart, TextPart, ThinkingPart, ToolArgs};
use crate::usage::RequestUsage;

/// What stands for the signature of a call that another model made: Base64 of
/// `skip_thought_signature_validator`.
const NO_SIGNATURE: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

/// Where signatures are kept in the details of a part.
const SIGNATURE: &str = "thought_signature";

pub(super) fn request(asked: &Asked<'_>) -> Result<Outgoing, ModelError> {
    let (config, settings) = (asked.config, asked.settings);
    let messages = asked.messages;
    let images_inside = profile::shows_images_in_results(&config.model);
    let writer = Writer { asked, ids: asked.ids(), images_inside };
    let mut body = json!({"contents": writer.contents()});
    let system = pieces::leading_system(messages).into_iter();
    let system: Vec<Value> =
        system.chain(pieces::instructions(messages)).map(|text| json!({"text": text})).collect();
    if !system.is_empty() {
        set(&mut body, "systemInstruction", json!({"role": "user", "parts": system}));
    }
    if !asked.tools.is_empty() {
        let tools = asked.tools.iter().map(|tool| {
            json!({
                "name": asked.name(&tool.name),
                "description": tool.description,
                "parameters_json_schema": tool.schema,
            })
        });
        let tools: Vec<Value> = tools.collect();
        set(&mut body, "tools", json!([{"functionDeclarations": tools}]));
        let mode = match (asked.needs_call(), profile::validates_calls(&config.model)) {
            (true, _) => "ANY",
            (false, true) => "VALIDATED",
            (false, false) => "AUTO",
        };
        set(&mut body, "toolConfig", json!({"functionCallingConfig": {"mode": mode}}));
    }
    let mut generation = json!({"responseModalities": ["TEXT"]});
    set(&mut generation, "temperature", settings.temperature.map(Value::from));
    set(&mut generation, "maxOutputTokens", settings.max_tokens.map(Value::from));
    set(&mut generation, "seed", settings.seed.map(Value::from));
    if let Some(NativeOutput { schema, .. }) = asked.native_output()? {
        set(&mut generation, "responseMimeType", json!("application/json"));
        set(&mut generation, "responseJsonSchema", schema);
    }
    set(&mut body, "generationConfig", generation);
    Ok(Outgoing { body, streamed: asked.stream })
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    ids: Ids,
    images_inside: bool,
}

impl Writer<'_> {
    fn contents(&self) -> Vec<Value> {
        let messages = self.asked.messages;
        let mut contents = Vec::with_capacity(messages.len());
        let mut leading = true;
        for message in messages {
            match &**message {
                ModelMessage::Request(request) => {
                    self.request(request, &mut leading, &mut contents);
                }
                ModelMessage::Response(response) => {
                    leading = false;
                    let parts = self.answer(response);
                    if !parts.is_empty() {
                        contents.push(json!({"role": "model", "parts": parts}));
                    }
                }
            }
        }
        contents
    }

    fn request(&self, request: &ModelRequest, leading: &mut bool, contents: &mut Vec<Value>) {
        let (mut results, mut shown, mut said) = (Vec::new(), Vec::new(), Vec::new());
        for piece in pieces(request) {
            *leading &= matches!(piece, Piece::System(_));
            match piece {
                Piece::System(_) if *leading => {}
                Piece::System(content) | Piece::Nudge(content) => {
                    said.push(json!({"text": as_user(content)}));
                }
                Piece::Feedback(content) => said.push(json!({"text": content})),
                Piece::User(UserContent::Text(content)) => said.push(json!({"text": content})),
                Piece::User(UserContent::Items(items)) => {
                    said.extend(items.iter().filter_map(user_part));
                }
                Piece::Return(result) => {
                    results.push(self.result(&result));
                    if !self.images_inside {
                        shown.extend(self.shown(&result));
                    }
                }
            }
        }
        for parts in [results, shown, said] {
            if !parts.is_empty() {
                contents.push(json!({"role": "user", "parts": parts}));
            }
        }
    }

    fn result(&self, result: &Return<'_>) -> Value {
        let files = result.files();
        let mut response = json!({
            "id": self.ids.wire(result.id),
            "name": self.asked.name(result.name),
            "response": response(result, self.images_inside),
        });
        if self.images_inside && !files.is_empty() {
            let parts = files.into_iter().map(|file| {
                json!({"inline_data": {
                    "mime_type": file.media_type,
                    "data": media::url_safe(file),
                }})
            });
            set(&mut response, "parts", parts.collect::<Value>());
        }
        json!({"functionResponse": response})
    }

    /// The files of a result, for models that see none inside of it.
    fn shown(&self, result: &Return<'_>) -> Vec<Value> {
        let frame =
            |file| media::frame(self.asked.name(result.name), self.ids.wire(result.id), file);
        let shown = result.files().into_iter().flat_map(|file| {
            [json!({"text": frame(file)}), inline(file), json!({"text": media::FRAME_END})]
        });
        shown.collect()
    }

    fn answer(&self, response: &ModelResponse) -> Vec<Value> {
        let mut parts = Vec::new();
        let mut signature: Option<String> = None;
        let mut called = false;
        for part in &response.parts {
            match part {
                ResponsePart::Text(part) => {
                    let mut said = json!({"text": part.content});
                    let kept = kept_signature(part.provider_details.as_ref());
                    set(&mut said, "thoughtSignature", signed(kept.or(signature.take())));
                    parts.push(said);
                }
                ResponsePart::Thinking(part) => {
                    signature = signature.or(part.signature.clone());
                    let kept = kept_signature(part.provider_details.as_ref());
                    if part.content.is_empty() && kept.is_none() {
                        continue;
                    }
                    let mut thought = json!({"text": part.content, "thought": true});
                    set(&mut thought, "thoughtSignature", signed(kept));
                    parts.push(thought);
                }
                ResponsePart::ToolCall(call) => {
                    let kept = kept_signature(call.provider_details.as_ref());
                    let made_up = (!called).then(|| NO_SIGNATURE.to_owned());
                    let mut called_for = json!({"functionCall": {
                        "id": self.ids.wire(&call.tool_call_id),
                        "name": self.asked.name(&call.tool_name),
                        "args": arguments(&call.args),
                    }});
                    let signature = kept.or(signature.take()).or(made_up);
                    set(&mut called_for, "thoughtSignature", signed(signature));
                    parts.push(called_for);
                    called = true;
                }
                ResponsePart::Other(_) => {}
            }
        }
        parts
    }
}

fn signed(signature: Option<String>) -> Option<Value> {
    signature.map(Value::from)
}

fn kept_signature(details: Option<&Map<String, Value>>) -> Option<String> {
    let kept = details?.get(SIGNATURE)?;
    kept.as_str().map(str::to_owned)
}

/// What a tool gave back, as an object.
fn response(result: &Return<'_>, images_inside: bool) -> Value {
    let files = result.files();
    if result.failed {
        let told = match result.value() {
            Value::String(text) => text,
            value => value.to_string(),
        };
        return json!({"error": told});
    }
    if files.is_empty() {
        return match result.value() {
            Value::Null => json!({}),
            // read as a reference to something in the request, and refused
            value if has_reference(&value) => json!({"return_value": value.to_string()}),
            object @ Value::Object(_) => object,
            value => json!({"return_value": value}),
        };
    }
    let others = result.items().into_iter().filter_map(|item| match item {
        ToolItem::Json(value) => Some(value),
        ToolItem::Binary(file) if media::is_shown(&file) => None,
        ToolItem::Binary(file) => Some(Value::from(media::as_text(&file))),
    });
    let others: Vec<Value> = others.collect();
    if images_inside {
        return json!({"return_value": others});
    }
    let mut output = vec![json!({"return_value": others})];
    output.extend(files.into_iter().map(|file| Value::from(media::reference(file))));
    json!({"output": output})
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("$ref") || fields.values().any(has_reference),
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

fn user_part(item: &UserItem) -> Option<Value> {
    match item {
        UserItem::Text(text) => Some(json!({"text": text})),
        UserItem::Binary(file) => Some(inline(file)),
        UserItem::Other(_) => None,
    }
}

fn inline(file: &BinaryContent) -> Value {
    let kind = media::bare_type(file);
    let family = kind.split('/').next().unwrap_or_default();
    let taken = ["image", "audio", "video", "text"].contains(&family)
        || ["application/pdf", "application/json"].contains(&kind);
    if taken {
        json!({"inlineData": {"data": media::url_safe(file), "mime_type": file.media_type}})
    } else {
        json!({"text": media::as_text(file)})
    }
}

pub(super) fn read(reader: &Reader<'_>, body: &Value) -> Result<ModelResponse, Fault> {
    const KNOWN: [&str; 5] =
        ["candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"];
    if let Some(error) = body.get("error") {
        return Err(failed(error));
    }
    if !KNOWN.iter().any(|key| body.get(*key).is_some()) {
        return Err(Fault::Unexpected("it is no reply of this API".to_owned()));
    }
    let candidate = list(body, "candidates").first();
    let mut details = Map::new();
    let mut reason = None;
    if let Some(raw) = candidate.and_then(|candidate| text(candidate, "finishReason")) {
        details.insert("finish_reason".to_owned(), Value::from(raw));
        reason = finish_reason(raw);
    } else if let Some(raw) = body.pointer("/promptFeedback/blockReason") {
        details.insert("block_reason".to_owned(), raw.clone());
        reason = Some(FinishReason::ContentFilter);
    }
    let content = candidate.and_then(|candidate| candidate.get("content"));
    let parts = content.map_or(Ok(Vec::new()), |content| parts(reader, content))?;
    Ok(ModelResponse {
        parts,
        usage: usage(body.get("usageMetadata")),
        model_name: text(body, "modelVersion").map(str::to_owned),
        provider_response_id: text(body, "responseId").map(str::to_owned),
        provider_details: (!details.is_empty()).then_some(details),
        finish_reason: reason,
        ..ModelResponse::default()
    })
}

fn parts(reader: &Reader<'_>, content: &Value) -> Result<Vec<ResponsePart>, Fault> {
    let mut parts = Vec::new();
    for part in list(content, "parts") {
        let signature = text(part, "thoughtSignature").or_else(|| text(part, "thought_signature"));
        let provider_name = signature.map(|_| reader.provider.to_owned());
        let details = signature
            .map(|signature| Map::from_iter([(SIGNATURE.to_owned(), Value::from(signature))]));
        if let Some(call) = part.get("functionCall") {
            let name = text(call, "name").filter(|name| !name.is_empty()).ok_or_else(nameless)?;
            let args = match call.get("args") {
                Some(Value::Object(map)) => ToolArgs::Object(map.clone()),
                _ => ToolArgs::None,
            };
            let mut call = reader.call(name, args, text(call, "id"));
            call.provider_name = provider_name;
            call.provider_details = details;
            parts.push(ResponsePart::ToolCall(call));
            continue;
        }
        let Some(said) = text(part, "text") else { continue };
        if said.is_empty() && signature.is_none() {
            continue;
        }
        let content = said.to_owned();
        let is_thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        parts.push(if is_thought {
            ResponsePart::Thinking(ThinkingPart {
                content,
                provider_name,
                provider_details: details,
                ..ThinkingPart::default()
            })
        } else {
            ResponsePart::Text(TextPart {
                provider_name,
                provider_details: details,
                ..TextPart::new(content)
            })
        });
    }
    Ok(parts)
}

fn finish_reason(raw: &str) -> Option<FinishReason> {
    match raw {
        "STOP" => Some(FinishReason::Stop),
        "MAX_TOKENS" => Some(FinishReason::Length),
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "IMAGE_SAFETY" => Some(FinishReason::ContentFilter),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" => Some(FinishReason::Error),
        _ => None,
    }
}

fn usage(reported: Option<&Value>) -> RequestUsage {
    let Some(usage) = reported.filter(|usage| usage.is_object()) else { return unmeasured() };
    let (thoughts, cached) =
        (count(usage, "thoughtsTokenCount"), count(usage, "cachedContentTokenCount"));
    let details = [
        ("cachedContentTokenCount", "cached_content_tokens"),
        ("thoughtsTokenCount", "thoughts_tokens"),
        ("toolUsePromptTokenCount", "tool_use_prompt_tokens"),
    ];
    let details = details
        .into_iter()
        .filter_map(|(from, to)| Some((to.to_owned(), usage.get(from)?.as_i64()?)));
    RequestUsage {
        input_tokens: count(usage, "promptTokenCount"),
        cache_read_tokens: cached,
        output_tokens: count(usage, "candidatesTokenCount").saturating_add(thoughts),
        output_reasoning_tokens: thoughts,
        details: details.collect(),
        ..RequestUsage::default()
    }
}

/// A reply in pieces, each of them shaped like a whole one.
#[derive(Default)]
pub(in crate::provider) struct Deltas {
    body: Map<String, Value>,
    parts: Vec<Value>,
    finish_reason: Option<Value>,
    calls: usize,
}

impl Deltas {
    pub(super) fn take(&mut self, data: &Value, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if let Some(error) = data.get("error") {
            return Err(failed(error));
        }
        for key in ["modelVersion", "responseId", "usageMetadata", "promptFeedback"] {
            if let Some(value) = data.get(key) {
                self.body.insert(key.to_owned(), value.clone());
            }
        }
        let Some(candidate) = list(data, "candidates").first() else { return Ok(()) };
        if let Some(reason) = candidate.get("finishReason").filter(|reason| reason.is_string()) {
            self.finish_reason = Some(reason.clone());
        }
        let Some(content) = candidate.get("content") else { return Ok(()) };
        for part in list(content, "parts") {
            self.add(part, news)?;
        }
        Ok(())
    }

    fn add(&mut self, part: &Value, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if let Some(call) = part.get("functionCall") {
            if self.calls >= super::CALLS {
                return Err(Fault::Unexpected(format!("more than {} tool calls", super::CALLS)));
            }
            news.push(StreamEvent::ToolCall(ToolCallDelta {
                index: self.calls,
                id: text(call, "id").unwrap_or_default().to_owned(),
                name: text(call, "name").unwrap_or_default().to_owned(),
                arguments: call.get("args").map(Value::to_string).unwrap_or_default(),
            }));
            self.calls += 1;
            self.parts.push(part.clone());
            return Ok(());
        }
        let Some(said) = text(part, "text") else { return Ok(()) };
        let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        if !said.is_empty() {
            let said = said.to_owned();
            news.push(if thought { StreamEvent::Thinking(said) } else { StreamEvent::Text(said) });
        }
        let alike = |last: &Value| {
            last.get("text").is_some()
                && last.get("thoughtSignature").is_none()
                && (last.get("thought").and_then(Value::as_bool) == Some(true)) == thought
        };
        if let Some(last) = self.parts.last_mut().filter(|last| alike(last)) {
            let joined = text(last, "text").unwrap_or_default().to_owned() + said;
            set(last, "text", Value::from(joined));
            set(last, "thoughtSignature", part.get("thoughtSignature").cloned());
        } else {
            self.parts.push(part.clone());
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Value, Fault> {
        let mut body = self.body;
        let blocked = body.get("promptFeedback").and_then(|told| told.get("blockReason")).is_some();
        if self.finish_reason.is_none() && !blocked {
            return Err(Fault::Cut);
        }
        if !blocked || self.finish_reason.is_some() {
            let candidate = json!({
                "content": {"parts": self.parts},
                "finishReason": self.finish_reason,
            });
            body.insert("candidates".to_owned(), json!([candidate]));
        }
        Ok(Value::Object(body))
    }
}
