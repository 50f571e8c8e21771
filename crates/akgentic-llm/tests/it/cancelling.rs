use std::sync::Arc;
use std::time::Duration;

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use futures_util::future::FutureExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{call, returns, say};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn quick() -> Tool {
    Tool::new("quick", "", |_: Nothing, _: ToolCall| async { Ok::<_, ToolError>("done") })
}

/// Works for ever, whatever it is told.
fn deaf(started: Arc<Notify>) -> Tool {
    Tool::new("deaf", "", move |_: Nothing, _: ToolCall| {
        let started = Arc::clone(&started);
        async move {
            started.notify_one();
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("never")
        }
    })
}

/// Ends with what it has when it is told to stop.
fn polite() -> Tool {
    Tool::new("polite", "", |_: Nothing, call: ToolCall| async move {
        call.cancel.cancelled().await;
        Ok::<_, ToolError>("half of it")
    })
}

fn three_calls() -> FunctionModel {
    FunctionModel::new(|input| {
        Ok(if input.messages.len() == 1 {
            call(&[("quick", "{}", "c1"), ("deaf", "{}", "c2"), ("polite", "{}", "c3")])
        } else {
            say("never asked")
        })
    })
}

/// The record of a batch that was cut off.
fn check_record(agent: &ReactAgent, polite_ended: bool) {
    let last = agent.context().messages().last().unwrap();
    assert_eq!(last.as_request().unwrap().state, MessageState::Interrupted);
    let answers = returns(last);
    assert_eq!(answers[0], ("c1".to_owned(), Outcome::Success, "done".to_owned()));
    assert_eq!((answers[1].0.as_str(), answers[1].1), ("c2", Outcome::Interrupted));
    assert!(answers[1].2.contains("may have had effects"), "{}", answers[1].2);
    if polite_ended {
        assert_eq!(answers[2], ("c3".to_owned(), Outcome::Success, "half of it".to_owned()));
    } else {
        assert_eq!((answers[2].0.as_str(), answers[2].1), ("c3", Outcome::Interrupted));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_closes_every_call_of_the_batch() {
    let started = Arc::new(Notify::new());
    let tools = [quick(), deaf(Arc::clone(&started)), polite()];
    let mut agent = ReactAgent::builder(three_calls()).tools(tools).build().unwrap();
    let cancel = CancellationToken::new();
    let output = OutputSpec::text();
    let run = agent.run("go", &output, cancel.clone());
    let stop = async {
        started.notified().await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(run, stop);
    assert!(matches!(result, Err(RunError::Cancelled)));
    check_record(&agent, true);
    assert_eq!(agent.usage().requests, 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_leaves_the_same_record() {
    let started = Arc::new(Notify::new());
    let tools = [quick(), deaf(Arc::clone(&started)), polite()];
    let mut agent = ReactAgent::builder(three_calls()).tools(tools).build().unwrap();
    let output = OutputSpec::text();
    tokio::select! {
        biased;
        _ = agent.run("go", &output, CancellationToken::new()) => panic!("it cannot end"),
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }
    check_record(&agent, false);
    assert_eq!(agent.usage().requests, 1);
}

#[tokio::test(start_paused = true)]
async fn a_model_request_in_flight_is_dropped() {
    let model = FunctionModel::from_async(|_| std::future::pending().boxed());
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let cancel = CancellationToken::new();
    let output = OutputSpec::text();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(agent.run("go", &output, cancel.clone()), stop);
    assert!(matches!(result, Err(RunError::Cancelled)));
    assert_eq!(agent.context().messages().len(), 1);
    assert_eq!(agent.usage(), Usage::default());
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_awaited_is_kept_and_counted() {
    let model = FunctionModel::from_async(|_| {
        async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(call(&[("quick", "{}", "c1")]))
        }
        .boxed()
    });
    let stopping = Stopping { drop_model_request: false, ..Stopping::default() };
    let mut agent = ReactAgent::builder(model).tools([quick()]).stopping(stopping).build().unwrap();
    let cancel = CancellationToken::new();
    let output = OutputSpec::text();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(agent.run("go", &output, cancel.clone()), stop);
    assert!(matches!(result, Err(RunError::Cancelled)));
    let answers = returns(agent.context().messages().last().unwrap());
    assert_eq!((answers[0].0.as_str(), answers[0].1), ("c1", Outcome::Interrupted));
    assert!(answers[0].2.contains("not started"), "{}", answers[0].2);
    assert_eq!(agent.usage().requests, 1);
}

#[tokio::test]
async fn a_cancelled_token_starts_nothing() {
    let mut agent = ReactAgent::builder(FunctionModel::text(|_| panic!())).build().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = agent.run("go", &OutputSpec::text(), cancel).await;
    assert!(matches!(result, Err(RunError::Cancelled)));
    assert_eq!(agent.context().messages().len(), 1);
}
