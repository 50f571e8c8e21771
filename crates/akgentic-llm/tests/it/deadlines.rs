//! Nothing a model or a tool does takes for ever, and none of it costs more than it is worth.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use futures_util::future::{BoxFuture, FutureExt as _};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{call, returns, say};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Silent;

impl Model for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn request(&self, _: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_is_given_up() {
    let before = tokio::time::Instant::now();
    let mut agent = ReactAgent::builder(Silent).build().unwrap();
    let error = agent.run("go", &OutputSpec::text(), CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "silent did not answer within 600 s");
    let RunError::Model(error) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
    assert!(error.kind().advances_chain());
    assert_eq!(before.elapsed().as_secs(), 600);
}

/// Takes this long, and answers or not.
struct Slow {
    seconds: u64,
    answers: bool,
}

impl Model for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn request(&self, _: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        async move {
            let after = Duration::from_secs(self.seconds);
            tokio::time::sleep(after).await;
            let timeout = ModelError::Timeout { model: "slow".to_owned(), after };
            if self.answers { Ok(say("in time")) } else { Err(timeout) }
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn each_model_of_a_chain_has_its_time() {
    let fallback = ModelConfig { model: "second".to_owned(), ..ModelConfig::default() };
    let model_cfg = ModelConfig { fallback_models: vec![fallback], ..ModelConfig::default() };
    let config = ReactAgentConfig { model_cfg, ..ReactAgentConfig::default() };
    let build: Arc<BuildModel> = Arc::new(|config: &ModelConfig| {
        let answers = config.model == "second";
        Ok(Arc::new(Slow { seconds: 599, answers }) as Arc<dyn Model>)
    });
    let mut agent = ReactAgent::from_config(config, build).unwrap().build().unwrap();
    let result = agent.run("go", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.to_text(), "in time");
}

fn deaf() -> Tool {
    Tool::new("deaf", "", |_: Nothing, _: ToolCall| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>("never")
    })
}

fn bounded() -> Tool {
    Tool::new("bounded", "", |_: Nothing, call: ToolCall| async move {
        call.bound(std::future::pending::<Result<&str, ToolError>>()).await
    })
}

fn slow() -> Tool {
    Tool::new("slow", "", |_: Nothing, call: ToolCall| async move {
        tokio::select! {
            () = call.cancel.cancelled() => Ok("was told to stop"),
            () = tokio::time::sleep(Duration::from_secs(5)) => Ok::<_, ToolError>("done"),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_is_cut_off_and_the_run_goes_on() {
    let model = FunctionModel::new(|input| {
        Ok(if input.messages.len() == 1 {
            call(&[("deaf", "{}", "c1"), ("bounded", "{}", "c2"), ("slow", "{}", "c3")])
        } else {
            say("went on")
        })
    });
    let mut agent = ReactAgent::builder(model)
        .tools([deaf(), bounded(), slow()])
        .tool_timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    let before = tokio::time::Instant::now();
    let result = agent.run("go", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(result.output, Output::Text("went on".to_owned()));
    assert!(before.elapsed() < Duration::from_secs(6));
    let answers = returns(&agent.context().messages()[2]);
    for (answer, id) in answers.iter().zip(["c1", "c2"]) {
        assert_eq!((answer.0.as_str(), answer.1), (id, Outcome::Interrupted));
        assert_eq!(answer.2, "The call was cut off after 5 s; it may have had effects.");
    }
    assert_eq!(answers[2].2, "done", "another call's deadline is not its own");
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_reply_run_in_portions_and_are_answered_in_order() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let tool = Tool::new("work", "", move |_: Nothing, call: ToolCall| {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, ToolError>(call.id)
        }
    });
    let model = FunctionModel::new(|input| {
        Ok(if input.messages.len() == 1 {
            let part =
                |id| ResponsePart::ToolCall(ToolCallPart::new("work", "{}", format!("c{id}")));
            ModelResponse::new((0..5000).map(part).collect())
        } else {
            say("done")
        })
    });
    let before = Instant::now();
    let mut agent = ReactAgent::builder(model).tools([tool]).build().unwrap();
    agent.run("go", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 64);
    let answers = returns(&agent.context().messages()[2]);
    assert_eq!(answers.len(), 5000);
    for (index, (id, outcome, text)) in answers.iter().enumerate() {
        assert_eq!((id, *outcome, text), (&format!("c{index}"), Outcome::Success, id));
    }
    assert!(before.elapsed() < Duration::from_secs(20), "took {:?}", before.elapsed());
}

#[tokio::test]
async fn a_call_id_is_executed_once_in_a_run() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let tool = Tool::new("work", "", move |_: Nothing, _: ToolCall| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, ToolError>(number.to_string()) }
    });
    let model = FunctionModel::new(|input| {
        Ok(match input.messages.len() {
            1 | 3 => call(&[("work", "{}", "same")]),
            5 => call(&[("work", "{}", "other")]),
            _ => say("done"),
        })
    });
    let mut agent = ReactAgent::builder(model).tools([tool]).build().unwrap();
    agent.run("go", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let messages = agent.context().messages();
    let again = &returns(&messages[4])[0];
    assert_eq!((again.0.as_str(), again.1), ("same", Outcome::Retried));
    assert!(again.2.contains("was executed in this run already"), "{}", again.2);
    assert_eq!(returns(&messages[6])[0].2, "1");
}
