//! Models of providers against one on this machine that misbehaves.

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::wire::Timestamp;
use akgentic_llm::*;
use akgentic_tool_core::ToolDefinition;
use futures_util::future::join_all;
use futures_util::stream::StreamExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::double::{Double, Reply, Step, answer, events, json_answer};

/// Limits that are over soon; waits between attempts are next to nothing.
pub(super) fn brisk() -> HttpClientConfig {
    HttpClientConfig {
        timeout: 0.3,
        max_retries: 3,
        backoff_multiplier: 0.001,
        backoff_max: 0.001,
        total_timeout: Some(20.0),
    }
}

/// Limits nothing here reaches.
pub(super) fn patient() -> HttpClientConfig {
    HttpClientConfig { timeout: 60.0, ..brisk() }
}

pub(super) fn model_at(double: &Double, name: &str, http: &HttpClientConfig) -> Arc<dyn Model> {
    let address = double.address;
    let providers = Providers::new(move |variable| Double::variable(address, variable));
    providers.model(&name.parse().unwrap(), http).unwrap()
}

pub(super) fn input(messages: Vec<Arc<ModelMessage>>) -> ModelInput {
    ModelInput {
        messages: History::from(messages),
        tools: Arc::new([]),
        output: OutputRequest::text(),
        settings: ModelSettings::default(),
        cancel: CancellationToken::new(),
    }
}

pub(super) fn user(text: impl Into<UserContent>) -> Arc<ModelMessage> {
    ModelRequest::user(UserPromptPart::new(text, Timestamp::now())).into()
}

pub(super) fn hello() -> ModelInput {
    input(vec![user("hello")])
}

pub(super) fn chat(content: &str) -> Value {
    json!({
        "id": "c1", "model": "gpt-4o", "created": 1_700_000_000,
        "choices": [{"finish_reason": "stop", "message": {"content": content}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    })
}

pub(super) fn said(text: &str) -> Reply {
    json_answer(200, &chat(text))
}

#[tokio::test]
async fn busy_servers_are_asked_again() {
    let double = Double::start(|number, _| match number {
        0 => answer(429, "application/json", "retry-after-ms: 1\r\n", "{}"),
        1 => answer(500, "text/html", "", "<html>oops</html>"),
        _ => said("hi"),
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let response = model.request(hello()).await.unwrap();
    assert_eq!(response.text(), "hi");
    let seen = double.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|seen| seen.json() == seen.json() && seen.target == seen.target));
    assert_eq!(seen[0].header("authorization"), Some("Bearer sk-test"));
}

#[tokio::test]
async fn attempts_are_counted_with_the_first_and_the_last_answer_is_told() {
    let double = Double::start(|_, seen| {
        let secret = seen.header("authorization").unwrap().to_owned();
        answer(503, "text/plain", "retry-after-ms: 0\r\n", &format!("busy, {secret}"))
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let error = model.request(hello()).await.unwrap_err();
    assert_eq!(double.seen().len(), 3);
    assert_eq!(error.kind(), ModelErrorKind::Unavailable);
    // what a provider repeats is no place for keys
    assert_eq!(error.to_string(), "gpt-4o answered 503: busy, Bearer [key]");
}

#[tokio::test]
async fn what_cannot_get_better_is_not_repeated() {
    for (status, body, kind) in [
        (400, "{}", ModelErrorKind::RequestRejected),
        (401, "{}", ModelErrorKind::Authentication),
        (404, "{}", ModelErrorKind::NotFound),
        (429, r#"{"error": {"type": "insufficient_quota"}}"#, ModelErrorKind::RateLimit),
        (301, "{}", ModelErrorKind::RequestRejected),
    ] {
        let double =
            Double::start(move |_, _| answer(status, "application/json", "location: /x\r\n", body));
        let double = double.await;
        let model = model_at(&double, "mistral:large", &patient());
        let error = model.request(hello()).await.unwrap_err();
        assert_eq!((error.kind(), double.seen().len()), (kind, 1), "{status}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let mut double = Double::start(|_, _| vec![Step::Hang]).await;
    let model = model_at(&double, "anthropic:claude-3-5-haiku-latest", &brisk());
    let error = model.request(hello()).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
    assert_eq!(double.seen().len(), 1, "timeouts are not repeated");
    double.given_up.wait_for(|gone| *gone == 1).await.unwrap();
}

#[tokio::test]
async fn a_reply_that_stops_coming_is_given_up() {
    let head = "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    let double =
        Double::start(move |_, _| vec![Step::Send(head.as_bytes().to_vec()), Step::Hang]).await;
    let error = model_at(&double, "openai:gpt-4o", &brisk()).request(hello()).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
}

#[tokio::test]
async fn a_reply_that_trickles_is_given_up_at_the_total_deadline() {
    // one byte at a time, for ever: each of them is well within the limit of a phase
    let head =
        "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 9999999\r\n\r\n";
    let double = Double::start(move |_, _| {
        let mut reply = vec![Step::Send(head.as_bytes().to_vec())];
        reply.extend((0..20_000).map(|_| Step::Send(vec![b' '])));
        reply.push(Step::Hang);
        reply
    })
    .await;
    let http = HttpClientConfig { timeout: 60.0, total_timeout: Some(0.3), ..brisk() };
    let error = model_at(&double, "openai:gpt-4o", &http).request(hello()).await.unwrap_err();
    let ModelError::Timeout { after, .. } = error else { panic!("{error}") };
    assert_eq!(after, Duration::from_millis(300));
    let model = model_at(&double, "openai-chat:gpt-4o", &http);
    let mut stream = model.stream(hello());
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
}

#[tokio::test]
async fn a_server_that_takes_nothing_is_given_up() {
    // nobody accepts, and more is to be sent than the system keeps for it
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let providers = Providers::new(move |name| Double::variable(address, name));
    let model = providers.model(&"openai-chat:gpt-4o".parse().unwrap(), &brisk()).unwrap();
    let long = input(vec![user("x".repeat(32 * 1024 * 1024))]);
    let error = model.request(long).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout, "{error}");
}

#[tokio::test]
async fn nobody_there_is_a_failed_connection() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let providers = Providers::new(move |name| Double::variable(address, name));
    let model = providers.model(&"groq:llama".parse().unwrap(), &patient()).unwrap();
    let error = model.request(hello()).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Connection, "{error}");
    assert!(error.to_string().starts_with("cannot reach llama: "), "{error}");
}

#[tokio::test]
async fn garbage_is_no_reply() {
    for body in [
        "<html>",
        "",
        "null",
        "[]",
        "7",
        r#"{"choices": []}"#,
        r#"{"choices": [{}]}"#,
        r#"{"choices": [{"message": {"tool_calls": [{"function": {}}]}}]}"#,
        "\u{0}\u{1}",
    ] {
        let double = Double::start(move |_, _| answer(200, "application/json", "", body)).await;
        for name in [
            "openai-chat:gpt-4o",
            "openai:gpt-4o",
            "anthropic:claude-3-5-haiku-latest",
            "mistral:large",
            "google-gla:gemini-2.5-flash",
        ] {
            let model = model_at(&double, name, &patient());
            let error = model.request(hello()).await.unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::UnexpectedReply, "{name} {body}: {error}");
        }
    }
}

#[tokio::test]
async fn calls_without_an_id_get_one_and_broken_arguments_are_kept() {
    let reply = json!({"choices": [{"message": {"content": null, "tool_calls": [
        {"function": {"name": "a", "arguments": "{\"x\":"}},
        {"id": "", "function": {"name": "b", "arguments": null}},
        {"id": "same", "function": {"name": "c", "arguments": "{}"}},
        {"id": "same", "function": {"name": "c", "arguments": "{}"}},
    ]}}]});
    let double = Double::start(move |_, _| json_answer(200, &reply)).await;
    let model = model_at(&double, "ollama:qwen3", &patient());
    let response = model.request(hello()).await.unwrap();
    let calls: Vec<&ToolCallPart> = response.tool_calls().collect();
    assert_eq!(calls.len(), 4);
    assert!(calls[0].tool_call_id.starts_with("pyd_ai_"));
    assert!(calls[1].tool_call_id.starts_with("pyd_ai_"));
    assert_ne!(calls[0].tool_call_id, calls[1].tool_call_id);
    assert_eq!(calls[0].args, ToolArgs::Text("{\"x\":".to_owned()));
    assert_eq!(calls[1].args, ToolArgs::None);
    assert_eq!(response.model_name.as_deref(), Some("qwen3"));
    // the loop is who refuses two calls of one id
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let run = agent.run("hello", &OutputSpec::text(), CancellationToken::new()).await;
    assert!(run.unwrap_err().to_string().contains("same"));
}

#[tokio::test]
async fn two_hundred_parallel_calls_keep_their_order() {
    let calls: Vec<Value> = (0..200)
        .map(|n| json!({"id": format!("c{n}"), "function": {"name": "f", "arguments": "{}"}}))
        .collect();
    let reply = json!({"choices": [{"message": {"tool_calls": calls}}]});
    let double = Double::start(move |_, _| json_answer(200, &reply)).await;
    let response = model_at(&double, "groq:m", &patient()).request(hello()).await.unwrap();
    let ids: Vec<&str> = response.tool_calls().map(|call| call.tool_call_id.as_str()).collect();
    assert_eq!(ids, (0..200).map(|n| format!("c{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn two_hundred_requests_at_once_are_all_answered() {
    let double = Double::start(|_, seen| {
        let asked = seen.json();
        said(asked["messages"][0]["content"].as_str().unwrap())
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let ask = |n: usize| {
        let request = model.request(input(vec![user(n.to_string())]));
        async move { (n, request.await.unwrap().text()) }
    };
    for (n, text) in join_all((0..200).map(ask)).await {
        assert_eq!(text, n.to_string());
    }
}

#[tokio::test]
async fn a_chat_reply_comes_in_pieces() {
    let double = Double::start(|_, _| {
        events(&[
            "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\",",
            "\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"delta\"",
            ":{\"content\":\"lo \u{1f44b}\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"function\":\
             {\"name\":\"look\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n",
            ": a comment\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":\
             {\"arguments\":\":1}\"}}]}}]}\r\n\r\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n",
            "data: [DONE]\n\n",
        ])
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let events: Vec<StreamEvent> = model.stream(hello()).map(Result::unwrap).collect().await;
    let sent = double.seen()[0].json();
    assert_eq!(
        (&sent["stream"], &sent["stream_options"]["include_usage"]),
        (&json!(true), &json!(true))
    );
    let delta = |arguments: &str| {
        StreamEvent::ToolCall(ToolCallDelta {
            index: 0,
            id: "t1".to_owned(),
            name: "look".to_owned(),
            arguments: arguments.to_owned(),
        })
    };
    let (last, pieces) = events.split_last().unwrap();
    assert_eq!(
        pieces,
        [
            StreamEvent::Thinking("hm".to_owned()),
            StreamEvent::Text("Hel".to_owned()),
            StreamEvent::Text("lo \u{1f44b}".to_owned()),
            delta("{\"a\""),
            delta(":1}"),
        ]
    );
    let StreamEvent::Finished(whole) = last else { panic!("{last:?}") };
    assert_eq!(whole.text(), "Hello \u{1f44b}");
    assert_eq!(whole.parts.len(), 3);
    assert_eq!(whole.tool_calls().next().unwrap().args, ToolArgs::Text("{\"a\":1}".to_owned()));
    assert_eq!((whole.usage.input_tokens, whole.usage.output_tokens), (3, 4));
    assert_eq!(whole.finish_reason, Some(FinishReason::ToolCall));
}

/// Text, a call and the end, in the language of each provider.
fn streams() -> [(&'static str, Vec<&'static str>); 4] {
    [
        (
            "openai:gpt-5",
            vec![
                "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n",
                "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":\
                 {\"type\":\"function_call\",\"call_id\":\"t1\",\"name\":\"look\"}}\n\n",
                "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\
                 \"delta\":\"{}\"}\n\n",
                "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[\
                 {\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]},\
                 {\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"t1\",\"name\":\"look\",\
                 \"arguments\":\"{}\"}]}}\n\n",
            ],
        ),
        (
            "anthropic:claude-sonnet-4-5",
            vec![
                "data: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"usage\":{\"input_tokens\":1}}}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":\
                 {\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"look\",\"input\":{}}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":\
                 {\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
                "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":2}}\n\n",
                "data: {\"type\":\"message_stop\"}\n\n",
            ],
        ),
        (
            "google-gla:gemini-2.5-flash",
            vec![
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"h\"}]}}]}\n\n",
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"i\"}]}}]}\n\n",
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"t1\",\
                 \"name\":\"look\",\"args\":{}}}]},\"finishReason\":\"STOP\"}],\
                 \"usageMetadata\":{\"promptTokenCount\":1}}\n\n",
            ],
        ),
        (
            "mistral:magistral-medium-latest",
            vec![
                "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":\
                 [{\"type\":\"text\",\"text\":\"hm\"}]}]}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\
                 \"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
                "data: [DONE]\n\n",
            ],
        ),
    ]
}

#[tokio::test]
async fn every_language_comes_in_pieces() {
    for (name, pieces) in streams() {
        let double = Double::start(move |_, _| events(&pieces)).await;
        let model = model_at(&double, name, &patient());
        let events: Vec<StreamEvent> = model.stream(hello()).map(Result::unwrap).collect().await;
        let text: String = events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(text, "hi", "{name}");
        let call = events.iter().find_map(|event| match event {
            StreamEvent::ToolCall(call) => Some(call.clone()),
            _ => None,
        });
        let expected = ToolCallDelta {
            index: 0,
            id: "t1".to_owned(),
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
        };
        assert_eq!(call, Some(expected), "{name}");
        let Some(StreamEvent::Finished(whole)) = events.last() else { panic!("{name}") };
        assert_eq!(whole.text(), "hi", "{name}");
        let call = whole.tool_calls().next().unwrap();
        assert_eq!((call.tool_call_id.as_str(), call.tool_name.as_str()), ("t1", "look"), "{name}");
        assert_eq!(call.args.parse().unwrap(), json!({}), "{name}");
    }
}

#[tokio::test]
async fn a_cut_stream_is_no_reply() {
    for (name, pieces) in streams() {
        // cut after each piece but the last, cleanly and by closing the connection
        let enough = if name.starts_with("mistral") { pieces.len() - 1 } else { pieces.len() };
        for (count, clean) in (0..enough).flat_map(|count| [(count, true), (count, false)]) {
            let pieces: Vec<&str> = pieces.iter().take(count).copied().collect();
            let double = Double::start(move |_, _| {
                let mut reply = events(&pieces);
                if !clean {
                    *reply.last_mut().unwrap() = Step::Close;
                }
                reply
            })
            .await;
            let model = model_at(&double, name, &patient());
            let events: Vec<_> = model.stream(hello()).collect().await;
            let error = events.last().unwrap().as_ref().unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::Connection, "{name} {count}: {error}");
            assert!(!events.iter().any(|event| matches!(event, Ok(StreamEvent::Finished(_)))));
        }
    }
}

#[tokio::test]
async fn errors_inside_a_stream_are_told() {
    for (name, piece, kind) in [
        (
            "anthropic:claude-sonnet-4-5",
            "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
            ModelErrorKind::Unavailable,
        ),
        (
            "openrouter:a/b",
            "data: {\"error\":{\"code\":429,\"message\":\"busy\"}}\n\n",
            ModelErrorKind::RateLimit,
        ),
        (
            "openai:gpt-4o",
            "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\
             \"error\":{\"code\":\"server_error\",\"message\":\"busy\"}}}\n\n",
            ModelErrorKind::Server,
        ),
        (
            "google-gla:gemini-2.5-flash",
            "data: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n",
            ModelErrorKind::Unavailable,
        ),
        ("mistral:large", "data: {\n\n", ModelErrorKind::UnexpectedReply),
    ] {
        let double = Double::start(move |_, _| events(&[piece])).await;
        let model = model_at(&double, name, &patient());
        let events: Vec<_> = model.stream(hello()).collect().await;
        let error = events.last().unwrap().as_ref().unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_server_may_answer_a_stream_in_one_piece() {
    let double = Double::start(|_, _| said("hi")).await;
    let model = model_at(&double, "openai-compatible:m", &patient());
    let events: Vec<StreamEvent> = model.stream(hello()).map(Result::unwrap).collect().await;
    let [StreamEvent::Finished(whole)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(whole.text(), "hi");
    // Claude is asked for a stream by itself when the reply may be long
    let whole = json!({"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"});
    let double = Double::start(move |_, _| json_answer(200, &whole)).await;
    let model = model_at(&double, "anthropic:claude-opus-4-5", &patient());
    assert_eq!(model.request(hello()).await.unwrap().text(), "hi");
}

#[tokio::test]
async fn dropping_a_request_drops_its_connection() {
    let mut double = Double::start(|_, _| vec![Step::Hang]).await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let mut asked = double.asked.clone();
    {
        let request = model.request(hello());
        tokio::select! {
            _ = request => panic!("there is no answer"),
            _ = asked.wait_for(|asked| *asked == 1) => {}
        }
    }
    double.given_up.wait_for(|gone| *gone == 1).await.unwrap();
}

#[tokio::test]
async fn dropping_a_stream_drops_its_connection() {
    let mut double = Double::start(|_, _| {
        let mut reply = events(&["data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n"]);
        *reply.last_mut().unwrap() = Step::Hang;
        reply
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let mut stream = model.stream(hello());
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, StreamEvent::Text("hi".to_owned()));
    assert_eq!(*double.given_up.borrow(), 0);
    drop(stream);
    double.given_up.wait_for(|gone| *gone == 1).await.unwrap();
}

#[test]
fn building_does_no_io_and_names_what_is_missing() {
    // no runtime, no server: a client that did anything would fail here
    let none = Providers::new(|_| None);
    let http = HttpClientConfig::default();
    let missing = |name: &str| {
        let error = none.model(&name.parse().unwrap(), &http).err().unwrap();
        error.to_string()
    };
    assert_eq!(
        missing("mistral:m"),
        "the provider mistral needs the environment variable MISTRAL_API_KEY"
    );
    assert!(missing("aws-bedrock:m").contains("AWS_BEARER_TOKEN_BEDROCK"));
    assert!(missing("openai-compatible:m").contains("OPENAI_COMPATIBLE_BASE_URL"));
    assert!(missing("google-gla:m").contains("GOOGLE_API_KEY or GEMINI_API_KEY"));
    let all = Providers::new(|_| Some("https://nowhere.invalid".to_owned()));
    for provider in Provider::ALL {
        if matches!(provider, Provider::General(_)) && cfg!(not(feature = "genai")) {
            continue;
        }
        let config = ModelConfig { provider, model: "a/b".to_owned(), ..ModelConfig::default() };
        let model = all.model(&config, &http).unwrap();
        assert_eq!(model.name(), "a/b");
    }
}

#[test]
fn models_have_names() {
    let config: ModelConfig = "openrouter:qwen/qwen3-32b:free".parse().unwrap();
    assert_eq!(
        (config.provider, config.model.as_str()),
        (Provider::OpenRouter, "qwen/qwen3-32b:free")
    );
    for text in ["gpt-4o", "openai:", "nope:m", ":m", ""] {
        let error = text.parse::<ModelConfig>().unwrap_err().to_string();
        assert!(error.contains("PROVIDER:MODEL") && error.contains("anthropic"), "{error}");
    }
    for provider in Provider::ALL {
        assert_eq!(json!(provider), json!(provider.as_str()));
        assert_eq!(serde_json::from_value::<Provider>(json!(provider)).unwrap(), provider);
        let named: ModelConfig = format!("{}:m", provider.as_str()).parse().unwrap();
        assert_eq!(named.provider, provider);
    }
}

#[tokio::test]
async fn an_agent_with_a_roster_asks_real_providers() {
    let double = Double::start(|number, _| match number {
        0 => json_answer(503, &json!({})),
        _ => said("from the second"),
    })
    .await;
    let address = double.address;
    let providers = Providers::new(move |name| Double::variable(address, name));
    let config = ReactAgentConfig::from_json(json!({"model_cfg": {
        "provider": "mistral", "model": "a",
        "fallback_models": [{"provider": "groq", "model": "b", "temperature": 0.5}],
    }}))
    .unwrap();
    let http = HttpClientConfig { max_retries: 1, ..patient() };
    let builder = ReactAgent::from_config(config, providers.builder(&http)).unwrap();
    let mut agent = builder.build().unwrap();
    let result = agent.run("hi", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.to_text(), "from the second");
    assert_eq!(double.seen()[1].json()["temperature"], json!(0.5));
}

#[tokio::test]
async fn only_one_call_at_a_time_is_asked_for_in_every_language() {
    let double = Double::start(|_, _| json_answer(400, &json!({}))).await;
    for (name, place) in [
        ("openai:gpt-4o", "/parallel_tool_calls"),
        ("openai-chat:gpt-4o", "/parallel_tool_calls"),
        ("mistral:large", "/parallel_tool_calls"),
        ("anthropic:claude-sonnet-4-5", "/tool_choice/disable_parallel_tool_use"),
    ] {
        let mut asked = hello();
        asked.settings.parallel_tool_calls = Some(false);
        asked.tools = Arc::new([ToolDefinition {
            name: "look".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        }]);
        model_at(&double, name, &patient()).request(asked).await.unwrap_err();
        let sent = double.seen().pop().unwrap().json();
        let expected = json!(name.starts_with("anthropic"));
        assert_eq!(sent.pointer(place), Some(&expected), "{name}: {sent}");
    }
}

#[tokio::test]
async fn a_chain_streams_from_the_first_model_that_begins() {
    let begun = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let double = Double::start(move |_, seen| match seen.json()["model"].as_str().unwrap() {
        "busy" => json_answer(503, &json!({})),
        "cut" => events(&[begun]),
        _ => events(&[begun, "data: [DONE]\n\n"]),
    })
    .await;
    let http = HttpClientConfig { max_retries: 1, ..patient() };
    let chain = |names: [&str; 2]| {
        let [first, second] = names.map(|name| model_at(&double, &format!("groq:{name}"), &http));
        FallbackModel::new(first).then(second, ModelSettings::default())
    };
    let chained = chain(["busy", "fine"]);
    let events: Vec<StreamEvent> = chained.stream(hello()).map(Result::unwrap).collect().await;
    assert_eq!(events.first(), Some(&StreamEvent::Text("hi".to_owned())));
    let Some(StreamEvent::Finished(whole)) = events.last() else { panic!("{events:?}") };
    assert!(whole.provider_details.as_ref().unwrap().contains_key("fallbacks"));
    // what was shown cannot be taken back
    let cut = chain(["cut", "fine"]);
    let events: Vec<_> = cut.stream(hello()).collect().await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[1].as_ref().unwrap_err().kind(), ModelErrorKind::Connection);
    let failed = chain(["busy", "busy"]);
    let events: Vec<_> = failed.stream(hello()).collect().await;
    assert_eq!(events[0].as_ref().unwrap_err().kind(), ModelErrorKind::AllFailed);
}

#[tokio::test]
async fn a_reply_without_an_end_is_not_kept() {
    let head =
        "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n";
    let double = Double::start(move |_, _| {
        let mut reply = vec![Step::Send(head.as_bytes().to_vec())];
        reply.extend((0..66).map(|_| Step::Send(vec![b' '; 1024 * 1024])));
        reply.push(Step::Hang);
        reply
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &patient());
    let error = model.request(hello()).await.unwrap_err();
    assert_eq!(error.to_string(), "unexpected reply of gpt-4o: the reply is too long");
    let mut stream = model.stream(hello());
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::UnexpectedReply);
}

#[test]
fn models_that_cannot_be_held_to_a_schema_say_so() {
    let providers = Providers::new(|_| Some("k".to_owned()));
    let native = |name: &str| {
        let model = providers.model(&name.parse().unwrap(), &patient()).unwrap();
        model.native_output().unwrap()
    };
    assert!(native("anthropic:claude-sonnet-4-5") && native("openai:gpt-4o"));
    assert!(!native("anthropic:claude-3-5-haiku-latest") && !native("mistral:large"));
}
