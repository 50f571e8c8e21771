use std::sync::{Arc, Mutex};

use akgentic_llm::run::{CallOutcome, ModelStep};
use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use futures_util::future::FutureExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{call, returns, say};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn tool<F>(name: &str, body: F) -> Tool
where
    F: Fn() -> Result<String, ToolError> + Send + Sync + Clone + 'static,
{
    Tool::new(name, "", move |_: Nothing, _: ToolCall| {
        let body = body.clone();
        async move { body() }
    })
}

fn scripted(replies: Vec<ModelResponse>) -> FunctionModel {
    let replies = Mutex::new(replies.into_iter());
    FunctionModel::new(move |_| Ok(replies.lock().unwrap().next().expect("a reply is left")))
}

async fn run(agent: &mut ReactAgent) -> Result<RunResult, RunError> {
    agent.run("go", &OutputSpec::text(), CancellationToken::new()).await
}

#[tokio::test]
async fn a_panicking_tool_ends_the_run_and_nothing_else() {
    let model = scripted(vec![call(&[("calm", "{}", "c1"), ("wild", "{}", "c2")]), say("fine")]);
    let calm = tool("calm", || Ok("ok".to_owned()));
    let wild = tool("wild", || panic!("the roof is on fire"));
    let mut agent = ReactAgent::builder(model).tools([calm, wild]).build().unwrap();

    let error = run(&mut agent).await.unwrap_err();
    assert_eq!(error.to_string(), "tool wild panicked: the roof is on fire");
    let last = agent.context().messages().last().unwrap();
    assert_eq!(returns(last), [("c1".to_owned(), Outcome::Success, "ok".to_owned())]);

    assert_eq!(run(&mut agent).await.unwrap().output.to_text(), "fine");
}

#[tokio::test]
async fn the_next_run_closes_what_a_crash_left_open() {
    let sent: Arc<Mutex<Vec<History>>> = Arc::default();
    let shared = Arc::clone(&sent);
    let model = FunctionModel::new(move |input| {
        let mut sent = shared.lock().unwrap();
        sent.push(input.messages);
        Ok(if sent.len() == 1 { call(&[("bad", "{}", "c1")]) } else { say("done") })
    });
    let bad = tool("bad", || Err(ToolError::fatal("gone")));
    let mut agent = ReactAgent::builder(model).tools([bad]).build().unwrap();
    assert!(matches!(run(&mut agent).await, Err(RunError::Tool { .. })));
    run(&mut agent).await.unwrap();
    let sent = sent.lock().unwrap();
    let closed = returns(&sent[1][2]);
    assert_eq!(closed.len(), 1);
    assert_eq!((closed[0].0.as_str(), closed[0].1), ("c1", Outcome::Interrupted));
}

#[tokio::test]
async fn a_reply_with_too_many_calls_ends_the_run_and_is_not_carried_along() {
    let count = akgentic_llm::run::MOST_CALLS + 1;
    let ids: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| ("calm", "{}", id.as_str())).collect();
    let model = scripted(vec![call(&calls), call(&calls[1..]), say("fine")]);
    let executed = Arc::new(Mutex::new(0_usize));
    let counter = Arc::clone(&executed);
    let calm = tool("calm", move || {
        *counter.lock().unwrap() += 1;
        Ok("ok".to_owned())
    });
    let mut agent = ReactAgent::builder(model).tools([calm]).build().unwrap();

    let error = run(&mut agent).await.unwrap_err();
    assert!(error.to_string().contains("10001 tool calls, and 10000 are the most"), "{error}");
    assert_eq!(*executed.lock().unwrap(), 0);
    let last = agent.context().messages().last().unwrap().as_response().unwrap();
    assert_eq!((last.tool_calls().count(), last.state), (0, MessageState::Interrupted));

    // As many as are allowed are all executed.
    assert_eq!(run(&mut agent).await.unwrap().output.to_text(), "fine");
    assert_eq!(*executed.lock().unwrap(), count - 1);
}

/// A log that hooks and tools write to.
type Log = Arc<Mutex<Vec<String>>>;

struct Noisy(&'static str, Log);

impl Noisy {
    fn note(&self, what: &str) -> HookFuture<'static> {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
        async { Ok(()) }.boxed()
    }
}

impl Hook for Noisy {
    fn before_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.note("before_run")
    }
    fn before_model_request<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        self.note("before_model_request")
    }
    fn after_model_response<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a mut ModelResponse,
    ) -> HookFuture<'a> {
        self.note("after_model_response")
    }
    fn before_tool<'a>(&'a self, _: &'a RunContext, _: &'a ToolCallPart) -> HookFuture<'a> {
        self.note("before_tool")
    }
    fn after_tool<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a ToolCallPart,
        outcome: &'a mut CallOutcome,
    ) -> HookFuture<'a> {
        if let CallOutcome::Returned(content) = outcome {
            *content = format!("{} via {}", content.to_text(), self.0).into();
        }
        self.note("after_tool")
    }
    fn after_output<'a>(&'a self, _: &'a RunContext, _: &'a mut Output) -> HookFuture<'a> {
        self.note("after_output")
    }
}

#[tokio::test]
async fn hooks_go_in_in_order_and_out_in_reverse() {
    let log: Log = Arc::default();
    let model = scripted(vec![call(&[("t", "{}", "c1")]), say("done")]);
    let mut agent = ReactAgent::builder(model)
        .tools([tool("t", || Ok("x".to_owned()))])
        .hook(Noisy("A", Arc::clone(&log)))
        .hook(Noisy("B", Arc::clone(&log)))
        .build()
        .unwrap();
    run(&mut agent).await.unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        [
            "A before_run",
            "B before_run",
            "A before_model_request",
            "B before_model_request",
            "B after_model_response",
            "A after_model_response",
            "A before_tool",
            "B before_tool",
            "B after_tool",
            "A after_tool",
            "A before_model_request",
            "B before_model_request",
            "B after_model_response",
            "A after_model_response",
            "B after_output",
            "A after_output",
        ]
    );
    let answers = returns(&agent.context().messages()[2]);
    assert_eq!(answers[0].2, "x via B via A");
}

#[tokio::test]
async fn messages_are_stored_before_what_they_cause() {
    let log: Log = Arc::default();
    let (model_log, tool_log, store_log) = (Arc::clone(&log), Arc::clone(&log), Arc::clone(&log));
    let model = FunctionModel::new(move |input| {
        model_log.lock().unwrap().push("model".to_owned());
        Ok(if input.messages.len() == 1 { call(&[("t", "{}", "c1")]) } else { say("done") })
    });
    let t = tool("t", move || {
        tool_log.lock().unwrap().push("tool".to_owned());
        Ok(String::new())
    });
    let mut agent = ReactAgent::builder(model).tools([t]).build().unwrap();
    agent.subscribe_context(Arc::new(move |event: &LlmEvent| {
        if let LlmEvent::Message(event) = event {
            store_log.lock().unwrap().push(format!("store {}", event.message.kind()));
        }
        Ok(())
    }));
    run(&mut agent).await.unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        [
            "store request",
            "model",
            "store response",
            "tool",
            "store request",
            "model",
            "store response",
        ]
    );
}

#[tokio::test]
async fn a_failing_observer_ends_the_run() {
    let mut agent = ReactAgent::builder(scripted(vec![say("a")])).build().unwrap();
    agent.subscribe_context(Arc::new(|_: &LlmEvent| Err("the disk is full".into())));
    let error = run(&mut agent).await.unwrap_err();
    assert_eq!(error.to_string(), "an observer failed: the disk is full");
}

#[tokio::test]
async fn two_tools_of_one_name_are_refused() {
    let twice = [tool("t", || Ok(String::new())), tool("t", || Ok(String::new()))];
    let error = ReactAgent::builder(scripted(vec![])).tools(twice).build().unwrap_err();
    assert_eq!(error.to_string(), "there are two tools named t");
}

#[tokio::test]
async fn a_tool_may_not_be_called_like_the_output_tool() {
    let model = scripted(vec![]).with_native_output(false);
    let clash = tool(OUTPUT_TOOL, || Ok(String::new()));
    let mut agent = ReactAgent::builder(model).tools([clash]).build().unwrap();
    let output = OutputSpec::of::<Vec<String>>();
    let error = agent.run("go", &output, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, RunError::Usage(_)), "{error}");
}

#[tokio::test]
async fn refused_runs_keep_what_waits() {
    let limits = AgentUsageLimits { agent_request_limit: Some(1), ..AgentUsageLimits::default() };
    let model = scripted(vec![say("a")]);
    let mut agent = ReactAgent::builder(model).agent_limits(limits).build().unwrap();
    run(&mut agent).await.unwrap();
    agent.clear_context().unwrap();
    agent.append_user_prompt("note").unwrap();
    assert!(matches!(run(&mut agent).await, Err(RunError::AgentUsageLimit(_))));
    assert_eq!(agent.context().pending_user_prompts(), ["note"]);
    assert!(agent.context().messages().is_empty());
}

#[tokio::test]
async fn models_stream_in_one_piece_unless_they_can_do_better() {
    use futures_util::StreamExt as _;
    let model = FunctionModel::text(|_| "hi".to_owned());
    let input = ModelInput {
        messages: History::default(),
        tools: Arc::from([]),
        output: OutputRequest::text(),
        settings: ModelSettings::default(),
        cancel: CancellationToken::new(),
    };
    let events: Vec<_> = model.stream(input).map(Result::unwrap).collect().await;
    assert_eq!(events, [StreamEvent::Finished(Box::new(say("hi")))]);
}
