//! Writing a log: one line per record, appended as it is shown to subscribers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use uuid::Uuid;

use super::data::LogData;
use super::read::{FORMAT, LogError, LogHeader, parse_header, whole_lines};
use crate::error::CallError;
use crate::message::Message;
use crate::orchestrator::{Orchestrator, Subscriber, TeamData, Watched};
use crate::typed::ActorRef;
use crate::wire::Dyn;

/// When what was written must have reached the disk.
///
/// A record is handed to the system at once in any case, so the end of the process loses nothing;
/// this is about the end of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// When the system likes.
    #[default]
    Never,
    /// At the first record after this time has passed, and when the team stops.
    Every(Duration),
    /// After every record.
    Always,
}

/// How a log is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStatus {
    /// Records written by this process.
    pub written: u64,
    /// Records that could not be written.
    pub failed: u64,
    /// What the last failure was.
    pub last_error: Option<String>,
}

/// The records of one team in one file of JSON lines; a subscriber of its orchestrator.
///
/// ```no_run
/// # use akgentic_core::prelude::*;
/// # use akgentic_core::log::{EventLog, Fsync};
/// # use std::sync::Arc;
/// # async fn example(team: akgentic_core::ActorRef<Orchestrator>) -> Result<(), Box<dyn std::error::Error>> {
/// let log = EventLog::for_team("logs/team.jsonl", &team, Fsync::Never)?;
/// team.subscribe(Arc::new(log)).await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    fsync: Fsync,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    /// Where the last whole record ends.
    end: u64,
    synced: Instant,
    replaying: bool,
    status: LogStatus,
    line: Vec<u8>,
}

impl EventLog {
    /// Opens the log of a team, or begins one.
    ///
    /// A last line that was not written to its end is cut off. A log of another team is refused.
    pub fn for_team(
        path: impl AsRef<Path>,
        team: &ActorRef<Orchestrator>,
        fsync: Fsync,
    ) -> Result<Self, LogError> {
        let path = path.as_ref();
        let cell = team.address().reach().map_err(|error: CallError| LogError::NotALog {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let header = LogHeader {
            akgentic_log: FORMAT,
            orchestrator: team.address().to_snapshot(),
            config: Dyn(Arc::clone(&cell.config)),
            user_id: cell.lineage.user_id.clone(),
            user_email: cell.lineage.user_email.clone(),
        };
        Self::open(path, &header, fsync)
    }

    /// Opens the log with this header, or begins one; see [`EventLog::for_team`].
    pub fn open(
        path: impl AsRef<Path>,
        header: &LogHeader,
        fsync: Fsync,
    ) -> Result<Self, LogError> {
        let path = path.as_ref();
        let io = |source| LogError::Io { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LogError::InUse { path: path.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let whole = whole_lines(&bytes);
        if whole == 0 && !is_torn_header(&bytes) {
            let reason = "its first line is not the header of a log".to_owned();
            return Err(LogError::NotALog { path: path.to_owned(), reason });
        }
        let end = if whole == 0 {
            let mut line = serde_json::to_vec(header).map_err(|error| io(error.into()))?;
            line.push(b'\n');
            file.set_len(0).map_err(io)?;
            file.seek(SeekFrom::Start(0)).map_err(io)?;
            file.write_all(&line).map_err(io)?;
            line.len()
        } else {
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let found = parse_header(path, first)?;
            if found.orchestrator != header.orchestrator {
                return Err(LogError::OtherTeam { path: path.to_owned() });
            }
            if whole < bytes.len() {
                let cut = bytes.len() - whole;
                tracing::warn!(path = %path.display(), cut, "the last record was torn and is cut off");
            }
            file.set_len(whole as u64).map_err(io)?;
            file.seek(SeekFrom::Start(whole as u64)).map_err(io)?;
            if bytes.get(whole - 1) == Some(&b'\n') {
                whole
            } else {
                file.write_all(b"\n").map_err(io)?;
                whole + 1
            }
        };
        let inner = Inner {
            file,
            end: end as u64,
            synced: Instant::now(),
            replaying: false,
            status: LogStatus::default(),
            line: Vec::new(),
        };
        Ok(Self { path: path.to_owned(), fsync, inner: Mutex::new(inner) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is doing.
    pub fn status(&self) -> LogStatus {
        self.lock().status.clone()
    }

    fn write<T: Serialize>(&self, record: serde_json::Result<T>) -> Watched {
        let mut inner = self.lock();
        if inner.replaying {
            return Ok(());
        }
        let written =
            record.map_err(io::Error::from).and_then(|record| inner.append(&record, self.fsync));
        match written {
            Ok(()) => {
                inner.status.written += 1;
                Ok(())
            }
            Err(error) => {
                inner.take_back();
                inner.status.failed += 1;
                inner.status.last_error = Some(error.to_string());
                Err(error.into())
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether these bytes are how a header begins that was not written to its end.
fn is_torn_header(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"akgentic_log\":";
    bytes.iter().zip(BEGINNING).all(|(byte, wanted)| byte == wanted)
}

impl Inner {
    fn append<T: Serialize>(&mut self, record: &T, fsync: Fsync) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record)?;
        if nesting(&self.line) > DEEPEST {
            let error = "the record is nested too deeply to be read back";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        self.end += self.line.len() as u64;
        let is_due = match fsync {
            Fsync::Never => false,
            Fsync::Every(time) => self.synced.elapsed() >= time,
            Fsync::Always => true,
        };
        if is_due {
            self.file.sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    /// Takes back what a failed write may have left of a record.
    fn take_back(&mut self) {
        let restored =
            self.file.set_len(self.end).and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
        if let Err(error) = restored {
            tracing::error!(%error, "the log may hold half a record");
        }
    }
}

/// Deepest nesting of a record that is read back.
const DEEPEST: usize = 120;

/// How deeply a JSON text is nested.
fn nesting(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl Subscriber for EventLog {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        self.write(Ok(message))
    }

    fn on_team_data(&self, data: TeamData<'_>) -> Watched {
        self.write(match data {
            TeamData::Profiles(cards) => LogData::profiles(cards),
            TeamData::Metadata(metadata) => LogData::metadata(metadata),
        })
    }

    fn set_restoring(&self, _: Uuid, restoring: bool) -> Watched {
        self.lock().replaying = restoring;
        Ok(())
    }

    fn on_stop(&self, _: Uuid) -> Watched {
        if self.fsync != Fsync::Never {
            self.lock().file.sync_data()?;
        }
        Ok(())
    }
}
