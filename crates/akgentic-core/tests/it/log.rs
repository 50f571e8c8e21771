//! Logs on disk: torn, foreign, damaged.

use std::fs;
use std::sync::Arc;

use akgentic_core::log::{EventLog, Fsync, LogContents, LogError};
use akgentic_core::prelude::*;

use crate::parts::{Member, WAIT, a_team, text};

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
