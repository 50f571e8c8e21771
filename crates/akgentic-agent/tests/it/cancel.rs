//! Runs that are cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use akgentic_agent::{AgentMessage, CancelGranularity, CancelPolicy, Intent};
use akgentic_core::message::{CancelMessage, ErrorMessage, ProcessedMessage, WarningMessage};
use akgentic_core::prelude::*;
use akgentic_llm::{MessageState, Outcome as CallEnd, RunUsageLimits};

use crate::players::{Closed, Moment, Players, Signals, calls, config, last_texts, text};
use crate::world::{WAIT, World, prompts, says, silence};

fn stop() -> AgentMessage {
    AgentMessage::new(Intent::Request, "/stop")
}

fn errors(world: &World) -> usize {
    world.records.all().iter().filter(|record| record.body::<ErrorMessage>().is_some()).count()
}

/// The first answer never comes, the others are at hand.
fn hangs_once(name: &str, asked: &Moment) -> Players {
    let (asked, count) = (asked.clone(), Arc::new(AtomicUsize::new(0)));
    Players::default().plays(name, move |input| {
        let (asked, first) = (asked.clone(), count.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            if first {
                asked.happens();
                std::future::pending::<()>().await;
            }
            text(&says("response", "@Human", &prompts(&input).join("|")))
        }
    })
}

#[tokio::test]
async fn a_cancel_drops_a_request_that_hangs() {
    let asked = Moment::new();
    let world = hangs_once("@A", &asked).world().await;
    world.configured(config("@A")).await;
    world.human_says("@A", "one").await;
    asked.wait().await;
    let begun = Instant::now();
    let cancel = world.says("@Human", "@A", CancelMessage::default()).await;
    world.records.wait_for_turns_of("@A", 1).await;
    assert!(begun.elapsed() < WAIT / 10, "{:?}", begun.elapsed());
    let told = world.records.sent_to("@Human");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].1, told[0].2.as_str()), (Intent::Notification, "Run interrupted."));
    assert_eq!(world.records.closings()[&cancel], [Closed::Handled], "it has no turn of its own");
    assert_eq!(world.records.conversation("@A").len(), 1, "the prompt stays, nothing of a reply");

    world.human_says("@A", "two").await;
    world.records.wait_for_words_to("@Human", 2).await;
    let answer = &world.records.sent_to("@Human")[1].2;
    assert!(answer.contains("one") && answer.contains("two"), "{answer}");
    assert_eq!(errors(&world), 0);
}

/// All of them mean the one run that is there; none is left over for a later one.
#[tokio::test]
async fn a_storm_of_cancels_ends_one_run() {
    const STORM: usize = 300;
    let asked = Moment::new();
    let world = hangs_once("@A", &asked).world().await;
    world.configured(config("@A")).await;
    world.human_says("@A", "one").await;
    asked.wait().await;
    let mut cancels = Vec::new();
    for _ in 0..STORM {
        cancels.push(world.says("@Human", "@A", CancelMessage::default()).await);
    }
    world.records.wait_for_turns_of("@A", 1).await;
    world.human_says("@A", "two").await;
    world
        .records
        .wait(|records| records.sent_to("@Human").iter().any(|(_, _, said)| said.contains("two")))
        .await;
    let closings = world.records.closings();
    for cancel in &cancels {
        assert_eq!(closings[cancel].len(), 1, "{:?}", closings[cancel]);
    }
    let told = world.records.sent_to("@Human");
    let interrupted = told.iter().filter(|(_, _, said)| said == "Run interrupted.").count();
    assert_eq!((interrupted, told.len()), (1, 2), "{told:?}");
    assert_eq!(errors(&world), 0);
}

#[tokio::test(start_paused = true)]
async fn every_call_of_a_cancelled_batch_is_closed_with_what_happened() {
    let players = Players::default().plays("@A", |input| async move {
        if input.messages.len() == 1 {
            calls(&[("quick", None), ("polite", None), ("deaf", None)])
        } else {
            text(&says("response", "@Human", "never said"))
        }
    });
    let world = players.world().await;
    world.configured(config("@A")).await;
    let signals = world.system.capability::<Arc<Signals>>().expect("signals");
    world.human_says("@A", "go").await;
    signals.started.acquire().await.expect("open").forget();
    let begun = tokio::time::Instant::now();
    world.says("@Human", "@A", stop()).await;
    world.records.wait_for_turns_of("@A", 1).await;
    assert_eq!(begun.elapsed().as_secs(), 1, "the grace of running tools");
    let returns = world.records.last_returns("@A");
    assert_eq!(returns[0], ("quick".to_owned(), CallEnd::Success, "done".to_owned()));
    assert_eq!(returns[1], ("polite".to_owned(), CallEnd::Success, "half of it".to_owned()));
    assert_eq!((returns[2].0.as_str(), returns[2].1), ("deaf", CallEnd::Interrupted));
    assert!(returns[2].2.contains("may have had effects"), "{}", returns[2].2);
    let last = world.records.conversation("@A").pop().expect("on record");
    assert_eq!(last.as_request().expect("a request").state, MessageState::Interrupted);
    assert_eq!(world.records.sent_to("@Human")[0].2, "Run interrupted.");
}

#[tokio::test]
async fn by_steps_the_reply_is_awaited_and_its_tools_run() {
    let (asked, answer) = (Moment::new(), Moment::new());
    let (when_asked, may_answer) = (asked.clone(), answer.clone());
    let players = Players::default().plays("@A", move |_| {
        let (asked, answer) = (when_asked.clone(), may_answer.clone());
        async move {
            asked.happens();
            answer.wait().await;
            calls(&[("quick", None)])
        }
    });
    let world = players.world().await;
    let mut config = config("@A");
    config.options.cancel = CancelGranularity::Step;
    world.configured(config).await;
    world.human_says("@A", "go").await;
    asked.wait().await;
    let cancel = world.says("@Human", "@A", stop()).await;
    world.team.get_team().await.expect("drained");
    assert!(world.records.closings()[&cancel].is_empty(), "it waits for the step");
    answer.happens();
    world.records.wait_for_turns_of("@A", 1).await;
    assert_eq!(world.records.closings()[&cancel], [Closed::Handled]);
    assert_eq!(world.records.last_returns("@A")[0].1, CallEnd::Success);
}

#[tokio::test]
async fn a_cancel_that_comes_with_the_answer_finds_nothing_to_cancel() {
    let team: Arc<std::sync::OnceLock<(ActorAddress, ActorAddress)>> = Arc::default();
    let known = Arc::clone(&team);
    let players = Players::default().plays("@A", move |_| {
        let (human, agent) = known.get().expect("known").clone();
        async move {
            human.send(&agent, stop()).expect("sent");
            text(&says("response", "@Human", "the answer"))
        }
    });
    let world = players.world().await;
    world.configured(config("@A")).await;
    let known = (world.member("@Human").await, world.member("@A").await);
    team.set(known).expect("once");
    world.human_says("@A", "go").await;
    world.records.wait_for_turns_of("@A", 2).await;
    let told: Vec<String> =
        world.records.sent_to("@Human").into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(told, ["the answer", "There is no run to cancel."]);
}

#[tokio::test]
async fn a_cancelled_conclusion_is_the_breach_that_led_to_it() {
    let asked = Moment::new();
    let (when_asked, count) = (asked.clone(), Arc::new(AtomicUsize::new(0)));
    let players = Players::default().plays("@A", move |_| {
        let (asked, first) = (when_asked.clone(), count.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            if !first {
                asked.happens();
                std::future::pending::<()>().await;
            }
            calls(&[("quick", None)])
        }
    });
    let world = players.world().await;
    let mut config = config("@A");
    config.run_usage_limits =
        RunUsageLimits { run_request_limit: Some(1), ..RunUsageLimits::default() };
    world.configured(config).await;
    world.human_says("@A", "go").await;
    asked.wait().await;
    let cancel = world.says("@Human", "@A", stop()).await;
    world.records.wait_for_turns_of("@A", 1).await;
    world.team.get_team().await.expect("drained");
    let told = world.records.sent_to("@Human");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].2.contains("@A reached its"), "{told:?}");
    assert_eq!(world.records.closings()[&cancel], [Closed::Handled]);
    let all = world.records.all();
    assert!(all.iter().any(|record| record.body::<WarningMessage>().is_some()));
    assert_eq!(errors(&world), 0);
}

#[tokio::test]
async fn the_model_can_be_told_of_its_cancelled_turn() {
    for tells in [false, true] {
        let asked = Moment::new();
        let world = hangs_once("@A", &asked).world().await;
        let mut config = config("@A");
        config.options.tell_cancelled_turns = tells;
        world.configured(config).await;
        world.human_says("@A", "one").await;
        asked.wait().await;
        world.says("@Human", "@A", stop()).await;
        world.human_says("@A", "two").await;
        world.records.wait_for_words_to("@Human", 2).await;
        let answer = &world.records.sent_to("@Human")[1].2;
        assert_eq!(answer.contains("**Cancelled**"), tells, "{answer}");
    }
}

#[tokio::test]
async fn only_people_cancel_where_the_policy_says_so() {
    let asked = Moment::new();
    let players = hangs_once("@A", &asked).plays("@B", |_| async { text(&silence()) });
    let world = players.world().await;
    let mut strict = config("@A");
    strict.options.cancelled_by = CancelPolicy::People;
    world.configured(strict).await;
    world.configured(config("@B")).await;
    world.human_says("@A", "one").await;
    asked.wait().await;
    let foreign = world.says("@B", "@A", stop()).await;
    let typed = world.says("@B", "@A", CancelMessage::default()).await;
    world.team.get_team().await.expect("drained");
    assert!(world.records.closings()[&foreign].is_empty(), "the run goes on");
    let own = world.says("@Human", "@A", stop()).await;
    world.records.wait_for_turns_of("@A", 3).await;
    let closings = world.records.closings();
    assert_eq!(closings[&own], [Closed::Handled]);
    assert_eq!(closings[&foreign], [Closed::Processed], "it gets its turn");
    assert_eq!(closings[&typed], [Closed::Processed]);
    assert_eq!(world.records.sent_to("@B")[0].2, "There is no run to cancel.");
}

#[tokio::test]
async fn an_idle_cancel_message_does_nothing() {
    let players = Players::default().plays("@A", |_| async { text(&silence()) });
    let world = players.world().await;
    world.configured(config("@A")).await;
    let cancel = world.says("@Human", "@A", CancelMessage::default()).await;
    world.records.wait_for_turns_of("@A", 1).await;
    world.team.get_team().await.expect("drained");
    assert_eq!(world.records.closings()[&cancel], [Closed::Processed]);
    assert!(world.records.sent_to("@Human").is_empty());
    assert!(world.records.conversation("@A").is_empty());
    assert_eq!(errors(&world), 0);
}

#[tokio::test]
async fn idle_and_busy_agents_know_the_same_cancels() {
    let players = Players::default().plays("@A", |input| async move {
        text(&says("response", "@Human", &last_texts(&input).join("|")))
    });
    let world = players.world().await;
    world.configured(config("@A")).await;
    world.human_says("@A", " \t/stop it now").await;
    world.records.wait_for_words_to("@Human", 1).await;
    assert_eq!(world.records.sent_to("@Human")[0].2, "There is no run to cancel.");
    world.human_says("@A", "go").await;
    world.records.wait_for_words_to("@Human", 2).await;
    let prompt = &world.records.sent_to("@Human")[1].2;
    assert!(prompt.contains("The human ran \" \t/stop it now\""), "as it was written: {prompt}");
}

#[tokio::test]
async fn a_person_who_is_gone_keeps_no_turn_from_ending() {
    let asked = Moment::new();
    let players = hangs_once("@A", &asked).plays("@B", |_| async { text(&silence()) });
    let world = players.world().await;
    world.configured(config("@A")).await;
    world.configured(config("@B")).await;
    world.says("@B", "@A", AgentMessage::new(Intent::Request, "go")).await;
    asked.wait().await;
    let human = world.member("@Human").await;
    human.stop(WAIT).await.expect("stopped");
    world.says("@B", "@A", stop()).await;
    world.records.wait_for_turns_of("@A", 1).await;
    world.team.get_team().await.expect("drained");
    assert_eq!(errors(&world), 0);
    let all = world.records.all();
    let processed = all.iter().filter(|record| record.body::<ProcessedMessage>().is_some());
    assert_eq!(processed.count(), 1);
}

#[tokio::test]
async fn stopping_an_agent_is_no_interruption_by_mail() {
    let asked = Moment::new();
    let world = hangs_once("@A", &asked).world().await;
    world.configured(config("@A")).await;
    world.human_says("@A", "one").await;
    asked.wait().await;
    let agent = world.member("@A").await;
    let grace = tokio::time::timeout(Duration::from_secs(10), agent.dismiss(WAIT));
    assert!(grace.await.expect("in time").expect("goes"));
    assert!(world.records.sent_to("@Human").is_empty(), "nobody asked for it by mail");
}
