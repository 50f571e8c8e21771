//! Turns that fail, agents that do not start, budgets that end.

use akgentic_agent::{AgentConfig, BaseAgent};
use akgentic_core::message::{ErrorMessage, WarningMessage};
use akgentic_core::prelude::*;
use akgentic_llm::{AgentUsageLimits, PromptTemplate};
use std::sync::Arc;

use crate::world::{Answers, WAIT, World, says};

fn errors(world: &World) -> Vec<(String, String)> {
    let all = world.records.all();
    let errors = all.iter().filter_map(|record| {
        let error = &record.body::<ErrorMessage>()?.notification;
        Some((error.content_type.clone().unwrap_or_default(), error.content.clone()))
    });
    errors.collect()
}

#[tokio::test]
async fn an_agent_that_cannot_start_says_so_to_everybody_who_writes() {
    let world = World::new(Answers::default()).await;
    let mut config = AgentConfig::new("@Broken", "Helper", "");
    config.prompt = PromptTemplate { template: "{missing}".into(), ..Default::default() };
    let error = world.team.create_and_wait::<BaseAgent>(config).await.expect_err("cannot start");
    assert!(error.to_string().contains("missing"), "{error}");
    world.human_says("@Broken", "hello?").await;
    world.human_says("@Broken", "hello??").await;
    world.records.wait_for_turns_of("@Broken", 2).await;
    world.team.get_team().await.expect("drained");
    assert_eq!(errors(&world).len(), 3, "the start, and one for each message");
    assert_eq!(world.records.sent_to("@Human").len(), 1, "the human is told once");
}

#[tokio::test]
async fn an_agent_without_a_model_does_not_start() {
    let world = World::new(Answers::default()).await;
    let config = AgentConfig::new("@Mute", "Mute", "You are mute.");
    let error = world.team.create_and_wait::<BaseAgent>(config).await.expect_err("cannot start");
    assert!(error.to_string().contains("nobody speaks for Mute"), "{error}");
}

#[tokio::test]
async fn a_failing_model_ends_the_turn_and_the_agent_goes_on() {
    let answers = Answers::default().role("Helper", |prompt, _| {
        if prompt.contains("crash") {
            return "no json at all".to_owned();
        }
        says("response", "@Human", "fine")
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "crash").await;
    world.human_says("@Helper", "hello").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let errors = errors(&world);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].0, "OutputRetriesExhausted");
}

#[tokio::test]
async fn a_spent_budget_is_told_to_the_human_and_ends_the_turn_with_a_warning() {
    let answers = Answers::default().role("Helper", |_, _| says("response", "@Human", "fine"));
    let world = World::new(answers).await;
    let mut config = AgentConfig::new("@Helper", "Helper", "You help.");
    config.agent_usage_limits =
        AgentUsageLimits { agent_request_limit: Some(1), ..AgentUsageLimits::default() };
    world.configured(config).await;
    world.human_says("@Helper", "one").await;
    world.human_says("@Helper", "two").await;
    world.records.wait_for_turns_of("@Helper", 2).await;
    world.team.get_team().await.expect("drained");
    let told = world.records.sent_to("@Human");
    assert_eq!(told.len(), 2);
    assert!(told[1].2.contains("@Helper"), "{}", told[1].2);
    let all = world.records.all();
    let warning = all.iter().find_map(|record| record.body::<WarningMessage>()).expect("a warning");
    assert_eq!(warning.notification.content_type.as_deref(), Some("WarningError"));
    assert!(errors(&world).is_empty());
}

#[tokio::test]
async fn a_stopped_agent_gives_up_its_model_request() {
    struct Hanging;

    impl akgentic_agent::ModelSource for Hanging {
        fn model(
            &self,
            _: &akgentic_llm::ModelConfig,
            _: &ActorAddress,
        ) -> Result<Arc<dyn akgentic_llm::Model>, String> {
            Ok(Arc::new(akgentic_llm::FunctionModel::from_async(|_| {
                Box::pin(std::future::pending())
            })))
        }
    }

    let world = World::new(Answers::default()).await;
    akgentic_agent::provide_models(&world.system, Hanging);
    let agent = world.agent("@Slow", "Slow").await;
    world.human_says("@Slow", "hang").await;
    world
        .records
        .wait(|records| {
            records.all().iter().any(|record| {
                record.class_name() == "ReceivedMessage"
                    && record.sender.as_ref().is_some_and(|sender| sender.name() == "@Slow")
            })
        })
        .await;
    let begun = std::time::Instant::now();
    assert!(agent.address().dismiss(WAIT).await.expect("goes"));
    assert!(begun.elapsed() < WAIT / 4, "{:?}", begun.elapsed());
}
