//! Scripted agents for load tests.

use std::sync::{Arc, Mutex};

use akgentic_core::wire::Timestamp;
use akgentic_llm::loadtest::*;
use akgentic_llm::*;
use tokio_util::sync::CancellationToken;

const SCENARIO: &str = "
name: wait
default_latency_ms: 60000
agents:
  '@A': { default: { respond: { text: hi } } }
";

async fn turn(mock: &mut MockAgent) -> Result<Output, RunError> {
    mock.run("@A", "x", &OutputSpec::text(), CancellationToken::new()).await
}

#[tokio::test(start_paused = true)]
async fn a_mock_restores_like_an_agent() {
    let scenario = LoadScenario::parse(SCENARIO).unwrap();
    let mut mock = MockAgent::new(scenario.clone());
    let events: Arc<Mutex<Vec<LlmEvent>>> = Arc::default();
    let seen = Arc::clone(&events);
    mock.context_mut().subscribe(Arc::new(move |event: &LlmEvent| {
        seen.lock().unwrap().push(event.clone());
        Ok(())
    }));
    turn(&mut mock).await.unwrap();
    mock.context_mut().clear_context().unwrap();
    turn(&mut mock).await.unwrap();
    turn(&mut mock).await.unwrap();
    let folded = LlmContextCompactedEvent {
        run_id: None,
        strategy_id: "sliding_window".to_owned(),
        summary: "s".to_owned(),
        replaced_message_count: 2,
        summarizer_prompt_version: String::new(),
        tokens_before: None,
        tokens_after: None,
    };
    mock.context_mut().compact(folded, Timestamp::now()).unwrap();

    let mut restored = MockAgent::new(scenario);
    let usage = restored.restore_context(&*events.lock().unwrap());
    assert_eq!(usage.runs, 3);
    let texts = |mock: &MockAgent| {
        let messages = mock.context().messages().iter();
        messages.map(|message| message.kind()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&restored), ["request", "request", "response"]);
    assert_eq!(texts(&restored), texts(&mock));
    assert_eq!(restored.context().messages()[1..], mock.context().messages()[1..]);
}

#[tokio::test(start_paused = true)]
async fn a_mock_waits_and_can_be_cancelled() {
    let mut mock = MockAgent::new(LoadScenario::parse(SCENARIO).unwrap());
    let before = tokio::time::Instant::now();
    turn(&mut mock).await.unwrap();
    assert_eq!(before.elapsed().as_secs(), 60);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = mock.run("@A", "x", &OutputSpec::text(), cancel).await.unwrap_err();
    assert!(matches!(error, RunError::Cancelled));
    assert!(matches!(mock.switch_model("a:b"), Err(ModelSwitchError::Mock)));
}

#[test]
fn the_file_is_named_by_the_model_or_the_environment() {
    let unset = |_: &str| None;
    assert_eq!(LoadScenario::locate("gpt-5.2", &unset), Err(LoadScenarioError::Unnamed));
    let set = |name: &str| (name == LoadScenario::VARIABLE).then(|| "a.yaml".to_owned());
    assert_eq!(LoadScenario::locate("gpt-5.2", &set).unwrap().to_str(), Some("a.yaml"));
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert_eq!(LoadScenario::locate(own, &set).unwrap().to_str(), Some(own));
    let error = LoadScenario::load("nowhere.yaml").unwrap_err();
    assert!(matches!(error, LoadScenarioError::Unreadable { .. }));
    let error = LoadScenario::load(own).unwrap_err();
    assert!(matches!(error, LoadScenarioError::Format(_)));
    let look_around = "agents: { a: { states: [ { when: { regex: 'a(?!b)' } } ] } }";
    assert!(LoadScenario::parse(look_around).is_err());
}
