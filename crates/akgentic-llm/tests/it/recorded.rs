//! Recording, replaying, repeating.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use akgentic_llm::recording::*;
use akgentic_llm::retry::*;
use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{call, say};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn conversation(model: Arc<dyn Model>) -> Vec<String> {
    let look = Tool::new("look", "", |_: Nothing, _: ToolCall| async {
        Ok::<_, ToolError>("the key is hunter2")
    });
    let mut agent = ReactAgent::builder(model).tools([look]).build().unwrap();
    let mut said = Vec::new();
    for prompt in ["look", "again", "fail"] {
        let result = agent.run(prompt, &OutputSpec::text(), CancellationToken::new()).await;
        said.push(match result {
            Ok(result) => result.output.to_text(),
            Err(error) => error.to_string(),
        });
    }
    said
}

#[tokio::test]
async fn a_recorded_conversation_can_be_played_again() {
    let model: Arc<dyn Model> = Arc::new(FunctionModel::new(|input| {
        let last = input.messages.last().unwrap().to_json_text(Form::Adapter).unwrap();
        if last.contains("fail") {
            let (model, body) = ("m".to_owned(), "hunter2 refused".to_owned());
            return Err(ModelError::Status { model, status: 403, body });
        }
        Ok(if input.messages.len() == 1 { call(&[("look", "{}", "c1")]) } else { say("seen") })
    }));
    let scrubber = Scrubber::default().secrets(["hunter2"]);
    let recording = Recording::default();
    let recorder = RecordingModel::new(model, recording.clone(), scrubber.clone());
    let said = conversation(Arc::new(recorder)).await;
    assert_eq!(said, ["seen", "seen", "m answered 403: hunter2 refused"]);
    assert_eq!(recording.len(), 4);

    let text = recording.to_text();
    assert!(!text.contains("hunter2") && text.contains("[scrubbed]"), "{text}");
    let read = Recording::parse(&text).unwrap();
    let player: Arc<dyn Model> = Arc::new(ReplayingModel::new("m", &read, scrubber));
    let replayed = conversation(Arc::clone(&player)).await;
    assert_eq!(replayed, ["seen", "seen", "m answered 403: [scrubbed] refused"]);
    // each answer is given once
    let once_more = conversation(player).await;
    assert!(once_more[0].contains("0 of 4 are left"), "{}", once_more[0]);
    assert!(matches!(Recording::parse("{}"), Err(RecordingError::Line { line: 1, .. })));
}

#[derive(Debug)]
struct Busy(Option<&'static str>);

impl Answer for Busy {
    fn status(&self) -> u16 {
        503
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.0.filter(|_| name == "retry-after")
    }

    fn body(&self) -> &[u8] {
        b""
    }
}

fn policy(deadline: u64) -> RetryPolicy {
    let config = HttpClientConfig { timeout: 1.0, ..HttpClientConfig::default() };
    RetryPolicy { deadline: Some(Duration::from_secs(deadline)), ..RetryPolicy::from(&config) }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_after_the_deadline() {
    let made = Cell::new(0);
    let attempt = || {
        made.set(made.get() + 1);
        async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(Busy(None))
        }
    };
    let started = tokio::time::Instant::now();
    let answer = policy(10).run(|| 1.0, attempt).await.unwrap();
    assert_eq!((answer.status(), made.get()), (503, 3));
    assert!(started.elapsed().as_secs() < 15);
    // a server that asks for more time than there is gets no second request
    let asked = Busy(Some("60"));
    let verdict =
        policy(10).after(1, &Attempt::Answered(&asked), Duration::ZERO, SystemTime::now());
    assert_eq!(verdict, Verdict::Done);
}

#[test]
fn servers_may_name_a_date() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let verdict = |date| {
        let attempt = Busy(Some(date));
        let policy = RetryPolicy { deadline: None, ..policy(1) };
        policy.after(1, &Attempt::Answered(&attempt), Duration::ZERO, now)
    };
    let soon = verdict("Sun, 06 Nov 1994 08:50:37 GMT");
    assert_eq!(soon, Verdict::Retry(Wait::Exactly(Duration::from_mins(1))));
    let past = verdict("Sun, 06 Nov 1994 08:48:37 GMT");
    assert_eq!(past, Verdict::Retry(Wait::UpTo(Duration::from_millis(500))));
    assert_eq!(verdict("tomorrow"), past);
    assert_eq!(Wait::UpTo(Duration::from_secs(4)).draw(0.25), Duration::from_secs(1));
}
