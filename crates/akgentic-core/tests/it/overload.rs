//! Inboxes that are full.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::SystemOptions;
use akgentic_core::message::{HandledMessage, SentMessage};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;

use crate::parts::{Member, Records, Report, WAIT, Waiting, a_team, act, text};

fn a_small_team(inbox_capacity: usize) -> (ActorSystem, ActorRef<Orchestrator>) {
    let mut options = SystemOptions::default();
    options.inbox_capacity = inbox_capacity;
    let system = ActorSystem::with_options(options);
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    (system, team)
}

/// Tells without letting the actor run; gives how many were taken.
fn fill(address: &ActorAddress) -> usize {
    (0..100).take_while(|_| address.tell(text("x")).is_ok()).count()
}

fn is_full<T>(result: Result<T, CallError>) -> bool {
    matches!(result, Err(CallError::Overloaded(name)) if name == "@b")
}

#[tokio::test]
async fn a_full_inbox_answers_at_once_and_drops_nothing() {
    let (_system, team) = a_small_team(4);
    let records = Records::of(&team).await;
    let (busy, gate) = Waiting::member(&team, "@b").await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let address = busy.address();
    address.tell(text("first")).expect("told");
    gate.entered().await;
    assert_eq!(fill(address), 4);
    assert!(is_full(address.tell(text("x"))));
    assert!(is_full(address.tell_value("x")));
    assert!(is_full(address.ask(text("x"), WAIT).await));
    assert!(is_full(address.ask_value("x", WAIT).await));
    assert!(is_full(busy.ask(Report).await));
    assert!(is_full(busy.tell(Report)));
    let to = address.clone();
    let sent = act(move |_, ctx| Box::pin(async move { Ok(ctx.send(&to, text("x")).map(drop)) }));
    assert!(is_full(member.ask(sent).await.expect("alive")));
    team.get_team().await.expect("drained");
    let about_it = |record: &&std::sync::Arc<Message>| {
        record.body::<SentMessage>().is_some() || record.body::<HandledMessage>().is_some()
    };
    assert_eq!(records.all().iter().filter(about_it).count(), 0, "a refused send is not recorded");

    assert!(address.request_stop(), "stop requests are always taken");
    gate.open(5);
    assert!(address.stop(WAIT).await.is_ok());
    team.get_team().await.expect("drained");
    let processed = records.classes_of("@b");
    let processed = processed.iter().filter(|class| **class == "ProcessedMessage").count();
    assert_eq!(processed, 5, "what was taken was handled");
}

#[tokio::test]
async fn records_reach_a_full_orchestrator() {
    let (_system, team) = a_small_team(8);
    let a = team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    let b = team.create_actor::<Member>(BaseConfig::new("@b", "B")).await.expect("member");
    a.ask(Report).await.expect("started");
    b.ask(Report).await.expect("started");
    team.get_team().await.expect("drained");
    assert_eq!(fill(team.address()), 8);
    // The orchestrator cannot run until the next await.
    let sent = a.address().send(b.address(), text("recorded")).expect("sent");
    assert!(matches!(team.get_team().await, Err(CallError::Overloaded(_))));
    b.ask(Report).await.expect("handled");
    let records = team.get_messages(HistoryFilter::default()).await.expect("records");
    let found = records.iter().filter_map(|record| record.body::<SentMessage>());
    assert_eq!(found.filter(|record| record.message.id == sent.id).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_team_stops_although_its_orchestrator_is_overloaded() {
    let (system, team) = a_small_team(4);
    team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    team.create_actor::<Member>(BaseConfig::new("#t", "T")).await.expect("member");
    assert!(fill(team.address()) >= 4);
    assert!(matches!(team.get_team().await, Err(CallError::Overloaded(_))));
    let begun = tokio::time::Instant::now();
    team.stop(WAIT).await.expect("stops");
    assert!(begun.elapsed() < Duration::from_secs(1), "in order, not by its grace");
    assert!(system.shutdown(WAIT).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_grace_reaches_a_full_orchestrator() {
    let (system, team) = a_small_team(4);
    let (hung, gate) = Waiting::member(&team, "@b").await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let change = act(|this, _| {
        Box::pin(async {
            this.seen.texts.push("to publish at the stop".to_owned());
            Ok(())
        })
    });
    member.ask(change).await.expect("alive");
    hung.address().tell(text("hang")).expect("told");
    gate.entered().await;
    // A subscriber keeps the orchestrator busy from the moment its first member stops.
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let (tell_busy, busy) = tokio::sync::oneshot::channel();
    let tell_busy = Mutex::new(Some(tell_busy));
    let stuck = move |record: &Arc<Message>| {
        if record.class_name() == "StateChangedMessage"
            && let Some(tell_busy) = tell_busy.lock().expect("whole").take()
        {
            let _told = tell_busy.send(()).is_ok();
            let _end = released.lock().expect("whole").recv_timeout(WAIT).is_err();
        }
    };
    team.subscribe(Arc::new(stuck)).await.expect("subscribed");
    let grace = Duration::from_millis(200);
    let stopped = team.clone();
    let mut stopping = tokio::spawn(async move { stopped.stop(grace).await });
    busy.await.expect("a member stops");
    assert!(fill(team.address()) <= 4);
    // The grace passes while the orchestrator can neither run nor take anything.
    assert!(tokio::time::timeout(grace * 3, &mut stopping).await.is_err(), "it is stuck");
    assert!(matches!(team.get_team().await, Err(CallError::Overloaded(_))));
    drop(release);
    stopping.await.expect("no panic").expect("the team is down");
    assert!(!team.address().is_alive());
    gate.open(1);
    system.shutdown(WAIT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_block_starve_nobody() {
    let (system, team) = a_team().await;
    let mut release = Vec::new();
    let mut blocked = Vec::new();
    for name in ["@1", "@2", "@3", "@4", "@5"] {
        let member = team.create_actor::<Member>(BaseConfig::new(name, "M")).await.expect("member");
        let (open, wait) = std::sync::mpsc::channel::<()>();
        release.push(open);
        let block = act(move |_, _| {
            Box::pin(async move {
                let block = move || wait.recv_timeout(WAIT).is_err();
                let blocking = tokio::task::spawn_blocking(block).await;
                blocking.map_err(|error| ActorError::new("RuntimeError", error.to_string()))
            })
        });
        blocked.push(tokio::spawn(async move { member.ask(block).await }));
    }
    let free = team.create_actor::<Member>(BaseConfig::new("@free", "M")).await.expect("member");
    free.address().ask(text("hello"), WAIT).await.expect("answers meanwhile");
    assert!(blocked.iter().all(|call| !call.is_finished()), "they still block");
    drop(release);
    for call in blocked {
        assert!(call.await.expect("no panic").expect("answered"));
    }
    system.shutdown(WAIT).await;
}

/// Answers every message, for ever.
struct Chatter;
agent_type!(Chatter = "it.Chatter");

impl Actor for Chatter {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, message, ctx| {
            Box::pin(async move {
                let to = message.sender.clone().expect("a sender");
                ctx.send(&to, UserMessage { content: "again".into() })?;
                Ok(Outcome::done())
            })
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_wait_for_an_orchestrator_that_is_behind_and_the_team_still_stops() {
    let (system, team) = a_team().await;
    let slow = |_: &Arc<Message>| {
        // A subscriber that takes its time, as a disk does.
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_micros(50) {
            std::hint::spin_loop();
        }
    };
    team.subscribe(Arc::new(slow)).await.expect("subscribed");
    let a = team.create_actor::<Chatter>(BaseConfig::new("@a", "A")).await.expect("member");
    let b = team.create_actor::<Chatter>(BaseConfig::new("@b", "B")).await.expect("member");
    a.address().send(b.address(), UserMessage { content: "go".into() }).expect("sent");
    let recorded = |count| {
        let team = team.clone();
        async move {
            while team.get_messages(HistoryFilter::default()).await.map_or(0, |all| all.len())
                < count
            {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(WAIT, recorded(5_000)).await.expect("it goes on");
    let begun = std::time::Instant::now();
    team.stop(std::time::Duration::from_secs(2)).await.expect("it stops");
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    system.shutdown(WAIT).await;
}
