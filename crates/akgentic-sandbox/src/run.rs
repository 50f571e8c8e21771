//! One run: what is asked for, and what came of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::command::AllowedCommand;
use crate::enforcement::Enforcement;
use crate::error::RunError;
use crate::output::{Output, OutputLimits, SpillStore};
use crate::records::ExecResult;

/// How long a command may run whose caller names no limit.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Exit code of a run that was ended by its time limit.
pub const TIMED_OUT: i32 = 124;

/// Exit code of a run that was cancelled or gave too much output.
pub const STOPPED: i32 = 130;

/// Most a time limit can be.
const TIMEOUT_MAX: Duration = Duration::from_hours(7 * 24);

/// Longest word of a command: what Linux takes, less its end.
const WORD_MAX: usize = (128 << 10) - 1;

/// Most bytes of all words, and what each counts beyond its length. The system takes twice as much; the
/// rest is for the environment and for what a backend adds.
const WORDS_MAX: usize = 1 << 20;
const WORD_COST: usize = 9;

/// What to run.
#[derive(Clone)]
pub struct Run {
    /// The command.
    pub command: AllowedCommand,
    /// The folder it starts in, as the agent spells it; empty for the workspace root.
    pub folder: String,
    /// When it is ended; zero ends it before it starts.
    pub timeout: Duration,
    /// How much output is kept.
    pub output: OutputLimits,
    /// Where an output goes that is too long to be kept.
    pub spill: Option<Arc<dyn SpillStore>>,
    /// Ends the run early.
    pub cancel: CancellationToken,
}

impl Run {
    /// Runs `command` in the workspace root within [`DEFAULT_TIMEOUT`].
    pub fn new(command: AllowedCommand) -> Self {
        Self {
            command,
            folder: String::new(),
            timeout: DEFAULT_TIMEOUT,
            output: OutputLimits::default(),
            spill: None,
            cancel: CancellationToken::new(),
        }
    }

    /// Starts in `folder`.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Ends after `timeout`.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(TIMEOUT_MAX);
        self
    }

    /// Ends after `seconds`, as they stand in a card: finite, zero or less ends the run at once.
    pub fn within_seconds(self, seconds: f64) -> Result<Self, RunError> {
        if !seconds.is_finite() {
            return Err(RunError::Timeout(seconds));
        }
        let timeout = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(TIMEOUT_MAX);
        Ok(self.within(timeout))
    }

    /// Keeps this much output.
    #[must_use]
    pub fn keeping(mut self, output: OutputLimits) -> Self {
        self.output = output;
        self
    }

    /// Writes an output that is too long to be kept to a file of this store.
    #[must_use]
    pub fn spilling(mut self, store: Arc<dyn SpillStore>) -> Self {
        self.spill = Some(store);
        self
    }

    /// Ends when `cancel` fires.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Refuses what no system can run.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let words = self.command.argv();
        if words.iter().any(|word| word.contains('\0')) {
            return Err(RunError::Nul);
        }
        let longest = words.iter().map(String::len).max().unwrap_or_default();
        if longest > WORD_MAX {
            return Err(RunError::TooLong {
                what: "bytes of its longest word",
                size: longest,
                most: WORD_MAX,
            });
        }
        let all = words.iter().map(|word| word.len() + WORD_COST).sum();
        if all > WORDS_MAX {
            return Err(RunError::TooLong {
                what: "bytes of all its words",
                size: all,
                most: WORDS_MAX,
            });
        }
        Ok(())
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("command", &self.command)
            .field("folder", &self.folder)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The command ended by itself, or was killed by somebody else.
    Exited,
    /// The time limit ended it.
    TimedOut(Duration),
    /// Whoever asked for it ended it.
    Cancelled,
    /// It gave more output than the kill limit.
    TooMuchOutput(u64),
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The command's exit code; −n (`local`, `seatbelt`) or 128+n (`bwrap`, `docker`) when signal n
    /// ended it; [`TIMED_OUT`] or [`STOPPED`] when the sandbox did.
    pub exit_code: i32,
    /// How it ended.
    pub ended: Ended,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// What held the run.
    pub enforcement: Enforcement,
    /// What whoever uses the workspace next should know: planted special files, new repositories.
    pub notices: Vec<String>,
    /// From the start to the last process gone.
    pub duration: Duration,
}

impl Outcome {
    /// An outcome of a command that never became a process.
    pub(crate) fn without_process(exit_code: i32, stderr: &str, enforcement: Enforcement) -> Self {
        Self {
            exit_code,
            ended: Ended::Exited,
            stdout: Output::default(),
            stderr: Output::of(stderr),
            enforcement,
            notices: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    /// An outcome of a command whose time was over before it started.
    pub(crate) fn out_of_time(run: &Run, enforcement: Enforcement) -> Self {
        Self {
            ended: Ended::TimedOut(run.timeout),
            ..Self::without_process(TIMED_OUT, "", enforcement)
        }
    }

    /// Whether the time limit ended it.
    pub fn timed_out(&self) -> bool {
        matches!(self.ended, Ended::TimedOut(_))
    }

    /// The record of the run with about `limit` bytes of each stream; see [`Output::text`].
    ///
    /// When the sandbox ended the run, the last line of standard error says so.
    pub fn result(&self, limit: usize) -> ExecResult {
        let mut stderr = self.stderr.text(limit);
        if let Some(reason) = self.reason() {
            if !stderr.is_empty() && !stderr.ends_with('\n') {
                stderr.push('\n');
            }
            stderr.push_str(&reason);
        }
        ExecResult { stdout: self.stdout.text(limit), stderr, exit_code: i64::from(self.exit_code) }
    }

    /// Why the sandbox ended the run, when it did.
    pub fn reason(&self) -> Option<String> {
        match self.ended {
            Ended::Exited => None,
            Ended::TimedOut(after) => Some(format!(
                "The command was ended after {}s, its time limit; everything it started is gone and what it wrote stays.",
                after.as_secs_f64()
            )),
            Ended::Cancelled => Some(
                "The command was stopped on request; everything it started is gone and what it wrote stays."
                    .to_owned(),
            ),
            Ended::TooMuchOutput(limit) => Some(format!(
                "The command was ended after {limit} bytes of output, the most a run may give; send long output to a file."
            )),
        }
    }
}
