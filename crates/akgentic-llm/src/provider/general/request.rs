//! What genai is asked.

use std::sync::Arc;

use genai::chat::{
    Binary, ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, JsonSpec,
    MessageContent, ReasoningEffort as Effort, Tool, ToolCall, ToolChoice, ToolResponse,
};
use serde_json::{Value, json};

use super::reply::SIGNATURES;
use crate::config::{GeneralLanguage, ReasoningEffort};
use crate::content::{BinaryContent, UserContent, UserItem};
use crate::error::ModelError;
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::part::{ResponsePart, ThinkingPart, ToolCallPart};
use crate::provider::wire::chat::schema_name;
use crate::provider::wire::pieces::{self, Piece, Return, pieces};
use crate::provider::wire::tools::NativeOutput;
use crate::provider::wire::{Asked, Ids, arguments, as_user, media, think};

/// The conversation and its tools.
pub(super) fn request(asked: &Asked<'_>, language: GeneralLanguage) -> ChatRequest {
    let system = pieces::leading_system(asked.messages).into_iter();
    let system: Vec<&str> = system.chain(pieces::instructions(asked.messages)).collect();
    let mut request = ChatRequest::new(messages(asked, language));
    if !system.is_empty() {
        request = request.with_system(system.join("\n\n"));
    }
    if !asked.tools.is_empty() {
        request = request.with_tools(asked.tools.iter().map(|tool| {
            Tool::new(asked.name(&tool.name).to_owned())
                .with_description(&tool.description)
                .with_schema(tool.schema.clone())
        }));
    }
    request
}

/// How it is to be answered.
pub(super) fn options(
    asked: &Asked<'_>,
    language: GeneralLanguage,
) -> Result<ChatOptions, ModelError> {
    let settings = asked.settings;
    let mut options = ChatOptions {
        temperature: settings.temperature,
        max_tokens: settings.max_tokens.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        seed: settings.seed.and_then(|seed| u64::try_from(seed).ok()),
        reasoning_effort: settings.reasoning_effort.map(effort),
        capture_usage: Some(true),
        ..ChatOptions::default()
    };
    if language == GeneralLanguage::Chat && options.reasoning_effort.is_none() {
        // genai takes the `max` of `qwen3-max` for an effort unless there is one; of this one
        // nothing is sent
        options.reasoning_effort = Some(Effort::Budget(0));
    }
    if !asked.tools.is_empty() {
        let choice = if asked.needs_call() { ToolChoice::Required } else { ToolChoice::Auto };
        options.tool_choice = Some(choice);
        if asked.one_call() && language == GeneralLanguage::Chat {
            options.extra_body = Some(json!({"parallel_tool_calls": false}));
        }
    }
    if let Some(NativeOutput { name, description, schema }) = asked.native_output()? {
        if matches!(language, GeneralLanguage::Converse | GeneralLanguage::Ollama) {
            let text = format!(
                "{} cannot be held to a schema here; ask for the output through a tool",
                asked.config.key()
            );
            return Err(ModelError::Usage(text));
        }
        let mut format = JsonSpec::new(schema_name(name), schema);
        format.description = description.map(str::to_owned);
        options.response_format = Some(ChatResponseFormat::JsonSpec(format));
    }
    Ok(options)
}

fn effort(effort: ReasoningEffort) -> Effort {
    match effort {
        ReasoningEffort::Low => Effort::Low,
        ReasoningEffort::Medium => Effort::Medium,
        ReasoningEffort::High => Effort::High,
        ReasoningEffort::Xhigh => Effort::XHigh,
        ReasoningEffort::Max => Effort::Max,
    }
}

fn messages(asked: &Asked<'_>, language: GeneralLanguage) -> Vec<ChatMessage> {
    let mut writer =
        Writer { asked, language, ids: asked.ids(), written: Vec::new(), leading: true };
    for message in asked.messages {
        match &**message {
            ModelMessage::Request(request) => writer.request(request),
            ModelMessage::Response(response) => writer.response(response),
        }
    }
    writer.written.into_iter().map(Said::into_message).collect()
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    language: GeneralLanguage,
    ids: Ids,
    written: Vec<Said>,
    /// Nobody has spoken but the system, whose words go elsewhere.
    leading: bool,
}

/// A message in the making.
enum Said {
    User(Vec<ContentPart>),
    Assistant(Vec<ContentPart>),
    Result(ToolResponse),
}

impl Said {
    fn into_message(self) -> ChatMessage {
        match self {
            Self::User(parts) => ChatMessage::user(MessageContent::from_parts(parts)),
            Self::Assistant(parts) => ChatMessage::assistant(MessageContent::from_parts(parts)),
            Self::Result(result) => ChatMessage::from(result),
        }
    }
}

impl Writer<'_> {
    fn request(&mut self, request: &ModelRequest) {
        let mut files = Vec::new();
        for piece in pieces(request) {
            self.leading &= matches!(piece, Piece::System(_));
            if let Piece::Return(result) = &piece {
                self.result(result);
                files.extend(self.shown(result));
                continue;
            }
            // results have to follow their calls without anything between
            self.user(std::mem::take(&mut files));
            let parts = match piece {
                Piece::System(_) if self.leading => continue,
                Piece::System(text) | Piece::Nudge(text) => vec![ContentPart::Text(as_user(text))],
                Piece::Feedback(text) => vec![ContentPart::Text(text)],
                Piece::User(UserContent::Text(text)) => vec![ContentPart::Text(text.clone())],
                Piece::User(UserContent::Items(items)) => {
                    items.iter().filter_map(|item| self.item(item)).collect()
                }
                Piece::Return(_) => continue,
            };
            self.user(parts);
        }
        self.user(files);
    }

    /// Some languages want what comes from one side in one message.
    fn user(&mut self, parts: Vec<ContentPart>) {
        if parts.is_empty() {
            return;
        }
        match self.written.last_mut() {
            Some(Said::User(before)) if takes_turns(self.language) => before.extend(parts),
            _ => self.written.push(Said::User(parts)),
        }
    }

    fn result(&mut self, result: &Return<'_>) {
        let response = ToolResponse::new(self.ids.wire(result.id), result.text())
            .with_fn_name(self.asked.name(result.name));
        if takes_turns(self.language) {
            self.user(vec![ContentPart::ToolResponse(response)]);
        } else {
            self.written.push(Said::Result(response));
        }
    }

    /// The files of a result, framed.
    fn shown(&self, result: &Return<'_>) -> Vec<ContentPart> {
        let (tool, call) = (self.asked.name(result.name), self.ids.wire(result.id));
        let framed = |file| {
            [
                ContentPart::Text(media::frame(tool, call, file)),
                self.file(file),
                ContentPart::Text(media::FRAME_END.to_owned()),
            ]
        };
        result.files().into_iter().flat_map(framed).collect()
    }

    fn item(&self, item: &UserItem) -> Option<ContentPart> {
        match item {
            UserItem::Text(text) => Some(ContentPart::Text(text.clone())),
            UserItem::Binary(file) => Some(self.file(file)),
            UserItem::Other(_) => None,
        }
    }

    /// A file where the language has a place for it, else its text or a note.
    fn file(&self, file: &BinaryContent) -> ContentPart {
        let shown = match self.language {
            GeneralLanguage::Ollama => media::is_image(file),
            _ => media::is_shown(file),
        };
        if !shown {
            return ContentPart::Text(media::as_text(file));
        }
        let name = media::is_pdf(file).then(|| "filename.pdf".to_owned());
        let kind = media::bare_type(file);
        ContentPart::Binary(Binary::from_base64(kind, Arc::from(media::encoded(file)), name))
    }

    fn response(&mut self, response: &ModelResponse) {
        self.leading = false;
        let mut parts = Vec::new();
        for part in &response.parts {
            match part {
                ResponsePart::Text(part) if part.content.is_empty() => {}
                ResponsePart::Text(part) => parts.push(ContentPart::Text(part.content.clone())),
                ResponsePart::Thinking(part) => self.thought(part, &mut parts),
                ResponsePart::ToolCall(call) => parts.push(ContentPart::ToolCall(self.call(call))),
                ResponsePart::Other(_) => {}
            }
        }
        if !parts.is_empty() {
            self.written.push(Said::Assistant(parts));
        }
    }

    /// A thought of this provider; those of others have become text.
    fn thought(&self, part: &ThinkingPart, parts: &mut Vec<ContentPart>) {
        let content = part.content.clone();
        match (self.language, &part.signature) {
            (GeneralLanguage::Anthropic | GeneralLanguage::Converse, Some(signature)) => {
                parts.push(ContentPart::ThoughtSignature(signature.clone()));
                if !content.is_empty() {
                    parts.push(ContentPart::ReasoningContent(content));
                }
            }
            // genai sends no thoughts back to these
            (
                GeneralLanguage::Gemini | GeneralLanguage::Interactions | GeneralLanguage::Ollama,
                _,
            ) => {}
            _ if content.is_empty() => {}
            (GeneralLanguage::Chat, _) if part.id.as_deref() != Some("content") => {
                parts.push(ContentPart::ReasoningContent(content));
            }
            _ => parts.push(ContentPart::Text(think(&content))),
        }
    }

    fn call(&self, call: &ToolCallPart) -> ToolCall {
        let details = call.provider_details.as_ref();
        let signatures = details.and_then(|details| details.get(SIGNATURES)?.as_array());
        let texts = |all: &Vec<Value>| {
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        ToolCall {
            call_id: self.ids.wire(&call.tool_call_id).to_owned(),
            fn_name: self.asked.name(&call.tool_name).to_owned(),
            fn_arguments: Value::Object(arguments(&call.args)),
            thought_signatures: signatures.map(texts),
        }
    }
}

/// Whether user and model have to take turns.
fn takes_turns(language: GeneralLanguage) -> bool {
    matches!(
        language,
        GeneralLanguage::Anthropic | GeneralLanguage::Converse | GeneralLanguage::Gemini
    )
}
