//! How teams end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::message::StopMessage;
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use tokio::time::Instant;

use crate::parts::{
    Gate, Hire, Member, Records, Report, Scripted, WAIT, Waiting, a_team, act, step, text,
};

/// Who stopped, in order, from the records.
async fn stops_recorded(team: &ActorRef<Orchestrator>) -> Vec<String> {
    let records = team.get_messages(HistoryFilter::default()).await.expect("records");
    records
        .iter()
        .filter(|message| message.body::<StopMessage>().is_some())
        .filter_map(|message| Some(message.sender.as_ref()?.name().to_owned()))
        .collect()
}

#[tokio::test]
async fn a_child_is_down_before_its_parent_says_so() {
    let (_system, team) = a_team().await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    let child = parent.ask(Hire("@c")).await.expect("hired");
    let grandchild = ActorRef::<Member>::new(&child).expect("typed").ask(Hire("@g")).await;
    grandchild.expect("hired");
    assert!(parent.address().stop(WAIT).await.expect("stops"));
    assert!(!child.is_alive());
    assert_eq!(stops_recorded(&team).await, ["@g", "@c", "@p"]);
    assert!(team.get_team().await.expect("team").is_empty());
}

#[tokio::test]
async fn children_stop_in_the_order_they_were_made() {
    let (_system, team) = a_team().await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    for name in ["@first", "@second", "@third"] {
        parent.ask(Hire(name)).await.expect("hired");
    }
    assert!(parent.address().stop(WAIT).await.expect("stops"));
    assert_eq!(stops_recorded(&team).await, ["@first", "@second", "@third", "@p"]);
}

#[tokio::test]
async fn tool_actors_stop_last_and_one_after_the_other() {
    let (_system, team) = a_team().await;
    let stops = Records::of(&team).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    for name in ["#Store", "@a", "#Plan", "@b", "#Last"] {
        let order = Arc::clone(&order);
        let stop = step(move |ctx| {
            let (order, name) = (Arc::clone(&order), ctx.name().to_owned());
            Box::pin(async move {
                order.lock().expect("lock").push(format!("{name} begins"));
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                order.lock().expect("lock").push(format!("{name} ends"));
                Ok(())
            })
        });
        Scripted { stop, ..Scripted::default() }.join(&team, name).await;
    }
    let stopping = team.begin_stop(WAIT).await.expect("asked");
    let again = team.begin_stop(WAIT).await.expect("a second request joins the first");
    assert!(!stopping.is_stopped() && !again.is_stopped());
    stopping.wait().await;
    assert!(again.is_stopped());
    assert_eq!(
        *order.lock().expect("lock"),
        [
            "@b begins",
            "@a begins",
            "@b ends",
            "@a ends",
            "#Last begins",
            "#Last ends",
            "#Plan begins",
            "#Plan ends",
            "#Store begins",
            "#Store ends",
        ]
    );
    let shown = stops.all();
    let count = |class| shown.iter().filter(|message| message.class_name() == class).count();
    assert_eq!(count("StopMessage"), 0, "not shown while the team stops");
    assert_eq!(count("EventMessage"), 1, "announced once");
    assert!(!team.address().is_alive());
    team.stop(WAIT).await.expect("a team that is down is no error");
}

#[tokio::test(start_paused = true)]
async fn children_that_come_while_the_team_stops_go_with_it() {
    let (system, team) = a_team().await;
    let gate = Gate::closed();
    let shared = gate.clone();
    // What was queued before the stop is handled first, and hires.
    let message = step(move |ctx| {
        let gate = shared.clone();
        Box::pin(async move {
            gate.pass().await;
            let team = ctx.team()?;
            for name in ["@late", "#Late"] {
                team.create_actor::<Member>(BaseConfig::new(name, "L")).await?;
            }
            team.get_children_or_create::<Member>(BaseConfig::new("#Other", "L")).await?;
            ctx.create_actor::<Member>(BaseConfig::new("@child", "L"))?;
            ctx.stop_now();
            Ok(())
        })
    });
    let hiring = Scripted { message, ..Scripted::default() }.join(&team, "@h").await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("member");
    hiring.address().tell(text("hire")).expect("told");
    let shared = gate.clone();
    let pass = act(move |_, _| {
        Box::pin(async move {
            shared.pass().await;
            Ok(())
        })
    });
    parent.tell(pass).expect("told");
    gate.entered().await;
    gate.entered().await;
    let begun = Instant::now();
    let stopping = team.begin_stop(WAIT).await.expect("asked");
    // This one comes after its parent has stopped its children and before it is down.
    parent.tell(Hire("@later")).expect("told");
    gate.open(2);
    stopping.wait().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(system.stat().agent_count, 1, "nobody but the listener is left");
}

#[tokio::test]
async fn a_second_stop_request_succeeds_with_the_first() {
    let (_system, team) = a_team().await;
    let (busy, gate) = Waiting::member(&team, "@b").await;
    busy.address().tell(text("x")).expect("told");
    gate.entered().await;
    let mut first = Box::pin(busy.address().stop(WAIT));
    let mut second = Box::pin(busy.address().stop(WAIT));
    assert!(futures_util::poll!(&mut first).is_pending());
    assert!(futures_util::poll!(&mut second).is_pending());
    gate.open(1);
    assert!(first.await.expect("stopped"));
    assert!(second.await.expect("was being stopped"));
    assert!(!busy.address().stop(WAIT).await.expect("no error"), "now it is down");
    assert!(!busy.address().request_stop());
    assert_eq!(stops_recorded(&team).await, ["@b"]);
}

#[tokio::test]
async fn telling_children_to_stop_does_not_wait_and_keeps_the_list() {
    let (_system, team) = a_team().await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    for name in ["@c", "@d"] {
        parent.ask(Hire(name)).await.expect("hired");
    }
    let told = parent
        .ask(act(|_, ctx| {
            ctx.tell_children_to_stop();
            let children = ctx.children();
            Box::pin(async { Ok(children) })
        }))
        .await
        .expect("told");
    assert_eq!(told.iter().map(ActorAddress::name).collect::<Vec<_>>(), ["@c", "@d"]);
    for child in told {
        // It was told before; this waits for it.
        child.stop(WAIT).await.expect("stops");
    }
    assert!(children_of(&parent).await.is_empty());
    assert!(parent.address().is_alive());
    assert_eq!(stops_recorded(&team).await, ["@c", "@d"]);
}

async fn children_of(parent: &ActorRef<Member>) -> Vec<String> {
    let names = act(|_, ctx| {
        let names = ctx.children().iter().map(|child| child.name().to_owned()).collect();
        Box::pin(async { Ok(names) })
    });
    parent.ask(names).await.expect("alive")
}

#[tokio::test]
async fn what_is_queued_is_handled_before_a_member_stops() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    for number in 0..20 {
        member.address().tell(text(&number.to_string())).expect("told");
    }
    member.address().stop(WAIT).await.expect("stops");
    let records = team.get_messages(HistoryFilter::default()).await.expect("records");
    let processed = records.iter().filter(|message| message.class_name() == "ProcessedMessage");
    assert_eq!(processed.count(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_team_with_a_wedged_member_ends_at_its_grace() {
    let (system, team) = a_team().await;
    let wedged = team.create_actor::<Waiting>(BaseConfig::new("@w", "W")).await.expect("wedged");
    team.create_actor::<Member>(BaseConfig::new("#Tool", "T")).await.expect("tool");
    wedged.address().tell(text("hang")).expect("told");
    let grace = Duration::from_secs(5);
    let begun = Instant::now();
    team.stop(grace).await.expect("ends");
    let took = begun.elapsed();
    assert!(took >= grace && took < grace + Duration::from_secs(1), "{took:?}");
    assert!(wedged.address().is_alive(), "left running");
    let abandoned = system.shutdown(Duration::from_secs(1)).await;
    assert_eq!(abandoned, ["@w"]);
}

#[tokio::test(start_paused = true)]
async fn stopping_a_parent_of_a_hung_child_is_bounded() {
    let mut options = akgentic_core::SystemOptions::default();
    options.stop_timeout = Duration::from_secs(2);
    let system = ActorSystem::with_options(options);
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    let child = parent.ask(Hire("@c")).await.expect("hired");
    child.tell(text("block")).expect("told");
    assert!(parent.address().stop(Duration::from_secs(10)).await.expect("stops without its child"));
    assert!(child.is_alive());
}

#[tokio::test]
async fn a_parent_forgets_children_that_stopped() {
    let (_system, team) = a_team().await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    parent.ask(Hire("@stays")).await.expect("hired");
    for _ in 0..5 {
        let child = parent.ask(Hire("@c")).await.expect("hired");
        assert_eq!(children_of(&parent).await, ["@stays", "@c"]);
        child.stop(WAIT).await.expect("stops");
        assert_eq!(children_of(&parent).await, ["@stays"]);
    }
    assert_eq!(team.get_team().await.expect("team").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_is_down_at_once_is_forgotten_too() {
    let (_system, team) = a_team().await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    let hire = act(|_, ctx| {
        Box::pin(async {
            for _ in 0..500 {
                let start = step(|ctx| {
                    ctx.stop_now();
                    Box::pin(async { Ok(()) })
                });
                let short = Scripted { start, ..Scripted::default() };
                let child = ctx.create_actor_with(BaseConfig::new("@c", "C"), move |_| Ok(short));
                // It may be down before its typed address is made.
                assert!(
                    child.is_ok() || matches!(child, Err(CreateError::Call(CallError::Dead(_))))
                );
            }
            Ok(())
        })
    });
    parent.ask(hire).await.expect("hired");
    while !children_of(&parent).await.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn shutdown_ends_every_team_and_the_listener() {
    let system = ActorSystem::new();
    for _ in 0..3 {
        let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
        team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    }
    assert_eq!(system.stat().orchestrator_count, 3);
    assert_eq!(system.stat().agent_count, 7);
    assert!(system.shutdown(WAIT).await.is_empty());
    assert_eq!(system.stat().agent_count, 0);
}

#[tokio::test]
async fn a_listener_that_gave_up_takes_nothing() {
    let system = ActorSystem::new();
    let listener = system.listener().expect("a listener");
    let short = Duration::from_millis(5);
    assert!(matches!(system.listen(short).await, Err(CallError::Timeout(_))));
    listener.tell(text("one")).expect("told");
    assert_eq!(system.listen(WAIT).await.expect("heard").text(), Some("one"));
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn member_asks_while_it_stops_fail_at_once() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let stop = member.address().stop(WAIT);
    let (stopped, answer) = tokio::join!(stop, member.ask(Report));
    assert!(answer.is_ok(), "it was queued before the stop itself: {answer:?}");
    assert!(stopped.expect("stops"));
    let shared = Arc::new(member);
    assert!(matches!(shared.ask(Report).await, Err(CallError::Dead(_))));
}

#[tokio::test]
async fn a_dismissed_member_leaves_its_mail_and_closes_it() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let busy = team.create_actor::<Waiting>(BaseConfig::new("@b", "B")).await.expect("busy");
    let sender = team.create_actor::<Member>(BaseConfig::new("@s", "S")).await.expect("sender");
    for _ in 0..5 {
        sender.address().ask(text("forward @b"), WAIT).await.expect("sent");
    }
    let short = Duration::from_millis(50);
    assert!(matches!(busy.address().dismiss(short).await, Err(CallError::Timeout(_))));
    team.get_team().await.expect("drained");
    let handled =
        records.all().iter().filter(|record| record.class_name() == "HandledMessage").count();
    assert_eq!(handled, 4, "all but the one whose turn runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_kept_for_one() {
    let (_system, team) = a_team().await;
    assert!(team.reserve_name("@a").await.expect("asked"));
    assert!(!team.reserve_name("@a").await.expect("asked"));
    team.release_name("@a").await.expect("released");
    assert!(team.reserve_name("@a").await.expect("asked"));
    team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    team.get_team().await.expect("drained");
    assert!(!team.reserve_name("@a").await.expect("asked"), "now it is a member's");
    let numbered = (0..20).map(|_| {
        let team = team.clone();
        tokio::spawn(async move { team.reserve_numbered_name("@Dev", 998).await.expect("a name") })
    });
    let mut names = Vec::new();
    for name in numbered {
        names.push(name.await.expect("no panic"));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20);
}
