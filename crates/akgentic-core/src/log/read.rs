//! Reading a log: what is good is loaded, what is not is reported.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::data::{Collected, LogData};
use crate::address::ActorAddress;
use crate::card::AgentCard;
use crate::config::AnyConfig;
use crate::message::{Message, load_message};
use crate::wire::Record;

/// The format this version writes.
pub(super) const FORMAT: u32 = 1;

/// First line of a log: whose records it holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogHeader {
    /// Version of the format.
    pub akgentic_log: u32,
    /// The team's orchestrator.
    pub orchestrator: ActorAddress,
    /// Its configuration.
    pub config: AnyConfig,
    /// The person or principal the team works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The mail address that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_email: Option<String>,
}

/// Why a log cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The first line is not the header of a log.
    #[error("{path} is not a team log: {reason}")]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// Another log writes to the file.
    #[error("{path} is in use by a team that runs")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The log belongs to another team.
    #[error("{path} holds the records of another team; give this one a file of its own")]
    OtherTeam {
        /// The file.
        path: PathBuf,
    },
}

/// A line that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number in the file, from 1.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// What a log holds.
#[derive(Clone, Debug)]
pub struct LogContents {
    /// Whose records these are.
    pub header: LogHeader,
    /// The records in order.
    pub messages: Vec<Arc<Message>>,
    /// Agent cards the team knew.
    pub profiles: Vec<AgentCard>,
    /// The team's metadata record.
    pub metadata: Option<Arc<dyn Record>>,
    /// Lines in the middle that could not be loaded; they are skipped.
    pub bad_lines: Vec<BadLine>,
    /// Bytes of a last line that was not written to its end; they are cut off.
    pub torn_bytes: usize,
}

impl LogContents {
    /// Reads the log at `path`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, LogError> {
        let path = path.as_ref();
        let bytes =
            fs::read(path).map_err(|source| LogError::Io { path: path.to_owned(), source })?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, LogError> {
        let whole = whole_lines(bytes);
        let torn_bytes = bytes.len() - whole;
        let mut lines = bytes.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
        let header = parse_header(path, lines.next().unwrap_or_default())?;
        let mut messages = Vec::new();
        let mut seen = HashSet::new();
        let mut collected = Collected::default();
        let mut bad_lines = Vec::new();
        for (number, line) in lines.enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let loaded = match serde_json::from_slice::<Value>(line) {
                Ok(json) if LogData::is(&json) => collected.take(json),
                Ok(json) => match load_message(json) {
                    // Each record has an id of its own: what comes again is a copy, not an event.
                    Ok(message) if !seen.insert(message.id) => {
                        Err(format!("the record {} came before", message.id))
                    }
                    Ok(message) => {
                        messages.push(Arc::new(message));
                        Ok(())
                    }
                    Err(error) => Err(error.to_string()),
                },
                Err(error) => Err(error.to_string()),
            };
            if let Err(reason) = loaded {
                bad_lines.push(BadLine { line: number + 2, reason });
            }
        }
        for bad in &bad_lines {
            tracing::warn!(path = %path.display(), line = bad.line, reason = %bad.reason, "skipped");
        }
        let Collected { cards: profiles, metadata } = collected;
        Ok(Self { header, messages, profiles, metadata, bad_lines, torn_bytes })
    }
}

/// How many bytes of a log are whole lines; a last line without its newline is whole when it is
/// valid JSON.
pub(super) fn whole_lines(bytes: &[u8]) -> usize {
    let ended = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rest = bytes.get(ended..).unwrap_or_default();
    if serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok() { bytes.len() } else { ended }
}

pub(super) fn parse_header(path: &Path, line: &[u8]) -> Result<LogHeader, LogError> {
    let not_a_log = |reason: String| LogError::NotALog { path: path.to_owned(), reason };
    let header: LogHeader =
        serde_json::from_slice(line).map_err(|error| not_a_log(error.to_string()))?;
    if header.akgentic_log != FORMAT {
        return Err(not_a_log(format!("format {} is not known", header.akgentic_log)));
    }
    Ok(header)
}
