//! What genai gives, put together to a response.

use genai::chat::{ChatStreamEvent, StopReason, StreamEnd, ToolCall, Usage};
use serde_json::{Map, Value, json};

use crate::config::GeneralLanguage;
use crate::message::{FinishReason, ModelResponse};
use crate::model::{StreamEvent, ToolCallDelta};
use crate::part::{ResponsePart, TextPart, ThinkingPart, ToolArgs, ToolCallPart};
use crate::provider::wire::chat::split_thoughts;
use crate::provider::wire::{CALLS, Fault, Reader, nameless, unmeasured};
use crate::usage::RequestUsage;

/// Where the signatures of a call are kept in its details.
pub(super) const SIGNATURES: &str = "thought_signatures";

/// A reply as far as it has come.
#[derive(Debug)]
pub(super) struct Gathered {
    language: GeneralLanguage,
    parts: Vec<Part>,
    calls: usize,
    end: Option<StreamEnd>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thought { content: String, signature: String },
    Call(Call),
}

#[derive(Debug, Default)]
struct Call {
    index: usize,
    id: String,
    name: String,
    arguments: String,
    signatures: Vec<String>,
}

impl Gathered {
    pub(super) fn new(language: GeneralLanguage) -> Self {
        Self { language, parts: Vec::new(), calls: 0, end: None }
    }

    /// Takes one event; what it brings is added to `news`.
    pub(super) fn take(
        &mut self,
        event: ChatStreamEvent,
        news: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        match event {
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => {}
            ChatStreamEvent::Chunk(chunk) if chunk.content.is_empty() => {}
            ChatStreamEvent::Chunk(chunk) => {
                match self.parts.last_mut() {
                    Some(Part::Text(text)) => text.push_str(&chunk.content),
                    _ => self.parts.push(Part::Text(chunk.content.clone())),
                }
                news.push(StreamEvent::Text(chunk.content));
            }
            ChatStreamEvent::ReasoningChunk(chunk) if chunk.content.is_empty() => {}
            ChatStreamEvent::ReasoningChunk(chunk) => {
                match self.parts.last_mut() {
                    // what follows a signature is another thought
                    Some(Part::Thought { content, signature }) if signature.is_empty() => {
                        content.push_str(&chunk.content);
                    }
                    _ => {
                        let content = chunk.content.clone();
                        self.parts.push(Part::Thought { content, signature: String::new() });
                    }
                }
                news.push(StreamEvent::Thinking(chunk.content));
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => self.sign(&chunk.content),
            ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call, news)?,
            ChatStreamEvent::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    /// A signature comes in pieces behind its thought; without one it stands for itself.
    fn sign(&mut self, piece: &str) {
        if !matches!(self.language, GeneralLanguage::Anthropic | GeneralLanguage::Converse) {
            return;
        }
        if let Some(Part::Thought { signature, .. }) = self.parts.last_mut() {
            signature.push_str(piece);
        } else {
            let signature = piece.to_owned();
            self.parts.push(Part::Thought { content: String::new(), signature });
        }
    }

    fn call(&mut self, piece: ToolCall, news: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let said = match piece.fn_arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let known = self.known(&piece.call_id, &piece.fn_name);
        if known.is_none() {
            if self.calls >= CALLS {
                return Err(Fault::Unexpected(format!("more than {CALLS} tool calls")));
            }
            let call = Call { index: self.calls, id: piece.call_id, ..Call::default() };
            self.parts.push(Part::Call(call));
            self.calls += 1;
        }
        let at = known.unwrap_or(self.parts.len() - 1);
        let language = self.language;
        let Some(Part::Call(call)) = self.parts.get_mut(at) else { return Ok(()) };
        if call.name.is_empty() {
            call.name = piece.fn_name;
        }
        call.signatures.extend(piece.thought_signatures.unwrap_or_default());
        let arguments = match language {
            // these say each time what there is so far
            GeneralLanguage::Anthropic | GeneralLanguage::Converse => {
                said.strip_prefix(&call.arguments).unwrap_or(&said).to_owned()
            }
            _ => said,
        };
        call.arguments.push_str(&arguments);
        news.push(StreamEvent::ToolCall(ToolCallDelta {
            index: call.index,
            id: call.id.clone(),
            name: call.name.clone(),
            arguments,
        }));
        Ok(())
    }

    /// Which part a piece of a call belongs to.
    fn known(&self, id: &str, name: &str) -> Option<usize> {
        let in_pieces = matches!(
            self.language,
            GeneralLanguage::Chat | GeneralLanguage::Anthropic | GeneralLanguage::Converse
        );
        if !in_pieces {
            return None;
        }
        let calls = || {
            let parts = self.parts.iter().enumerate();
            parts.filter_map(|(at, part)| match part {
                Part::Call(call) => Some((at, call)),
                _ => None,
            })
        };
        if !id.is_empty()
            && let Some((at, _)) = calls().rfind(|(_, call)| call.id == id)
        {
            return Some(at);
        }
        if self.language != GeneralLanguage::Chat || !name.is_empty() {
            return None;
        }
        // later pieces bear no id; genai tells the number of the call in its place
        let number = made_up(id);
        match number {
            Some(number) => calls().nth(number).map(|(at, _)| at),
            None => calls().next_back().map(|(at, _)| at),
        }
    }

    /// The response, when everything has come.
    pub(super) fn finish(self, reader: &Reader<'_>) -> Result<ModelResponse, Fault> {
        // genai ends some streams by itself when their connection is closed
        let end = self.end.ok_or(Fault::Cut)?;
        let says_why = self.language != GeneralLanguage::Chat;
        let is_cut = says_why && end.captured_stop_reason.is_none();
        if is_cut && (self.language != GeneralLanguage::Ollama || end.captured_usage.is_none()) {
            return Err(Fault::Cut);
        }
        if self.parts.is_empty() && end.captured_stop_reason.is_none() {
            return Err(Fault::Unexpected("there is nothing in it".to_owned()));
        }
        let mut parts = Vec::new();
        for part in self.parts {
            match part {
                Part::Text(text) => match self.language {
                    GeneralLanguage::Chat | GeneralLanguage::Ollama => {
                        split_thoughts(reader, &text, &mut parts);
                    }
                    _ => parts.push(ResponsePart::Text(TextPart::new(text))),
                },
                Part::Thought { content, signature } => {
                    parts.push(ResponsePart::Thinking(ThinkingPart {
                        content,
                        signature: (!signature.is_empty()).then_some(signature),
                        provider_name: Some(reader.provider.to_owned()),
                        ..ThinkingPart::default()
                    }));
                }
                Part::Call(call) => parts.push(ResponsePart::ToolCall(call.finish(reader)?)),
            }
        }
        let mut details = Map::new();
        if let Some(reason) = &end.captured_stop_reason {
            details.insert("finish_reason".to_owned(), Value::from(reason.raw()));
        }
        Ok(ModelResponse {
            parts,
            usage: end.captured_usage.map_or_else(unmeasured, usage),
            provider_name: Some(reader.provider.to_owned()),
            provider_url: Some(reader.provider_url.to_owned()),
            provider_response_id: end.captured_response_id,
            provider_details: Some(details),
            finish_reason: end.captured_stop_reason.as_ref().and_then(finish_reason),
            ..ModelResponse::default()
        })
    }
}

/// The number in an id that genai makes up: `call_7`.
fn made_up(id: &str) -> Option<usize> {
    id.strip_prefix("call_")?.parse().ok()
}

impl Call {
    fn finish(self, reader: &Reader<'_>) -> Result<ToolCallPart, Fault> {
        if self.name.is_empty() {
            return Err(nameless());
        }
        // the first call of every reply would be `call_0`
        let id = Some(self.id.as_str()).filter(|id| made_up(id).is_none());
        let mut call = reader.call(&self.name, ToolArgs::Text(self.arguments), id);
        if !self.signatures.is_empty() {
            call.provider_name = Some(reader.provider.to_owned());
            let signatures = (SIGNATURES.to_owned(), json!(self.signatures));
            call.provider_details = Some(Map::from_iter([signatures]));
        }
        Ok(call)
    }
}

fn finish_reason(reason: &StopReason) -> Option<FinishReason> {
    match reason {
        StopReason::Completed(_) | StopReason::StopSequence(_) => Some(FinishReason::Stop),
        StopReason::MaxTokens(_) => Some(FinishReason::Length),
        StopReason::ToolCall(_) => Some(FinishReason::ToolCall),
        StopReason::ContentFilter(_) => Some(FinishReason::ContentFilter),
        StopReason::Other(raw) => (raw == "error").then_some(FinishReason::Error),
    }
}

fn usage(told: Usage) -> RequestUsage {
    let count = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let input = told.prompt_tokens_details.unwrap_or_default();
    let output = told.completion_tokens_details.unwrap_or_default();
    let long_lived = input.cache_creation_details.and_then(|details| details.ephemeral_1h_tokens);
    RequestUsage {
        input_tokens: count(told.prompt_tokens),
        output_tokens: count(told.completion_tokens),
        cache_read_tokens: count(input.cached_tokens),
        cache_write_tokens: count(input.cache_creation_tokens),
        cache_write_1h_tokens: count(long_lived),
        input_audio_tokens: count(input.audio_tokens),
        output_reasoning_tokens: count(output.reasoning_tokens),
        output_audio_tokens: count(output.audio_tokens),
        ..RequestUsage::default()
    }
}
