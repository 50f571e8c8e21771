//! Whatever tools, failures and cancels do: each call has exactly one result before the next
//! request, in order, and no call is executed twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::say;

#[derive(Deserialize, JsonSchema)]
struct Args {
    #[serde(rename = "do")]
    what: String,
}

/// What one call does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Give,
    Retry,
    Crash,
    Panic,
    Hang,
    BadArgs,
    Unknown,
    CancelRun,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => Just(Deed::Give),
        2 => Just(Deed::Retry),
        1 => Just(Deed::Crash),
        1 => Just(Deed::Panic),
        1 => Just(Deed::Hang),
        1 => Just(Deed::BadArgs),
        1 => Just(Deed::Unknown),
        1 => Just(Deed::CancelRun),
    ]
}

/// Runs of replies of calls.
fn plans() -> impl Strategy<Value = Vec<Vec<Vec<Deed>>>> {
    let reply = prop::collection::vec(deed(), 1..4);
    let run = prop::collection::vec(reply, 0..4);
    prop::collection::vec(run, 1..4)
}

#[derive(Default)]
struct World {
    executed: Mutex<HashMap<String, u32>>,
    problems: Mutex<Vec<String>>,
    cancel: Mutex<CancellationToken>,
}

fn worker(world: &Arc<World>) -> Tool {
    let world = Arc::clone(world);
    Tool::new("work", "", move |args: Args, call: ToolCall| {
        let world = Arc::clone(&world);
        async move {
            *world.executed.lock().unwrap().entry(call.id.clone()).or_default() += 1;
            match args.what.as_str() {
                "Retry" => Err(ToolError::retriable("again")),
                "Crash" => Err(ToolError::fatal("crash")),
                "Panic" => std::panic::resume_unwind(Box::new("panic")),
                "Hang" => {
                    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
                    Ok("late".to_owned())
                }
                "CancelRun" => {
                    world.cancel.lock().unwrap().cancel();
                    Ok("cancelled the run".to_owned())
                }
                _ => Ok("given".to_owned()),
            }
        }
    })
}

fn reply(deeds: &[Deed], run: usize, step: usize) -> ModelResponse {
    let parts = deeds.iter().enumerate().map(|(index, deed)| {
        let id = format!("r{run}s{step}c{index}");
        let tool = if matches!(deed, Deed::Unknown) { "nobody" } else { "work" };
        let args = match deed {
            Deed::BadArgs => "{\"do\": 1}".to_owned(),
            deed => format!("{{\"do\": \"{deed:?}\"}}"),
        };
        ResponsePart::ToolCall(ToolCallPart::new(tool, args, id))
    });
    ModelResponse::new(parts.collect())
}

/// What is wrong with a conversation that is sent.
fn problems(messages: &[Arc<ModelMessage>]) -> Vec<String> {
    let mut problems = Vec::new();
    for pair in messages.windows(2) {
        if pair[0].kind() == pair[1].kind() {
            problems.push(format!("two messages of kind {} in a row", pair[0].kind()));
        }
    }
    for (index, message) in messages.iter().enumerate() {
        let Some(response) = message.as_response() else { continue };
        let calls: Vec<&str> =
            response.tool_calls().map(|call| call.tool_call_id.as_str()).collect();
        let next = messages.get(index + 1).and_then(|message| message.as_request());
        let answered: Vec<&str> = next
            .into_iter()
            .flat_map(|request| &request.parts)
            .filter_map(RequestPart::answers)
            .collect();
        if calls != answered {
            problems.push(format!("calls {calls:?} are answered by {answered:?}"));
        }
    }
    problems
}

async fn play(
    plans: Vec<Vec<Vec<Deed>>>,
    limit: Option<u64>,
    drop_after: Option<u64>,
) -> Arc<World> {
    let world: Arc<World> = Arc::default();
    let state = Arc::new(Mutex::new((0_usize, 0_usize)));
    let (seen, script, at) = (Arc::clone(&world), plans.clone(), Arc::clone(&state));
    let model = FunctionModel::new(move |input| {
        seen.problems.lock().unwrap().extend(problems(&input.messages));
        let mut at = at.lock().unwrap();
        let (run, step) = *at;
        at.1 += 1;
        Ok(script[run].get(step).map_or_else(|| say("done"), |deeds| reply(deeds, run, step)))
    });
    let limits = RunUsageLimits { tool_calls_limit: limit, ..RunUsageLimits::default() };
    let runtime = RuntimeConfig { retries: 1, ..RuntimeConfig::default() };
    let mut agent = ReactAgent::builder(model)
        .tools([worker(&world)])
        .run_limits(limits)
        .runtime(runtime)
        .build()
        .unwrap();
    let output = OutputSpec::text();
    for run in 0..plans.len() {
        *state.lock().unwrap() = (run, 0);
        let cancel = CancellationToken::new();
        *world.cancel.lock().unwrap() = cancel.clone();
        let running = agent.run("go on", &output, cancel);
        match drop_after {
            None => drop(running.await),
            Some(seconds) => {
                let patience = std::time::Duration::from_secs(seconds);
                drop(tokio::time::timeout(patience, running).await);
            }
        }
    }
    // the last conversation has to be fit to be sent as well
    let last = sendable(agent.context().messages(), akgentic_core::wire::Timestamp::now());
    world.problems.lock().unwrap().extend(problems(&last));
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn each_call_has_one_result_before_the_next_request(
        plans in plans(),
        limit in prop::option::of(1_u64..5),
        drop_after in prop::option::of(0_u64..90),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let world = runtime.block_on(play(plans, limit, drop_after));
        prop_assert_eq!(&*world.problems.lock().unwrap(), &Vec::<String>::new());
        let executed = world.executed.lock().unwrap();
        prop_assert!(executed.values().all(|count| *count == 1), "{:?}", executed);
    }
}
