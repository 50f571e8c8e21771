//! Rosters, switches, scenarios, usage.

use std::sync::{Arc, Mutex};

use akgentic_agent::{
    AgentConfig, ListModels, ModelSource, SummarizeUsage, SwitchModel, provide_environment,
    provide_models,
};
use akgentic_core::{ActorAddress, CallError};
use akgentic_llm::{FunctionModel, HttpClientConfig, Model, ModelConfig, RequestUsage};

use crate::world::{Answers, World, says, text};

/// Every model says its name; one cannot be built.
struct Named;

impl ModelSource for Named {
    fn model(&self, config: &ModelConfig, _: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let name = config.model.clone();
        if name == "broken" {
            return Err("there is no key for it".to_owned());
        }
        Ok(Arc::new(FunctionModel::new(move |_| {
            let mut response = text(says("response", "@Human", &name));
            response.model_name = Some(name.clone());
            response.usage = RequestUsage::tokens(100, 10);
            Ok(response)
        })))
    }
}

fn model(name: &str) -> ModelConfig {
    ModelConfig { model: name.to_owned(), context_length: Some(1000), ..ModelConfig::default() }
}

fn config() -> AgentConfig {
    let mut config = AgentConfig::new("@Helper", "Helper", "You help.");
    config.model_roster = ["first", "second", "broken"].map(model).to_vec();
    config.model_cfg = model("first");
    config
}

async fn said(world: &World, count: usize) -> String {
    world.records.wait_for_words_to("@Human", count).await;
    world.records.sent_to("@Human").pop().expect("words").2
}

#[tokio::test]
async fn an_agent_is_switched_between_the_models_of_its_roster() {
    let world = World::new(Answers::default()).await;
    provide_models(&world.system, Named);
    let helper = world.configured(config()).await;
    world.human_says("@Helper", "one").await;
    assert_eq!(said(&world, 1).await, "first");
    let switch = |key: &str| helper.ask(SwitchModel { key: key.to_owned() });
    let told = switch("openai:second").await.expect("switched");
    assert_eq!(told, "openai:second is used from the next turn on.");
    let rows = helper.ask(ListModels).await.expect("listed");
    let rows: Vec<(&str, bool)> = rows.iter().map(|row| (row.key.as_str(), row.active)).collect();
    assert_eq!(rows, [("openai:first", false), ("openai:second", true), ("openai:broken", false)]);
    world.human_says("@Helper", "two").await;
    assert_eq!(said(&world, 2).await, "second");
    for (key, reason) in [
        ("openai:broken", "cannot switch to openai:broken: there is no key for it"),
        (
            "openai:secnod",
            "there is no model \"openai:secnod\" to switch to; there are openai:second,",
        ),
    ] {
        let error = switch(key).await.expect_err("refused");
        let CallError::Failed(error) = error else { panic!("{error}") };
        assert!(error.message().starts_with(reason), "{error}");
    }
    world.human_says("@Helper", "three").await;
    assert_eq!(said(&world, 3).await, "second", "a refusal changes nothing");
}

/// Notes within which limits each model is to be reached.
struct Limited(Arc<Mutex<Vec<(String, HttpClientConfig)>>>);

impl ModelSource for Limited {
    fn model(&self, config: &ModelConfig, _: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        Err(format!("nothing was said about limits for {}", config.model))
    }

    fn model_within(
        &self,
        config: &ModelConfig,
        http: &HttpClientConfig,
        agent: &ActorAddress,
    ) -> Result<Arc<dyn Model>, String> {
        self.0.lock().expect("one holder").push((config.model.clone(), http.clone()));
        Named.model(config, agent)
    }
}

#[tokio::test]
async fn every_model_of_an_agent_is_reached_within_the_limits_of_its_configuration() {
    let world = World::new(Answers::default()).await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    provide_models(&world.system, Limited(Arc::clone(&asked)));
    let mut config = config();
    let http = HttpClientConfig { timeout: 7.0, max_retries: 2, ..HttpClientConfig::default() };
    config.runtime_cfg.http_client_config = http.clone();
    config.model_cfg.fallback_models = vec![model("spare")];
    let helper = world.configured(config).await;
    helper.ask(SwitchModel { key: "openai:second".to_owned() }).await.expect("switched");
    let asked = asked.lock().expect("one holder").clone();
    assert_eq!(asked, ["first", "spare", "second"].map(|name| (name.to_owned(), http.clone())));
}

#[tokio::test]
async fn a_switch_holds_after_a_restart_as_long_as_the_roster_has_the_model() {
    for gone in [false, true] {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("team.jsonl");
        let world = World::logged(Answers::default(), Some(&path)).await;
        provide_models(&world.system, Named);
        let helper = world.configured(config()).await;
        helper.ask(SwitchModel { key: "openai:second".to_owned() }).await.expect("switched");
        world.human_says("@Helper", "one").await;
        assert_eq!(said(&world, 1).await, "second");
        world.records.wait_for_turns_of("@Helper", 1).await;
        world.team.get_team().await.expect("drained");
        let changed = dir.path().join("changed.jsonl");
        let log = std::fs::read_to_string(&path).expect("a log");
        let log =
            if gone { log.replace("\"model\":\"second\"", "\"model\":\"third\"") } else { log };
        std::fs::write(&changed, log).expect("written");
        let world = world.reborn_with(&changed, |system| provide_models(system, Named)).await;
        world.human_says("@Helper", "two").await;
        let now = said(&world, 2).await;
        assert_eq!(now, if gone { "first" } else { "second" });
    }
}

#[tokio::test]
async fn usage_is_summed_up_by_model_and_run() {
    let world = World::new(Answers::default()).await;
    provide_models(&world.system, Named);
    let helper = world.configured(config()).await;
    world
        .configured(AgentConfig {
            base: akgentic_core::BaseConfig::new("@Other", "Helper"),
            ..config()
        })
        .await;
    world.human_says("@Helper", "one").await;
    world.human_says("@Other", "not counted").await;
    said(&world, 2).await;
    helper.ask(SwitchModel { key: "openai:second".to_owned() }).await.expect("switched");
    world.human_says("@Helper", "two").await;
    said(&world, 3).await;
    let summary = helper.ask(SummarizeUsage { by_run: true }).await.expect("summed up");
    assert_eq!((summary.total_input_tokens, summary.total_output_tokens), (200, 20));
    let models: Vec<(&str, u64)> = summary
        .by_model
        .values()
        .map(|model| (model.model_name.as_str(), model.requests))
        .collect();
    assert_eq!(models, [("first", 1), ("second", 1)]);
    assert_eq!(summary.runs.len(), 2);
    let summary = helper.ask(SummarizeUsage::default()).await.expect("summed up");
    assert!(summary.runs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_environment_may_put_a_scenario_in_place_of_models() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("load.yaml");
    let scenario = r#"
name: load
default_latency_ms: 250
agents:
  "@Helper":
    states:
      - when: {contains: first}
        tools: [{name: look, args: '{}', returns: seen}]
        respond: {messages: [{message_type: response, recipient: "@Human", message: played}]}
    default:
      respond: {messages: [{message_type: response, recipient: "@Human", message: again}]}
"#;
    std::fs::write(&path, scenario).expect("written");
    let world = World::new(Answers::default()).await;
    let file = path.display().to_string();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    provide_environment(&world.system, move |name| {
        log.lock().expect("lock").push(name.to_owned());
        Some(file.clone())
    });
    let helper = world.configured(config()).await;
    assert_eq!(*asked.lock().expect("lock"), ["AKGENTIC_MOCK_SCENARIO"]);
    world.human_says("@Helper", "the first").await;
    assert_eq!(said(&world, 1).await, "played");
    world.human_says("@Helper", "the first").await;
    assert_eq!(said(&world, 2).await, "again");
    world.human_says("@Helper", "/clear").await;
    assert!(said(&world, 3).await.starts_with("Cleared "));
    world.human_says("@Helper", "/compact").await;
    assert!(said(&world, 4).await.contains("nothing to compact"));
    let error = helper.ask(SwitchModel { key: "openai:second".to_owned() }).await;
    let error = error.expect_err("there is no model").to_string();
    assert!(error.contains("plays a scenario"), "{error}");
}

#[tokio::test]
async fn a_scenario_that_cannot_be_read_fails_the_start() {
    let world = World::new(Answers::default()).await;
    provide_environment(&world.system, |_| Some("/nowhere/load.yaml".to_owned()));
    let error = world.team.create_and_wait::<akgentic_agent::BaseAgent>(config()).await;
    let error = error.expect_err("cannot start").to_string();
    assert!(error.contains("cannot read the scenario /nowhere/load.yaml"), "{error}");
}
