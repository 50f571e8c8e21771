//! What hooks can do: change, refuse, answer, keep to themselves, stand where they like.

use std::sync::{Arc, Mutex};

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use futures_util::future::{BoxFuture, FutureExt as _, ready};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{call, returns, say};

#[derive(Deserialize, JsonSchema)]
struct Number {
    n: i64,
}

fn double() -> Tool {
    Tool::new("double", "", |args: Number, _: ToolCall| async move {
        Ok::<_, ToolError>((args.n * 2).to_string())
    })
}

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

async fn run(agent: &mut ReactAgent, output: &OutputSpec) -> Result<RunResult, RunError> {
    agent.run("go", output, CancellationToken::new()).await
}

/// Mends arguments and outputs, and explains what it cannot mend.
struct Mender;

impl Hook for Mender {
    fn before_tool_validate(
        &self,
        _: &RunContext,
        call: &mut ToolCallPart,
    ) -> Result<(), BoxError> {
        if call.args.to_text() == "seven" {
            call.args = ToolArgs::Text("{\"n\": 7}".to_owned());
        }
        Ok(())
    }

    fn on_tool_validate_error(
        &self,
        _: &RunContext,
        call: &ToolCallPart,
        errors: &mut Vec<ValidationError>,
    ) -> Result<(), BoxError> {
        for error in errors {
            error.msg = format!("{} wants a number", call.tool_name);
        }
        Ok(())
    }

    fn before_output_validate(&self, _: &RunContext, text: &mut String) -> Result<(), BoxError> {
        *text = text.replace("result:", "");
        Ok(())
    }

    fn after_output_validate(&self, _: &RunContext, value: &mut Value) -> Result<(), BoxError> {
        value["n"] = json!(value["n"].as_i64().unwrap() + 1);
        Ok(())
    }

    fn on_output_validate_error(
        &self,
        _: &RunContext,
        errors: &[ValidationError],
    ) -> Result<Option<String>, BoxError> {
        Ok(Some(format!("{} things are wrong", errors.len())))
    }
}

#[tokio::test]
async fn hooks_around_validation_mend_and_explain() {
    let replies = vec![
        call(&[("double", "seven", "c1"), ("double", "eight", "c2")]),
        say("nonsense"),
        say("result:{\"n\": 41}"),
    ];
    let (model, requests) = scripted(replies);
    let mut agent = ReactAgent::builder(model).tools([double()]).hook(Mender).build().unwrap();
    let output = OutputSpec::of::<Answer>().with_mode(OutputMode::Native);
    let result = run(&mut agent, &output).await.unwrap();
    assert_eq!(result.output, Output::Json(json!({"n": 42})));
    let answers = returns(&agent.context().messages()[2]);
    assert_eq!(answers[0].2, "14");
    assert!(answers[1].2.contains("double wants a number"), "{}", answers[1].2);
    // the record keeps the call as the model made it
    let made = agent.context().messages()[1].as_response().unwrap().clone();
    assert_eq!(made.tool_calls().next().unwrap().args.to_text(), "seven");
    let requests = requests.lock().unwrap();
    let feedback = requests[2].messages.last().unwrap().as_request().unwrap().clone();
    let RequestPart::RetryFeedback(part) = feedback.parts.last().unwrap() else { panic!() };
    assert_eq!(part.content, Feedback::Text("1 things are wrong".to_owned()));
    assert_eq!(part.retry.as_ref().unwrap().cause, RetryCause::ModelRetry);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Answer {
    n: i64,
}

/// Answers for a run that failed.
struct Rescuer;

impl Hook for Rescuer {
    fn on_run_error<'a>(
        &'a self,
        _: &'a RunContext,
        error: &'a RunError,
    ) -> BoxFuture<'a, Option<Output>> {
        ready(Some(Output::Text(format!("rescued from: {error}")))).boxed()
    }

    fn leave_run<'a>(
        &'a self,
        run: &'a RunContext,
        result: &'a mut Result<Output, RunError>,
    ) -> BoxFuture<'a, ()> {
        if let Ok(output) = result {
            *output = Output::Text(format!("{} in step {}", output.to_text(), run.steps));
        }
        ready(()).boxed()
    }
}

#[tokio::test]
async fn a_failed_run_can_have_a_result_after_all() {
    let model = FunctionModel::new(|_| Err(ModelError::Usage("no".to_owned())));
    let mut agent = ReactAgent::builder(model).hook(Rescuer).build().unwrap();
    let result = run(&mut agent, &OutputSpec::text()).await.unwrap();
    assert_eq!(result.output.to_text(), "rescued from: no in step 1");
}

/// Refuses the prompt.
struct Gatekeeper;

impl Hook for Gatekeeper {
    fn before_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        ready(Err("not today".into())).boxed()
    }
}

#[tokio::test]
async fn a_prompt_that_a_hook_refuses_is_not_kept() {
    let (model, _) = scripted(Vec::new());
    let mut agent = ReactAgent::builder(model).hook(Gatekeeper).build().unwrap();
    let error = run(&mut agent, &OutputSpec::text()).await.unwrap_err();
    assert_eq!(error.to_string(), "not today");
    assert_eq!(agent.context().messages(), []);
}

/// Counts the steps of one run.
#[derive(Default)]
struct Counter {
    steps: Mutex<u32>,
    seen: Arc<Mutex<Vec<u32>>>,
}

impl Hook for Counter {
    fn for_run(&self) -> Option<Arc<dyn Hook>> {
        Some(Arc::new(Self { steps: Mutex::default(), seen: Arc::clone(&self.seen) }))
    }

    fn after_model_response<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a mut ModelResponse,
    ) -> HookFuture<'a> {
        let mut steps = self.steps.lock().unwrap();
        *steps += 1;
        self.seen.lock().unwrap().push(*steps);
        ready(Ok(())).boxed()
    }
}

#[tokio::test]
async fn each_run_can_have_a_hook_of_its_own() {
    let counter = Counter::default();
    let seen = Arc::clone(&counter.seen);
    let (model, _) = scripted(vec![say("a"), say("b")]);
    let mut agent = ReactAgent::builder(model).hook(counter).build().unwrap();
    run(&mut agent, &OutputSpec::text()).await.unwrap();
    run(&mut agent, &OutputSpec::text()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 1]);
}

struct Outer;

impl Hook for Outer {
    fn name(&self) -> &'static str {
        "outer"
    }

    fn place(&self) -> Place {
        Place { requires: vec!["missing".to_owned()], ..Place::default() }
    }
}

#[test]
fn agents_refuse_hooks_that_cannot_be_placed() {
    let builder = ReactAgent::builder(FunctionModel::text(|_| String::new()));
    let error = builder.hook(Outer).build().unwrap_err();
    assert!(error.to_string().contains("requires the hook \"missing\""), "{error}");
}

#[tokio::test]
async fn field_b18_repeated_calls_are_noticed_and_stopped() {
    let again = |id: &str| call(&[("double", "{\"n\": 1}", id)]);
    let spaced = call(&[("double", "{ \"n\":1 }", "c3")]);
    let replies = vec![again("c1"), again("c2"), spaced, again("c4"), again("c5")];
    let (model, requests) = scripted(replies);
    let mut agent = ReactAgent::builder(model)
        .tools([double()])
        .hook(RepetitionGuard::new(3, 5))
        .build()
        .unwrap();
    let error = run(&mut agent, &OutputSpec::text()).await.unwrap_err();
    assert_eq!(error.to_string(), "the model made the same calls 5 times in a row: double");
    let warned: Vec<bool> = requests
        .lock()
        .unwrap()
        .iter()
        .map(|input| {
            let last = input.messages.last().unwrap().to_json_text(Form::Adapter).unwrap();
            last.contains("the same calls (double)")
        })
        .collect();
    assert_eq!(warned, [false, false, false, true, false]);

    // polling is allowed where it is said to be, and another call in between starts anew
    let other = call(&[("double", "{\"n\": 2}", "c2")]);
    let (model, _) = scripted(vec![again("c1"), other, again("c3"), say("done")]);
    let mut agent = ReactAgent::builder(model)
        .tools([double()])
        .hook(RepetitionGuard::new(1, 2))
        .build()
        .unwrap();
    assert!(run(&mut agent, &OutputSpec::text()).await.is_ok());
    let (model, _) = scripted(vec![again("c1"), again("c2"), say("done")]);
    let mut agent = ReactAgent::builder(model)
        .tools([double()])
        .hook(RepetitionGuard::new(1, 2).except(["double"]))
        .build()
        .unwrap();
    assert!(run(&mut agent, &OutputSpec::text()).await.is_ok());
}

impl Mergeable for Answer {
    fn merge(pieces: Vec<Self>) -> Option<Self> {
        let sum = pieces.iter().map(|piece| piece.n).sum();
        (sum < 100).then_some(Self { n: sum })
    }
}

#[tokio::test]
async fn objects_back_to_back_are_one_answer() {
    let (model, _) = scripted(vec![say("{\"n\": 1} {\"n\": 2}")]);
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let result = run(&mut agent, &OutputSpec::mergeable::<Answer>()).await.unwrap();
    assert_eq!(result.output.parse::<Answer>().unwrap(), Answer { n: 3 });
}

#[tokio::test]
async fn unreadable_output_is_explained() {
    let (model, requests) = scripted(vec![say("{\"n\": \"x\"}"), say("{\"n\": 1}")]);
    let mut agent = ReactAgent::builder(model).build().unwrap();
    run(&mut agent, &OutputSpec::mergeable::<Answer>()).await.unwrap();
    let requests = requests.lock().unwrap();
    let last = requests[1].messages.last().unwrap().as_request().unwrap();
    let RequestPart::RetryFeedback(part) = &last.parts[0] else { panic!() };
    let text = feedback_text(&part.content, part.retry.as_ref());
    assert!(text.contains("\n- n: ") && text.contains("one JSON object"), "{text}");
    assert_eq!(part.retry.as_ref().unwrap().cause, RetryCause::ModelRetry);
    // what does not merge is left to normal validation
    let output = OutputSpec::mergeable::<Answer>();
    assert_eq!(output.schema().unwrap().merged("{\"n\": 99}{\"n\": 9}"), None);
}
