//! Handlers that fail, and callees that do not answer.

use std::time::Duration;

use akgentic_core::message::{ErrorMessage, NotificationMessage};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_core::{ActorRef, SystemOptions};

use crate::parts::{Member, Records, Report, WAIT, Waiting, a_team, text};

#[tokio::test]
async fn a_panic_ends_the_turn_and_nothing_else() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    member.address().tell(text("panic in the handler")).expect("told");
    member.address().tell(text("after")).expect("told");
    let (texts, _) = member.ask(Report).await.expect("alive");
    assert_eq!(texts, ["panic in the handler", "after"]);
    team.get_team().await.expect("drained");
    assert_eq!(
        records.classes_of("@m"),
        [
            "StartMessage",
            "StateChangedMessage",
            "ReceivedMessage",
            "StateChangedMessage",
            "ProcessedMessage",
            "ErrorMessage",
            "ReceivedMessage",
            "ProcessedMessage",
            "StateChangedMessage",
        ]
    );
    let all = records.all();
    let error = all.iter().find_map(|message| message.body::<ErrorMessage>()).expect("an error");
    assert_eq!(error.notification.content, "in the handler");
    assert_eq!(error.notification.content_type.as_deref(), Some("Panic"));
    assert!(error.notification.current_message.is_some());
}

#[tokio::test]
async fn an_asked_failure_goes_to_the_asker_and_closes_the_turn() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let error = member.address().ask(text("fail badly"), WAIT).await.expect_err("fails");
    let CallError::Failed(error) = error else { panic!("{error}") };
    assert_eq!((error.content_type(), error.message()), ("ValueError", "badly"));
    member.ask(Report).await.expect("alive");
    team.get_team().await.expect("drained");
    let classes = records.classes_of("@m");
    assert_eq!(classes.last(), Some(&"ProcessedMessage"));
    assert!(!classes.contains(&"ErrorMessage"));
}

#[tokio::test]
async fn a_dead_callee_is_dead_for_every_kind_of_call() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    assert!(member.address().stop(WAIT).await.expect("stops"));
    let address = member.address();
    assert!(!address.is_alive());
    assert!(matches!(address.tell(text("x")), Err(CallError::Dead(_))));
    assert!(matches!(address.ask(text("x"), WAIT).await, Err(CallError::Dead(_))));
    assert!(matches!(member.ask(Report).await, Err(CallError::Dead(_))));
    assert!(matches!(member.tell(Report), Err(CallError::Dead(_))));
    assert!(matches!(ActorRef::<Member>::new(address), Err(CallError::Dead(_))));
    assert!(!address.stop(WAIT).await.expect("no error"), "it was down already");
    assert!(matches!(address.to_snapshot().tell(text("x")), Err(CallError::NotDeliverable(_))));
}

#[tokio::test(start_paused = true)]
async fn a_hung_callee_times_out_and_its_late_answer_is_dropped() {
    let (_system, team) = a_team().await;
    let hung = team.create_actor::<Waiting>(BaseConfig::new("@h", "H")).await.expect("hung");
    let limit = Duration::from_millis(250);
    let error = hung.address().ask(text("x"), limit).await.expect_err("hangs");
    assert!(matches!(error, CallError::Timeout(time) if time == limit));
}

#[tokio::test]
async fn a_wrong_typed_callee_is_told_apart() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let error = ActorRef::<Waiting>::new(member.address()).expect_err("another type");
    assert_eq!(error.to_string(), "@m is a it.Member, not a it.Waiting");
    let error = team
        .get_children_or_create::<Waiting>(BaseConfig::new("@m", "M"))
        .await
        .expect_err("taken");
    assert!(error.to_string().contains("not a it.Waiting"), "{error}");
}

#[tokio::test]
async fn an_ask_that_waits_behind_a_stop_is_answered_dead() {
    let (_system, team) = a_team().await;
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    let shared = std::sync::Arc::clone(&gate);
    let busy = team
        .create_actor_with(BaseConfig::new("@b", "B"), |_| Ok(Waiting { gate: shared }))
        .await
        .expect("busy");
    busy.address().tell(text("wait")).expect("told");
    busy.address().request_stop();
    // The stop request runs first and enqueues the stop itself behind this ask's message.
    let address = busy.address().clone();
    let ask = tokio::spawn(async move { address.ask(text("late"), WAIT).await });
    gate.notify_one();
    gate.notify_one();
    let answer = ask.await.expect("no panic");
    assert!(matches!(answer, Ok(_) | Err(CallError::Dead(_))), "{answer:?}");
}

#[tokio::test]
async fn a_full_inbox_answers_at_once_and_drops_nothing() {
    let mut options = SystemOptions::default();
    options.inbox_capacity = 4;
    let system = ActorSystem::with_options(options);
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    let shared = std::sync::Arc::clone(&gate);
    let busy = team
        .create_actor_with(BaseConfig::new("@b", "B"), |_| Ok(Waiting { gate: shared }))
        .await
        .expect("busy");
    let sent = (0..50).take_while(|_| busy.address().tell(text("x")).is_ok()).count();
    assert!((4..=5).contains(&sent), "{sent} taken");
    assert!(matches!(busy.address().tell(text("x")), Err(CallError::Overloaded(_))));
    assert!(busy.address().request_stop(), "stop requests are always taken");
    for _ in 0..sent {
        gate.notify_one();
        tokio::task::yield_now().await;
    }
    let gate_for_rest = std::sync::Arc::clone(&gate);
    let feeder = tokio::spawn(async move {
        loop {
            gate_for_rest.notify_one();
            tokio::task::yield_now().await;
        }
    });
    assert!(busy.address().stop(WAIT).await.is_ok());
    feeder.abort();
    let records = team.get_messages(HistoryFilter::default()).await.expect("records");
    let processed = records.iter().filter(|message| message.class_name() == "ProcessedMessage");
    assert_eq!(processed.count(), sent, "what was taken was handled");
}

#[tokio::test]
async fn a_failing_constructor_goes_to_the_creator_and_leaves_no_trace() {
    let (_system, team) = a_team().await;
    let error = team
        .create_actor::<Member>(BaseConfig::new("@m", "Unbuildable"))
        .await
        .expect_err("cannot be built");
    assert!(error.to_string().contains("cannot be built"), "{error}");
    assert!(team.get_team().await.expect("team").is_empty());
}

#[tokio::test]
async fn a_failing_start_is_reported_and_told_to_who_waits_for_it() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let error = team
        .create_and_wait::<Member>(BaseConfig::new("@m", "Unstartable"))
        .await
        .expect_err("cannot start");
    assert_eq!(error.to_string(), "@m did not start: cannot start");
    let member = team.get_team_member("@m").await.expect("asked").expect("still a member");
    member.ask(text("hello"), WAIT).await.expect("serves its inbox all the same");
    team.get_team().await.expect("drained");
    let all = records.all();
    let failed = all.iter().find_map(|message| message.body::<NotificationMessage>());
    assert_eq!(failed.expect("recorded").content, "cannot start");
}

#[tokio::test]
async fn a_send_that_cannot_be_delivered_leaves_no_open_entry() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let gone = team.create_actor::<Member>(BaseConfig::new("@gone", "M")).await.expect("member");
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let roster_entry = gone.address().clone();
    gone.address().stop(WAIT).await.expect("stops");
    assert!(!roster_entry.is_alive());
    member.address().tell(text("forward @m")).expect("told");
    member.ask(Report).await.expect("alive");
    member.ask(Report).await.expect("alive");
    team.get_team().await.expect("drained");
    records.assert_closed();
}
