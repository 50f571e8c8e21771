//! What providers refuse, and users of comparable tools reported, is not sent to them.

use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use akgentic_llm::*;
use akgentic_tool_core::ToolDefinition;
use serde_json::{Map, Value, json};

use super::call;
use super::providers::{chat, hello, input, model_at, said, user};
use crate::double::{Double, json_answer};

/// A model of each language, and some that speak the same one.
const MODELS: [&str; 9] = [
    "openai:gpt-5",
    "openai-chat:gpt-4o",
    "azure:gpt-4o",
    "azure-chat:gpt-4o",
    "anthropic:claude-sonnet-4-5",
    "google-gla:gemini-2.5-flash",
    "mistral:mistral-large-latest",
    "openrouter:google/gemini-2.5-flash",
    "ollama:qwen3",
];

fn http() -> HttpClientConfig {
    HttpClientConfig { max_retries: 1, ..HttpClientConfig::default() }
}

/// What a provider that refuses everything was sent.
async fn sent(name: &str, input: ModelInput) -> Value {
    let double = Double::start(|_, _| json_answer(400, &json!({"error": "no"}))).await;
    model_at(&double, name, &http()).request(input).await.unwrap_err();
    let seen = double.seen();
    assert_eq!(seen.len(), 1, "{name}");
    seen[0].json()
}

fn results(parts: Vec<RequestPart>) -> Arc<ModelMessage> {
    ModelRequest { parts, ..ModelRequest::default() }.into()
}

fn result(call: &ToolCallPart, content: impl Into<ToolContent>) -> RequestPart {
    RequestPart::ToolReturn(ToolReturnPart::success(call, content, Timestamp::now()))
}

/// A call and its result.
fn called(id: &str, content: impl Into<ToolContent>) -> [Arc<ModelMessage>; 2] {
    let response = call(&[("look", "{}", id)]);
    let answered = result(response.tool_calls().next().unwrap(), content);
    [response.into(), results(vec![answered])]
}

fn png() -> BinaryContent {
    BinaryContent::new(&b"\x89PNG"[..], "image/png")
}

#[tokio::test]
async fn field_b06_a_refused_file_is_left_out_and_the_conversation_goes_on() {
    let double = Double::start(|_, seen| {
        if String::from_utf8_lossy(&seen.body).contains("data:image/png") {
            json_answer(400, &json!({"error": {"message": "Image exceeds 5 MB maximum"}}))
        } else {
            said("I cannot see it")
        }
    })
    .await;
    let model = model_at(&double, "openai-chat:gpt-4o", &http());
    let note = BinaryContent::new(&b"a note"[..], "text/plain");
    let items =
        vec![UserItem::Text("see".to_owned()), UserItem::Binary(png()), UserItem::Binary(note)];
    let [response, returned] = called("c1", ToolContent::Binary(png()));
    let asked = input(vec![user(items), response, returned]);
    let response = model.request(asked).await.unwrap();
    assert_eq!(response.text(), "I cannot see it");
    let body = double.seen()[1].json().to_string();
    assert!(body.contains("the provider refused it"), "{body}");
    assert!(body.contains("a note") && !body.contains("data:image"), "{body}");
    // other refusals are not about files, and without files there is nothing to leave out
    let double =
        Double::start(|_, _| json_answer(400, &json!({"error": "invalid image size"}))).await;
    model_at(&double, "openai-chat:gpt-4o", &http()).request(hello()).await.unwrap_err();
    assert_eq!(double.seen().len(), 1);
}

#[tokio::test]
async fn field_b07_one_bad_schema_does_not_take_the_request_with_it() {
    let odd = [
        json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"type": "object"}),
        json!({}),
        json!(true),
        json!({"type": "array", "items": {}}),
        json!({"type": "object", "properties": null, "required": "a"}),
        json!({"oneOf": [{"properties": {"x": {"type": "string"}}}]}),
    ];
    let tools = odd.iter().enumerate().map(|(index, schema)| ToolDefinition {
        name: format!("t{index}"),
        description: "A tool.".to_owned(),
        parameters: schema.clone(),
    });
    let tools: Arc<[ToolDefinition]> = tools.collect();
    for name in MODELS {
        let mut asked = hello();
        asked.tools = Arc::clone(&tools);
        let body = sent(name, asked).await;
        let declared = body.pointer("/tools/0/functionDeclarations").unwrap_or(&body["tools"]);
        let declared = declared.as_array().unwrap();
        assert_eq!(declared.len(), odd.len(), "{name}");
        for tool in declared {
            let tool = tool.get("function").unwrap_or(tool);
            let keys = ["parameters", "input_schema", "parameters_json_schema"];
            let schema = keys.iter().find_map(|key| tool.get(*key)).unwrap();
            assert_eq!(schema["type"], "object", "{name}: {tool}");
            assert!(schema["properties"].is_object(), "{name}: {tool}");
            for keyword in ["anyOf", "oneOf", "allOf"] {
                assert!(schema.get(keyword).is_none(), "{name}: {tool}");
            }
        }
    }
}

#[tokio::test]
async fn field_b09_references_in_results_are_sent_as_text() {
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}});
    for content in [schema.clone(), json!([schema])] {
        let mut messages = vec![user("go")];
        messages.extend(called("c1", content.clone()));
        let body = sent("google-gla:gemini-2.5-flash", input(messages)).await;
        let response = body.pointer("/contents/2/parts/0/functionResponse/response").unwrap();
        assert_eq!(*response, json!({"return_value": content.to_string()}));
    }
    // without a reference an object stays one
    let mut messages = vec![user("go")];
    messages.extend(called("c1", json!({"a": 1})));
    let body = sent("google-gla:gemini-2.5-flash", input(messages)).await;
    let response = body.pointer("/contents/2/parts/0/functionResponse/response").unwrap();
    assert_eq!(*response, json!({"a": 1}));
}

#[tokio::test]
async fn field_b11_tools_keep_their_names_behind_the_names_on_the_wire() {
    let long = format!("a-very-long-server-name-{}.read.file", "x".repeat(60));
    let names = ["read.file", "read_file", &long];
    let double = Double::start(move |_, seen| {
        let body = seen.json();
        let tools = body["tools"].as_array().unwrap();
        let calls = tools.iter().enumerate().map(|(index, tool)| {
            let name = tool["function"]["name"].as_str().unwrap();
            let fits = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '-');
            assert!((1..=64).contains(&name.len()) && name.chars().all(fits), "{name}");
            json!({"id": index.to_string(), "function": {"name": name, "arguments": "{}"}})
        });
        let calls: Vec<Value> = calls.collect();
        json_answer(200, &json!({"choices": [{"message": {"tool_calls": calls}}]}))
    })
    .await;
    let mut asked = hello();
    asked.tools = names
        .iter()
        .map(|name| ToolDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        })
        .collect();
    let model = model_at(&double, "openai-chat:gpt-4o", &http());
    let response = model.request(asked.clone()).await.unwrap();
    let called: Vec<&str> = response.tool_calls().map(|call| call.tool_name.as_str()).collect();
    assert_eq!(called, names);
    // in the history they have the same names again
    let answered = response.tool_calls().map(|call| result(call, "done")).collect();
    asked.messages = History::from(vec![user("hello"), response.into(), results(answered)]);
    model.request(asked).await.unwrap();
    let body = double.seen()[1].json();
    for (index, tool) in body["tools"].as_array().unwrap().iter().enumerate() {
        let call = body.pointer(&format!("/messages/1/tool_calls/{index}/function/name"));
        assert_eq!(call, Some(&tool["function"]["name"]));
    }
}

#[tokio::test]
async fn field_b19_what_belongs_to_a_call_comes_back_with_it() {
    let reply = json!({
        "status": "completed", "id": "r1",
        "output": [
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "ENC", "summary": [
                {"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]},
            {"type": "message", "id": "m1", "phase": "commentary",
             "content": [{"type": "output_text", "text": "Looking."}]},
            {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call", "id": "f2", "call_id": "c2", "name": "look", "arguments": "{}"},
        ],
    });
    let double = Double::start(move |_, _| json_answer(200, &reply)).await;
    let model = model_at(&double, "openai:gpt-5", &http());
    let response = model.request(hello()).await.unwrap();
    let answered = response.tool_calls().map(|call| result(call, "done")).collect();
    let messages = vec![user("hello"), response.into(), results(answered)];
    model.request(input(messages)).await.unwrap();
    let body = double.seen()[1].json();
    let call = |id: &str, of: &str| json!({"type": "function_call", "id": id, "call_id": of, "name": "look", "arguments": "{}"});
    let done = |of: &str| json!({"type": "function_call_output", "call_id": of, "output": "done"});
    assert_eq!(
        body["input"],
        json!([
            {"role": "user", "content": "hello"},
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "ENC", "summary": [
                {"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]},
            {"type": "message", "role": "assistant", "id": "m1", "status": "completed",
             "phase": "commentary",
             "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
            call("f1", "c1"),
            call("f2", "c2"),
            done("c1"),
            done("c2"),
        ])
    );
}

/// A history that one provider made, with everything that only it understands.
fn foreign(id: &str) -> Vec<Arc<ModelMessage>> {
    let maker = Some("elsewhere".to_owned());
    let details = Some(Map::from_iter([
        ("thought_signature".to_owned(), json!("SECRET-SIGNATURE")),
        ("phase".to_owned(), json!("SECRET-PHASE")),
    ]));
    let mut response = call(&[("look", "{}", id)]);
    for part in &mut response.parts {
        if let ResponsePart::ToolCall(call) = part {
            call.id = Some("SECRET-ITEM".to_owned());
            call.provider_details.clone_from(&details);
        }
    }
    let answered = result(response.tool_calls().next().unwrap(), "done");
    response.parts.insert(
        0,
        ResponsePart::Thinking(ThinkingPart {
            content: "a thought".to_owned(),
            id: Some("SECRET-THOUGHT".to_owned()),
            signature: Some("SECRET-SIGNATURE".to_owned()),
            provider_name: maker.clone(),
            provider_details: details.clone(),
        }),
    );
    response.parts.push(ResponsePart::Text(TextPart {
        id: Some("SECRET-TEXT".to_owned()),
        provider_details: details,
        ..TextPart::new("a text")
    }));
    response.provider_name = maker;
    vec![user("go"), response.into(), results(vec![answered]), user("on")]
}

#[tokio::test]
async fn field_b20_a_history_of_another_provider_is_taken() {
    let long = "x".repeat(43);
    for id in ["call:1|x", &long, "fine_1"] {
        for name in MODELS {
            let body = sent(name, input(foreign(id))).await.to_string();
            assert!(!body.contains("SECRET"), "{name}: {body}");
            assert!(body.contains("a text"), "{name}: {body}");
            let is_kept = body.contains(&format!("\"{id}\""));
            let short = name.starts_with("mistral");
            assert_eq!(is_kept, id == "fine_1" && !short, "{name}: {body}");
        }
    }
    // call and result still have one id
    let body = sent("anthropic:claude-sonnet-4-5", input(foreign("call:1|x"))).await;
    let used = body.pointer("/messages/2/content/0/id").unwrap();
    assert_eq!(body.pointer("/messages/3/content/0/tool_use_id"), Some(used));
    assert!(used.as_str().unwrap().starts_with("call_"));
    // an id of its own comes back as it was, however odd
    let double = Double::start(|_, _| {
        let mut reply = chat("");
        reply["choices"][0]["message"]["tool_calls"] =
            json!([{"id": "functions.look:0", "function": {"name": "look", "arguments": "{}"}}]);
        json_answer(200, &reply)
    })
    .await;
    let model = model_at(&double, "openai-compatible:kimi", &http());
    let response = model.request(hello()).await.unwrap();
    let answered = response.tool_calls().map(|call| result(call, "done")).collect();
    model.request(input(vec![user("hello"), response.into(), results(answered)])).await.unwrap();
    let body = double.seen()[1].json();
    assert_eq!(body["messages"][2]["tool_call_id"], "functions.look:0");
}

#[tokio::test]
async fn thoughts_of_one_api_are_told_as_text_in_the_other() {
    // both are recorded as openai
    let mut response = call(&[("look", "{}", "c1")]);
    response.provider_name = Some("openai".to_owned());
    let thought = |id: &str| {
        ResponsePart::Thinking(ThinkingPart {
            content: "hm".to_owned(),
            id: Some(id.to_owned()),
            provider_name: Some("openai".to_owned()),
            ..ThinkingPart::default()
        })
    };
    for (name, id, place) in [
        ("openai-chat:gpt-4o", "rs_1", "/messages/1/content"),
        ("openai:gpt-5", "reasoning_content", "/input/1/content"),
    ] {
        let mut response = response.clone();
        response.parts.insert(0, thought(id));
        let answered = result(response.tool_calls().next().unwrap(), "done");
        let asked = input(vec![user("go"), response.into(), results(vec![answered])]);
        let body = sent(name, asked).await;
        assert_eq!(body.pointer(place), Some(&json!("<think>\nhm\n</think>")), "{name}: {body}");
    }
}

#[tokio::test]
async fn files_nobody_can_see_are_named() {
    let zip = BinaryContent::new(&b"PK"[..], "application/zip");
    let yaml = BinaryContent::new(&b"a: 1"[..], "application/yaml");
    for name in MODELS {
        let items = vec![UserItem::Binary(zip.clone()), UserItem::Binary(yaml.clone())];
        let body = sent(name, input(vec![user(items)])).await.to_string();
        assert!(body.contains("cannot be shown") && body.contains("application/zip"), "{name}");
        assert!(body.contains("BEGIN FILE") && body.contains("a: 1"), "{name}: {body}");
    }
}

#[tokio::test]
async fn images_in_results_are_shown_in_every_language() {
    for name in MODELS.iter().chain(&["google-gla:gemini-3-pro-preview"]) {
        let items = vec![ToolItem::Json(json!("before")), ToolItem::Binary(png())];
        let mut messages = vec![user("go")];
        messages.extend(called("abcdefghi", ToolContent::Items(items)));
        messages.push(user("and?"));
        let messages = sendable(&messages, Timestamp::now());
        let body = sent(name, ModelInput { messages, ..hello() }).await.to_string();
        assert!(body.contains("iVBORw==") || body.contains("iVBORw"), "{name}: {body}");
        assert!(body.contains("before") && body.contains("and?"), "{name}: {body}");
    }
}
