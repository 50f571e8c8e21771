//! Handlers that fail, and callees that do not answer.

use std::time::Duration;

use akgentic_core::message::{ErrorMessage, NotificationMessage};
use akgentic_core::prelude::*;

use crate::parts::{Gate, Member, Records, Report, Scripted, WAIT, Waiting, a_team, step, text};

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
    let records = Records::of(&team).await;
    let (hung, gate) = Waiting::member(&team, "@h").await;
    let limit = Duration::from_millis(250);
    let error = hung.address().ask(text("x"), limit).await.expect_err("hangs");
    assert!(matches!(error, CallError::Timeout(time) if time == limit));
    team.get_team().await.expect("drained");
    assert_eq!(records.classes_of("@h"), ["StartMessage", "ReceivedMessage"], "not cancelled");
    gate.open(2);
    hung.address().ask(text("y"), WAIT).await.expect("the next one is answered");
    team.get_team().await.expect("drained");
    let turn = ["ReceivedMessage", "ProcessedMessage"];
    assert_eq!(records.classes_of("@h")[1..], [turn, turn].concat(), "no trace of the late answer");
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
    let records = Records::of(&team).await;
    let gate = Gate::closed();
    let shared = gate.clone();
    // The stop entry is in the queue before the gate says that the turn runs.
    let message = step(move |ctx| {
        let gate = shared.clone();
        Box::pin(async move {
            ctx.stop_now();
            gate.pass().await;
            Ok(())
        })
    });
    let busy = Scripted { message, ..Scripted::default() }.join(&team, "@b").await;
    let address = busy.address();
    address.tell(text("stop yourself")).expect("told");
    gate.entered().await;
    let mut ask = Box::pin(address.ask(text("late"), WAIT));
    let mut value = Box::pin(address.ask_value("late", WAIT));
    assert!(
        futures_util::poll!(&mut ask).is_pending() && futures_util::poll!(&mut value).is_pending()
    );
    address.tell(text("also late")).expect("told");
    gate.open(1);
    assert!(matches!(ask.await, Err(CallError::Dead(name)) if name == "@b"));
    assert!(matches!(value.await, Err(CallError::Dead(_))));
    assert!(!address.is_alive());
    team.get_team().await.expect("drained");
    assert_eq!(
        records.classes_of("@b"),
        ["StartMessage", "ReceivedMessage", "ProcessedMessage", "HandledMessage", "StopMessage"],
        "the told message is closed, the asks leave nothing"
    );
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
    let here = team.create_actor::<Member>(BaseConfig::new("@here", "M")).await.expect("member");
    gone.address().stop(WAIT).await.expect("stops");
    let info = here.address().info().clone();
    let cases = [
        (gone.address().clone(), "@gone has stopped"),
        (here.address().to_snapshot(), "@here is a snapshot and cannot deliver"),
        (ActorAddress::stopped(info), "@here is a snapshot and cannot deliver"),
    ];
    for (number, (to, wanted)) in cases.into_iter().enumerate() {
        let name = format!("@s{number}");
        let message = step(move |ctx| {
            let sent = ctx.send(&to, text("lost"));
            Box::pin(async { Ok(sent.map(drop)?) })
        });
        let sender = Scripted { message, ..Scripted::default() }.join(&team, &name).await;
        let error = sender.address().ask(text("send"), WAIT).await.expect_err("not sent");
        let CallError::Failed(error) = error else { panic!("{error}") };
        assert_eq!((error.content_type(), error.message()), ("CallError", wanted));
        let inner = error.downcast_ref::<CallError>().expect("the error itself");
        assert_eq!(matches!(inner, CallError::Dead(_)), number == 0, "{inner:?}");
        sender.address().tell(text("send")).expect("told");
        assert!(sender.address().stop(WAIT).await.expect("alive until now"));
        team.get_team().await.expect("drained");
        let turn = ["ReceivedMessage", "ProcessedMessage"];
        let wanted = [["StartMessage"].as_slice(), &turn, &turn, &["ErrorMessage", "StopMessage"]];
        assert_eq!(records.classes_of(&name), wanted.concat());
    }
    records.assert_closed();
}

/// Panics before it is polled for the first time: its methods are no `async fn`s.
struct Eager;
agent_type!(Eager = "it.Eager");

impl Actor for Eager {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn on_start(&mut self, _: &mut Context) -> impl Future<Output = Result<(), ActorError>> + Send {
        assert_eq!(1, 2, "eagerly");
        async { Ok(()) }
    }

    fn receive(
        &mut self,
        _: std::sync::Arc<Message>,
        _: &mut Context,
    ) -> impl Future<Output = Result<Outcome, ActorError>> + Send {
        assert_eq!(1, 2, "eagerly");
        async { Ok(Outcome::done()) }
    }
}

impl Handle<Report> for Eager {
    type Reply = ();

    fn handle(
        &mut self,
        _: Report,
        _: &mut Context,
    ) -> impl Future<Output = Result<(), ActorError>> + Send {
        assert_eq!(1, 2, "eagerly");
        async { Ok(()) }
    }
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_caught_too() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let eager = team.create_actor::<Eager>(BaseConfig::new("@e", "E")).await.expect("member");
    let is_panic = |error: CallError| matches!(error, CallError::Failed(error) if error.content_type() == "Panic");
    assert!(is_panic(eager.address().wait_started(WAIT).await.expect_err("failed")));
    assert!(is_panic(eager.address().ask(text("x"), WAIT).await.expect_err("failed")));
    assert!(is_panic(eager.ask(Report).await.expect_err("failed")));
    eager.address().tell(text("x")).expect("told");
    assert!(eager.address().stop(WAIT).await.expect("stops"));
    team.get_team().await.expect("drained");
    let turn = ["ReceivedMessage", "ProcessedMessage"];
    let start = ["StartMessage", "ErrorMessage"];
    let end = ["ErrorMessage", "StopMessage"];
    assert_eq!(records.classes_of("@e"), [start, turn, turn, end].concat());
}
