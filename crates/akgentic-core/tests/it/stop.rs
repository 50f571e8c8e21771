//! How teams end.

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::message::StopMessage;
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use tokio::time::Instant;

use crate::parts::{Hire, Member, Records, Report, WAIT, Waiting, a_team, text};

fn stop_order(records: &Records) -> Vec<String> {
    records
        .all()
        .iter()
        .filter(|message| message.body::<StopMessage>().is_some())
        .filter_map(|message| Some(message.sender.as_ref()?.name().to_owned()))
        .collect()
}

/// Keeps stop messages, which are not shown to subscribers while a team stops.
async fn stops_recorded(team: &akgentic_core::ActorRef<Orchestrator>) -> Vec<String> {
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
    let grandchild =
        akgentic_core::ActorRef::<Member>::new(&child).expect("typed").ask(Hire("@g")).await;
    grandchild.expect("hired");
    assert!(parent.address().stop(WAIT).await.expect("stops"));
    assert!(!child.is_alive());
    assert_eq!(stops_recorded(&team).await, ["@g", "@c", "@p"]);
    assert!(team.get_team().await.expect("team").is_empty());
}

#[tokio::test]
async fn tool_actors_stop_last_and_one_after_the_other() {
    let (_system, team) = a_team().await;
    let stops = Records::of(&team).await;
    for name in ["#Store", "#Plan", "@a", "@b"] {
        team.create_actor::<Member>(BaseConfig::new(name, "M")).await.expect("created");
    }
    let stopping = team.begin_stop(WAIT).await.expect("asked");
    let again = team.begin_stop(WAIT).await;
    stopping.wait().await;
    assert!(again.is_ok() || matches!(again, Err(CallError::Dead(_))));
    assert!(stop_order(&stops).is_empty(), "not shown while the team stops");
    assert!(!team.address().is_alive());
    let announced =
        stops.all().iter().filter(|message| message.class_name() == "EventMessage").count();
    assert_eq!(announced, 1);
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
    for _ in 0..5 {
        let child = parent.ask(Hire("@c")).await.expect("hired");
        child.stop(WAIT).await.expect("stops");
    }
    assert_eq!(team.get_team().await.expect("team").len(), 1);
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
    let (stopped, _) = tokio::join!(stop, member.ask(Report));
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
