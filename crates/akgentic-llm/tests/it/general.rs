//! Models behind the general client, against a provider on this machine.

mod replies;

use std::sync::Arc;
use std::time::Duration;

use akgentic_llm::*;
use akgentic_tool_core::ToolDefinition;
use futures_util::stream::StreamExt as _;
use serde_json::{Value, json};

use self::replies::{Says, pieces, reply, streamed};
use super::call;
use super::providers::{brisk, hello, input, model_at, patient, user};
use crate::double::{Double, Step, answer, json_answer};

/// A model of each language the client speaks.
const MODELS: [&str; 7] = [
    "xai:grok-4",
    "minimax:MiniMax-M2",
    "vertex:gemini-2.5-pro",
    "vertex:claude-sonnet-4-5",
    "gemini_ix:gemini-3-pro",
    "bedrock_api:amazon.nova-pro-v1:0",
    "ollama_native:qwen3",
];

/// Tools whose names some providers would not take.
fn tools() -> Arc<[ToolDefinition]> {
    Arc::new([ToolDefinition {
        name: "look.here".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
    }])
}

#[tokio::test]
async fn every_provider_of_the_client_is_reached_by_its_name() {
    for provider in GeneralProvider::ALL {
        let model = if provider == GeneralProvider::Vertex { "gemini-x" } else { "m" };
        let name = format!("{}:{model}", provider.as_str());
        let spoken = name.clone();
        let double = Double::start(move |_, _| reply(&spoken, Says::Text)).await;
        let response = model_at(&double, &name, &patient()).request(hello()).await.unwrap();
        assert_eq!(response.text(), "Hello", "{name}");
        assert_eq!(response.provider_name.as_deref(), Some(provider.as_str()));
        assert_eq!(response.model_name.as_deref(), Some(model));
        assert_eq!((response.usage.input_tokens, response.usage.output_tokens), (3, 4), "{name}");
        let seen = &double.seen()[0];
        assert!(seen.target.starts_with("/v1/"), "{name}: {}", seen.target);
        let named = seen.target.contains(&format!("/{model}")) || seen.json()["model"] == model;
        // those that have a family of their own put its folder before
        let named = named || seen.json()["model"] == "accounts/fireworks/models/m";
        assert!(named, "{name}: {} {}", seen.target, seen.json());
        let key = ["authorization", "x-api-key", "x-goog-api-key"];
        let key = key.iter().find_map(|header| seen.header(header));
        let wants_none = provider == GeneralProvider::OllamaNative;
        assert_eq!(key.is_some_and(|key| key.contains("sk-test")), !wants_none, "{name}");
    }
}

#[tokio::test]
async fn a_reply_comes_in_pieces_in_every_language() {
    for name in MODELS {
        let double = Double::start(move |_, _| reply(name, Says::Text)).await;
        let model = model_at(&double, name, &patient());
        let all: Vec<StreamEvent> = model.stream(hello()).map(Result::unwrap).collect().await;
        let (last, pieces) = all.split_last().unwrap();
        let StreamEvent::Finished(whole) = last else { panic!("{last:?}") };
        let texts: Vec<&StreamEvent> =
            pieces.iter().filter(|piece| matches!(piece, StreamEvent::Text(_))).collect();
        let expected = ["Hel", "lo"].map(|text| StreamEvent::Text(text.to_owned()));
        assert_eq!(texts, expected.iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(whole.text(), "Hello", "{name}");
        assert_eq!(whole.finish_reason, Some(FinishReason::Stop), "{name}");
        let thought = whole.parts.iter().find_map(|part| match part {
            ResponsePart::Thinking(thought) => Some(thought.clone()),
            _ => None,
        });
        if name.starts_with("gemini_ix") {
            continue;
        }
        let thought = thought.unwrap();
        assert_eq!(thought.content, "hm", "{name}");
        let signed = name.contains("claude") || name.contains("MiniMax") || name.contains("nova");
        assert_eq!(thought.signature.is_some(), signed, "{name}");
        assert_eq!(pieces[0], StreamEvent::Thinking("hm".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn a_call_and_its_result_go_round_in_every_language() {
    for name in MODELS {
        let says = |number| if number % 2 == 0 { Says::Call } else { Says::Text };
        let double = Double::start(move |number, _| reply(name, says(number))).await;
        let model = model_at(&double, name, &patient());
        let mut asked = hello();
        asked.tools = tools();
        let called = model.request(asked.clone()).await.unwrap();
        let call = called.tool_calls().next().unwrap().clone();
        assert_eq!(call.tool_name, "look.here", "{name}");
        assert_eq!(call.args.parse().unwrap(), json!({"a": 1}), "{name}");
        assert!(!call.tool_call_id.is_empty());
        let returned =
            ToolReturnPart::success(&call, "seen", akgentic_core::wire::Timestamp::now());
        let results = ModelRequest {
            parts: vec![RequestPart::ToolReturn(returned)],
            ..ModelRequest::default()
        };
        let all = vec![user("hello"), called.into(), results.into()];
        asked.messages = History::from(all);
        assert_eq!(model.request(asked).await.unwrap().text(), "Hello", "{name}");
        let sent = double.seen()[1].json().to_string();
        assert!(sent.contains("look_here") && !sent.contains("look.here"), "{name}: {sent}");
        assert!(sent.contains("seen") && sent.contains("\"a\""), "{name}: {sent}");
    }
}

#[tokio::test]
async fn calls_in_pieces_are_told_apart() {
    let calls = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let piece = |index: u64, id: Value, name: &str, arguments: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let none = Value::Null;
    let all = [
        calls(json!([piece(0, json!("a"), "f", "{"), piece(1, json!("b"), "g", "{")])),
        calls(json!([piece(1, none.clone(), "", "\"x\":1}")])),
        calls(json!([piece(0, none.clone(), "", "}")])),
        // without an id of its own
        calls(json!([piece(2, none.clone(), "h", "[")])),
        calls(json!([piece(2, none, "", "]")])),
        json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    let mut all: Vec<Vec<u8>> =
        all.iter().map(|event| format!("data: {event}\n\n").into_bytes()).collect();
    all.push(b"data: [DONE]\n\n".to_vec());
    let double = Double::start(move |_, _| streamed(&all)).await;
    let response = model_at(&double, "together:m", &patient()).request(hello()).await.unwrap();
    let calls: Vec<(String, String)> =
        response.tool_calls().map(|call| (call.tool_name.clone(), call.args.to_text())).collect();
    let expected = [("f", "{}"), ("g", "{\"x\":1}"), ("h", "[]")];
    assert_eq!(calls, expected.map(|(name, args)| (name.to_owned(), args.to_owned())));
    let made = response.tool_calls().last().unwrap();
    assert!(made.tool_call_id.starts_with("pyd_ai_"), "{}", made.tool_call_id);
    assert_eq!(response.usage.unmeasured_requests, 1);
}

#[tokio::test]
async fn a_number_out_of_reach_takes_no_memory() {
    let event = json!({"choices": [{"delta": {"tool_calls": [{"index": u32::MAX, "id": "a",
        "function": {"name": "f", "arguments": "{}"}}]}}]});
    let all = vec![format!("data: {event}\n\n").into_bytes(), b"data: [DONE]\n\n".to_vec()];
    let double = Double::start(move |_, _| streamed(&all)).await;
    let response = model_at(&double, "xai:m", &patient()).request(hello()).await.unwrap();
    assert_eq!(response.tool_calls().count(), 1);
}

#[tokio::test]
async fn counts_out_of_reach_panic_nowhere() {
    let end = json!({"message": {"content": "hi"}, "done": true, "done_reason": "stop",
        "prompt_eval_count": i32::MAX, "eval_count": i32::MAX});
    let double = Double::start(move |_, _| streamed(&[format!("{end}\n").into_bytes()])).await;
    let model = model_at(&double, "ollama_native:m", &patient());
    // builds that do not look for overflows read it
    if let Err(error) = model.request(hello()).await {
        assert_eq!(error.kind(), ModelErrorKind::UnexpectedReply);
    }
}

#[tokio::test]
async fn busy_servers_are_asked_again() {
    for name in MODELS {
        let double = Double::start(move |number, _| match number {
            0 => answer(429, "application/json", "retry-after-ms: 1\r\n", "{}"),
            1 => answer(500, "text/html", "", "<html>oops</html>"),
            _ => reply(name, Says::Text),
        })
        .await;
        let model = model_at(&double, name, &patient());
        assert_eq!(model.request(hello()).await.unwrap().text(), "Hello", "{name}");
        assert_eq!(double.seen().len(), 3, "{name}");
    }
}

#[tokio::test]
async fn a_server_says_how_long_to_wait() {
    let double = Double::start(|number, _| match number {
        0 => answer(429, "application/json", "retry-after: 1\r\n", "{}"),
        _ => reply("xai", Says::Text),
    })
    .await;
    let started = std::time::Instant::now();
    model_at(&double, "xai:grok-4", &patient()).request(hello()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn no_key_is_told() {
    let double = Double::start(|_, seen| {
        let secret = seen.header("authorization").unwrap().to_owned();
        answer(401, "text/plain", "", &format!("who is {secret}?"))
    })
    .await;
    let log = Log::default();
    let subscriber = tracing::subscriber::set_default(log.clone());
    let model = model_at(&double, "kimi:kimi-k2", &patient());
    let error = model.request(hello()).await.unwrap_err();
    drop(subscriber);
    assert_eq!(error.kind(), ModelErrorKind::Authentication);
    assert_eq!(error.to_string(), "kimi-k2 answered 401: who is Bearer [key]?");
    assert!(!format!("{error:?}").contains("sk-test"));
    assert!(!log.0.lock().unwrap().contains("sk-test"), "{:?}", log.0);
}

/// Everything that is written to the log.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<String>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let log = &self.0;
        event.record(&mut |_: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            log.lock().unwrap().extend([format!("{value:?}")]);
        });
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn failures_told_inside_a_stream_have_their_status() {
    let busy = json!({"error": {"message": "slow down", "type": "rate_limit_error"}});
    let all = vec![format!("event: error\ndata: {busy}\n\n").into_bytes()];
    let double = Double::start(move |_, _| streamed(&all)).await;
    for name in ["xai:m", "minimax:m"] {
        let error = model_at(&double, name, &patient()).request(hello()).await.unwrap_err();
        assert_eq!(error.to_string(), "m answered 429: slow down", "{name}");
    }
}

#[tokio::test]
async fn garbage_is_no_reply() {
    for name in MODELS {
        for garbage in ["data: <html>\n\n", "data: 7\n\ndata: [DONE]\n\n", "\u{0}\u{1}\n\n"] {
            let all = vec![garbage.as_bytes().to_vec()];
            let double = Double::start(move |_, _| streamed(&all)).await;
            let model = model_at(&double, name, &patient());
            let error = model.request(hello()).await.unwrap_err();
            let kind = error.kind();
            let no_reply = [ModelErrorKind::UnexpectedReply, ModelErrorKind::Connection];
            assert!(no_reply.contains(&kind), "{name} {garbage:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_a_broken_connection() {
    for name in MODELS {
        let mut all = pieces(name, Says::Text);
        // what is left tells no end
        all.truncate(all.len() - if name.starts_with("bedrock") { 3 } else { 2 });
        let double = Double::start(move |_, _| streamed(&all)).await;
        let model = model_at(&double, name, &brisk());
        let error = model.request(hello()).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Connection, "{name}: {error}");
        let last = model.stream(hello()).collect::<Vec<_>>().await.pop().unwrap();
        assert_eq!(last.unwrap_err().kind(), ModelErrorKind::Connection, "{name}");
    }
}

#[tokio::test]
async fn a_broken_connection_is_made_again() {
    let double = Double::start(|number, _| match number {
        0 => vec![Step::Close],
        1 => {
            let mut broken = reply("xai", Says::Text);
            broken.truncate(3);
            broken.push(Step::Close);
            broken
        }
        _ => reply("xai", Says::Text),
    })
    .await;
    let model = model_at(&double, "xai:grok-4", &patient());
    assert_eq!(model.request(hello()).await.unwrap().text(), "Hello");
    assert_eq!(double.seen().len(), 3);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    for name in MODELS {
        let mut double = Double::start(|_, _| vec![Step::Hang]).await;
        let error = model_at(&double, name, &brisk()).request(hello()).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Timeout, "{name}: {error}");
        assert_eq!(double.seen().len(), 1, "timeouts are not repeated");
        double.given_up.wait_for(|gone| *gone == 1).await.unwrap();
    }
}

#[tokio::test]
async fn a_reply_that_stops_coming_is_given_up() {
    let double = Double::start(|_, _| {
        let mut hanging = reply("xai", Says::Text);
        *hanging.last_mut().unwrap() = Step::Hang;
        hanging.remove(hanging.len() - 2);
        hanging
    })
    .await;
    let model = model_at(&double, "xai:grok-4", &brisk());
    let error = model.request(hello()).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout, "{error}");
    let total = HttpClientConfig { timeout: 60.0, total_timeout: Some(0.3), ..brisk() };
    let model = model_at(&double, "xai:grok-4", &total);
    let error = model.request(hello()).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Timeout { after, .. } if after == Duration::from_millis(300))
    );
    let last = model.stream(hello()).collect::<Vec<_>>().await.pop().unwrap();
    assert_eq!(last.unwrap_err().kind(), ModelErrorKind::Timeout);
}

#[tokio::test]
async fn a_reply_without_an_end_is_not_kept() {
    let long = json!({"choices": [{"delta": {"content": "x".repeat(1024 * 1024)}}]});
    let chunk = format!("data: {long}\n\n").into_bytes();
    let double = Double::start(move |_, _| {
        let mut endless = streamed(&vec![chunk.clone(); 66]);
        *endless.last_mut().unwrap() = Step::Hang;
        endless
    })
    .await;
    let model = model_at(&double, "xai:grok-4", &patient());
    let error = model.request(hello()).await.unwrap_err();
    assert_eq!(error.to_string(), "unexpected reply of grok-4: the reply is too long");
}

#[tokio::test]
async fn dropping_a_request_or_a_stream_drops_its_connection() {
    let mut double = Double::start(|_, _| {
        let mut hanging = streamed(&pieces("xai", Says::Text)[..2]);
        *hanging.last_mut().unwrap() = Step::Hang;
        hanging
    })
    .await;
    let model = model_at(&double, "xai:grok-4", &patient());
    let mut asked = double.asked.clone();
    tokio::select! {
        _ = model.request(hello()) => panic!("there is no answer"),
        _ = asked.wait_for(|asked| *asked == 1) => {}
    }
    double.given_up.wait_for(|gone| *gone == 1).await.unwrap();
    let mut stream = model.stream(hello());
    stream.next().await.unwrap().unwrap();
    drop(stream);
    double.given_up.wait_for(|gone| *gone == 2).await.unwrap();
}

#[tokio::test]
async fn a_chain_goes_on_behind_the_client() {
    let double = Double::start(|_, seen| match seen.json()["model"].as_str().unwrap() {
        "busy" => json_answer(503, &json!({})),
        _ => reply("xai", Says::Text),
    })
    .await;
    let http = HttpClientConfig { max_retries: 1, ..patient() };
    let [first, second] = ["together:busy", "xai:fine"].map(|name| model_at(&double, name, &http));
    let chain = FallbackModel::new(first).then(second, ModelSettings::default());
    assert_eq!(chain.request(hello()).await.unwrap().text(), "Hello");
}

#[test]
fn what_is_missing_is_named() {
    let none = Providers::new(|_| None);
    let region = Providers::new(|name| (name == "BEDROCK_API_KEY").then(|| "k".to_owned()));
    let http = HttpClientConfig::default();
    let missing = |providers: &Providers, name: &str| {
        providers.model(&name.parse().unwrap(), &http).err().unwrap().to_string()
    };
    assert_eq!(
        missing(&none, "xai:grok-4"),
        "the provider xai needs the environment variable XAI_API_KEY"
    );
    assert!(missing(&none, "vertex:gemini-3-pro").contains("VERTEX_API_KEY"));
    let both = "BEDROCK_API_KEY or AWS_BEARER_TOKEN_BEDROCK";
    assert!(missing(&none, "bedrock_api:m").contains(both));
    assert!(missing(&region, "bedrock_api:m").contains("AWS_REGION or AWS_DEFAULT_REGION"));
    assert!(none.model(&"ollama_native:m".parse().unwrap(), &http).is_ok());
    let error = "xia:grok".parse::<ModelConfig>().unwrap_err().to_string();
    assert!(error.contains("xai") && error.contains("github_copilot"), "{error}");
}

/// What genai knows of a provider stands in the documentation.
#[test]
fn the_page_names_every_provider_with_its_key_and_address() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers.md");
    let page = std::fs::read_to_string(page).unwrap();
    for provider in GeneralProvider::ALL {
        let row = format!("| `{}` |", provider.as_str());
        let row = page.lines().find(|line| line.starts_with(&row)).unwrap();
        let config: ModelConfig = format!("{}:gemini-x", provider.as_str()).parse().unwrap();
        match Endpoint::new(&config, &|_| None) {
            Err(EnvironmentError::Missing { variable, .. }) => {
                assert!(variable.split(" or ").all(|one| row.contains(one)), "{variable}: {row}");
            }
            other => assert!(row.contains("| none"), "{other:?}: {row}"),
        }
        let set = |name: &str| (!name.ends_with("_BASE_URL")).then(|| "here".to_owned());
        let known = Endpoint::new(&config, &set).unwrap().provider_url;
        let by_place = known.contains("here");
        assert!(by_place || row.contains(&format!("`{known}`")), "{known}: {row}");
    }
}

#[tokio::test]
async fn names_and_settings_reach_the_provider_as_they_are() {
    let double = Double::start(|_, _| json_answer(400, &json!({}))).await;
    let mut asked = hello();
    asked.tools = tools();
    asked.settings = ModelSettings {
        temperature: Some(0.5),
        max_tokens: Some(7),
        seed: Some(3),
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    // neither an effort at the end of a name nor a double colon in it mean anything
    for model in ["qwen3-max", "a::b-high"] {
        let name = format!("aliyun:{model}");
        model_at(&double, &name, &patient()).request(asked.clone()).await.unwrap_err();
        let sent = double.seen().pop().unwrap().json();
        assert_eq!(sent["model"], json!(model));
        assert_eq!(sent.get("reasoning_effort"), None);
        assert_eq!(sent["temperature"], json!(0.5));
        assert_eq!((&sent["max_tokens"], &sent["seed"]), (&json!(7), &json!(3)));
        assert_eq!(sent["parallel_tool_calls"], json!(false));
        assert_eq!(sent["tool_choice"], json!("auto"));
    }
    asked.settings.reasoning_effort = Some(ReasoningEffort::High);
    model_at(&double, "xai:grok-4", &patient()).request(asked).await.unwrap_err();
    assert_eq!(double.seen().pop().unwrap().json()["reasoning_effort"], json!("high"));
}

#[tokio::test]
async fn what_a_language_has_no_place_for_is_told_in_words() {
    let double = Double::start(|_, _| json_answer(400, &json!({}))).await;
    let thought = ThinkingPart { content: "deep".to_owned(), ..ThinkingPart::default() };
    let mut foreign = call(&[("look", "{}", "odd id")]);
    foreign.provider_name = Some("openai".to_owned());
    foreign.parts.insert(0, ResponsePart::Thinking(thought));
    let made = foreign.tool_calls().next().unwrap();
    let now = akgentic_core::wire::Timestamp::now();
    let png = || BinaryContent::new(&b"\x89PNG"[..], "image/png");
    let returned = ToolReturnPart::success(made, ToolContent::Binary(png()), now);
    let late = SystemPromptPart::new("be <b>rief", None, now);
    let results = ModelRequest {
        parts: vec![RequestPart::ToolReturn(returned), RequestPart::SystemPrompt(late)],
        ..ModelRequest::default()
    };
    let first = SystemPromptPart::new("be kind", None, now);
    let sound = BinaryContent::new(&b"RIFF"[..], "audio/wav");
    let pdf = BinaryContent::new(&b"%PDF"[..], "application/pdf");
    let items = [png(), pdf, sound].map(UserItem::Binary).to_vec();
    let opening = ModelRequest {
        parts: vec![
            RequestPart::SystemPrompt(first),
            RequestPart::UserPrompt(UserPromptPart::new(items, now)),
        ],
        ..ModelRequest::default()
    };
    let asked = input(vec![opening.into(), foreign.into(), results.into()]);
    for name in MODELS {
        let http = HttpClientConfig { max_retries: 1, ..patient() };
        model_at(&double, name, &http).request(asked.clone()).await.unwrap_err();
        let sent = double.seen().pop().unwrap().json().to_string();
        assert!(sent.contains("<think>\\ndeep\\n</think>"), "{name}: {sent}");
        assert!(sent.contains("(audio/wav) cannot be shown"), "{name}: {sent}");
        assert!(sent.contains("<system>be <b>rief</system>"), "{name}: {sent}");
        assert!(sent.contains("be kind") && !sent.contains("odd id"), "{name}: {sent}");
        assert!(sent.contains("iVBORw") || sent.contains("iVBO"), "{name}: {sent}");
        let pdf_shown = sent.contains("JVBERg");
        assert_eq!(pdf_shown, !name.contains("ollama"), "{name}: {sent}");
    }
}

#[tokio::test]
async fn typed_output_is_held_to_a_schema_where_it_can_be() {
    let double = Double::start(|_, _| json_answer(400, &json!({}))).await;
    let schema: Arc<OutputSchema> = {
        let spec = OutputSpec::of::<Vec<i64>>();
        spec.schema().unwrap().clone()
    };
    let native = |name: &str| model_at(&double, name, &patient()).native_output().unwrap();
    assert!(native("xai:grok-4") && !native("ollama_native:qwen3"));
    let mut asked = hello();
    asked.output = OutputRequest { mode: OutputMode::Native, schema: Some(schema.clone()) };
    model_at(&double, "xai:grok-4", &patient()).request(asked.clone()).await.unwrap_err();
    let sent = double.seen().pop().unwrap().json();
    assert_eq!(sent["response_format"]["type"], json!("json_schema"), "{sent}");
    let error = model_at(&double, "ollama_native:m", &patient()).request(asked.clone()).await;
    assert_eq!(error.unwrap_err().kind(), ModelErrorKind::Usage);
    asked.output = OutputRequest { mode: OutputMode::Tool, schema: Some(schema) };
    model_at(&double, "together:m", &patient()).request(asked).await.unwrap_err();
    let sent = double.seen().pop().unwrap().json();
    assert_eq!(sent["tool_choice"], json!("required"), "{sent}");
}
