//! What conversations remember, and what they tell.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{call, returns, say};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn scripted(replies: Vec<ModelResponse>) -> (FunctionModel, Arc<Mutex<Vec<ModelInput>>>) {
    let requests: Arc<Mutex<Vec<ModelInput>>> = Arc::default();
    let seen = Arc::clone(&requests);
    let replies = Mutex::new(replies.into_iter());
    let model = FunctionModel::new(move |input| {
        seen.lock().unwrap().push(input);
        Ok(replies.lock().unwrap().next().expect("a reply is left"))
    });
    (model, requests)
}

async fn run(agent: &mut ReactAgent, prompt: &str) -> RunResult {
    agent.run(prompt, &OutputSpec::text(), CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn messages_are_stamped_with_run_conversation_and_time() {
    let (model, _) = scripted(vec![say("a"), say("b")]);
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let runs = [run(&mut agent, "1").await.run_id, run(&mut agent, "2").await.run_id];
    assert_ne!(runs[0], runs[1]);
    let messages = agent.context().messages();
    let stamped: Vec<Option<&str>> = messages.iter().map(|message| message.run_id()).collect();
    assert_eq!(stamped, [&runs[0], &runs[0], &runs[1], &runs[1]].map(|run| Some(run.as_str())));
    let conversation = messages[0].conversation_id();
    assert!(conversation.is_some());
    for message in messages {
        assert_eq!(message.conversation_id(), conversation);
        let timed = match &**message {
            ModelMessage::Request(request) => request.timestamp.is_some(),
            ModelMessage::Response(response) => response.timestamp.is_some(),
        };
        assert!(timed);
    }
    // outside a run there is neither, and nobody makes one up
    agent.append_user_prompt("by the way").unwrap();
    let outside = agent.context().messages().last().unwrap();
    assert_eq!((outside.run_id(), outside.conversation_id()), (None, None));
    assert_eq!(outside.as_request().unwrap().timestamp, None);
}

#[test]
fn tool_events_outside_a_run_have_no_run() {
    let runs: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&runs);
    let mut context = ContextManager::new(None);
    context.subscribe(Arc::new(move |event: &LlmEvent| {
        match event {
            LlmEvent::ToolCall(event) => seen.lock().unwrap().push(event.run_id.clone()),
            LlmEvent::Usage(event) => seen.lock().unwrap().push(event.run_id.clone()),
            _ => {}
        }
        Ok(())
    }));
    context.add_message(call(&[("t", "{}", "c")])).unwrap();
    assert_eq!(*runs.lock().unwrap(), ["", ""]);
}

#[tokio::test]
async fn the_prompt_as_it_was_sent_stands_beside_the_history() {
    let (model, requests) = scripted(vec![say("a"), say("b"), say("c")]);
    let count = AtomicU32::new(0);
    let mut prompts = SystemPrompts::default();
    prompts
        .add("clock", move || Some(format!("tick {}", count.fetch_add(1, Ordering::Relaxed))))
        .unwrap();
    let mut agent = ReactAgent::builder(model).system_prompts(prompts).build().unwrap();
    let told: Arc<Mutex<Vec<LlmEvent>>> = Arc::default();
    let events = Arc::clone(&told);
    agent.subscribe_context(Arc::new(move |event: &LlmEvent| {
        events.lock().unwrap().push(event.clone());
        Ok(())
    }));
    run(&mut agent, "1").await;
    run(&mut agent, "2").await;
    let shown = |agent: &ReactAgent| {
        let parts = agent.context().system_prompt().iter();
        parts.map(|part| part.content.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&agent), ["tick 1"]);
    let sent = requests.lock().unwrap()[1].messages[0].to_json_text(Form::Adapter).unwrap();
    assert!(sent.contains("tick 1"), "{sent}");
    let stored = agent.context().messages()[0].to_json_text(Form::Adapter).unwrap();
    assert!(stored.contains("tick 0"), "{stored}");

    let (model, _) = scripted(Vec::new());
    let mut restored = ReactAgent::builder(model).build().unwrap();
    restored.restore_context(&*told.lock().unwrap());
    assert_eq!(shown(&restored), ["tick 1"]);
    // what a clear has dropped does not come back
    agent.clear_context().unwrap();
    assert_eq!(shown(&agent), [""; 0]);
    restored.restore_context(&*told.lock().unwrap());
    assert_eq!(restored.context().last_system_prompt_hash(), None);
    assert_eq!(shown(&restored), [""; 0]);
}

#[tokio::test]
async fn one_call_at_a_time_is_asked_for_and_kept_to() {
    let running = Arc::new(AtomicU32::new(0));
    let most = Arc::new(AtomicU32::new(0));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let work = Tool::new("work", "", move |_: Nothing, _: ToolCall| {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, ToolError>("ok")
        }
    });
    let calls = || call(&[("work", "{}", "c1"), ("work", "{}", "c2"), ("work", "{}", "c3")]);
    for (parallel, expected) in [(true, 3), (false, 1)] {
        most.store(0, Ordering::SeqCst);
        let (model, requests) = scripted(vec![calls(), say("done")]);
        let runtime = RuntimeConfig { parallel_tool_calls: parallel, ..RuntimeConfig::default() };
        let mut agent =
            ReactAgent::builder(model).runtime(runtime).tools([work.clone()]).build().unwrap();
        run(&mut agent, "go").await;
        assert_eq!(most.load(Ordering::SeqCst), expected);
        let asked = requests.lock().unwrap()[0].settings.parallel_tool_calls;
        assert_eq!(asked, (!parallel).then_some(false));
        assert_eq!(returns(&agent.context().messages()[2]).len(), 3);
    }
}

#[tokio::test]
async fn a_model_without_native_output_is_given_the_output_tool() {
    let (model, requests) = scripted(vec![call(&[("final_result", "{\"response\": 7}", "c")])]);
    let config = ModelConfig { provider: Provider::Anthropic, ..ModelConfig::default() };
    assert!(config.native_output());
    let mut agent =
        ReactAgent::builder(model.with_native_output(false)).model_config(config).build().unwrap();
    let output = OutputSpec::of::<i64>();
    let result = agent.run("go", &output, CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.parse::<i64>().unwrap(), 7);
    assert_eq!(requests.lock().unwrap()[0].output.mode, OutputMode::Tool);
}

#[tokio::test]
async fn field_a26_a_call_id_is_executed_at_most_once() {
    let executed = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&executed);
    let pay = Tool::new("pay", "", move |_: Nothing, _: ToolCall| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ToolError>("paid")
        }
    });
    let again = || call(&[("pay", "{}", "c1")]);
    let (model, _) = scripted(vec![again(), again(), say("done")]);
    let mut agent = ReactAgent::builder(model).tools([pay]).build().unwrap();
    run(&mut agent, "pay").await;
    assert_eq!(executed.load(Ordering::SeqCst), 1);
    let second = returns(&agent.context().messages()[4]);
    assert_eq!(second[0].1, Outcome::Retried);
    assert!(second[0].2.contains("was executed in this run already"), "{}", second[0].2);
}

#[test]
fn times_survive_a_restore() {
    let persisted = json!({
        "parts": [{"content": "x", "timestamp": "2026-01-02T03:04:05.678901+00:00",
                   "part_kind": "user-prompt", "__model__": "pydantic_ai.messages.UserPromptPart"}],
        "timestamp": "2026-01-02T03:04:05.678901+00:00", "instructions": null, "kind": "request",
        "run_id": null, "conversation_id": null, "metadata": null, "state": "complete",
        "__model__": "pydantic_ai.messages.ModelRequest",
    });
    let message: ModelMessage = serde_json::from_value(persisted.clone()).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap(), persisted);
    let details = json!({"created": "2026-01-02T03:04:05+00:00", "nested": {"at": [1, null]}});
    let mut response = say("x");
    response.provider_details = details.as_object().cloned();
    let message = ModelMessage::Response(response);
    let read: ModelMessage =
        serde_json::from_value(serde_json::to_value(&message).unwrap()).unwrap();
    assert_eq!(read.as_response().unwrap().provider_details, details.as_object().cloned());
}

/// What a run sends goes on from what the one before it sent; it has to be what the stored
/// conversation makes, whatever happened in between.
#[tokio::test]
async fn what_is_sent_is_what_the_conversation_makes() {
    let today = Arc::new(AtomicU32::new(1));
    let requests: Arc<Mutex<Vec<ModelInput>>> = Arc::default();
    let seen = Arc::clone(&requests);
    let model = FunctionModel::new(move |input| {
        let mut seen = seen.lock().unwrap();
        seen.push(input);
        match seen.len() {
            3 | 9 => Ok(call(&[("look", "{}", &format!("c{}", seen.len()))])),
            5 => Err(ModelError::Usage("it is gone".to_owned())),
            _ => Ok(say(&format!("answer {}", seen.len()))),
        }
    });
    let mut prompts = SystemPrompts::default();
    let day = Arc::clone(&today);
    prompts.add("day", move || Some(format!("day {}", day.load(Ordering::SeqCst)))).unwrap();
    let look =
        Tool::new("look", "", |_: Nothing, _: ToolCall| async { Ok::<_, ToolError>("seen") });
    let mut agent =
        ReactAgent::builder(model).system_prompts(prompts).tools([look]).build().unwrap();
    for step in 0..9 {
        match step {
            2 => agent.append_user_prompt("by the way").unwrap(),
            3 => today.store(2, Ordering::SeqCst),
            5 => drop(agent.clear_context().unwrap()),
            7 => {
                let events: Vec<LlmEvent> = agent
                    .context()
                    .messages()
                    .iter()
                    .map(|message| LlmEvent::Message(LlmMessageEvent { message: message.clone() }))
                    .collect();
                agent.restore_context(&events);
            }
            _ => {}
        }
        let prompt = format!("prompt {step}");
        let result = agent.run(prompt, &OutputSpec::text(), CancellationToken::new()).await;
        let stored = agent.context().messages();
        let answered = &stored[..stored.len() - usize::from(result.is_ok())];
        let wanted = sendable(answered, akgentic_core::wire::Timestamp::now());
        let sent = requests.lock().unwrap().last().unwrap().messages.clone();
        let plain = |history: &History| {
            let texts = history.iter().map(|message| format!("{message:?}"));
            // the stored conversation keeps the first rendering
            texts.collect::<Vec<_>>().join("\n").replace("day 2", "day 1")
        };
        assert_eq!(plain(&sent), plain(&wanted), "step {step}");
        let day = if step < 3 { "day 1" } else { "day 2" };
        assert!(format!("{:?}", sent.first()).contains(day), "step {step}");
    }
}
