//! What host code does with a system.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use akgentic_core::message::StartMessage;
use akgentic_core::prelude::*;
use akgentic_core::wire::{AnyValue, load_record};
use akgentic_core::{AnyConfig, SystemOptions, Timer};
use uuid::Uuid;

use crate::parts::{Member, Records, Report, WAIT, a_team, act, text};

#[tokio::test]
async fn the_system_asks_and_tells_in_the_name_of_its_listener() {
    let (system, team) = a_team().await;
    let listener = system.listener().expect("a listener");
    assert_eq!((listener.name(), listener.role()), ("@ActorSystem", "ActorSystem"));
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let answer = system.ask(member.address(), text("hello"), WAIT).await.expect("answered");
    assert_eq!(answer.as_text(), Some("hello"));
    let reply_to_sender = |ctx: &Context| {
        let message = ctx.current_message().expect("a turn");
        (message.sender.clone(), message.team_id)
    };
    let seen = act(move |_, ctx| {
        let none = ctx.current_message();
        Box::pin(async move { Ok(none.is_none()) })
    });
    assert!(member.ask(seen).await.expect("alive"), "a call is no turn");
    let message = crate::parts::step(move |ctx| {
        let (sender, team) = reply_to_sender(ctx);
        assert_eq!(team, Some(ctx.team_id()));
        let sent = ctx.send(&sender.expect("a sender"), ResultMessage { content: "yes".into() });
        Box::pin(async { Ok(sent.map(drop)?) })
    });
    let replier = crate::parts::Scripted { message, ..Default::default() }.join(&team, "@r").await;
    system.tell(replier.address(), text("anyone?")).expect("told");
    assert_eq!(system.listen(WAIT).await.expect("heard").text(), Some("yes"));

    let private = system.private().expect("an address");
    private.tell(replier.address(), text("anyone?")).expect("told");
    assert_eq!(private.listen(WAIT).await.expect("heard").text(), Some("yes"));
    private.ask(member.address(), text("x"), WAIT).await.expect("answered");
    let own = private.address().clone();
    assert_ne!(own, listener);
    drop(private);
    own.stop(WAIT).await.expect("no error");
    assert!(!own.is_alive(), "gone with the value");
    system.shutdown(WAIT).await;
    assert!(system.listener().is_none());
    assert!(matches!(system.listen(WAIT).await, Err(CallError::Dead(_))));
}

#[tokio::test]
async fn actors_are_created_by_class_path() {
    let (system, team) = a_team().await;
    let config: AnyConfig = BaseConfig::new("@m", "M").into();
    let address = system.create_actor_of("it.Member", &config, Origin::default()).expect("created");
    assert_eq!(address.info().actor_type, "it.Member");
    ActorRef::<Member>::new(&address).expect("of that type").ask(Report).await.expect("alive");
    assert_eq!(system.get_actor(address.agent_id()), Some(address.clone()));
    assert!(system.get_actor(address.agent_id()).expect("live").is_live());
    assert!(system.get_actor(Uuid::new_v4()).is_none());
    let unknown = system.create_actor_of("no.such.Class", &config, Origin::default());
    assert!(matches!(unknown, Err(CreateError::UnknownClass(class)) if class == "no.such.Class"));
    // A registered type that is no agent is no class to create from.
    let payload = system.create_actor_of("it.Counted", &config, Origin::default());
    assert!(matches!(payload, Err(CreateError::UnknownClass(_))));
    let member = team.create_actor_of("it.Member", config.clone()).await.expect("created");
    let same = team.get_children_or_create_of("it.Member", config).await.expect("found");
    assert_eq!(member, same);
    address.stop(WAIT).await.expect("stops");
    assert!(system.get_actor(address.agent_id()).is_none());
    assert_eq!(system.orchestrators().len(), 1);
}

#[tokio::test]
async fn capabilities_reach_every_actor_and_can_be_replaced() {
    #[derive(Debug, PartialEq)]
    struct Model(&'static str);
    let (system, team) = a_team().await;
    assert!(system.capability::<Model>().is_none());
    system.provide(Model("small"));
    system.provide(7_u32);
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let find = || {
        act(|_, ctx| {
            let found = ctx.system().capability::<Model>();
            Box::pin(async { Ok(found) })
        })
    };
    assert_eq!(member.ask(find()).await.expect("alive").as_deref(), Some(&Model("small")));
    system.provide(Model("large"));
    assert_eq!(member.ask(find()).await.expect("alive").as_deref(), Some(&Model("large")));
    assert_eq!(system.capability::<u32>().as_deref(), Some(&7));
}

#[tokio::test]
async fn a_listener_nobody_listens_to_keeps_the_newest() {
    let mut options = SystemOptions::default();
    options.listener_capacity = 2;
    let system = ActorSystem::with_options(options);
    let listener = system.listener().expect("a listener");
    for number in 0..5_i64 {
        listener.tell_value(number).expect("told");
    }
    listener.ask(text("last"), WAIT).await.expect("taken");
    let first = system.listen(WAIT).await.expect("heard");
    assert!(matches!(first, akgentic_core::Received::Value(AnyValue::Int(4))), "{first:?}");
    assert_eq!(system.listen(WAIT).await.expect("heard").text(), Some("last"));
    let nothing = system.listen(Duration::ZERO).await;
    assert!(matches!(nothing, Err(CallError::Timeout(_))));
}

#[tokio::test(start_paused = true)]
async fn a_timer_calls_back_once_after_a_quiet_time() {
    let fired = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fired);
    let delay = Duration::from_secs(10);
    let mut timer = Timer::new(delay, move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let passes = async |seconds| {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        fired.load(Ordering::Relaxed)
    };
    assert_eq!(passes(20).await, 0, "not armed yet");
    timer.start();
    assert_eq!(passes(9).await, 0);
    timer.start();
    assert_eq!(passes(9).await, 0, "armed anew");
    assert_eq!(passes(2).await, 1);
    assert_eq!(passes(60).await, 1, "once per arming");
    timer.task_started();
    timer.task_started();
    timer.task_completed();
    assert_eq!(passes(60).await, 1, "work is in flight");
    timer.task_completed();
    assert_eq!(passes(11).await, 2);
    timer.start();
    timer.cancel();
    assert_eq!(passes(60).await, 2);
    timer.start();
    timer.close();
    timer.start();
    assert_eq!(passes(60).await, 2, "closed for good");
    let counted = Arc::clone(&fired);
    let mut dropped = Timer::new(delay, move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    dropped.start();
    drop(dropped);
    assert_eq!(passes(60).await, 2);
}

#[tokio::test]
async fn a_copied_configuration_is_independent_and_hires() {
    let (_system, team) = a_team().await;
    let card = load_record::<AgentCard>(serde_json::json!({
        "agent_class": "it.Member", "description": "d", "config": {"role": "Dev"},
    }))
    .expect("a card");
    let mut copy = card.get_config_copy();
    copy.base_mut().name = "@Dev1".to_owned();
    assert_eq!(card.config.base().name, "", "the card is as it was");
    let config = AnyConfig::from(copy.base().clone());
    let hired = team.create_actor_of(card.agent_class.path(), config).await.expect("hired");
    assert_eq!((hired.name(), hired.role()), ("@Dev1", "Dev"));
    let records = Records::of(&team).await;
    assert!(records.all().iter().all(|record| record.body::<StartMessage>().is_none()));
}
