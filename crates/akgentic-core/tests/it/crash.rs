//! A busy team that is killed at any moment: whatever its log holds then, the restored team
//! delivers nothing twice, loses nothing without a record, and leaves nothing open.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use akgentic_core::log::{EventLog, Fsync, LogContents, RestoredTeam, restore_team};
use akgentic_core::message::{
    HandledMessage, ProcessedMessage, ReceivedMessage, SentMessage, StateChangedMessage,
    StopMessage,
};
use akgentic_core::orchestrator::Watched;
use akgentic_core::prelude::*;
use uuid::Uuid;

use crate::parts::{Hire, Member, Report, Seen, WAIT, a_team, text};
use crate::restore::logged;

/// Never ends its first turn, unless it was restored.
struct Stuck;
agent_type!(Stuck = "it.Stuck");

impl Actor for Stuck {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, _, ctx| {
            Box::pin(async {
                if !ctx.is_restoring() {
                    std::future::pending::<()>().await;
                }
                Ok(Outcome::done())
            })
        });
    }
}

impl Handle<Report> for Stuck {
    type Reply = ();

    async fn handle(&mut self, _: Report, _: &mut Context) -> Result<(), ActorError> {
        Ok(())
    }
}

/// What was recorded after the past was told.
#[derive(Default)]
struct Present {
    restoring: AtomicBool,
    records: Mutex<Vec<Arc<Message>>>,
}

impl Subscriber for Present {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        if !self.restoring.load(Ordering::Relaxed) {
            self.records.lock().expect("lock").push(Arc::clone(message));
        }
        Ok(())
    }

    fn set_restoring(&self, _: Uuid, restoring: bool) -> Watched {
        self.restoring.store(restoring, Ordering::Relaxed);
        Ok(())
    }
}

/// A message and the member it is about.
type Key = (Uuid, Uuid);

/// Counts what happened to every message.
#[derive(Default)]
struct Tally {
    sent: HashMap<Key, usize>,
    received: HashMap<Key, usize>,
    processed: HashMap<Key, usize>,
    handled: HashMap<Key, usize>,
    stopped: HashSet<Uuid>,
    texts: HashMap<Uuid, Vec<String>>,
}

impl Tally {
    fn of(records: &[Arc<Message>]) -> Self {
        let mut tally = Self::default();
        for record in records {
            let Some(sender) = record.sender.as_ref().map(ActorAddress::agent_id) else { continue };
            let (counts, key) = if let Some(body) = record.body::<SentMessage>() {
                (&mut tally.sent, (body.message.id, body.recipient.agent_id()))
            } else if let Some(body) = record.body::<ReceivedMessage>() {
                (&mut tally.received, (body.message_id, sender))
            } else if let Some(body) = record.body::<ProcessedMessage>() {
                (&mut tally.processed, (body.message_id, sender))
            } else if let Some(body) = record.body::<HandledMessage>() {
                (&mut tally.handled, (body.message_id, sender))
            } else {
                if record.body::<StopMessage>().is_some() {
                    tally.stopped.insert(sender);
                } else if let Some(body) = record.body::<StateChangedMessage>()
                    && let Some(seen) = body.state.as_any().downcast_ref::<Seen>()
                {
                    tally.texts.insert(sender, seen.texts.clone());
                }
                continue;
            };
            *counts.entry(key).or_default() += 1;
        }
        tally
    }

    fn closed(&self, key: &Key) -> usize {
        let count = |counts: &HashMap<Key, usize>| counts.get(key).copied().unwrap_or_default();
        count(&self.processed) + count(&self.handled)
    }
}

async fn restored(path: &Path) -> (ActorSystem, RestoredTeam, Arc<Present>) {
    let system = ActorSystem::new();
    let contents = LogContents::read(path).expect("a log");
    let log = EventLog::open(path, &contents.header, Fsync::Never).expect("goes on");
    let present = Arc::new(Present::default());
    let subscribers: Vec<Arc<dyn Subscriber>> = vec![Arc::new(log), Arc::clone(&present) as _];
    let team = restore_team(&system, &contents, subscribers).await.expect("restored");
    (system, team, present)
}

/// Waits until nobody has anything left to do.
async fn drained(team: &ActorRef<Orchestrator>) {
    for _ in 0..4 {
        for member in team.get_team().await.expect("team").iter() {
            if let Ok(member) = ActorRef::<Member>::new(member) {
                member.ask(Report).await.expect("alive");
            } else if let Ok(stuck) = ActorRef::<Stuck>::new(member) {
                stuck.ask(Report).await.expect("alive");
            }
        }
    }
}

/// A life of a team with sends, states, events, an interrupted turn, a dismissed child.
async fn live(team: &ActorRef<Orchestrator>, number: usize) {
    let name = |what: &str| format!("{what}{number}");
    let a = team.create_actor::<Member>(BaseConfig::new(name("@a"), "A")).await.expect("member");
    let b = team.create_actor::<Member>(BaseConfig::new(name("@b"), "B")).await.expect("member");
    let tool = team.create_actor::<Member>(BaseConfig::new(name("#T"), "T")).await.expect("tool");
    let stuck = team.create_actor::<Stuck>(BaseConfig::new(name("@s"), "S")).await.expect("member");
    let child = a.ask(Hire("@child")).await.expect("hired");
    a.address().tell(text(&format!("forward {}", name("@b")))).expect("told");
    a.address().tell(text(&format!("forward {}", name("#T")))).expect("told");
    b.address().tell(text("event happened")).expect("told");
    b.address().tell(text("fail loudly")).expect("told");
    a.ask(Report).await.expect("handled");
    let both = Message::new(text("both"));
    for to in [a.address(), b.address(), tool.address(), &child, stuck.address()] {
        tool.address().send(to, both.clone()).expect("sent");
    }
    a.address().send(team.address(), text("for the orchestrator")).expect("sent");
    b.ask(Report).await.expect("handled");
    for _ in 0..2 {
        a.address().send(stuck.address(), text("waits behind")).expect("sent");
    }
    child.stop(WAIT).await.expect("stops");
    drained_but_stuck(team).await;
}

async fn drained_but_stuck(team: &ActorRef<Orchestrator>) {
    for _ in 0..4 {
        for member in team.get_team().await.expect("team").iter() {
            if let Ok(member) = ActorRef::<Member>::new(member) {
                member.ask(Report).await.expect("alive");
            }
        }
    }
}

/// The log of a team that was killed, came back, and was killed again.
async fn two_lives(dir: &Path) -> Vec<u8> {
    let first = dir.join("first.jsonl");
    let (_system, team) = a_team().await;
    logged(&first, &team).await;
    live(&team, 1).await;
    let second = dir.join("second.jsonl");
    fs::copy(&first, &second).expect("killed");
    let (_system, back, _) = restored(&second).await;
    live(&back.team, 2).await;
    fs::read(&second).expect("killed again")
}

/// Restores what is in `bytes` and checks what became of every message.
async fn check(bytes: &[u8], path: &Path) {
    fs::write(path, bytes).expect("written");
    let contents = LogContents::read(path).expect("a log");
    assert!(contents.bad_lines.is_empty());
    let before = Tally::of(&contents.messages);
    let (system, back, present) = restored(path).await;
    assert!(back.report.failed.is_empty(), "{:?}", back.report);
    drained(&back.team).await;

    let records = std::mem::take(&mut *present.records.lock().expect("lock"));
    let after = Tally::of(&records);
    for (key, count) in &after.received {
        assert_eq!(*count, 1, "{key:?} was delivered twice after the restart");
        assert!(!before.received.contains_key(key), "{key:?} was delivered again");
        assert_eq!(before.closed(key), 0, "{key:?} had been dealt with");
    }
    for (key, sent) in &before.sent {
        if before.received.contains_key(key) || before.closed(key) > 0 {
            continue;
        }
        let delivered = after.received.get(key).copied().unwrap_or_default();
        let gone = before.stopped.contains(&key.1);
        assert_eq!(delivered, if gone { 0 } else { *sent }, "{key:?}");
    }
    for (member, texts) in &before.texts {
        let Some(address) = system.get_actor(*member) else { continue };
        let Ok(address) = ActorRef::<Member>::new(&address) else { continue };
        let (now, _) = address.ask(Report).await.expect("alive");
        assert!(now.starts_with(texts), "{address:?} knew {texts:?} and knows {now:?}");
    }
    // Everything that was ever sent is closed, once, in the log that went on.
    let whole = LogContents::read(path).expect("a log");
    let whole = Tally::of(&whole.messages);
    for (key, sent) in &whole.sent {
        assert_eq!(whole.closed(key), *sent, "{key:?} is not closed as often as it was sent");
    }
    for (key, turns) in &whole.received {
        assert_eq!(whole.processed.get(key), Some(turns), "{key:?}");
    }
    system.shutdown(WAIT).await;

    let (system, again, _) = restored(path).await;
    let report = again.report;
    assert!(report.redelivered.is_empty(), "{report:?}");
    assert!(report.interrupted.is_empty() && report.undeliverable.is_empty(), "{report:?}");
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn a_team_killed_after_any_record_comes_back_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let bytes = two_lives(dir.path()).await;
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
    assert!(ends.len() > 120, "{} lines", ends.len());
    let path = dir.path().join("cut.jsonl");
    for end in ends {
        check(&bytes[..end], &path).await;
    }
}

#[tokio::test]
async fn a_team_killed_within_a_record_comes_back_as_before_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let bytes = two_lives(dir.path()).await;
    let header = bytes.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
    let path = dir.path().join("cut.jsonl");
    // Every place relative to the records comes up, as the step shares no factor with much.
    let mut torn = 0;
    for cut in (header..bytes.len()).step_by(997) {
        check(&bytes[..cut], &path).await;
        torn += usize::from(bytes[cut - 1] != b'\n');
    }
    assert!(torn > 50, "{torn} cuts within a record");
}

/// A log that was put together with a copy of itself tells nothing twice.
#[tokio::test]
async fn records_that_come_twice_count_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let bytes = two_lives(dir.path()).await;
    let path = dir.path().join("doubled.jsonl");
    fs::write(&path, &bytes).expect("written");
    let once = LogContents::read(&path).expect("a log");
    assert_eq!(once.bad_lines, []);
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let header = lines.next().expect("a header").to_vec();
    let doubled = lines.flat_map(|line| [line, line].concat());
    fs::write(&path, header.into_iter().chain(doubled).collect::<Vec<u8>>()).expect("written");
    let twice = LogContents::read(&path).expect("a log");
    let ids = |log: &LogContents| log.messages.iter().map(|one| one.id).collect::<Vec<_>>();
    assert_eq!(ids(&twice), ids(&once));
    assert_eq!(twice.bad_lines.len(), once.messages.len());
}
