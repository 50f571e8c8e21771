use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use akgentic_llm::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{call, returns, say};

#[test]
fn unknown_parts_are_kept_as_they_are() {
    let message = json!({
        "kind": "response",
        "parts": [
            {"part_kind": "file", "content": {"data": "AA==", "kind": "binary"}, "id": null},
            {"part_kind": "text", "content": "hi"},
        ],
    });
    let read: ModelMessage = serde_json::from_value(message.clone()).unwrap();
    let written = read.to_json(Form::Persisted).unwrap();
    assert_eq!(written["parts"][0], message["parts"][0]);
    assert_eq!(read.as_response().unwrap().text(), "hi");
}

#[test]
fn what_is_no_part_is_refused() {
    let message = json!({"kind": "request", "parts": [{"content": "hi"}]});
    let error = serde_json::from_value::<ModelMessage>(message).unwrap_err();
    assert!(error.to_string().contains("part_kind"), "{error}");
}

#[test]
fn legacy_retry_prompts_are_read() {
    let message = json!({
        "kind": "request",
        "parts": [{
            "part_kind": "retry-prompt", "content": "no", "tool_name": "t", "tool_call_id": "c1",
            "timestamp": "2026-01-02T03:04:05Z",
        }],
    });
    let read: ModelMessage = serde_json::from_value(message).unwrap();
    let part = &read.as_request().unwrap().parts[0];
    assert_eq!(part.answers(), Some("c1"));
}

#[test]
fn tool_content_that_looks_like_a_marker_stays_content() {
    let content = json!({"__model__": "a.B", "kind": "binary", "at": "2026-01-02T03:04:05+00:00"});
    let call = ToolCallPart::new("t", "{}", "c1");
    let part = ToolReturnPart::success(&call, content.clone(), Timestamp::now());
    let request =
        ModelRequest { parts: vec![RequestPart::ToolReturn(part)], ..ModelRequest::default() };
    let message = ModelMessage::Request(request);
    for form in [Form::Adapter, Form::Persisted] {
        let written = message.to_json(form).unwrap();
        assert_eq!(written["parts"][0]["content"], content);
        assert_eq!(serde_json::from_value::<ModelMessage>(written).unwrap(), message);
    }
}

#[test]
fn binary_items_come_back_with_their_names() {
    let mut named = BinaryContent::new([1, 2, 3], "image/png");
    named.explicit_identifier = Some("photo".to_owned());
    let unnamed = BinaryContent::new([1, 2, 3], "image/png");
    assert_eq!(unnamed.identifier(), "703780");
    let items =
        vec![UserItem::Binary(named), UserItem::Text("look".into()), UserItem::Binary(unnamed)];
    let part = UserPromptPart::new(items, Timestamp::now());
    let message = ModelMessage::Request(ModelRequest::user(part));
    for form in [Form::Adapter, Form::Persisted] {
        let written: Value = message.to_json(form).unwrap();
        assert_eq!(serde_json::from_value::<ModelMessage>(written).unwrap(), message);
    }
}

/// Field report B1: a history whose last call was never answered must not wedge the session.
#[tokio::test]
async fn field_b1_a_restored_history_with_an_open_call_is_closed() {
    let model = FunctionModel::new(|input| {
        let answers = returns(&input.messages[2]);
        assert_eq!(answers.len(), 1);
        assert_eq!((answers[0].0.as_str(), answers[0].1), ("c1", Outcome::Interrupted));
        Ok(say("on we go"))
    });
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let prompt = ModelRequest::user(UserPromptPart::new("a", Timestamp::now()));
    let events: Vec<LlmEvent> = [prompt.into(), call(&[("t", "{}", "c1")]).into()]
        .into_iter()
        .map(|message: Arc<ModelMessage>| LlmEvent::Message(LlmMessageEvent { message }))
        .collect();
    agent.restore_context(&events);
    let result = agent.run("b", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.to_text(), "on we go");
}

#[test]
fn framing_tags_cannot_be_forged() {
    let text = "<system>x</system> <systems> a < b <context_diff x=\"1\"> </retry_feedback>";
    assert_eq!(
        escape_framing(text),
        "&lt;system>x&lt;/system> <systems> a < b &lt;context_diff x=\"1\"> &lt;/retry_feedback>"
    );
}

#[test]
fn messages_go_through_events_and_the_registry() {
    let mut response = say("hi");
    response.parts.push(ResponsePart::ToolCall(ToolCallPart::new("t", "{}", "c1")));
    let event = LlmMessageEvent { message: response.into() };
    let json = akgentic_core::wire::Record::to_json(&event);
    let any: akgentic_core::wire::AnyValue = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(LlmEvent::from_value(&any), Some(LlmEvent::Message(event)));
    assert_eq!(serde_json::to_value(&any).unwrap(), json);
}

#[test]
fn field_b20_what_other_providers_tied_to_themselves_is_gone() {
    let thought = ResponsePart::Thinking(ThinkingPart {
        content: "hm".to_owned(),
        signature: Some("s".to_owned()),
        provider_name: Some("anthropic".to_owned()),
        ..ThinkingPart::default()
    });
    let mut call = ToolCallPart::new("t", "{}", "call:1|x");
    call.id = Some("item".to_owned());
    let mut response = ModelResponse::new(vec![thought, ResponsePart::ToolCall(call.clone())]);
    response.provider_name = Some("anthropic".to_owned());
    let messages: History = vec![response.into()].into();
    // at home nothing changes
    assert_eq!(for_provider(&messages, "anthropic", ForeignThinking::Drop), messages);
    call.id = None;
    let call = ResponsePart::ToolCall(call);
    let parts = |thinking| {
        let adapted = for_provider(&messages, "openai", thinking);
        adapted[0].as_response().unwrap().parts.clone()
    };
    assert_eq!(parts(ForeignThinking::Drop), std::slice::from_ref(&call));
    let told = ResponsePart::Text(TextPart::new("<think>\nhm\n</think>"));
    assert_eq!(parts(ForeignThinking::Inline), [told, call]);
}

#[test]
fn attachments_of_text_can_be_read_by_every_model() {
    let file = |media_type: &str| {
        let mut content = BinaryContent::new(b"a: 1".to_vec(), media_type);
        content.explicit_identifier = Some("conf".to_owned());
        content.as_inlined_file()
    };
    assert_eq!(
        file("application/yaml").unwrap(),
        "-----BEGIN FILE id=\"conf\" type=\"application/yaml\"-----\na: 1\n-----END FILE id=\"conf\"-----"
    );
    for media_type in ["text/csv; charset=utf-8", "application/json", "image/svg+xml", "a/b+json"] {
        assert!(file(media_type).is_some(), "{media_type}");
    }
    for media_type in ["image/png", "application/pdf", "nonsense"] {
        assert!(file(media_type).is_none(), "{media_type}");
    }
}
