//! The journal: a git history of the tree, kept beside it and off everybody's path.
//!
//! One thread records what [`Journal::announce`] and [`Announced::record`] hand over, in that order.
//! Before it records a change, it looks for changes from outside and records them as such. Nothing
//! here can refuse or delay a change for long; when recording fails too often, the journal is off
//! for a while and says why.

pub mod ignores;
mod queue;
mod repository;
mod scan;
pub mod text;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;

pub use queue::Record;
pub use repository::{Content, ContentKind, JournalError};
pub(crate) use scan::kind_of;
pub use scan::{ScanLimits, Skipped};
pub use text::Identity;

use crate::admission::RelPath;
use crate::root::Root;
use queue::{Entry, Queue};
use repository::{Ledger, may_hold};
use scan::Scanner;

/// Failures in a row after which the journal is off for a while.
const FAILURES: u32 = 5;

/// How long it is off then; twice as long each time it fails again.
const OFF_FOR: Duration = Duration::from_secs(10);

/// The longest it is off.
const OFF_FOR_MOST: Duration = Duration::from_mins(10);

/// How long the end waits for what is still to be recorded. A repository that somebody damaged may hold
/// up whoever reads it for ever.
const END: Duration = Duration::from_secs(20);

/// Whether changes are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JournalState {
    /// They are.
    On,
    /// Nobody asked for it.
    #[default]
    Unwanted,
    /// They are not, and why.
    Off(String),
}

impl fmt::Display for JournalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Unwanted => f.write_str("off (not asked for)"),
            Self::Off(reason) => write!(f, "off ({reason})"),
        }
    }
}

/// How the journal of a tree stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalReport {
    /// On or off.
    pub state: JournalState,
    /// Commits made since it began here.
    pub commits: u64,
    /// Changes that were accepted and not recorded as what they were.
    pub lost: u64,
    /// What the last look at the tree passed over.
    pub skipped: Skipped,
}

/// The journal of one tree. Dropped, it records what waits, for a while, and ends.
#[derive(Debug)]
pub struct Journal {
    queue: Arc<Queue>,
    report: Arc<Mutex<JournalReport>>,
    states: watch::Receiver<JournalState>,
    writer: Option<JoinHandle<()>>,
}

impl Journal {
    /// Opens or begins the journal of a tree and records what is there.
    pub fn open(root: &Root, limits: ScanLimits) -> Result<Self, JournalError> {
        let queue = Arc::new(Queue::default());
        let report = JournalReport { state: JournalState::On, ..JournalReport::default() };
        let report = Arc::new(Mutex::new(report));
        let (opened, is_open) = std::sync::mpsc::sync_channel(1);
        let (to_queue, to_report) = (Arc::clone(&queue), Arc::clone(&report));
        let (to_states, states) = watch::channel(JournalState::On);
        let root = root.clone();
        let ends = EndOnDrop(Arc::clone(&queue));
        let thread = std::thread::Builder::new().name("workspace-journal".to_owned());
        // The repository stays on the thread that works with it.
        let thread = thread.spawn(move || match Ledger::open(root.path()) {
            Ok(ledger) => {
                let _ends = ends;
                let mut writer = Writer::new(root, ledger, limits, to_queue, to_report);
                writer.states = to_states;
                if opened.send(Ok(())).is_ok() {
                    writer.run();
                }
            }
            Err(error) => {
                if let Err(unheard) = opened.send(Err(error)) {
                    tracing::debug!(?unheard, "nobody waits for the journal");
                }
            }
        })?;
        is_open.recv().map_err(|_| JournalError::Gone)??;
        let journal = Self { queue, report, states, writer: Some(thread) };
        journal.look();
        Ok(journal)
    }

    /// Announces a change that is about to be made, with what is there before it.
    #[must_use]
    pub fn announce(&self, before: Vec<(RelPath, Option<Content>)>) -> Announced<'_> {
        let ticket = self.queue.announce(before);
        Announced { journal: self, ticket, open: true }
    }

    /// Records what changed from outside, if anything did.
    pub fn look(&self) {
        self.queue.push(Entry::OutOfBand);
    }

    /// Records what changed while a run held the tree, as the work of its agent.
    pub fn record_run(&self, author: Identity, command: &str, trailers: String) {
        if !self.queue.push(Entry::Run { author, command: command.to_owned(), trailers }) {
            self.lost();
        }
    }

    /// Waits until all that was handed over is recorded; whether that came in time.
    pub fn settle(&self, within: Duration) -> bool {
        self.queue.settle(within)
    }

    /// Tells when it goes on or off.
    pub fn states(&self) -> watch::Receiver<JournalState> {
        self.states.clone()
    }

    /// How it stands.
    pub fn report(&self) -> JournalReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records what waits and ends, in this time or not at all.
    fn end(&mut self, within: Duration) {
        self.queue.close();
        let Some(writer) = self.writer.take() else { return };
        if !self.queue.has_ended(within) {
            tracing::error!(?within, "the journal does not end: what waited is not recorded");
        } else if writer.join().is_err() {
            tracing::warn!("the journal ended with a panic");
        }
    }

    fn lost(&self) {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).lost += 1;
        tracing::warn!("the journal is behind: a change will be recorded as one from outside");
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.end(END);
    }
}

/// Tells that the thread that records has ended, however it did.
struct EndOnDrop(Arc<Queue>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A change that is being made; dropped, it was not made after all.
#[derive(Debug)]
pub struct Announced<'j> {
    journal: &'j Journal,
    ticket: u64,
    open: bool,
}

impl Announced<'_> {
    /// The change was made.
    pub fn record(mut self, record: Record) {
        let entry = Entry::Change { ticket: self.ticket, record };
        if self.journal.queue.push(entry) {
            self.open = false;
        } else {
            self.journal.lost();
        }
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if self.open {
            self.journal.queue.strike(self.ticket);
            self.journal.look();
        }
    }
}

/// The one who records.
struct Writer {
    root: Root,
    ledger: Ledger,
    limits: ScanLimits,
    scanner: Scanner,
    queue: Arc<Queue>,
    report: Arc<Mutex<JournalReport>>,
    states: watch::Sender<JournalState>,
    failures: u32,
    /// Since when it is off.
    off: Option<Instant>,
    off_for: Duration,
    /// Whether the tree was looked at since the queue was empty.
    looked: bool,
}

impl Writer {
    fn new(
        root: Root,
        ledger: Ledger,
        limits: ScanLimits,
        queue: Arc<Queue>,
        report: Arc<Mutex<JournalReport>>,
    ) -> Self {
        Self {
            root,
            ledger,
            limits,
            scanner: Scanner::default(),
            queue,
            report,
            states: watch::Sender::default(),
            failures: 0,
            off: None,
            off_for: OFF_FOR,
            looked: false,
        }
    }

    fn run(&mut self) {
        while let Some(entry) = self.queue.pop() {
            let ticket = match &entry {
                Entry::Change { ticket, .. } => Some(*ticket),
                Entry::OutOfBand | Entry::Run { .. } => None,
            };
            if self.is_on() {
                let outcome = self.entry(entry);
                self.note(outcome);
            }
            if let Some(ticket) = ticket {
                self.queue.strike(ticket);
            }
            self.looked &= !self.queue.is_empty();
            self.queue.done();
        }
    }

    /// Off for a while, it tries again after that.
    fn is_on(&mut self) -> bool {
        let Some(since) = self.off else { return true };
        if since.elapsed() < self.off_for {
            return false;
        }
        match Ledger::open(self.root.path()) {
            Ok(ledger) => {
                self.ledger = ledger;
                self.scanner = Scanner::default();
                self.off = None;
                true
            }
            Err(error) => {
                self.turn_off(&error);
                false
            }
        }
    }

    fn turn_off(&mut self, error: &JournalError) {
        tracing::warn!(%error, tree = %self.root.path().display(), "the journal is off");
        if self.off.is_some() {
            self.off_for = (self.off_for * 2).min(OFF_FOR_MOST);
        }
        self.off = Some(Instant::now());
        self.with_report(|report| report.state = JournalState::Off(error.to_string()));
    }

    fn note(&mut self, outcome: Result<u64, JournalError>) {
        match outcome {
            Ok(commits) => {
                self.failures = 0;
                self.with_report(|report| {
                    report.commits += commits;
                    report.state = JournalState::On;
                });
                self.off_for = OFF_FOR;
            }
            Err(error) => {
                self.failures += 1;
                self.with_report(|report| report.lost += 1);
                tracing::warn!(%error, "a commit failed: the change will be recorded later");
                if self.failures >= FAILURES {
                    self.failures = 0;
                    self.turn_off(&error);
                }
            }
        }
    }

    fn with_report(&self, change: impl FnOnce(&mut JournalReport)) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut report);
        self.states.send_if_modified(|state| {
            let turned = *state != report.state;
            if turned {
                state.clone_from(&report.state);
            }
            turned
        });
    }

    fn entry(&mut self, entry: Entry) -> Result<u64, JournalError> {
        match entry {
            Entry::OutOfBand => self.discover(&Identity::out_of_band(), None),
            Entry::Run { author, command, trailers } => {
                self.discover(&author, Some((&command, &trailers)))
            }
            Entry::Change { ticket, record } => {
                let outside = if self.looked {
                    self.before_ticket(ticket)?
                } else {
                    self.discover(&Identity::out_of_band(), None)?
                };
                Ok(outside + self.change(&record)?)
            }
        }
    }

    /// Records everything that differs.
    fn discover(
        &mut self,
        author: &Identity,
        run: Option<(&str, &str)>,
    ) -> Result<u64, JournalError> {
        self.looked = true;
        let queue = Arc::clone(&self.queue);
        let before = move || queue.before();
        let (changes, skipped) =
            self.scanner.scan(&self.root, &self.ledger, self.limits, &before)?;
        self.with_report(|report| report.skipped = skipped);
        let message = match run {
            None => text::OUT_OF_BAND.to_owned(),
            Some((command, trailers)) => {
                let paths: Vec<RelPath> = changes.iter().map(|(path, _)| path.clone()).collect();
                let subject = text::subject("exec", &paths);
                with_body(with_body(subject, &text::clean_command(command)), trailers)
            }
        };
        self.commit(&changes, author, &message)
    }

    /// Records what was there before a change, where somebody from outside had put it.
    fn before_ticket(&mut self, ticket: u64) -> Result<u64, JournalError> {
        let mut changes = Vec::new();
        for (path, content) in self.queue.before_ticket(ticket) {
            let recorded = content.as_ref().map(Content::recorded).transpose()?;
            if recorded != self.ledger.get(&path)
                && self.scanner.is_discoverable(&self.ledger, &path, content.as_ref())
            {
                changes.push((path, content));
            }
        }
        self.commit(&changes, &Identity::out_of_band(), text::OUT_OF_BAND)
    }

    fn change(&mut self, record: &Record) -> Result<u64, JournalError> {
        let paths: Vec<RelPath> = record.changes.iter().map(|(path, _)| path.clone()).collect();
        let message = with_body(text::subject(record.capability, &paths), &record.trailers);
        for path in &paths {
            self.scanner.forget(path);
        }
        let most = self.limits.file_bytes;
        let fits = |content: &Content| u64::try_from(content.bytes.len()).is_ok_and(|n| n <= most);
        let changes: Vec<_> = record
            .changes
            .iter()
            .filter(|(path, content)| {
                let holds = |content: &Content| fits(content) && may_hold(path, content.kind);
                content.as_ref().is_none_or(holds)
            })
            .cloned()
            .collect();
        if changes.len() < record.changes.len() {
            self.with_report(|report| report.lost += 1);
            tracing::warn!(
                most,
                "a file above the size limit, or named as git's own, was not recorded"
            );
        }
        self.commit(&changes, &record.author, &message)
    }

    fn commit(
        &mut self,
        changes: &[(RelPath, Option<Content>)],
        author: &Identity,
        message: &str,
    ) -> Result<u64, JournalError> {
        if changes.is_empty() {
            return Ok(0);
        }
        self.ledger.commit(changes, author, message).map(u64::from)
    }
}

fn with_body(subject: String, body: &str) -> String {
    if body.is_empty() { subject } else { format!("{subject}\n\n{body}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits for ever to be opened waits without us.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the journal lies outside the tree")]
    fn a_repository_that_hangs_does_not_hold_up_the_end() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = Root::create(outer.path().join("tree")).expect("a root");
        let mut journal = Journal::open(&root, ScanLimits::default()).expect("a journal");
        std::fs::write(outer.path().join("tree/a"), "1").expect("a file");
        journal.look();
        assert!(journal.settle(Duration::from_secs(20)));
        let branch = outer.path().join("tree.git/refs/heads/master");
        std::fs::remove_file(&branch).expect("the branch");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &branch, fifo, mode, 0).expect("a pipe");
        std::fs::write(outer.path().join("tree/a"), "22").expect("a file");
        journal.look();
        let started = Instant::now();
        journal.end(Duration::from_millis(200));
        drop(journal);
        assert!(started.elapsed() < Duration::from_secs(10));
        // Lets the thread go that hangs, if it does.
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NONBLOCK;
        drop(rustix::fs::open(&branch, flags, rustix::fs::Mode::empty()));
    }
}
