//! Chat Completions: OpenAI, Azure, NVIDIA, OpenRouter and everybody who speaks like them.

use serde_json::{Map, Value, json};

use super::pieces::{self, Piece, Return, pieces};
use super::tools::NativeOutput;
use super::{
    Asked, Fault, Ids, Outgoing, Reader, WireTool, arguments_text, as_user, count, counters,
    data_image, error_text, failed, list, media, nameless, profile, set, stamp, text, think,
    unmeasured,
};
use crate::config::{EffortStyle, OpenRouterRouting, Provider};
use crate::content::{BinaryContent, UserContent, UserItem};
use crate::error::ModelError;
use crate::message::{FinishReason, ModelMessage, ModelResponse};
use crate::part::{ResponsePart, TextPart, ThinkingPart, ToolArgs, ToolCallPart};
use crate::usage::RequestUsage;

/// Fields of a message in which thoughts come, and in which they are sent back.
pub(super) const THOUGHTS: [&str; 2] = ["reasoning", "reasoning_content"];

pub(super) fn request(asked: &Asked<'_>) -> Result<Outgoing, ModelError> {
    let writer = Writer { asked, ids: asked.ids() };
    let mut body = json!({
        "model": asked.config.model,
        "stream": asked.stream,
        "messages": writer.messages()?,
    });
    if asked.stream {
        set(&mut body, "stream_options", json!({"include_usage": true}));
    }
    if !asked.tools.is_empty() {
        let strict = knows_strict(asked.config.provider);
        let tools: Vec<Value> =
            asked.tools.iter().map(|tool| tool_json(asked, tool, strict)).collect();
        set(&mut body, "tools", Value::Array(tools));
        set(&mut body, "tool_choice", json!(if asked.needs_call() { "required" } else { "auto" }));
        set(&mut body, "parallel_tool_calls", asked.one_call().then_some(Value::Bool(false)));
    }
    if let Some(NativeOutput { name, description, schema }) = asked.native_output()? {
        let mut format = json!({"name": schema_name(name), "schema": schema, "strict": true});
        set(&mut format, "description", description.map(Value::from));
        set(&mut body, "response_format", json!({"type": "json_schema", "json_schema": format}));
    }
    settings(asked, &mut body);
    Ok(Outgoing { body, streamed: asked.stream })
}

/// A name as formats of output take it.
pub(in crate::provider) fn schema_name(name: &str) -> String {
    let fits = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '-');
    name.chars().map(|next| if fits(next) { next } else { '_' }).take(64).collect()
}

fn knows_strict(provider: Provider) -> bool {
    !matches!(
        provider,
        Provider::Groq
            | Provider::DeepSeek
            | Provider::Ollama
            | Provider::AwsBedrock
            | Provider::Cohere
            | Provider::OpenAiCompatible
    )
}

fn tool_json(asked: &Asked<'_>, tool: &WireTool, strict: bool) -> Value {
    let mut function = json!({
        "name": asked.name(&tool.name),
        "description": tool.description,
        "parameters": tool.schema,
    });
    let strict = strict && tool.strict == Some(true);
    set(&mut function, "strict", strict.then_some(Value::Bool(true)));
    json!({"type": "function", "function": function})
}

fn settings(asked: &Asked<'_>, body: &mut Value) {
    let (settings, config) = (asked.settings, asked.config);
    let is_openai = matches!(config.provider, Provider::OpenAiChat | Provider::AzureChat);
    let has_effort = settings.reasoning_effort.is_some();
    let warm = !is_openai || profile::takes_temperature(&config.model, has_effort);
    set(body, "temperature", settings.temperature.filter(|_| warm).map(Value::from));
    set(body, "seed", settings.seed.map(Value::from));
    let cap = match config.provider {
        Provider::OpenRouter
        | Provider::DeepSeek
        | Provider::Ollama
        | Provider::Cohere
        | Provider::OpenAiCompatible => "max_tokens",
        _ => "max_completion_tokens",
    };
    set(body, cap, settings.max_tokens.map(Value::from));
    let effort = settings.reasoning_effort.map(|effort| json!(effort));
    match config.provider.effort_style() {
        EffortStyle::OpenAi => set(body, "reasoning_effort", effort),
        EffortStyle::OpenRouter => {
            set(body, "reasoning", effort.map(|effort| json!({"effort": effort})));
        }
        EffortStyle::Anthropic | EffortStyle::Ignored => {}
    }
    let routing = config.openrouter_provider.as_ref().and_then(OpenRouterRouting::to_body);
    set(body, "provider", routing.map(Value::Object));
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    ids: Ids,
}

impl Writer<'_> {
    fn messages(&self) -> Result<Vec<Value>, ModelError> {
        let messages = self.asked.messages;
        let mut written = Vec::with_capacity(messages.len());
        if let Some(instructions) = pieces::instructions(messages) {
            written.push(self.system(instructions));
        }
        let mut leading = true;
        for message in messages {
            match &**message {
                ModelMessage::Request(request) => {
                    let mut files = Vec::new();
                    for piece in pieces(request) {
                        let is_system = matches!(piece, Piece::System(_));
                        leading &= is_system;
                        if let Piece::Return(result) = &piece {
                            written.push(self.result(result));
                            files.extend(self.shown(result));
                            continue;
                        }
                        // results have to follow their calls without anything between
                        written.append(&mut files);
                        written.extend(self.spoken(&piece, leading)?);
                    }
                    written.append(&mut files);
                }
                ModelMessage::Response(response) => {
                    leading = false;
                    written.extend(self.answer(response));
                }
            }
        }
        Ok(written)
    }

    fn system(&self, content: &str) -> Value {
        let role = if self.asked.config.model.starts_with("o1-mini") { "user" } else { "system" };
        json!({"role": role, "content": content})
    }

    fn spoken(&self, piece: &Piece<'_>, leading: bool) -> Result<Option<Value>, ModelError> {
        let inline_system = leading || self.asked.config.provider != Provider::OpenRouter;
        Ok(match piece {
            Piece::System(content) | Piece::Nudge(content) if inline_system => {
                Some(self.system(content))
            }
            Piece::System(content) | Piece::Nudge(content) => Some(user(&as_user(content))),
            Piece::Feedback(content) | Piece::User(UserContent::Text(content)) => {
                Some(user(content))
            }
            Piece::User(UserContent::Items(items)) => {
                let documents = self.asked.config.provider != Provider::AzureChat;
                let items: Result<Vec<Value>, _> =
                    items.iter().filter_map(|item| user_item(item, documents)).collect();
                let items = items?;
                (!items.is_empty()).then(|| json!({"role": "user", "content": items}))
            }
            Piece::Return(_) => None,
        })
    }

    fn result(&self, result: &Return<'_>) -> Value {
        json!({
            "role": "tool",
            "tool_call_id": self.ids.wire(result.id),
            "content": result.text(),
        })
    }

    /// The files of a result, in a message of their own.
    fn shown(&self, result: &Return<'_>) -> Option<Value> {
        let (tool, call) = (self.asked.name(result.name), self.ids.wire(result.id));
        media::shown(result, tool, call, text_item, shown_file)
    }

    fn answer(&self, response: &ModelResponse) -> Option<Value> {
        let openrouter = self.asked.config.provider == Provider::OpenRouter;
        let mut message = json!({"role": "assistant"});
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        for part in &response.parts {
            match part {
                ResponsePart::Text(part) => texts.push(part.content.clone()),
                ResponsePart::Thinking(part) if part.content.is_empty() => {}
                ResponsePart::Thinking(part) => {
                    let field = part.id.as_deref().filter(|id| THOUGHTS.contains(id));
                    if openrouter {
                        extend(&mut message, "reasoning", &part.content);
                    } else if let Some(field) = field {
                        extend(&mut message, field, &part.content);
                    } else {
                        texts.push(think(&part.content));
                    }
                }
                ResponsePart::ToolCall(call) => calls.push(self.call(call)),
                ResponsePart::Other(_) => {}
            }
        }
        if texts.is_empty() && calls.is_empty() {
            return None;
        }
        let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
        set(&mut message, "content", json!(content));
        if !calls.is_empty() {
            set(&mut message, "tool_calls", Value::Array(calls));
        }
        Some(message)
    }

    fn call(&self, call: &ToolCallPart) -> Value {
        json!({
            "id": self.ids.wire(&call.tool_call_id),
            "type": "function",
            "function": {
                "name": self.asked.name(&call.tool_name),
                "arguments": arguments_text(&call.args),
            },
        })
    }
}

/// Several thoughts share one field.
fn extend(message: &mut Value, field: &str, content: &str) {
    let joined = match text(message, field) {
        Some(before) => format!("{before}\n\n{content}"),
        None => content.to_owned(),
    };
    set(message, field, Value::from(joined));
}

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

pub(super) fn text_item(content: impl Into<String>) -> Value {
    json!({"type": "text", "text": content.into()})
}

fn user_item(item: &UserItem, documents: bool) -> Option<Result<Value, ModelError>> {
    let file = match item {
        UserItem::Text(text) => return Some(Ok(text_item(text))),
        UserItem::Binary(file) => file,
        UserItem::Other(_) => return None,
    };
    if media::is_pdf(file) && !documents {
        let text = "azure-chat takes no documents; use the provider azure, or send the text of it";
        return Some(Err(ModelError::Usage(text.to_owned())));
    }
    Some(Ok(if media::is_shown(file) { shown_file(file) } else { text_item(media::as_text(file)) }))
}

fn shown_file(file: &BinaryContent) -> Value {
    let uri = media::data_uri(file);
    if media::is_pdf(file) {
        return json!({"type": "file", "file": {"file_data": uri, "filename": "filename.pdf"}});
    }
    data_image(&uri)
}

pub(super) fn read(reader: &Reader<'_>, body: &Value) -> Result<ModelResponse, Fault> {
    let openrouter = reader.provider == "openrouter";
    if openrouter && let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(failed(error));
    }
    let Some(choices) = body.get("choices").and_then(Value::as_array) else {
        if openrouter {
            // whoever is behind the router may do better next time
            return Err(Fault::Failed { status: 200, body: body.to_string() });
        }
        let told = body.get("error").map(error_text);
        let told = told.unwrap_or_else(|| "there are no choices in it".to_owned());
        return Err(Fault::Unexpected(told));
    };
    let choice = choices.first().ok_or_else(|| Fault::Unexpected("no choices".to_owned()))?;
    let message = choice.get("message").filter(|message| message.is_object());
    let message =
        message.ok_or_else(|| Fault::Unexpected("the choice has no message".to_owned()))?;
    let mut details = Map::new();
    let refusal = text(message, "refusal").filter(|refusal| !refusal.is_empty());
    let raw_reason = text(choice, "finish_reason");
    let finish_reason = if let Some(refusal) = refusal {
        details.insert("refusal".to_owned(), Value::from(refusal));
        Some(FinishReason::ContentFilter)
    } else {
        if let Some(reason) = raw_reason {
            details.insert("finish_reason".to_owned(), Value::from(reason));
        }
        raw_reason.and_then(finish_reason)
    };
    if let Some(downstream) = text(body, "provider").filter(|_| openrouter) {
        details.insert("downstream_provider".to_owned(), Value::from(downstream));
    }
    if let Some(time) = stamp(body.get("created")) {
        details.insert("timestamp".to_owned(), time);
    }
    let parts = if refusal.is_some() { Vec::new() } else { parts(reader, message)? };
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
        "stop" => Some(FinishReason::Stop),
        "length" | "model_length" => Some(FinishReason::Length),
        "content_filter" => Some(FinishReason::ContentFilter),
        "tool_calls" | "function_call" => Some(FinishReason::ToolCall),
        "error" => Some(FinishReason::Error),
        _ => None,
    }
}

fn parts(reader: &Reader<'_>, message: &Value) -> Result<Vec<ResponsePart>, Fault> {
    let mut parts = Vec::new();
    let thoughts = THOUGHTS.iter().find_map(|field| Some((*field, text(message, field)?)));
    if let Some((field, thought)) = thoughts.filter(|(_, thought)| !thought.is_empty()) {
        parts.push(thinking(reader, thought, Some(field)));
    }
    match message.get("content") {
        Some(Value::String(content)) => split_thoughts(reader, content, &mut parts),
        Some(Value::Array(chunks)) => {
            for chunk in chunks {
                match text(chunk, "type") {
                    Some("thinking") => {
                        let texts = list(chunk, "thinking").iter().filter_map(|t| text(t, "text"));
                        parts.push(thinking(reader, &texts.collect::<String>(), None));
                    }
                    _ => {
                        split_thoughts(reader, text(chunk, "text").unwrap_or_default(), &mut parts);
                    }
                }
            }
        }
        _ => {}
    }
    for call in list(message, "tool_calls") {
        let function = call.get("function").unwrap_or(call);
        let name = text(function, "name").filter(|name| !name.is_empty()).ok_or_else(nameless)?;
        let args = match function.get("arguments") {
            Some(Value::Object(map)) => ToolArgs::Object(map.clone()),
            Some(Value::String(raw)) => ToolArgs::Text(raw.clone()),
            None | Some(Value::Null) => ToolArgs::None,
            Some(other) => ToolArgs::Text(other.to_string()),
        };
        parts.push(ResponsePart::ToolCall(reader.call(name, args, text(call, "id"))));
    }
    Ok(parts)
}

fn thinking(reader: &Reader<'_>, content: &str, id: Option<&str>) -> ResponsePart {
    ResponsePart::Thinking(ThinkingPart {
        content: content.to_owned(),
        id: id.map(str::to_owned),
        provider_name: Some(reader.provider.to_owned()),
        ..ThinkingPart::default()
    })
}

/// Text with thoughts between tags.
pub(in crate::provider) fn split_thoughts(
    reader: &Reader<'_>,
    content: &str,
    parts: &mut Vec<ResponsePart>,
) {
    let mut rest = content;
    while let Some((before, after)) = rest.split_once("<think>") {
        let Some((thought, after)) = after.split_once("</think>") else { break };
        push_text(before, parts);
        parts.push(thinking(reader, thought, Some("content")));
        rest = after;
    }
    push_text(rest, parts);
}

fn push_text(content: &str, parts: &mut Vec<ResponsePart>) {
    if !content.is_empty() {
        parts.push(ResponsePart::Text(TextPart::new(content)));
    }
}

fn usage(reported: Option<&Value>) -> RequestUsage {
    let Some(usage) = reported.filter(|usage| usage.is_object()) else { return unmeasured() };
    let none = Value::Null;
    let input = usage.get("prompt_tokens_details").unwrap_or(&none);
    let output = usage.get("completion_tokens_details").unwrap_or(&none);
    let cached = count(input, "cached_tokens").max(count(usage, "prompt_cache_hit_tokens"));
    RequestUsage {
        input_tokens: count(usage, "prompt_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: count(input, "cache_write_tokens"),
        output_tokens: count(usage, "completion_tokens"),
        output_reasoning_tokens: count(output, "reasoning_tokens"),
        input_audio_tokens: count(input, "audio_tokens"),
        output_audio_tokens: count(output, "audio_tokens"),
        details: counters(output).collect(),
        ..RequestUsage::default()
    }
}
