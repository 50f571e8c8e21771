//! Guards around exchanges between agents, and who is told of what.

use akgentic_agent::{AgentMessage, HumanProxy, Intent};
use akgentic_core::message::{CancelMessage, WarningMessage};
use akgentic_core::prelude::*;

use crate::players::{Moment, Players, config, text};
use crate::world::{says, silence};

#[tokio::test]
async fn two_agents_that_never_stop_are_stopped_after_so_many_hops() {
    let players = Players::default()
        .plays("@A", |_| async { text(&says("request", "@B", "your turn")) })
        .plays("@B", |_| async { text(&says("request", "@A", "your turn")) });
    let world = players.world().await;
    for name in ["@A", "@B"] {
        let mut config = config(name);
        config.options.max_hops = Some(5);
        world.configured(config).await;
    }
    for round in 1..=2 {
        world.human_says("@A", "begin").await;
        world.records.wait_for_words_to("@Human", round).await;
    }
    world.team.get_team().await.expect("drained");
    let told = world.records.sent_to("@Human");
    assert_eq!(told.len(), 2, "once for each time: {told:?}");
    assert!(told[0].2.contains("5 messages in a row"), "{told:?}");
    let to_agents = world.records.sent_to("@A").len() + world.records.sent_to("@B").len();
    assert_eq!(to_agents, 2 * (1 + 6), "five are worked on, the sixth is not");
    let all = world.records.all();
    let warnings = all.iter().filter(|record| record.body::<WarningMessage>().is_some());
    assert_eq!(warnings.count(), 2);
}

#[tokio::test]
async fn a_person_in_the_line_begins_the_count_anew() {
    let players = Players::default().plays("@A", |_| async { text(&silence()) });
    let world = players.world().await;
    let mut config = config("@A");
    config.options.max_hops = Some(0);
    world.configured(config).await;
    for _ in 0..3 {
        world.human_says("@A", "hello").await;
    }
    world.records.wait_for_turns_of("@A", 3).await;
    world.team.get_team().await.expect("drained");
    assert!(world.records.sent_to("@Human").is_empty());
}

#[tokio::test]
async fn the_person_who_asked_is_told() {
    for prefers in [false, true] {
        let asked = Moment::new();
        let when_asked = asked.clone();
        let players = Players::default()
            .plays("@Lead", |_| async { text(&says("request", "@Dev", "build it")) })
            .plays("@Dev", move |_| {
                let asked = when_asked.clone();
                async move {
                    asked.happens();
                    std::future::pending().await
                }
            });
        let world = players.world().await;
        let second = BaseConfig::new("@Second", "Human");
        world.team.create_actor::<HumanProxy>(second).await.expect("a person");
        for name in ["@Lead", "@Dev"] {
            let mut config = config(name);
            config.options.notify_who_asked = prefers;
            world.configured(config).await;
        }
        world.says("@Second", "@Lead", AgentMessage::new(Intent::Request, "please")).await;
        asked.wait().await;
        world.says("@Human", "@Dev", CancelMessage::default()).await;
        world.records.wait_for_turns_of("@Dev", 1).await;
        world.team.get_team().await.expect("drained");
        let (told, other) = if prefers { ("@Second", "@Human") } else { ("@Human", "@Second") };
        assert_eq!(world.records.sent_to(told)[0].2, "Run interrupted.");
        assert!(world.records.sent_to(other).is_empty(), "{other}");
    }
}
