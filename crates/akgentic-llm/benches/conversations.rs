//! What conversations of a thousand messages cost: adding, reading, restoring, going on.

#![allow(clippy::unwrap_used, missing_docs, reason = "benches")]

use std::hint::black_box;
use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use akgentic_llm::compaction::{estimate_tokens, split, transcript};
use akgentic_llm::{
    ContextManager, Form, FunctionModel, LlmEvent, LlmUsageEvent, ModelMessage, ModelRequest,
    ModelResponse, OutputSpec, PriceTable, ReactAgent, RequestPart, RequestUsage, ResponsePart,
    RunUsageLimits, TextPart, TokenCounts, ToolCallPart, ToolReturnPart, UserPromptPart, clean,
    summarize_usage,
};
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

const MESSAGES: usize = 1000;

/// A conversation as runs leave it: a prompt, calls with results, an answer, and so on.
fn conversation() -> Vec<Arc<ModelMessage>> {
    let now = Timestamp::now();
    let usage = RequestUsage::tokens(1200, 80);
    let response = |part, index: usize| ModelResponse {
        parts: vec![part],
        usage: usage.clone(),
        model_name: Some("gpt-4o".to_owned()),
        provider_name: Some("openai".to_owned()),
        timestamp: Some(now),
        run_id: Some(format!("run-{}", index / 20)),
        ..ModelResponse::default()
    };
    let request = |part, index: usize| ModelRequest {
        parts: vec![part],
        timestamp: Some(now),
        run_id: Some(format!("run-{}", index / 20)),
        ..ModelRequest::default()
    };
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(6);
    let message = |index: usize| -> Arc<ModelMessage> {
        let id = format!("call_{}", index / 4);
        let call = ToolCallPart::new("search", "{\"query\": \"fox\", \"limit\": 5}", id);
        match index % 4 {
            0 => {
                let part = UserPromptPart::new(text.clone(), now);
                request(RequestPart::UserPrompt(part), index).into()
            }
            1 => response(ResponsePart::ToolCall(call), index).into(),
            2 => {
                let part = ToolReturnPart::success(&call, text.clone(), now);
                request(RequestPart::ToolReturn(part), index).into()
            }
            _ => response(ResponsePart::Text(TextPart::new(text.clone())), index).into(),
        }
    };
    (0..MESSAGES).map(message).collect()
}

fn watched() -> ContextManager {
    let mut context = ContextManager::new(None);
    context.subscribe(Arc::new(|event: &LlmEvent| {
        black_box(event);
        Ok(())
    }));
    context
}

/// All events of a conversation.
fn events(messages: &[Arc<ModelMessage>]) -> Vec<LlmEvent> {
    let seen: Arc<std::sync::Mutex<Vec<LlmEvent>>> = Arc::default();
    let events = Arc::clone(&seen);
    let mut context = ContextManager::new(None);
    context.subscribe(Arc::new(move |event: &LlmEvent| {
        events.lock().unwrap().push(event.clone());
        Ok(())
    }));
    for message in messages {
        context.add_message(Arc::clone(message)).unwrap();
    }
    seen.lock().unwrap().clone()
}

fn history(criterion: &mut Criterion) {
    let messages = conversation();
    criterion.bench_function("append 1000 messages", |bench| {
        bench.iter_batched_ref(
            watched,
            |context| {
                for message in &messages {
                    context.add_message(Arc::clone(message)).unwrap();
                }
            },
            BatchSize::SmallInput,
        );
    });

    let texts: Vec<String> =
        messages.iter().map(|message| message.to_json_text(Form::Persisted).unwrap()).collect();
    criterion.bench_function("write 1000 persisted messages", |bench| {
        bench.iter(|| {
            messages
                .iter()
                .map(|message| message.to_json_text(Form::Persisted).unwrap().len())
                .sum::<usize>()
        });
    });
    criterion.bench_function("parse 1000 persisted messages", |bench| {
        bench.iter(|| {
            for text in &texts {
                black_box(serde_json::from_str::<ModelMessage>(text).unwrap());
            }
        });
    });

    // a thousand messages have as many events again; what restores are of has half of that
    let events: Vec<LlmEvent> = events(&messages).into_iter().take(1500).collect();
    assert_eq!(events.len(), 1500);
    criterion.bench_function("restore 1500 events", |bench| {
        bench.iter_batched_ref(
            || ContextManager::new(None),
            |context| context.restore_from(&events, Timestamp::now()),
            BatchSize::SmallInput,
        );
    });
    criterion.bench_function("clean 1000 messages", |bench| {
        bench.iter(|| clean(&messages, Timestamp::now()));
    });
    criterion.bench_function("split 1000 messages", |bench| bench.iter(|| split(&messages, 4)));
    criterion.bench_function("transcript of 1000 messages", |bench| {
        bench.iter(|| transcript(&messages));
    });
    let text = transcript(&messages);
    criterion.bench_function("estimate tokens of a transcript", |bench| {
        bench.iter(|| estimate_tokens(&text));
    });
}

fn prices(criterion: &mut Criterion) {
    let counts = TokenCounts { input: 12_345, output: 678, cache_read: 10_000, cache_write: 0 };
    let table = PriceTable::builtin();
    criterion.bench_function("cost of one response, looked up", |bench| {
        bench.iter(|| table.cost("openai", "gpt-4o-2024-08-06", counts));
    });
    let usage: Vec<LlmUsageEvent> = (0..10_000)
        .map(|index| LlmUsageEvent {
            run_id: format!("run-{}", index / 5),
            model_name: "gpt-4o".to_owned(),
            provider_name: "openai".to_owned(),
            input_tokens: 100,
            output_tokens: 10,
            requests: 1,
            estimated_cost_usd: 0.5,
            ..LlmUsageEvent::default()
        })
        .collect();
    criterion.bench_function("sum up 10000 usage events by run", |bench| {
        bench.iter(|| summarize_usage(&usage, true));
    });
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A run of so many tool rounds after a history.
fn steps(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let messages = conversation();
    for (name, before) in [("empty", 0), ("1000 messages", MESSAGES)] {
        for rounds in [1_usize, 51] {
            let history = messages[..before].to_vec();
            criterion.bench_function(&format!("run of {rounds} tool rounds, {name}"), |bench| {
                bench.iter_batched_ref(
                    || agent(&history, rounds),
                    |agent| {
                        let output = OutputSpec::text();
                        let run = agent.run("go", &output, CancellationToken::new());
                        runtime.block_on(run).unwrap()
                    },
                    BatchSize::SmallInput,
                );
            });
        }
    }
}

fn agent(history: &[Arc<ModelMessage>], rounds: usize) -> ReactAgent {
    let left = std::sync::Mutex::new(rounds);
    let model = FunctionModel::new(move |_| {
        let mut left = left.lock().unwrap();
        let part = if *left == 0 {
            ResponsePart::Text(TextPart::new("done"))
        } else {
            *left -= 1;
            ResponsePart::ToolCall(ToolCallPart::new("look", "{}", format!("c{left}")))
        };
        Ok(ModelResponse::new(vec![part]))
    });
    let look = Tool::new("look", "", |_: Nothing, _: ToolCall| async {
        Ok::<_, ToolError>("nothing new")
    });
    let limits = RunUsageLimits { run_request_limit: None, ..RunUsageLimits::default() };
    let mut agent = ReactAgent::builder(model).run_limits(limits).tools([look]).build().unwrap();
    agent.context_mut().restore(history.to_vec());
    agent
}

criterion_group!(benches, history, prices, steps);
criterion_main!(benches);
