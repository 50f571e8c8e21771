//! From construction to the last word.

use std::sync::{Arc, Mutex};

use akgentic_core::message::{ErrorMessage, StartMessage};
use akgentic_core::prelude::*;
use akgentic_core::wire::AnyValue;
use uuid::Uuid;

use crate::parts::{Gate, Member, Records, Report, Scripted, WAIT, a_team, act, step, text};

#[tokio::test]
async fn entries_wait_for_the_start_to_end() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let gate = Gate::closed();
    let shared = gate.clone();
    let start = step(move |ctx| {
        let gate = shared.clone();
        Box::pin(async move {
            gate.pass().await;
            ctx.notify_event("started");
            Ok(())
        })
    });
    let slow = Scripted { start, ..Scripted::default() }.join(&team, "@slow").await;
    gate.entered().await;
    slow.address().tell(text("early")).expect("told");
    let mut ask = Box::pin(slow.address().ask(text("early too"), WAIT));
    let mut started = Box::pin(slow.address().wait_started(WAIT));
    for _ in 0..50 {
        tokio::task::yield_now().await;
        assert!(futures_util::poll!(&mut ask).is_pending());
        assert!(futures_util::poll!(&mut started).is_pending());
    }
    gate.open(1);
    started.await.expect("started");
    ask.await.expect("answered");
    team.get_team().await.expect("drained");
    let turn = ["ReceivedMessage", "ProcessedMessage"];
    let start = ["StartMessage", "EventMessage"];
    assert_eq!(records.classes_of("@slow"), [start, turn, turn].concat());
}

#[tokio::test]
async fn a_failing_or_panicking_on_stop_is_recorded_and_the_actor_goes() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let fails = step(|_| Box::pin(async { Err(ActorError::new("ValueError", "not yet")) }));
    let panics = step(|_| Box::pin(async { panic!("never") }));
    for (name, stop, kind, content) in
        [("@f", fails, "ValueError", "not yet"), ("@p", panics, "Panic", "never")]
    {
        let actor = Scripted { stop, ..Scripted::default() }.join(&team, name).await;
        assert!(actor.address().stop(WAIT).await.expect("stops"));
        assert!(!actor.address().is_alive());
        team.get_team().await.expect("drained");
        assert_eq!(records.classes_of(name), ["StartMessage", "ErrorMessage", "StopMessage"]);
        let all = records.all();
        let error = all.iter().rev().find_map(|record| record.body::<ErrorMessage>());
        let error = &error.expect("an error").notification;
        assert_eq!((error.content_type.as_deref(), error.content.as_str()), (Some(kind), content));
        assert!(error.current_message.is_none());
    }
    assert!(team.get_team().await.expect("team").is_empty());
}

#[tokio::test]
async fn names_and_roles_have_defaults_and_ids_can_be_chosen() {
    let (system, team) = a_team().await;
    let (agent_id, team_id) = (Uuid::new_v4(), Uuid::new_v4());
    let origin = Origin { agent_id: Some(agent_id), team_id: Some(team_id), ..Origin::default() };
    let member =
        system.create_actor::<Member>(BaseConfig::default(), origin.clone()).expect("created");
    let address = member.address();
    assert_eq!((address.agent_id(), address.team_id()), (agent_id, team_id));
    assert_eq!(address.name(), format!("Member (urn:uuid:{agent_id})"));
    assert_eq!(address.role(), "Member");
    assert!(address.squad_id().is_some(), "a squad of its own");
    let config = act(|_, ctx| {
        let base = ctx.config().base().clone();
        Box::pin(async { Ok(base) })
    });
    let config = member.ask(config).await.expect("alive");
    assert_eq!((config.name.as_str(), config.role.as_str()), (address.name(), "Member"));
    assert_eq!(config.squad_id, address.squad_id());

    let again = system.create_actor::<Member>(BaseConfig::new("@x", "X"), origin.clone());
    let error = again.expect_err("an actor with this id runs");
    assert!(matches!(error, CreateError::Running(name) if name == "@x"));
    assert_eq!(system.get_actor(agent_id).expect("runs").name(), address.name());

    let child_id = Uuid::new_v4();
    let hire = move |_: &mut Member, ctx: &mut Context| {
        ctx.create_actor_as::<Member>(child_id, BaseConfig::default())
            .map(|child| child.address().clone())
    };
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("member");
    let child = act(move |this, ctx| {
        let child = hire(this, ctx);
        Box::pin(async { Ok(child?) })
    });
    let child = parent.ask(child).await.expect("hired");
    assert_eq!(child.agent_id(), child_id);
    assert_eq!(child.squad_id(), parent.address().squad_id(), "falls back to the parent's");
    let again = act(move |this, ctx| {
        let again = hire(this, ctx).map(drop);
        Box::pin(async { Ok(again) })
    });
    let refused = parent.ask(again).await.expect("alive");
    assert!(matches!(refused, Err(CreateError::Running(_))));
    team.get_team().await.expect("drained");
    let children = act(|_, ctx| {
        let count = ctx.children().len();
        Box::pin(async move { Ok(count) })
    });
    assert_eq!(parent.ask(children).await.expect("alive"), 1);

    // The id is free again when its actor is gone.
    address.stop(WAIT).await.expect("stops");
    system.create_actor::<Member>(BaseConfig::default(), origin).expect("created again");
}

#[tokio::test]
async fn a_member_that_starts_again_under_its_id_is_a_member_again() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let id = Uuid::new_v4();
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("member");
    team.create_actor::<Member>(BaseConfig::new("@z", "Z")).await.expect("member");
    let hire = |name: &'static str| {
        act(move |_, ctx| {
            let child = ctx.create_actor_as::<Member>(id, BaseConfig::new(name, "C"));
            Box::pin(async { Ok(child?.address().clone()) })
        })
    };
    let names = async || -> Vec<String> {
        let members = team.get_team().await.expect("team");
        members.iter().map(|member| member.name().to_owned()).collect()
    };
    let first = parent.ask(hire("@old")).await.expect("hired");
    assert_eq!(names().await, ["@p", "@z", "@old"]);
    first.stop(WAIT).await.expect("stops");
    assert_eq!(names().await, ["@p", "@z"]);
    let second = parent.ask(hire("@new")).await.expect("hired again");
    assert_eq!(names().await, ["@p", "@z", "@new"]);
    assert!(team.get_team_member("@old").await.expect("asked").is_none());
    let member = team.get_team_member("@new").await.expect("asked").expect("a member");
    assert!(member.is_alive());
    assert_eq!((&member, first.is_alive()), (&second, false));
    assert!(matches!(first.tell(text("x")), Err(CallError::Dead(_))), "its first life is over");
    let all = records.all();
    let starts = all.iter().filter(|record| record.body::<StartMessage>().is_some());
    assert_eq!(starts.filter(|start| start.sender.as_ref() == Some(&second)).count(), 2);
}

#[tokio::test]
async fn values_that_are_no_messages_have_no_turn() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let seen = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&seen);
    let message = step(move |_| {
        *counted.lock().expect("lock") += 1;
        Box::pin(async { Ok(()) })
    });
    let actor = Scripted { message, ..Scripted::default() }.join(&team, "@s").await;
    actor.address().tell_value("nobody handles this").expect("told");
    let answer = actor.address().ask_value(7_i64, WAIT).await.expect("no error");
    assert_eq!(answer, AnyValue::Null);
    // A message nobody handles is no error either, and its turn is closed.
    let answer = actor.address().ask(CancelMessage::default(), WAIT).await.expect("no error");
    assert_eq!(answer, AnyValue::Null);
    actor.address().stop(WAIT).await.expect("stops");
    team.get_team().await.expect("drained");
    assert_eq!(
        records.classes_of("@s"),
        ["StartMessage", "ReceivedMessage", "ProcessedMessage", "StopMessage"]
    );
    assert_eq!(*seen.lock().expect("lock"), 0);
}

#[tokio::test]
async fn a_failing_typed_tell_leaves_one_error_and_no_checkpoint() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    member.ask(Report).await.expect("started");
    team.get_team().await.expect("drained");
    let records = Records::of(&team).await;
    let fails = || {
        act(|this, _| {
            this.seen.texts.push("changed".to_owned());
            Box::pin(async { Err::<(), _>(ActorError::new("ValueError", "lost")) })
        })
    };
    member.tell(fails()).expect("told");
    let error = member.ask(fails()).await.expect_err("failed");
    assert!(matches!(error, CallError::Failed(error) if error.message() == "lost"));
    team.get_team().await.expect("drained");
    assert_eq!(records.classes_of("@m"), ["ErrorMessage"], "of the call nobody waits for");
}
