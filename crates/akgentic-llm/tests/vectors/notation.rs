//! The short notation of messages and events in the vectors.

use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use akgentic_llm::*;
use serde_json::{Value, json};

use crate::compare::compact;

fn at() -> Timestamp {
    Timestamp::parse("2026-01-02T03:04:05Z").unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn request(parts: Vec<RequestPart>) -> Arc<ModelMessage> {
    ModelRequest { parts, ..ModelRequest::default() }.into()
}

fn calls(list: &Value) -> Vec<ResponsePart> {
    let call = |call: &Value| {
        ResponsePart::ToolCall(ToolCallPart::new(text(&call[0]), text(&call[1]), text(&call[2])))
    };
    list.as_array().unwrap().iter().map(call).collect()
}

fn returns(list: &Value, retried: bool) -> Vec<RequestPart> {
    let part = |item: &Value| {
        let call = ToolCallPart::new(text(&item[0]), "", text(&item[2]));
        let retry = RetryInfo { cause: RetryCause::ModelRetry, attempt: 1, max_retries: 3 };
        RequestPart::ToolReturn(if retried {
            ToolReturnPart::retried(&call, item[1].clone(), retry, at())
        } else {
            ToolReturnPart::success(&call, item[1].clone(), at())
        })
    };
    list.as_array().unwrap().iter().map(part).collect()
}

fn system(content: &Value, name: Option<&Value>) -> RequestPart {
    let name = name.and_then(Value::as_str).map(str::to_owned);
    RequestPart::SystemPrompt(SystemPromptPart::new(text(content), name, at()))
}

fn user(content: &Value) -> RequestPart {
    RequestPart::UserPrompt(UserPromptPart::new(text(content), at()))
}

pub(crate) fn message(short: &Value) -> Arc<ModelMessage> {
    let response = |parts, input: Option<u64>| {
        let mut response = ModelResponse::new(parts);
        response.usage.input_tokens = input.unwrap_or(0);
        Arc::new(ModelMessage::Response(response))
    };
    match short[0].as_str().unwrap() {
        "sys" => request(vec![system(&short[1], short.get(2))]),
        "sysuser" => request(vec![system(&short[1], None), user(&short[2])]),
        "user" => request(vec![user(&short[1])]),
        "text" => response(
            vec![ResponsePart::Text(TextPart::new(text(&short[1])))],
            short.get(2).and_then(Value::as_u64),
        ),
        "calls" => response(calls(&short[1]), None),
        "textcalls" => {
            let mut parts = vec![ResponsePart::Text(TextPart::new(text(&short[1])))];
            parts.extend(calls(&short[2]));
            response(parts, None)
        }
        "returns" => request(returns(&short[1], false)),
        "retried" => request(returns(&short[1], true)),
        "returns_user" => {
            let mut parts = returns(&short[1], false);
            parts.push(user(&short[2]));
            request(parts)
        }
        other => panic!("unknown notation {other}"),
    }
}

pub(crate) fn messages(list: &Value) -> Vec<Arc<ModelMessage>> {
    list.as_array().unwrap().iter().map(message).collect()
}

pub(crate) fn compacted(messages: &[Arc<ModelMessage>]) -> Value {
    let one = |message: &Arc<ModelMessage>| compact(&message.to_json(Form::Adapter).unwrap());
    Value::Array(messages.iter().map(one).collect())
}

pub(crate) fn short_event(event: &LlmEvent) -> Value {
    match event {
        LlmEvent::Message(event) => {
            let json = event.message.to_json(Form::Adapter).unwrap();
            let kinds: Vec<&Value> =
                json["parts"].as_array().unwrap().iter().map(|part| &part["part_kind"]).collect();
            json!(["message", event.message.kind(), kinds])
        }
        LlmEvent::ToolCall(event) => {
            json!(["tool_call", event.tool_name, event.tool_call_id, event.arguments])
        }
        LlmEvent::ToolReturn(event) => {
            json!(["tool_return", event.tool_name, event.tool_call_id, event.success])
        }
        LlmEvent::Usage(event) => {
            json!(["usage", event.input_tokens, event.output_tokens, event.requests])
        }
        LlmEvent::SystemPrompt(event) => {
            let parts: Vec<Value> =
                event.parts.iter().map(|part| json!([part.dynamic_ref, part.content])).collect();
            json!(["system_prompt", parts, event.content_hash])
        }
        LlmEvent::Compacted(event) => json!([
            "compacted",
            event.strategy_id,
            event.summary,
            event.replaced_message_count,
            event.tokens_before,
            event.tokens_after
        ]),
        LlmEvent::Cleared(event) => json!(["cleared", event.cleared_message_count]),
    }
}
