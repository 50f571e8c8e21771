//! Logs on disk: torn, foreign, damaged.

use std::fs;
use std::sync::Arc;

use akgentic_core::log::{EventLog, Fsync, LogContents, LogError};
use akgentic_core::prelude::*;
use akgentic_core::wire::AnyValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::parts::{Member, WAIT, a_team, text, write_lines};

async fn written(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    let log = Arc::new(EventLog::for_team(&path, &team, Fsync::Always).expect("a log"));
    team.subscribe(Arc::clone(&log) as Arc<dyn Subscriber>).await.expect("subscribed");
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    member.address().ask(text("event hello"), WAIT).await.expect("handled");
    team.get_team().await.expect("drained");
    assert!(log.status().written >= 6, "{:?}", log.status());
    assert_eq!(log.status().failed, 0);
    system.shutdown(WAIT).await;
    path
}

/// A record that refuses to be written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct Unwritable {}
payload!(Unwritable = "it.Unwritable", snapshot: akgentic_core::wire::no_addresses);

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("not for the record"))
    }
}

/// A message with such a body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct UnwritableMessage {}
message!(UnwritableMessage = "it.UnwritableMessage", snapshot: akgentic_core::wire::no_addresses);

impl Serialize for UnwritableMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Unwritable {}.serialize(serializer)
    }
}

#[tokio::test]
async fn a_log_reads_as_it_was_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = written(&dir).await;
    let log = LogContents::read(&path).expect("a log");
    assert_eq!(log.header.orchestrator.name(), "@Orchestrator");
    assert!(log.bad_lines.is_empty() && log.torn_bytes == 0);
    let classes: Vec<_> = log.messages.iter().map(|message| message.class_name()).collect();
    assert_eq!(
        classes,
        [
            "StartMessage",
            "StateChangedMessage",
            "ReceivedMessage",
            "EventMessage",
            "ProcessedMessage",
            "StateChangedMessage",
            "EventMessage",
        ]
    );
}

#[tokio::test]
async fn a_torn_last_line_is_cut_and_the_rest_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = written(&dir).await;
    let whole = fs::read(&path).expect("bytes");
    let count = LogContents::read(&path).expect("a log").messages.len();
    let lines = whole.split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(lines, count + 1);
    for cut in 1..200 {
        fs::write(&path, &whole[..whole.len() - cut]).expect("torn");
        let log = LogContents::read(&path).expect("still a log");
        // Cutting only the newline leaves a whole record.
        assert_eq!(log.messages.len(), if cut == 1 { count } else { count - 1 }, "cut {cut}");
        let reopened = EventLog::open(&path, &log.header, Fsync::Never).expect("goes on");
        drop(reopened);
        let repaired = fs::read(&path).expect("bytes");
        assert_eq!(repaired.last(), Some(&b'\n'));
        assert_eq!(LogContents::read(&path).expect("a log").torn_bytes, 0);
    }
}

#[tokio::test]
async fn a_damaged_line_is_reported_and_skipped() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = written(&dir).await;
    let text = fs::read_to_string(&path).expect("text");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = "{\"half\": ";
    lines.insert(4, r#"{"__model__": "subprocess.Popen", "args": ["true"]}"#);
    fs::write(&path, lines.join("\n") + "\n").expect("damaged");
    let log = LogContents::read(&path).expect("a log");
    let bad: Vec<_> = log.bad_lines.iter().map(|bad| bad.line).collect();
    assert_eq!(bad, [3, 5]);
    assert_eq!(log.messages.len(), lines.len() - 3);
}

#[tokio::test]
async fn a_log_of_another_team_and_a_foreign_file_are_refused_untouched() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = written(&dir).await;
    let before = fs::read(&path).expect("bytes");
    let (system, team) = a_team().await;
    let refused = EventLog::for_team(&path, &team, Fsync::Never);
    assert!(matches!(refused, Err(LogError::OtherTeam { .. })));
    assert_eq!(fs::read(&path).expect("bytes"), before);
    let notes = dir.path().join("notes.txt");
    fs::write(&notes, "shopping\nlist\n").expect("notes");
    let refused = EventLog::for_team(&notes, &team, Fsync::Never);
    assert!(matches!(refused, Err(LogError::NotALog { .. })));
    assert_eq!(fs::read_to_string(&notes).expect("notes"), "shopping\nlist\n");
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn a_foreign_file_of_one_line_is_left_alone_and_a_torn_header_written_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = written(&dir).await;
    let whole = fs::read(&path).expect("bytes");
    let header = LogContents::read(&path).expect("a log").header;
    let notes = dir.path().join("notes.txt");
    for foreign in ["shopping", "{\"shopping\": [", "{\"akgentic_log\"x", "17"] {
        fs::write(&notes, foreign).expect("notes");
        let refused = EventLog::open(&notes, &header, Fsync::Never);
        assert!(matches!(refused, Err(LogError::NotALog { .. })), "{foreign}");
        assert_eq!(fs::read_to_string(&notes).expect("notes"), foreign);
    }
    let first = whole.iter().position(|byte| *byte == b'\n').expect("a line");
    for cut in 0..first {
        fs::write(&notes, &whole[..cut]).expect("torn");
        EventLog::open(&notes, &header, Fsync::Never).expect("begun again");
        assert_eq!(fs::read(&notes).expect("bytes"), whole[..=first], "cut at {cut}");
    }
    let folder = EventLog::open(dir.path(), &header, Fsync::Never);
    assert!(matches!(folder, Err(LogError::Io { .. })), "a folder is no log");
    let nowhere = EventLog::open(dir.path().join("no/such/folder"), &header, Fsync::Never);
    assert!(matches!(nowhere, Err(LogError::Io { .. })));
    assert!(matches!(LogContents::read(dir.path().join("none")), Err(LogError::Io { .. })));
}

#[tokio::test]
async fn whatever_the_sync_a_record_is_in_the_file_at_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let every = std::time::Duration::from_millis(1);
    let never = std::time::Duration::from_hours(1);
    for fsync in [Fsync::Never, Fsync::Every(every), Fsync::Every(never), Fsync::Always] {
        let path = dir.path().join(format!("{fsync:?}.jsonl"));
        let (system, team) = a_team().await;
        let log = Arc::new(EventLog::for_team(&path, &team, fsync).expect("a log"));
        team.subscribe(Arc::clone(&log) as _).await.expect("subscribed");
        for number in 1..20_usize {
            team.emit_message(text("x")).await.expect("emitted");
            assert_eq!(LogContents::read(&path).expect("a log").messages.len(), number);
        }
        system.shutdown(WAIT).await;
        assert_eq!(log.status(), akgentic_core::log::LogStatus { written: 20, ..log.status() });
        assert_eq!((log.status().failed, log.path()), (0, path.as_path()));
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_written_is_counted_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (_system, team) = a_team().await;
    let log = Arc::new(EventLog::for_team(&path, &team, Fsync::Never).expect("a log"));
    team.subscribe(Arc::clone(&log) as _).await.expect("subscribed");
    team.emit_message(text("before")).await.expect("emitted");
    team.emit_message(UnwritableMessage {}).await.expect("emitted");
    let event = EventMessage { event: AnyValue::record(Unwritable {}) };
    team.emit_message(event).await.expect("emitted");
    team.set_metadata(Some(Arc::new(Unwritable {}))).await.expect("set");
    team.emit_message(text("after")).await.expect("emitted");
    let status = log.status();
    assert_eq!((status.written, status.failed), (2, 3));
    let reason = status.last_error.expect("a reason");
    assert!(reason.contains("not for the record"), "{reason}");
    let read = LogContents::read(&path).expect("a log");
    assert_eq!((read.messages.len(), read.bad_lines.len(), read.torn_bytes), (2, 0, 0));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_reported_and_no_record_is_half_written() {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{MemfdFlags, SealFlags};
    // A file in memory that refuses to grow from a given moment on.
    let disk = rustix::fs::memfd_create("log", MemfdFlags::ALLOW_SEALING).expect("a file");
    let path = std::path::PathBuf::from(format!("/proc/self/fd/{}", disk.as_raw_fd()));
    let (_system, team) = a_team().await;
    let log = Arc::new(EventLog::for_team(&path, &team, Fsync::Always).expect("a log"));
    team.subscribe(Arc::clone(&log) as _).await.expect("subscribed");
    team.emit_message(text("written")).await.expect("emitted");
    let full = fs::read(&path).expect("bytes");
    rustix::fs::fcntl_add_seals(&disk, SealFlags::GROW).expect("sealed");
    for _ in 0..3 {
        team.emit_message(text("lost")).await.expect("the team goes on");
    }
    let status = log.status();
    assert_eq!((status.written, status.failed), (1, 3));
    assert!(status.last_error.is_some());
    assert_eq!(fs::read(&path).expect("bytes"), full);
    let read = LogContents::read(&path).expect("a log");
    assert_eq!((read.messages.len(), read.torn_bytes), (1, 0));
}

#[tokio::test]
async fn hostile_markers_in_a_log_build_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = written(&dir).await;
    let popen = json!({"__model__": "subprocess.Popen", "args": ["true"]});
    let whole = fs::read_to_string(&path).expect("text");
    let mut lines: Vec<Value> =
        whole.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
    let classes = |path: &std::path::Path| -> Vec<&'static str> {
        let log = LogContents::read(path).expect("a log");
        log.messages.iter().map(|message| message.class_name()).collect()
    };
    let before = classes(&path);
    let at = |lines: &[Value], field: &str| {
        lines.iter().skip(1).position(|line| line.get(field).is_some()).expect("there") + 1
    };
    let hurt = [at(&lines, "config"), at(&lines, "state"), at(&lines, "event")];
    lines[hurt[0]]["config"] = popen.clone();
    lines[hurt[1]]["state"] = popen.clone();
    lines[hurt[2]]["event"] = json!({"deep": {"in": popen}});
    lines.push(json!({"akgentic_team_data": "metadata", "metadata": popen}));
    lines.push(json!({"akgentic_team_data": "profiles", "cards": [
        {"agent_class": "subprocess.Popen", "description": "d", "config": {"role": "R"}},
        {"agent_class": "it.Member", "description": "d", "config": {"role": "Kept"}},
        {"agent_class": "it.Member", "description": "d", "config": popen},
    ]}));
    // In a list, what is not known is dropped and the rest stays.
    let event = json!({"__model__": "akgentic.core.EventMessage", "event": [1, popen, 2]});
    lines.push(event);
    let count = lines.len();
    write_lines(&path, &lines);
    let log = LogContents::read(&path).expect("a log");
    let bad: Vec<usize> = log.bad_lines.iter().map(|bad| bad.line).collect();
    assert_eq!(bad, [hurt[0] + 1, hurt[1] + 1, hurt[2] + 1, count - 2, count - 1]);
    assert!(log.bad_lines.iter().all(|bad| bad.reason.contains("subprocess.Popen")));
    assert!(log.metadata.is_none());
    let roles: Vec<&str> = log.profiles.iter().map(AgentCard::role).collect();
    assert_eq!(roles, ["Kept"], "the good card of a bad line is kept");
    assert_eq!(classes(&path).len(), before.len() - 3 + 1);
    let event = log.messages.last().and_then(|message| message.body::<EventMessage>());
    let list = AnyValue::List(vec![AnyValue::Int(1), AnyValue::Int(2)]);
    assert_eq!(event.expect("an event").event, list);
}

#[tokio::test]
async fn one_file_has_one_log() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    let first = EventLog::for_team(&path, &team, Fsync::Never).expect("a log");
    let second = EventLog::for_team(&path, &team, Fsync::Never);
    assert!(matches!(second, Err(LogError::InUse { .. })), "{second:?}");
    drop(first);
    EventLog::for_team(&path, &team, Fsync::Never).expect("free again");
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn a_record_that_could_not_be_read_back_is_not_written() {
    use akgentic_core::wire::{AnyMap, AnyValue};
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    let log = Arc::new(EventLog::for_team(&path, &team, Fsync::Never).expect("a log"));
    team.subscribe(Arc::clone(&log) as Arc<dyn Subscriber>).await.expect("subscribed");
    let mut deep = AnyValue::Null;
    for _ in 0..130 {
        let inner = std::iter::once(("x".to_owned(), deep)).collect();
        deep = AnyValue::Map(AnyMap(inner));
    }
    team.emit_message(akgentic_core::message::EventMessage { event: deep }).await.expect("emitted");
    team.emit_message(text("after")).await.expect("emitted");
    assert_eq!((log.status().failed, log.status().written), (1, 1));
    let read = LogContents::read(&path).expect("a log");
    assert!(read.bad_lines.is_empty());
    assert_eq!(read.messages.len(), 1);
    system.shutdown(WAIT).await;
}
