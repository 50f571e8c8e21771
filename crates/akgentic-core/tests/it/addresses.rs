//! Live addresses, snapshots, addresses of the departed, and the people behind some of them.

use akgentic_core::message::SentMessage;
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_core::wire::WireType as _;
use akgentic_core::{HumanInput, Received};

use crate::parts::{Member, Records, Report, WAIT, a_team, act, text};

#[tokio::test]
async fn each_kind_of_address_prints_compares_and_lives_in_its_way() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "Dev")).await.expect("member");
    let live = member.address().clone();
    let snapshot = live.to_snapshot();
    let stopped = ActorAddress::stopped(live.info().clone());
    let id = live.agent_id();
    assert_eq!(live.to_string(), format!("<ActorAddress Dev @m ({id})>"));
    assert_eq!(snapshot.to_string(), format!("<ActorAddressProxy Dev @m ({id})>"));
    assert_eq!(stopped.to_string(), format!("<ActorAddressStopped Dev @m ({id})>"));
    assert_eq!(format!("{stopped:?}"), stopped.to_string());
    let all = [&live, &snapshot, &stopped];
    assert_eq!(all.map(ActorAddress::is_live), [true, false, false]);
    assert_eq!(all.map(ActorAddress::is_alive), [true, true, false]);
    let set: std::collections::HashSet<_> = all.into_iter().collect();
    assert_eq!(set.len(), 1, "equal by identity, whatever their kind");
    assert_eq!(stopped.to_snapshot().to_string(), stopped.to_string());

    live.stop(WAIT).await.expect("stops");
    assert_eq!(all.map(ActorAddress::is_alive), [false, true, false]);
    assert_eq!(live.name(), "@m", "what it tells outlives the actor");
    assert_eq!(
        serde_json::to_value(&live).expect("written"),
        serde_json::to_value(&snapshot).expect("written")
    );
}

#[tokio::test]
async fn snapshots_and_stopped_addresses_deliver_nothing() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let is_refused =
        |error: CallError| matches!(error, CallError::NotDeliverable(name) if name == "@m");
    let snapshot = member.address().to_snapshot();
    let stopped = ActorAddress::stopped(member.address().info().clone());
    for address in [snapshot, stopped] {
        assert!(is_refused(address.tell(text("x")).expect_err("refused")));
        assert!(is_refused(address.tell_value("x").expect_err("refused")));
        assert!(is_refused(address.ask(text("x"), WAIT).await.expect_err("refused")));
        assert!(is_refused(address.ask_value("x", WAIT).await.expect_err("refused")));
        assert!(is_refused(address.send(member.address(), text("x")).expect_err("refused")));
        assert!(is_refused(member.address().send(&address, text("x")).expect_err("refused")));
        assert!(is_refused(ActorRef::<Member>::new(&address).expect_err("refused")));
        assert!(is_refused(address.wait_started(WAIT).await.expect_err("refused")));
        assert!(!address.request_stop());
        assert!(!address.stop(WAIT).await.expect("no error"));
        assert!(!address.dismiss(WAIT).await.expect("no error"));
    }
    let (texts, _) = member.ask(Report).await.expect("alive");
    assert!(texts.is_empty());
    let sent = HistoryFilter { message_type: Some(SentMessage::PATH), ..Default::default() };
    assert!(team.get_messages(sent).await.expect("records").is_empty());
}

#[tokio::test]
async fn a_person_answers_live_and_loaded_messages() {
    let (system, team) = a_team().await;
    let records = Records::of(&team).await;
    let human =
        team.create_actor::<UserProxy>(BaseConfig::new("@h", "Human")).await.expect("human");
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "Human")).await.expect("member");
    assert!(human.address().is_user_proxy() && human.address().to_snapshot().is_user_proxy());
    assert!(!member.address().is_user_proxy(), "by type, not by role");
    assert_eq!(serde_json::to_value(human.address()).expect("written")["is_user_proxy"], true);

    let sent = member.address().send(human.address(), text("a question")).expect("sent");
    human.address().ask(text("is only logged"), WAIT).await.expect("handled");
    team.get_team().await.expect("drained");
    let shown = records
        .all()
        .iter()
        .find_map(|record| Some(record.body::<SentMessage>()?.message.clone()))
        .expect("recorded");
    assert!(!shown.sender.as_ref().expect("a sender").is_live(), "a front end sees snapshots");
    for message in [sent, shown] {
        human.ask(HumanInput { content: "an answer".into(), message }).await.expect("answered");
    }
    member.ask(Report).await.expect("alive");
    team.get_team().await.expect("drained");
    let answers: Vec<_> = records
        .all()
        .iter()
        .filter_map(|record| record.body::<SentMessage>().cloned())
        .filter(|sent| sent.recipient == *member.address())
        .map(|sent| {
            (sent.message.class_name(), sent.message.body.content_text().map(str::to_owned))
        })
        .collect();
    assert_eq!(answers, vec![("ResultMessage", Some("an answer".to_owned())); 2]);
    records.assert_closed();

    // The listener of the system hears the answer to what came from outside.
    let listener = system.listener().expect("a listener");
    let mut message = Message::new(text("from outside"));
    message.stamp(listener, team.address().team_id(), None);
    human
        .ask(HumanInput { content: "hello".into(), message: message.into() })
        .await
        .expect("answered");
    let heard = system.listen(WAIT).await.expect("heard");
    assert!(matches!(&heard, Received::Message(_)));
    assert_eq!(heard.text(), Some("hello"));

    let nobody = HumanInput { content: "x".into(), message: Message::new(text("x")).into() };
    let error = human.ask(nobody).await.expect_err("no sender");
    assert!(error.to_string().contains("has no sender"), "{error}");
    let mut lost = Message::new(text("x"));
    lost.sender = Some(member.address().to_snapshot());
    member.address().stop(WAIT).await.expect("stops");
    team.get_team().await.expect("drained");
    let lost = HumanInput { content: "x".into(), message: lost.into() };
    let error = human.ask(lost).await.expect_err("gone");
    assert!(error.to_string().contains("@m has left the team"), "{error}");
}

#[tokio::test]
async fn an_actor_resolves_snapshots_through_its_team() {
    let (system, team) = a_team().await;
    let a = team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    let b = team.create_actor::<Member>(BaseConfig::new("@b", "B")).await.expect("member");
    let alone = system
        .create_actor::<Member>(BaseConfig::new("@c", "C"), Origin::default())
        .expect("actor");
    team.get_team().await.expect("drained");
    let resolve = |address: ActorAddress| {
        act(move |_, ctx| {
            let found = ctx.resolve(&address);
            Box::pin(async { Ok(found) })
        })
    };
    let found = a.ask(resolve(b.address().to_snapshot())).await.expect("asked").expect("found");
    assert!(found.is_live() && found == *b.address());
    assert!(a.ask(resolve(alone.address().to_snapshot())).await.expect("asked").is_none());
    assert!(alone.ask(resolve(b.address().to_snapshot())).await.expect("asked").is_none());
    assert!(alone.ask(resolve(b.address().clone())).await.expect("asked").is_some());
    b.address().stop(WAIT).await.expect("stops");
    team.get_team().await.expect("drained");
    assert!(a.ask(resolve(b.address().to_snapshot())).await.expect("asked").is_none());
}

#[tokio::test]
async fn without_orchestrator_the_team_is_a_warning_and_the_catalogue_empty() {
    let (system, team) = a_team().await;
    let alone = system
        .create_actor::<Member>(BaseConfig::new("@c", "C"), Origin::default())
        .expect("actor");
    let asked = act(|_, ctx| {
        Box::pin(async {
            let team = ctx.get_team().await.map(drop);
            let member = ctx.get_team_member("@x").await.map(drop);
            assert!(ctx.discover_catalog().await?.is_empty());
            assert!(ctx.find_agents_with_skill("x").await?.is_empty());
            assert!(ctx.get_available_roles().await?.is_empty());
            assert!(ctx.get_agent_card("x").await?.is_none());
            assert!(ctx.team_view().is_none() && ctx.orchestrator().is_none());
            assert!(ctx.parent().is_none() && ctx.ancestors().is_empty());
            ctx.notify_event("nobody hears this");
            Ok([team, member])
        })
    });
    for failed in alone.ask(asked).await.expect("alive") {
        let error = failed.expect_err("a warning");
        assert_eq!(error.severity(), akgentic_core::Severity::Warning);
        assert_eq!(error.message(), "@c has no orchestrator");
    }
    // In a team the same warning becomes a WarningMessage, and helpers ask the catalogue.
    let card = AgentCard::new("it.Member", "d", BaseConfig::new("", "Doer")).expect("a card");
    team.register_agent_profile(card).await.expect("registered");
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let roles = act(|_, ctx| {
        Box::pin(async {
            assert!(ctx.get_agent_card("Doer").await?.is_some());
            assert_eq!(ctx.discover_catalog().await?.len(), 1);
            assert!(ctx.find_agents_with_skill("x").await?.is_empty());
            assert_eq!(ctx.get_team_member("@m").await?.as_ref(), Some(&ctx.address()));
            assert_eq!(ctx.ancestors().len(), 1, "the orchestrator");
            Ok(ctx.get_available_roles().await?)
        })
    });
    assert_eq!(member.ask(roles).await.expect("alive"), ["Doer"]);
}
