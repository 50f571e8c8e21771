//! What those who watch a team are told.

use std::sync::{Arc, Mutex};

use akgentic_core::SystemOptions;
use akgentic_core::message::StartMessage;
use akgentic_core::orchestrator::{HistoryFilter, TeamData, Watched};
use akgentic_core::prelude::*;
use akgentic_core::wire::{Record, WireType as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::parts::{Member, Records, Report, WAIT, a_team, text};

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Project {
    name: String,
}
payload!(Project = "it.Project");

fn project(name: &str) -> Arc<dyn Record> {
    Arc::new(Project { name: name.to_owned() })
}

/// Notes every call; fails in all of them when told so.
#[derive(Default)]
struct Diary {
    lines: Mutex<Vec<String>>,
    fails: bool,
}

impl Diary {
    fn note(&self, line: impl Into<String>) -> Watched {
        self.lines.lock().expect("lock").push(line.into());
        if self.fails { Err("no".into()) } else { Ok(()) }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().expect("lock"))
    }
}

impl Subscriber for Diary {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        self.note(message.class_name())
    }

    fn on_team_data(&self, data: TeamData<'_>) -> Watched {
        match data {
            TeamData::Profiles(cards) => {
                let roles: Vec<_> = cards.iter().map(|card| card.role()).collect();
                self.note(format!("profiles {}", roles.join(" ")))
            }
            TeamData::Metadata(record) => {
                let shown = record.map(|record| record.to_json()["name"].clone());
                self.note(format!("metadata {shown:?}"))
            }
            _ => self.note("other"),
        }
    }

    fn set_restoring(&self, _: Uuid, restoring: bool) -> Watched {
        self.note(format!("restoring {restoring}"))
    }

    fn on_stop_request(&self, _: Uuid) -> Watched {
        self.note("stop requested")
    }

    fn on_stop(&self, _: Uuid) -> Watched {
        self.note("stopped")
    }
}

fn card(role: &str) -> AgentCard {
    AgentCard::new("it.Member", "d", BaseConfig::new("", role)).expect("a card")
}

#[tokio::test]
async fn subscribers_hear_of_everything_in_order() {
    let (_system, team) = a_team().await;
    let fails = Arc::new(Diary { fails: true, ..Diary::default() });
    let diary = Arc::new(Diary::default());
    for subscriber in [&fails, &diary] {
        team.subscribe(Arc::clone(subscriber) as _).await.expect("subscribed");
    }
    team.register_agent_profiles(vec![card("A"), card("B")]).await.expect("registered");
    team.set_metadata(Some(project("p"))).await.expect("set");
    team.set_restoring(true).await.expect("set");
    team.restore_message(Arc::new(text("old").into())).await.expect("restored");
    team.end_restoration().await.expect("ended");
    team.set_restoring(false).await.expect("set");
    team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    team.get_team().await.expect("drained");
    team.stop(WAIT).await.expect("stops");
    let heard = diary.take();
    assert_eq!(
        heard,
        [
            "profiles A B",
            "metadata Some(String(\"p\"))",
            "restoring true",
            "UserMessage",
            "restoring false",
            "StartMessage",
            "StateChangedMessage",
            "EventMessage",
            "stop requested",
            "stopped",
        ]
    );
    assert_eq!(fails.take(), heard, "who fails is told all the same");
}

#[tokio::test]
async fn a_late_subscriber_is_told_what_the_team_knows() {
    let (_system, team) = a_team().await;
    let early = Arc::new(Diary::default());
    team.subscribe(Arc::clone(&early) as _).await.expect("subscribed");
    assert!(early.take().is_empty(), "nothing to tell");
    team.register_agent_profile(card("A")).await.expect("registered");
    team.register_agent_profile(card("B")).await.expect("registered");
    team.set_metadata(Some(project("p"))).await.expect("set");
    let late = Arc::new(Diary::default());
    team.subscribe(Arc::clone(&late) as _).await.expect("subscribed");
    assert_eq!(late.take(), ["profiles A B", "metadata Some(String(\"p\"))"]);
    team.set_metadata(None).await.expect("cleared");
    assert_eq!(late.take(), ["metadata None"]);
    assert!(team.get_metadata().await.expect("asked").is_none());
}

#[tokio::test]
async fn unsubscribing_takes_one_place_away() {
    let (_system, team) = a_team().await;
    let diary = Arc::new(Diary::default());
    for _ in 0..2 {
        team.subscribe(Arc::clone(&diary) as _).await.expect("subscribed");
    }
    let emit = || team.emit_message(text("x"));
    emit().await.expect("emitted");
    assert_eq!(diary.take().len(), 2, "duplicates are allowed");
    team.unsubscribe(Arc::clone(&diary) as _).await.expect("no error");
    emit().await.expect("emitted");
    assert_eq!(diary.take().len(), 1);
    for _ in 0..2 {
        team.unsubscribe(Arc::clone(&diary) as _).await.expect("no error");
    }
    emit().await.expect("emitted");
    assert!(diary.take().is_empty());
}

#[tokio::test]
async fn emitted_messages_are_recorded_shown_and_handled_by_nobody() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let sent = Message::new(text("announcement"));
    let id = sent.id;
    team.emit_message(sent).await.expect("emitted");
    let shown = records.all();
    let [shown] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((shown.id, shown.parent_id), (id, None));
    assert_eq!(shown.sender.as_ref(), Some(team.address()));
    assert_eq!(shown.team_id, Some(team.address().team_id()));
    let found = HistoryFilter { message_type: Some(UserMessage::PATH), ..Default::default() };
    assert_eq!(team.get_messages(found).await.expect("records").len(), 1);
}

#[tokio::test]
async fn metadata_is_replaced_as_a_whole_and_announces_nothing() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    assert!(team.get_metadata().await.expect("asked").is_none());
    let given = project("p");
    team.set_metadata(Some(Arc::clone(&given))).await.expect("set");
    let got = team.get_metadata().await.expect("asked").expect("a record");
    assert!(Arc::ptr_eq(&got, &given), "the record itself");
    assert_eq!(team.view().expect("started").metadata().expect("seen").type_path(), "it.Project");
    assert!(records.all().is_empty());
}

#[tokio::test]
async fn mail_to_the_orchestrator_is_closed() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    member.ask(Report).await.expect("started");
    let sent = member.address().send(team.address(), text("nobody reads this")).expect("sent");
    team.get_team().await.expect("drained");
    let own = ["ReceivedMessage", "ProcessedMessage"];
    assert_eq!(records.classes_of("@Orchestrator"), own);
    let all = records.all();
    let received = all.iter().find(|record| record.class_name() == own[0]).expect("received");
    assert_eq!(received.parent_id, Some(sent.id));
    records.assert_closed();
}

#[tokio::test]
async fn a_capped_history_keeps_roster_and_states() {
    let mut options = SystemOptions::default();
    options.history_capacity = Some(5);
    let system = ActorSystem::with_options(options);
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    for number in 0..20 {
        member.address().ask(text(&number.to_string()), WAIT).await.expect("handled");
    }
    let all = team.get_messages(HistoryFilter::default()).await.expect("records");
    assert_eq!(all.len(), 5);
    assert_eq!(all.last().expect("records").class_name(), "ProcessedMessage");
    let starts = HistoryFilter { message_type: Some(StartMessage::PATH), ..Default::default() };
    assert!(team.get_messages(starts).await.expect("records").is_empty(), "long gone");
    assert_eq!(team.get_team().await.expect("team").len(), 1, "still a member");
    assert_eq!(team.get_states().await.expect("states").len(), 1);
}

struct Blocks(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

impl Subscriber for Blocks {
    fn on_message(&self, _: &Arc<Message>) -> akgentic_core::orchestrator::Watched {
        Ok(())
    }

    fn on_stop(&self, _: uuid::Uuid) -> akgentic_core::orchestrator::Watched {
        // Until the test lets go.
        let _gone = self.0.lock().expect("lock").recv().is_err();
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_blocks_does_not_make_a_stop_endless() {
    let (system, team) = a_team().await;
    let (let_go, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    team.subscribe(Arc::new(Blocks(blocked))).await.expect("subscribed");
    let begun = std::time::Instant::now();
    let stopped = team.stop(std::time::Duration::from_millis(100)).await;
    assert!(matches!(stopped, Err(CallError::Timeout(_))), "{stopped:?}");
    system.shutdown(std::time::Duration::from_millis(100)).await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(let_go);
}
