//! Teams whose logs hold what cannot simply come back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use akgentic_core::log::{LogContents, restore_team};
use akgentic_core::message::{HandledMessage, StateChangedMessage};
use akgentic_core::prelude::*;
use akgentic_core::wire::AnyValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::parts::{Hire, Member, Report, Scripted, WAIT, a_team, act, text, write_lines};
use crate::restore::{logged, restored};

/// A team that writes a log until it "crashes": what is in the file then is what counts.
struct Before {
    dir: tempfile::TempDir,
    path: PathBuf,
    _system: ActorSystem,
    team: ActorRef<Orchestrator>,
}

impl Before {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("team.jsonl");
        let (system, team) = a_team().await;
        logged(&path, &team).await;
        Self { dir, path, _system: system, team }
    }

    async fn member(&self, name: &str) -> ActorRef<Member> {
        self.team.create_actor(BaseConfig::new(name, "M")).await.expect("a member")
    }

    /// The log as `change` leaves its lines.
    async fn crash(&self, change: impl FnOnce(Vec<Value>) -> Vec<Value>) -> PathBuf {
        self.team.get_team().await.expect("drained");
        let text = fs::read_to_string(&self.path).expect("text");
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
        let path = self.dir.path().join("crashed.jsonl");
        write_lines(&path, &change(lines));
        path
    }
}

fn is(line: &Value, class: &str, sender: &str) -> bool {
    let model = line["__model__"].as_str().unwrap_or_default();
    model.ends_with(&format!(".{class}")) && line["sender"]["name"] == sender
}

fn open_work(report: &akgentic_core::log::RestoreReport) -> [usize; 3] {
    [report.redelivered.len(), report.interrupted.len(), report.undeliverable.len()]
}

async fn assert_nothing_open(path: &Path) {
    let (system, back, _) = restored(path).await;
    assert_eq!(open_work(&back.report), [0, 0, 0], "{:?}", back.report);
    system.shutdown(WAIT).await;
}

async fn drained(team: &ActorRef<Orchestrator>) {
    for _ in 0..3 {
        for member in team.get_team().await.expect("team").iter() {
            if let Ok(member) = ActorRef::<Member>::new(member) {
                member.ask(Report).await.expect("alive");
            }
        }
    }
    team.get_team().await.expect("drained");
}

#[tokio::test]
async fn workers_end_with_their_team() {
    let before = Before::new().await;
    let parent = before.member("@p").await;
    for name in ["#defer-1", "#embed-x", "#deferred"] {
        parent.ask(Hire(name)).await.expect("hired");
    }
    let path = before.crash(|lines| lines).await;
    let (system, back, records) = restored(&path).await;
    assert_eq!(back.report.workers_ended, ["#defer-1", "#embed-x"]);
    assert_eq!(back.report.members, ["@p", "#deferred"], "only those two are short-lived");
    for worker in ["#defer-1", "#embed-x"] {
        assert!(back.team.get_team_member(worker).await.expect("asked").is_none());
        assert_eq!(records.classes_of(worker).last(), Some(&"StopMessage"));
    }
    system.shutdown(WAIT).await;
    let (system, back, _) = restored(&path).await;
    assert!(back.report.workers_ended.is_empty(), "their end is on record");
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn a_member_of_an_unknown_class_is_reported_and_its_mail_closed() {
    let before = Before::new().await;
    let a = before.member("@a").await;
    let gone = Scripted::default().join(&before.team, "@gone").await;
    let sent = a.address().send(gone.address(), text("x")).expect("sent");
    let path = before
        .crash(|lines| {
            let unread = |line: &Value| {
                !is(line, "ReceivedMessage", "@gone") && !is(line, "ProcessedMessage", "@gone")
            };
            let text =
                Value::from(lines.into_iter().filter(unread).collect::<Vec<_>>()).to_string();
            let text = text.replace("it.Scripted", "it.NoMore");
            serde_json::from_str(&text).expect("json")
        })
        .await;
    let (system, back, records) = restored(&path).await;
    assert_eq!(back.report.members, ["@a"]);
    let [(name, reason)] = back.report.failed.as_slice() else { panic!("{:?}", back.report) };
    assert_eq!((name.as_str(), reason.as_str()), ("@gone", "unknown agent class \"it.NoMore\""));
    assert_eq!(back.report.undeliverable, [sent.id]);
    assert!(back.team.get_team_member("@gone").await.expect("asked").is_none());
    let all = records.all();
    let closed = all.iter().find_map(|record| record.body::<HandledMessage>()).expect("closed");
    assert_eq!(closed.message_id, sent.id);
    records.assert_closed();
    system.shutdown(WAIT).await;
    assert_nothing_open(&path).await;
}

#[tokio::test]
async fn a_child_whose_parent_is_gone_comes_back_below_the_orchestrator() {
    let before = Before::new().await;
    let parent = before.member("@p").await;
    let child = parent.ask(Hire("@c")).await.expect("hired");
    parent.address().stop(WAIT).await.expect("stops");
    let path = before
        .crash(|mut lines| {
            lines.retain(|line| !is(line, "StopMessage", "@c"));
            lines
        })
        .await;
    let (system, back, _) = restored(&path).await;
    assert_eq!(back.report.members, ["@c"]);
    let found = back.team.get_team_member("@c").await.expect("asked").expect("a member");
    assert_eq!(found, child);
    let parent = act(|_, ctx| {
        let parent = ctx.parent().cloned();
        Box::pin(async { Ok(parent) })
    });
    let parent = ActorRef::<Member>::new(&found).expect("typed").ask(parent).await.expect("alive");
    assert_eq!(parent.as_ref(), Some(back.team.address()));
    back.team.stop(WAIT).await.expect("stops with its team");
    assert!(!found.is_alive());
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn a_message_to_two_is_delivered_again_to_the_one_who_did_not_see_it() {
    let before = Before::new().await;
    let (a, b) = (before.member("@a").await, before.member("@b").await);
    let twice = before.member("@twice").await;
    let both = Message::new(text("both"));
    a.address().send(twice.address(), both.clone()).expect("sent");
    twice.ask(Report).await.expect("handled");
    for busy in [&b, &twice] {
        busy.address().tell(text("block")).expect("told");
    }
    for to in [&a, &b, &twice] {
        b.address().send(to.address(), both.clone()).expect("sent");
    }
    a.ask(Report).await.expect("handled");
    let path = before.crash(|lines| lines).await;
    let (system, back, records) = restored(&path).await;
    assert_eq!(open_work(&back.report), [2, 2, 0], "{:?}", back.report);
    assert_eq!(back.report.redelivered, [both.id; 2]);
    drained(&back.team).await;
    for (name, wanted) in
        [("@a", vec!["both"]), ("@b", vec!["both"]), ("@twice", vec!["both", "both"])]
    {
        let member = back.team.get_team_member(name).await.expect("asked").expect("a member");
        let member = ActorRef::<Member>::new(&member).expect("typed");
        let (texts, _) = member.ask(Report).await.expect("alive");
        assert_eq!(texts, wanted, "{name}");
    }
    records.assert_closed();
    system.shutdown(WAIT).await;
    assert_nothing_open(&path).await;
}

#[tokio::test]
async fn mail_for_the_orchestrator_is_delivered_once() {
    let before = Before::new().await;
    let a = before.member("@a").await;
    let sent = a.address().send(before.team.address(), text("for you")).expect("sent");
    let path = before
        .crash(|mut lines| {
            let at = lines.iter().position(|line| is(line, "SentMessage", "@a")).expect("sent");
            lines.truncate(at + 1);
            lines
        })
        .await;
    let (system, back, records) = restored(&path).await;
    assert_eq!(back.report.redelivered, [sent.id]);
    back.team.get_team().await.expect("drained");
    let own = records.classes_of("@Orchestrator");
    let end = ["ReceivedMessage", "ProcessedMessage"];
    assert_eq!(own.iter().filter(|class| end.contains(class)).count(), 2, "{own:?}");
    records.assert_closed();
    system.shutdown(WAIT).await;
    assert_nothing_open(&path).await;
}

/// Notes what happens to it in a list that the system provides.
struct Noisy;
agent_type!(Noisy = "it.Noisy");

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

fn note(ctx: &Context, what: &str) {
    if let Some(notes) = ctx.system().capability::<Notes>() {
        notes.0.lock().expect("lock").push(format!("{} {what}", ctx.name()));
    }
}

impl Actor for Noisy {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, message, ctx| {
            note(ctx, &format!("handles {}", message.body().content));
            Box::pin(async { Ok(Outcome::done()) })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        note(ctx, "starts");
        if ctx.is_restoring()
            && ctx.name() == "@b"
            && let Some(a) = ctx.team_view().and_then(|view| view.member("@a"))
        {
            ctx.send(&a, text("early mail"))?;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn restore(
        &mut self,
        events: Vec<AnyValue>,
        ctx: &mut Context,
    ) -> Result<(), ActorError> {
        note(ctx, &format!("remembers {}", events.len()));
        Ok(())
    }
}

#[tokio::test]
async fn no_mail_is_handled_before_everybody_is_back() {
    let before = Before::new().await;
    let a = before.team.create_actor::<Noisy>(BaseConfig::new("@a", "N")).await.expect("member");
    let b = before.team.create_actor::<Noisy>(BaseConfig::new("@b", "N")).await.expect("member");
    for member in [&a, &b] {
        member.address().wait_started(WAIT).await.expect("started");
    }
    b.address().send(a.address(), text("open mail")).expect("sent");
    let path = before
        .crash(|mut lines| {
            let at = lines.iter().position(|line| is(line, "SentMessage", "@b")).expect("sent");
            lines.truncate(at + 1);
            lines
        })
        .await;
    let contents = LogContents::read(&path).expect("a log");
    let system = ActorSystem::new();
    system.provide(Notes::default());
    let back = restore_team(&system, &contents, Vec::new()).await.expect("restored");
    let a = back.team.get_team_member("@a").await.expect("asked").expect("a member");
    a.ask(text("late mail"), WAIT).await.expect("released");
    let notes = system.capability::<Notes>().expect("provided");
    assert_eq!(
        *notes.0.lock().expect("lock"),
        [
            "@a starts",
            "@a remembers 0",
            "@b starts",
            "@b remembers 0",
            "@a handles early mail",
            "@a handles open mail",
            "@a handles late mail",
        ]
    );
    system.shutdown(WAIT).await;
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Project {
    name: String,
}
payload!(Project = "it.restore.Project");

#[tokio::test]
async fn catalogue_and_metadata_come_back_and_go_on() {
    let before = Before::new().await;
    let card = |role: &str, about: &str| {
        AgentCard::new("it.Member", about, BaseConfig::new("", role)).expect("a card")
    };
    let team = &before.team;
    team.register_agent_profiles(vec![card("A", "old"), card("B", "b")]).await.expect("registered");
    team.register_agent_profile(card("A", "new")).await.expect("registered");
    for name in ["first", "second"] {
        let project = Project { name: name.to_owned() };
        team.set_metadata(Some(Arc::new(project))).await.expect("set");
    }
    let path = before.crash(|lines| lines).await;
    let check = async |back: &ActorRef<Orchestrator>| {
        let cards = back.get_agent_catalog().await.expect("cards");
        let shown: Vec<_> =
            cards.iter().map(|card| (card.role().to_owned(), card.description.clone())).collect();
        let pair = |role: &str, about: &str| (role.to_owned(), about.to_owned());
        assert_eq!(shown, [pair("A", "new"), pair("B", "b")]);
        let metadata = back.get_metadata().await.expect("asked").expect("a record");
        let project = metadata.as_any().downcast_ref::<Project>().expect("a project");
        assert_eq!(project.name, "second");
    };
    let lines = fs::read_to_string(&path).expect("text").lines().count();
    let (system, back, _) = restored(&path).await;
    check(&back.team).await;
    let same = fs::read_to_string(&path).expect("text").lines().count();
    assert_eq!(same, lines, "what is read back is not written again");
    system.shutdown(WAIT).await;
    let (system, back, _) = restored(&path).await;
    check(&back.team).await;
    back.team.set_metadata(None).await.expect("cleared");
    system.shutdown(WAIT).await;
    let (system, back, _) = restored(&path).await;
    assert!(back.team.get_metadata().await.expect("asked").is_none());
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn a_member_whose_start_fails_again_is_reported_and_keeps_its_state() {
    let before = Before::new().await;
    let config = BaseConfig::new("@u", "Unstartable");
    let member = before.team.create_actor::<Member>(config).await.expect("a member");
    member.address().ask(text("event remember"), WAIT).await.expect("serves all the same");
    let path = before.crash(|lines| lines).await;
    for _ in 0..2 {
        let (system, back, records) = restored(&path).await;
        assert!(back.report.members.is_empty());
        assert_eq!(back.report.failed, [("@u".to_owned(), "cannot start".to_owned())]);
        let found = back.team.get_team_member("@u").await.expect("asked").expect("a member");
        let found = ActorRef::<Member>::new(&found).expect("typed");
        let (texts, events) = found.ask(Report).await.expect("alive");
        assert_eq!((texts, events), (vec!["event remember".to_owned()], 1));
        back.team.get_team().await.expect("drained");
        assert_eq!(records.classes_of("@u").last(), Some(&"ErrorMessage"));
        system.shutdown(WAIT).await;
    }
}

#[tokio::test]
async fn a_restored_member_publishes_only_the_state_it_got_back() {
    let before = Before::new().await;
    let member = before.member("@m").await;
    member.address().ask(text("precious"), WAIT).await.expect("handled");
    let path = before.crash(|lines| lines).await;
    let (system, back, records) = restored(&path).await;
    back.team.get_team().await.expect("drained");
    let states: Vec<_> = records
        .all()
        .iter()
        .filter_map(|record| Some(record.body::<StateChangedMessage>()?.state.to_json()))
        .map(|state| state["texts"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(states, [0, 1, 1], "replayed twice, then once more; never the empty one again");
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn subscribers_know_when_the_past_is_told() {
    #[derive(Default)]
    struct Phases(Mutex<Vec<String>>);
    impl Subscriber for Phases {
        fn on_message(&self, message: &Arc<Message>) -> akgentic_core::orchestrator::Watched {
            self.0.lock().expect("lock").push(message.class_name().to_owned());
            Ok(())
        }
        fn set_restoring(&self, _: Uuid, on: bool) -> akgentic_core::orchestrator::Watched {
            self.0.lock().expect("lock").push(on.to_string());
            Ok(())
        }
    }
    let before = Before::new().await;
    before.member("@m").await;
    let path = before.crash(|lines| lines).await;
    let contents = LogContents::read(&path).expect("a log");
    let (system, phases) = (ActorSystem::new(), Arc::new(Phases::default()));
    let subscribers: Vec<Arc<dyn Subscriber>> = vec![Arc::clone(&phases) as _];
    let back = restore_team(&system, &contents, subscribers).await.expect("restored");
    back.team.get_team().await.expect("drained");
    let started = ["StartMessage", "StateChangedMessage"];
    assert_eq!(
        *phases.0.lock().expect("lock"),
        [&["true"][..], &started, &["false"], &started].concat()
    );
    system.shutdown(WAIT).await;
}
