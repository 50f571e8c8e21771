//! Rosters, fallbacks, conclusions and what an agent may consume.

use std::sync::{Arc, Mutex};

use akgentic_llm::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::say;

fn config(value: serde_json::Value) -> ReactAgentConfig {
    ReactAgentConfig::from_json(value).unwrap()
}

fn failing(name: &'static str) -> Arc<dyn Model> {
    Arc::new(FunctionModel::new(move |_| {
        Err(ModelError::Status { model: name.to_owned(), status: 503, body: "busy".to_owned() })
    }))
}

#[test]
fn a_roster_is_checked_without_building_anything() {
    let config = config(json!({
        "model_cfg": [
            {"provider": "openai", "model": "a"},
            {"provider": "mistral", "model": "b", "context_length": 1000},
            {"provider": "openai-chat", "model": "c",
             "fallback_models": [{"provider": "anthropic", "model": "d"}]},
        ],
        "run_usage_limits": {"total_tokens_limit": 500},
    }));
    let variables = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
    let faults = config.check_roster(&variables);
    let keys: Vec<&str> = faults.iter().map(|fault| fault.key.as_str()).collect();
    assert_eq!(keys, ["mistral:b", "anthropic:d", "mistral:b"]);
    assert!(faults[0].reason.contains("MISTRAL_API_KEY"), "{}", faults[0]);
    assert!(faults[2].reason.contains("total_tokens_limit"), "{}", faults[2]);
    assert_eq!(ReactAgentConfig::default().check_roster(&variables), []);
}

#[test]
fn attempts_have_a_second_name() {
    let read = |value| config(value).runtime_cfg.http_client_config.max_retries;
    assert_eq!(read(json!({"runtime_cfg": {"http_client_config": {"max_attempts": 2}}})), 2);
    let both = json!({"max_attempts": 2, "max_retries": 3});
    let errors = HttpClientConfig::from_json(both).unwrap_err();
    assert!(errors[0].msg.contains("max_attempts"), "{}", errors[0]);
}

#[test]
fn both_names_of_a_limit_are_refused() {
    let both = json!({"request_limit": 2, "run_request_limit": 3});
    assert!(UsageLimits::from_json(both).is_err());
    let both = json!({"usage_limits": {}, "run_usage_limits": {}});
    assert!(ReactAgentConfig::from_json(both).is_err());
}

#[tokio::test]
async fn a_fallback_is_announced_and_asked_with_its_own_settings() {
    let seen: Arc<Mutex<Vec<ModelSettings>>> = Arc::default();
    let record = Arc::clone(&seen);
    let second: Arc<dyn Model> = Arc::new(FunctionModel::new(move |input| {
        record.lock().unwrap().push(input.settings);
        Ok(say("second"))
    }));
    let build: Arc<BuildModel> = Arc::new(move |config: &ModelConfig| {
        Ok(if config.model == "m1" { failing("m1") } else { Arc::clone(&second) })
    });
    let config = config(json!({
        "model_cfg": {"model": "m1", "temperature": 1.0,
                      "fallback_models": [{"model": "m2", "seed": 7}]},
        "runtime_cfg": {"parallel_tool_calls": false},
    }));
    let mut agent = ReactAgent::from_config(config, build).unwrap().build().unwrap();
    let result = agent.run("hi", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.to_text(), "second");
    let settings = ModelSettings {
        seed: Some(7),
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    assert_eq!(*seen.lock().unwrap(), [settings]);
    let last = agent.context().messages().last().unwrap().as_response().unwrap().clone();
    let details = last.provider_details.unwrap();
    assert_eq!(details["fallbacks"][0]["model"], "m1");
    assert_eq!(details["fallbacks"][0]["reason"], "m1 answered 503: busy");
}

#[tokio::test]
async fn a_chain_may_go_on_after_malformed_replies() {
    let malformed = || -> Arc<dyn Model> {
        Arc::new(FunctionModel::new(|_| {
            let (model, message) = ("m".to_owned(), "no choices".to_owned());
            Err(ModelError::UnexpectedReply { model, message })
        }))
    };
    let good: Arc<dyn Model> = Arc::new(FunctionModel::text(|_| "good".to_owned()));
    let chain = FallbackModel::new(malformed()).then(good, ModelSettings::default());
    let mut agent = ReactAgent::builder(chain.past_malformed_replies(true)).build().unwrap();
    let result = agent.run("hi", &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.to_text(), "good");
}

#[tokio::test]
async fn a_closed_agent_refuses_to_run() {
    let model = Arc::new(FunctionModel::text(|_| "x".to_owned()));
    let mut agent = ReactAgent::builder(Arc::clone(&model)).build().unwrap();
    agent.close();
    agent.close();
    assert_eq!(Arc::strong_count(&model), 1);
    let (output, cancel) = (OutputSpec::text(), CancellationToken::new());
    let error = agent.run("hi", &output, cancel.clone()).await.unwrap_err();
    assert!(matches!(error, RunError::Closed));
    let error = agent.conclude_without_tools("now", &output, cancel).await.unwrap_err();
    assert!(matches!(error, RunError::Closed));
    assert_eq!(agent.runs(), 0);
}

/// A model that first exceeds the output limit and then answers as the list says.
fn after_a_breach(replies: &[&'static str]) -> FunctionModel {
    let replies: Mutex<Vec<&'static str>> = Mutex::new(replies.iter().rev().copied().collect());
    FunctionModel::new(move |_| {
        let mut response = say(replies.lock().unwrap().pop().unwrap());
        response.usage = RequestUsage::tokens(1, 10);
        Ok(response)
    })
}

#[tokio::test]
async fn a_conclusion_can_have_room_for_a_correction_and_cost_nothing() {
    let limits = RunUsageLimits { output_tokens_limit: Some(5), ..RunUsageLimits::default() };
    let conclusion = Conclusion { requests: 2, charged: false };
    let output = OutputSpec::of::<i64>().with_mode(OutputMode::Tool);
    let replies = ["far too long", "no number", "{\"response\": 7}"];
    let mut agent = ReactAgent::builder(after_a_breach(&replies))
        .run_limits(limits)
        .conclusion(conclusion)
        .build()
        .unwrap();
    let result = agent.run("hi", &output, CancellationToken::new()).await.unwrap();
    assert_eq!(result.output.parse::<i64>().unwrap(), 7);
    assert_eq!(agent.runs(), 1);
}

#[tokio::test]
async fn what_the_agent_has_left_bounds_its_runs() {
    let limits = AgentUsageLimits { output_tokens_limit: Some(15), ..AgentUsageLimits::default() };
    let run = async |bounded| {
        let mut agent = ReactAgent::builder(after_a_breach(&["one", "two", "three"]))
            .agent_limits(limits.clone())
            .bounded_by_budget(bounded)
            .recovery(|_| None)
            .build()
            .unwrap();
        let output = OutputSpec::text();
        agent.run("a", &output, CancellationToken::new()).await.unwrap();
        agent.run("b", &output, CancellationToken::new()).await
    };
    assert!(run(false).await.is_ok());
    let error = run(true).await.unwrap_err();
    let RunError::RunUsageLimit(breach) = error else { panic!("{error}") };
    assert_eq!(breach, LimitBreach { limit: UsageLimit::OutputTokens, value: 5 });
}
