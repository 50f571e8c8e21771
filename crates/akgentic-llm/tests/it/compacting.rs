//! Long conversations: when they are shortened, by what, and what is never broken by it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::wire::Timestamp;
use akgentic_llm::compaction::*;
use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use futures_util::future::FutureExt as _;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{call, say};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn wordy() -> Tool {
    Tool::new("wordy", "", |_: Nothing, _: ToolCall| async {
        Ok::<_, ToolError>("word ".repeat(500_000))
    })
}

fn config(value: Value) -> ReactAgentConfig {
    ReactAgentConfig::from_json(value).unwrap()
}

/// A model that answers in order with these texts or calls and this many input tokens, and the
/// requests it got.
fn scripted(replies: Vec<(ModelResponse, u64)>) -> (FunctionModel, Arc<Mutex<Vec<ModelInput>>>) {
    let requests: Arc<Mutex<Vec<ModelInput>>> = Arc::default();
    let seen = Arc::clone(&requests);
    let replies = Mutex::new(replies.into_iter());
    let model = FunctionModel::new(move |input| {
        seen.lock().unwrap().push(input);
        let (mut response, tokens) = replies.lock().unwrap().next().unwrap();
        response.usage = RequestUsage::tokens(tokens, 1);
        Ok(response)
    });
    (model, requests)
}

fn texts(input: &ModelInput) -> Vec<String> {
    let requests = input.messages.iter().filter_map(|message| message.as_request());
    let texts = requests.flat_map(|request| &request.parts).filter_map(|part| match part {
        RequestPart::UserPrompt(part) => Some(part.content.text()),
        _ => None,
    });
    texts.collect()
}

async fn run(agent: &mut ReactAgent, prompt: &str) -> Result<RunResult, RunError> {
    agent.run(prompt, &OutputSpec::text(), CancellationToken::new()).await
}

#[tokio::test]
async fn the_window_is_looked_at_before_each_request() {
    let (model, requests) = scripted(vec![
        (call(&[("wordy", "{}", "c1")]), 100),
        (call(&[("wordy", "{}", "c2")]), 900),
        (call(&[("wordy", "{}", "c3")]), 300),
        (say("done"), 300),
    ]);
    let mut prompts = SystemPrompts::default();
    prompts.add("who", || Some("You are brief.".to_owned())).unwrap();
    let mut agent = ReactAgent::builder(model)
        .config(config(json!({
            "model_cfg": {"context_length": 1000},
            "compaction_cfg": {"strategy": "sliding_window", "keep_recent_messages": 2},
        })))
        .system_prompts(prompts)
        .tools([wordy()])
        .build()
        .unwrap();
    run(&mut agent, "go").await.unwrap();
    let requests = requests.lock().unwrap();
    let summary = "[Conversation summary] [Sliding window: dropped 2 earlier message(s)]";
    assert_eq!(texts(&requests[1]), ["go"]);
    assert_eq!(texts(&requests[2]), ["go", summary]);
    assert_eq!(requests[2].messages.len(), 3);
    // the next request goes on from there
    assert_eq!(texts(&requests[3]), ["go", summary]);
    assert_eq!(requests[3].messages.len(), 5);
}

#[tokio::test]
async fn field_b5_a_result_larger_than_the_window_is_cut() {
    let (model, requests) = scripted(vec![(call(&[("wordy", "{}", "c1")]), 1), (say("done"), 1)]);
    let config = config(json!({"model_cfg": {"context_length": 1000}}));
    let mut agent = ReactAgent::builder(model).config(config).tools([wordy()]).build().unwrap();
    run(&mut agent, "go").await.unwrap();
    let requests = requests.lock().unwrap();
    let results = super::returns(requests[1].messages.last().unwrap());
    let text = &results[0].2;
    assert!(text.len() < 2300 && text.contains("2498000 characters were left out"), "{text}");
    assert!(text.starts_with("word word") && text.ends_with("word "));
}

#[tokio::test]
async fn field_b5_what_compaction_cannot_remove_does_not_trigger_it_again() {
    // prompt and tools alone are above the threshold of 850
    let tokens = [900, 910, 920, 930, 940, 960, 990];
    let (model, _) = scripted(tokens.iter().map(|tokens| (say("a"), *tokens)).collect());
    let mut agent = ReactAgent::builder(model)
        .config(config(json!({
            "model_cfg": {"context_length": 1000},
            "compaction_cfg": {"strategy": "sliding_window", "keep_recent_messages": 1},
        })))
        .build()
        .unwrap();
    let compactions = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&compactions);
    agent.subscribe_context(Arc::new(move |event: &LlmEvent| {
        *counter.lock().unwrap() += u32::from(matches!(event, LlmEvent::Compacted(_)));
        Ok(())
    }));
    let mut counts = Vec::new();
    for _ in tokens {
        run(&mut agent, "next").await.unwrap();
        counts.push(*compactions.lock().unwrap());
    }
    // once, and again only when half of the room that was left has filled up
    assert_eq!(counts, [0, 1, 1, 1, 1, 1, 2]);
}

/// A summariser that fails as long as it is told to, and counts how often it is asked.
fn summariser(works: &Arc<Mutex<bool>>, asked: &Arc<Mutex<u32>>) -> FunctionModel {
    let (works, asked) = (Arc::clone(works), Arc::clone(asked));
    FunctionModel::new(move |_| {
        *asked.lock().unwrap() += 1;
        if !*works.lock().unwrap() {
            return Err(ModelError::Usage("no".to_owned()));
        }
        let mut response = say("the summary");
        response.usage = RequestUsage::tokens(70, 7);
        Ok(response)
    })
}

fn with_summariser(
    replies: Vec<(ModelResponse, u64)>,
    works: &Arc<Mutex<bool>>,
    asked: &Arc<Mutex<u32>>,
) -> ReactAgent {
    let model: Arc<dyn Model> = Arc::new(scripted(replies).0);
    let summariser: Arc<dyn Model> = Arc::new(summariser(works, asked));
    let build: Arc<BuildModel> = Arc::new(move |config: &ModelConfig| {
        Ok(Arc::clone(if config.model == "small" { &summariser } else { &model }))
    });
    let config = config(json!({
        "model_cfg": {"context_length": 1000},
        "compaction_cfg": {"summary_model_cfg": {"model": "small"}},
    }));
    ReactAgent::from_config(config, build).unwrap().build().unwrap()
}

#[tokio::test]
async fn a_failed_summary_keeps_the_history_until_the_window_is_full() {
    let (works, asked) = (Arc::new(Mutex::new(false)), Arc::default());
    let replies = vec![(say("a"), 900), (say("b"), 950), (say("c"), 1000), (say("d"), 10)];
    let mut agent = with_summariser(replies, &works, &asked);
    run(&mut agent, "1").await.unwrap();
    run(&mut agent, "2").await.unwrap();
    assert_eq!((*asked.lock().unwrap(), agent.context().messages().len()), (1, 4));
    let status = agent.compact().await.unwrap();
    assert!(status.starts_with("Nothing was compacted"), "{status}");
    run(&mut agent, "3").await.unwrap();
    assert_eq!(agent.context().messages().len(), 6);
    // full: the window slides, since there is still no summary
    run(&mut agent, "4").await.unwrap();
    let first = agent.context().messages()[0].to_json_text(Form::Adapter).unwrap();
    assert!(first.contains("Sliding window: dropped 2"), "{first}");
    assert_eq!(agent.context().messages().len(), 7);
}

#[tokio::test]
async fn what_a_summary_costs_is_told_and_charged() {
    let (works, asked) = (Arc::new(Mutex::new(true)), Arc::default());
    let mut agent = with_summariser(vec![(say("a"), 10), (say("b"), 20)], &works, &asked);
    let events: Arc<Mutex<Vec<LlmEvent>>> = Arc::default();
    let seen = Arc::clone(&events);
    agent.subscribe_context(Arc::new(move |event: &LlmEvent| {
        seen.lock().unwrap().push(event.clone());
        Ok(())
    }));
    run(&mut agent, "1").await.unwrap();
    let status = agent.compact().await.unwrap();
    assert_eq!(status, "Compacted: replaced 2 earlier message(s) with a summary.");
    run(&mut agent, "2").await.unwrap();
    let usage = agent.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.requests), (100, 9, 3));
    let events = events.lock().unwrap();
    let spent = events.iter().find_map(|event| match event {
        LlmEvent::Usage(event) if event.run_id == COMPACTION_RUN => Some(event.input_tokens),
        _ => None,
    });
    assert_eq!(spent, Some(70));
    // a restored agent has consumed the same in as many runs, and remembers the same
    let mut restored = with_summariser(Vec::new(), &works, &asked);
    restored.restore_context(&*events);
    assert_eq!((restored.usage(), restored.runs()), (agent.usage(), agent.runs()));
    assert_eq!(restored.context().last_input_tokens(), Some(20));
}

#[tokio::test]
async fn a_restored_history_is_compacted_when_it_was_due() {
    let message =
        |response: ModelResponse| LlmEvent::Message(LlmMessageEvent { message: response.into() });
    let usage = LlmEvent::Usage(LlmUsageEvent {
        run_id: "r".to_owned(),
        input_tokens: 900,
        requests: 1,
        ..LlmUsageEvent::default()
    });
    let compacted = LlmEvent::Compacted(LlmContextCompactedEvent {
        run_id: None,
        strategy_id: "sliding_window".to_owned(),
        summary: "s".to_owned(),
        replaced_message_count: 1,
        summarizer_prompt_version: "v1".to_owned(),
        tokens_before: None,
        tokens_after: None,
    });
    let first_text = async |events: &[LlmEvent]| {
        let (model, requests) = scripted(vec![(say("x"), 1)]);
        let mut agent = ReactAgent::builder(model)
            .config(config(json!({
                "model_cfg": {"context_length": 1000},
                "compaction_cfg": {"strategy": "sliding_window", "keep_recent_messages": 0},
            })))
            .build()
            .unwrap();
        agent.restore_context(events);
        run(&mut agent, "go").await.unwrap();
        texts(&requests.lock().unwrap()[0])[0].clone()
    };
    let due = [message(say("a")), message(say("b")), usage];
    let dropped = "[Conversation summary] [Sliding window: dropped 2 earlier message(s)]";
    assert_eq!(first_text(&due).await, dropped);
    // it was done before the restart
    let done = [&due[..], &[compacted]].concat();
    assert_eq!(first_text(&done).await, "[Conversation summary] s");
}

#[tokio::test]
async fn dropping_a_compaction_changes_nothing() {
    let hanging = FunctionModel::from_async(|_| std::future::pending().boxed());
    let mut agent = ReactAgent::builder(hanging).build().unwrap();
    agent.context_mut().add_message(say("a")).unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(1), agent.compact()).await;
    assert!(waiting.is_err());
    assert_eq!(agent.context().messages().len(), 1);
}

#[tokio::test]
async fn programs_register_strategies_and_instructions() {
    let unknown = ReactAgent::builder(FunctionModel::text(|_| String::new()))
        .compaction(CompactionConfig {
            strategy: "mine.Own".to_owned(),
            ..CompactionConfig::default()
        })
        .build()
        .unwrap_err();
    assert!(unknown.to_string().contains("none, sliding_window"), "{unknown}");

    let mut strategies = Strategies::default();
    strategies.register("mine.Own", |_| Arc::new(SlidingWindow { keep: 0, split_first: false }));
    strategies.instructions.set("v2", "Only names.");
    assert_eq!(strategies.instructions.of("v2"), "Only names.");
    assert_eq!(strategies.instructions.of("v9"), strategies.instructions.of("v1"));
    let mut agent = ReactAgent::builder(FunctionModel::text(|_| String::new()))
        .compaction(CompactionConfig {
            strategy: "mine.Own".to_owned(),
            ..CompactionConfig::default()
        })
        .strategies(strategies)
        .build()
        .unwrap();
    agent.context_mut().add_message(say("a")).unwrap();
    let status = agent.compact().await.unwrap();
    assert_eq!(status, "Compacted: replaced 1 earlier message(s) with a summary.");
}

#[test]
fn zero_means_zero() {
    let messages: Vec<Arc<ModelMessage>> = vec![say("a").into(), say("b").into()];
    assert_eq!(split(&messages, 0).tail, [0_usize; 0]);
    let mut context = ContextManager::new(Some(0));
    context.add_message(say("a")).unwrap();
    assert_eq!(context.messages().len(), 0);
}

#[test]
fn a_fold_can_split_off_the_first_prompt() {
    let now = Timestamp::now();
    let parts = vec![
        RequestPart::SystemPrompt(SystemPromptPart::new("S", None, now)),
        RequestPart::UserPrompt(UserPromptPart::new("the first prompt", now)),
    ];
    let first = ModelRequest { parts, ..ModelRequest::default() };
    let history: Vec<Arc<ModelMessage>> = vec![first.into(), say("a").into(), say("b").into()];
    let decided = SlidingWindow { keep: 1, split_first: true }.decide(&history);
    assert_eq!(decided.replaced, 2);
    let event = LlmContextCompactedEvent {
        run_id: None,
        strategy_id: SLIDING_WINDOW_SPLIT.to_owned(),
        summary: decided.summary,
        replaced_message_count: 2,
        summarizer_prompt_version: String::new(),
        tokens_before: None,
        tokens_after: None,
    };
    let folded = fold(&history, &event, now);
    let kinds: Vec<Vec<&str>> = folded
        .iter()
        .map(|message| match &**message {
            ModelMessage::Request(request) => request.parts.iter().map(RequestPart::kind).collect(),
            ModelMessage::Response(response) => {
                response.parts.iter().map(ResponsePart::kind).collect()
            }
        })
        .collect();
    assert_eq!(kinds, [vec!["system-prompt"], vec!["user-prompt"], vec!["text"]]);
}

#[test]
fn transcripts_are_json_and_name_binary_items() {
    let now = Timestamp::now();
    let answered = ToolCallPart::new("t", "{}", "c");
    let content: ToolContent = json!({"ok": true, "none": null}).into();
    let image = UserItem::Binary(BinaryContent::new(vec![1_u8], "image/png"));
    let prompt: UserContent = vec![UserItem::Text("see".to_owned()), image].into();
    let request = ModelRequest {
        parts: vec![
            RequestPart::ToolReturn(ToolReturnPart::success(&answered, content, now)),
            RequestPart::UserPrompt(UserPromptPart::new(prompt, now)),
        ],
        ..ModelRequest::default()
    };
    assert_eq!(
        transcript(&[request.into()]),
        "TOOL_RESULT (t): {\"ok\":true,\"none\":null}\nUSER: see\n[binary image/png bf8b45]"
    );
}

/// A history as runs leave it: prompts, calls in parallel with their results in one or several
/// requests, some retried, some ids used again.
fn histories() -> impl Strategy<Value = Vec<Arc<ModelMessage>>> {
    let step = (0_u8..4, 1_usize..4, any::<bool>(), any::<bool>());
    prop::collection::vec(step, 0..12).prop_map(|steps| {
        let now = Timestamp::now();
        let mut messages: Vec<Arc<ModelMessage>> = Vec::new();
        for (index, (kind, calls, apart, reused)) in steps.into_iter().enumerate() {
            match kind {
                0 => messages.push(ModelRequest::user(UserPromptPart::new("u", now)).into()),
                1 => messages.push(say("a").into()),
                2 => {
                    let part = SystemPromptPart::new("s", None, now);
                    let mut request = ModelRequest::user(UserPromptPart::new("u", now));
                    request.parts.insert(0, RequestPart::SystemPrompt(part));
                    messages.push(request.into());
                }
                _ => {
                    let id =
                        |call| if reused { format!("c{call}") } else { format!("c{index}.{call}") };
                    let made: Vec<ToolCallPart> =
                        (0..calls).map(|call| ToolCallPart::new("t", "{}", id(call))).collect();
                    let response = made.iter().cloned().map(ResponsePart::ToolCall).collect();
                    messages.push(ModelResponse::new(response).into());
                    let returns = made.iter().map(|call| {
                        RequestPart::ToolReturn(ToolReturnPart::success(call, "r", now))
                    });
                    if apart {
                        for part in returns {
                            let request =
                                ModelRequest { parts: vec![part], ..ModelRequest::default() };
                            messages.push(request.into());
                        }
                    } else {
                        let parts = returns.collect();
                        messages.push(ModelRequest { parts, ..ModelRequest::default() }.into());
                    }
                }
            }
        }
        messages
    })
}

/// Every result follows the response with its call, and every call has its results.
fn whole(messages: &[Arc<ModelMessage>]) -> Result<(), String> {
    let mut open: HashSet<String> = HashSet::new();
    let mut calls: HashSet<String> = HashSet::new();
    for message in messages {
        match &**message {
            ModelMessage::Response(response) => {
                if !open.is_empty() {
                    return Err(format!("calls without a result: {open:?}"));
                }
                calls = response.tool_calls().map(|call| call.tool_call_id.clone()).collect();
                open.clone_from(&calls);
            }
            ModelMessage::Request(request) => {
                for id in request.parts.iter().filter_map(RequestPart::answers) {
                    if !calls.contains(id) {
                        return Err(format!("the result of {id} has no call"));
                    }
                    open.remove(id);
                }
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls without a result: {open:?}")) }
}

proptest! {
    #[test]
    fn field_b3_compacting_again_never_parts_a_call_from_its_result(
        history in histories(),
        keeps in prop::collection::vec(0_usize..6, 1..4),
        split_first in any::<bool>(),
    ) {
        prop_assume!(whole(&history).is_ok());
        let mut history = history;
        for keep in keeps {
            let decided = SlidingWindow { keep, split_first }.decide(&history);
            let strategy = if split_first { SLIDING_WINDOW_SPLIT } else { SLIDING_WINDOW };
            let event = LlmContextCompactedEvent {
                run_id: None,
                strategy_id: strategy.to_owned(),
                summary: decided.summary,
                replaced_message_count: i64::try_from(decided.replaced).unwrap(),
                summarizer_prompt_version: String::new(),
                tokens_before: None,
                tokens_after: None,
            };
            history = fold(&history, &event, Timestamp::now());
            prop_assert_eq!(whole(&history), Ok(()));
        }
    }
}
