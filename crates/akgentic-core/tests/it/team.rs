//! Rosters, catalogues, records and who may read them.

use std::sync::Arc;

use akgentic_core::message::{EventMessage, SentMessage, StartMessage};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_core::wire::{AnyValue, WireType as _};

use crate::parts::{Hire, Member, Records, Report, WAIT, Waiting, a_team, act, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_creators_of_one_tool_actor_get_the_same_one() {
    let (_system, team) = a_team().await;
    let racers = (0..50).map(|_| {
        let team = team.clone();
        tokio::spawn(async move {
            let config = BaseConfig::new("#Tool", "ToolActor");
            team.get_children_or_create::<Member>(config)
                .await
                .expect("a tool")
                .address()
                .agent_id()
        })
    });
    let mut ids = Vec::new();
    for racer in racers {
        ids.push(racer.await.expect("no panic"));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(team.get_team().await.expect("team").len(), 1);
}

#[tokio::test]
async fn members_inherit_and_stamp() {
    let system = ActorSystem::new();
    let (user_id, user_email) = (Some("u1".to_owned()), Some("u1@example.org".to_owned()));
    let origin =
        Origin { user_id: user_id.clone(), user_email: user_email.clone(), ..Origin::default() };
    let team = system.create_team(BaseConfig::default(), origin).expect("a team");
    let records = Records::of(&team).await;
    team.create_actor::<Member>(BaseConfig::new("@b", "B")).await.expect("member");
    let a = team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    let message = Message::new(text("forward @b"));
    let id = message.id;
    a.address().tell(message).expect("told");
    a.ask(Report).await.expect("handled");
    team.get_team().await.expect("drained");
    let all = records.all();
    let sent = all.iter().find_map(|message| message.body::<SentMessage>()).expect("sent");
    assert_eq!(sent.message.parent_id, Some(id));
    assert_eq!(sent.message.sender.as_ref(), Some(a.address()));
    assert_eq!(sent.message.team_id, Some(team.address().team_id()));
    assert_eq!(sent.recipient.name(), "@b");
    assert!(!sent.recipient.is_live(), "subscribers get snapshots");
    assert!(!sent.message.sender.as_ref().expect("a sender").is_live());
    assert_eq!(a.address().squad_id(), team.address().squad_id());
    let child = a.ask(Hire("@c")).await.expect("hired");
    let child = ActorRef::<Member>::new(&child).expect("typed");
    for member in [a, child] {
        let user = act(|_, ctx| {
            let user = (ctx.user_id().map(str::to_owned), ctx.user_email().map(str::to_owned));
            Box::pin(async { Ok(user) })
        });
        assert_eq!(member.ask(user).await.expect("alive"), (user_id.clone(), user_email.clone()));
        assert_eq!(member.address().team_id(), team.address().team_id());
    }
}

#[tokio::test]
async fn records_are_found_by_type_and_sender() {
    let (_system, team) = a_team().await;
    let a = team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    let b = team.create_actor::<Member>(BaseConfig::new("@b", "B")).await.expect("member");
    a.address().ask(text("event one"), WAIT).await.expect("handled");
    b.address().ask(text("event two"), WAIT).await.expect("handled");
    let of_a = team.get_events(Some(a.address().agent_id()), None).await.expect("events");
    assert_eq!(of_a.len(), 1);
    let event = of_a[0].body::<EventMessage>().expect("an event");
    assert!(matches!(&event.event, AnyValue::Text(text) if text == "one"));
    assert_eq!(team.get_events(None, Some("str")).await.expect("events").len(), 2);
    assert_eq!(team.get_events(None, Some("int")).await.expect("events").len(), 0);
    let starts = HistoryFilter { message_type: Some(StartMessage::PATH), ..Default::default() };
    assert_eq!(team.get_messages(starts).await.expect("starts").len(), 3);
    assert_eq!(team.get_states().await.expect("states").len(), 2);
}

#[tokio::test]
async fn the_view_is_read_without_asking() {
    let (_system, team) = a_team().await;
    let card =
        AgentCard::new("it.Member", "does things", BaseConfig::new("", "Doer")).expect("card");
    team.register_agent_profile(card).await.expect("registered");
    team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    team.get_team().await.expect("drained");
    let view = team.view().expect("started");
    assert_eq!(view.members().len(), 1);
    assert_eq!(view.member("@a").map(|member| member.role().to_owned()).as_deref(), Some("A"));
    assert_eq!(view.card("Doer").expect("a card").description, "does things");
    assert!(Arc::ptr_eq(&view.members(), &view.members()), "built once per change");
}

#[tokio::test]
async fn a_failing_subscriber_does_not_affect_the_others() {
    let (_system, team) = a_team().await;
    let panics = |_: &Arc<Message>| panic!("not today");
    team.subscribe(Arc::new(panics)).await.expect("subscribed");
    let records = Records::of(&team).await;
    team.create_actor::<Waiting>(BaseConfig::new("@w", "W")).await.expect("member");
    team.get_team().await.expect("drained");
    assert_eq!(records.classes_of("@w"), ["StartMessage"]);
}

#[tokio::test]
async fn unchanged_state_is_not_published_again() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    member.address().ask(text("x"), WAIT).await.expect("handled");
    for _ in 0..10 {
        member.ask(Report).await.expect("read only");
    }
    team.get_team().await.expect("drained");
    assert_eq!(records.states_of("@m"), 2);
}
