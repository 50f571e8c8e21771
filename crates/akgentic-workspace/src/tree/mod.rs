//! The owner of a tree: gate, journal and lease of all who work on one directory.
//!
//! There is one [`Tree`] per directory and process, whoever opens it. Its operations block for the
//! time of a few system calls; a program that must not wait calls them on a thread of their own.
//!
//! ```
//! use akgentic_workspace::tree::{Stop, Tree, TreeOptions};
//! use akgentic_workspace::{Filesystem, Root};
//!
//! # let folder = tempfile::tempdir()?;
//! let files = Filesystem::new(Root::open(folder.path())?);
//! let tree = Tree::open(files, TreeOptions::default())?;
//! tree.register("1", "Ann");
//! tree.write("1", "notes.txt", "by Ann\n").map_err(|stop| format!("{stop:?}"))?;
//! let Err(Stop::Refused(refusal)) = tree.write("2", "notes.txt", "unseen\n") else { panic!() };
//! assert!(refusal.to_string().contains("last written by agent 'Ann'"));
//! tree.read("2", "notes.txt")?;
//! assert!(tree.write("2", "notes.txt", "seen\n").is_ok());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod change;
mod edits;
mod entry;
mod failure;
#[cfg(test)]
mod faults;
mod lock;
mod operations;
mod patches;
mod refused;
mod registry;
mod runs;
mod spill;
mod turns;

use std::fmt;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

pub use change::{Change, LIVE_BYTES, Stop, Unfit};
pub use failure::{Cause, Failure};
pub use refused::file_refusal;
pub use runs::{Check, CheckCommand, Run, RunSettings};

use crate::admission::RelPath;
use crate::filesystem::Filesystem;
use crate::gate::{
    Code, Digest, EvidenceLimits, Gate, GateLimits, Moments, Observation, Refusal, Shown,
};
use crate::journal::{
    Identity, Journal, JournalReport, JournalState, Record, ScanLimits, ignores, text,
};
use crate::lease::{Hold, Lease, Leases, busy_text};
use crate::sweep::ABANDONED_AFTER;
use lock::TreeLock;
use spill::Spills;
use turns::{Turn, Turns};

/// A tool that changes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `workspace_write`
    Write,
    /// `workspace_delete`
    Delete,
    /// `workspace_edit`
    Edit,
    /// `workspace_multi_edit`
    MultiEdit,
    /// `workspace_patch`
    Patch,
}

impl Verb {
    /// How the journal calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Edit => "edit",
            Self::MultiEdit => "multi_edit",
            Self::Patch => "patch",
        }
    }
}

/// How often a change that was overtaken begins again before it takes its turn for all of it.
const ATTEMPTS: u32 = 3;

/// How long the turn to publish is waited for.
const TURN_WAIT: Duration = Duration::from_secs(15);

/// Why an attempt at a change came to nothing.
enum Miss {
    /// Somebody else was faster.
    Overtaken,
    Stopped(Stop),
}

impl From<Stop> for Miss {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Time since some moment that stays.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Gives ids of runs; one that is still known is not used again.
pub type RunIds = Arc<dyn Fn() -> String + Send + Sync>;

/// How a tree is kept; decided by the first one to open it.
#[derive(Clone)]
pub struct TreeOptions {
    /// How much the gate remembers.
    pub gate: GateLimits,
    /// What a refusal shows.
    pub evidence: EvidenceLimits,
    /// Whether a journal is kept, and what it looks at.
    pub journal: Option<ScanLimits>,
    /// Whether commits of the journal name agent and run by their ids.
    pub trailers: bool,
    /// Whether a change waits for the disk.
    pub durable: bool,
    /// The clock of the lease.
    pub clock: Clock,
    /// Where ids of runs come from.
    pub run_ids: RunIds,
}

impl Default for TreeOptions {
    /// The usual limits, no journal, the clock of the machine.
    fn default() -> Self {
        let epoch = Instant::now();
        Self {
            gate: GateLimits::default(),
            evidence: EvidenceLimits::default(),
            journal: None,
            trailers: false,
            durable: false,
            clock: Arc::new(move || epoch.elapsed()),
            run_ids: Arc::new(|| {
                let id = uuid::Uuid::new_v4().simple().to_string();
                id.get(..8).unwrap_or(&id).to_owned()
            }),
        }
    }
}

impl fmt::Debug for TreeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeOptions")
            .field("gate", &self.gate)
            .field("journal", &self.journal)
            .field("durable", &self.durable)
            .finish_non_exhaustive()
    }
}

/// Why a tree cannot be owned.
#[derive(Debug, thiserror::Error)]
#[error("the folder cannot be used: {0}")]
pub struct TreeError(#[from] std::io::Error);

/// The owner of one tree.
pub struct Tree {
    files: Filesystem,
    options: TreeOptions,
    state: Mutex<State>,
    turns: Turns,
    moments: Moments,
    lock: TreeLock,
    journal: Option<Journal>,
    /// Why there is no journal.
    unjournalled: JournalState,
    reports: tokio::sync::watch::Sender<u64>,
    spills: Spills,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    leases: Leases,
    check: Option<CheckCommand>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("root", &self.files.root().path()).finish_non_exhaustive()
    }
}

impl Tree {
    /// The owner of the tree at `files`; an owner that is there already keeps its options.
    pub fn open(files: Filesystem, options: TreeOptions) -> Result<Arc<Self>, TreeError> {
        registry::open(files, options)
    }

    fn new(files: Filesystem, options: TreeOptions) -> Self {
        let files = files.durable(options.durable);
        files.sweep_staging(SystemTime::now(), ABANDONED_AFTER);
        let gate = Gate::new(options.gate);
        let moments = gate.moments();
        let (journal, unjournalled) = match options.journal {
            None => (None, JournalState::Unwanted),
            Some(limits) => begin_journal(&files, limits),
        };
        Self {
            lock: TreeLock::of(files.root()),
            spills: Spills::beside(files.root().path()),
            files,
            state: Mutex::new(State { gate, leases: Leases::default(), check: None }),
            turns: Turns::default(),
            options,
            moments,
            journal,
            unjournalled,
            reports: tokio::sync::watch::Sender::new(0),
        }
    }

    /// The files; reading them needs nobody's leave.
    pub fn files(&self) -> &Filesystem {
        &self.files
    }

    /// How the journal stands.
    pub fn journal(&self) -> JournalReport {
        match &self.journal {
            Some(journal) => journal.report(),
            None => JournalReport { state: self.unjournalled.clone(), ..JournalReport::default() },
        }
    }

    /// Tells when the journal goes on or off; nothing when there never was one.
    pub fn journal_states(&self) -> Option<tokio::sync::watch::Receiver<JournalState>> {
        self.journal.as_ref().map(Journal::states)
    }

    /// Waits until the journal has recorded all that was accepted; whether that came in time.
    pub fn settle_journal(&self, within: Duration) -> bool {
        self.journal.as_ref().is_none_or(|journal| journal.settle(within))
    }

    /// Remembers the name an agent is to be called by.
    pub fn register(&self, agent: &str, name: &str) {
        self.state().gate.register(agent, name);
    }

    /// A moment, drawn before a file is looked at and told with what was seen.
    pub fn moment(&self) -> u64 {
        self.moments.next()
    }

    /// Remembers what an agent saw of a file at a moment; a path that leads nowhere is left out.
    pub fn observe(&self, agent: &str, path: &str, observation: Observation, moment: u64) {
        match self.files.root().resolve(path) {
            Ok(rel) => self.state().gate.observe_at(agent, rel, observation, moment),
            Err(error) => tracing::debug!(%error, "an observation was not recorded"),
        }
    }

    /// The output of a run that a path stands for, with its size.
    pub(crate) fn run_output(&self, path: &str) -> Option<(File, u64)> {
        if !path.contains(spill::RUNS) {
            return None;
        }
        self.spills.open(&self.files.root().resolve(path).ok()?)
    }

    /// Reads a file for an agent that sees the whole of it.
    pub fn read(&self, agent: &str, path: &str) -> Result<Vec<u8>, crate::FileError> {
        let moment = self.moment();
        let bytes = self.files.read(path)?;
        self.observe(agent, path, Observation { sha: Digest::of(&bytes), full: true }, moment);
        Ok(bytes)
    }

    /// What an agent last saw of a file.
    pub fn observation(&self, agent: &str, path: &str) -> Option<Observation> {
        let rel = self.files.root().resolve(path).ok()?;
        self.state().gate.observation(agent, &rel).cloned()
    }

    /// Remembers what an agent saw of the file at a place, on one page.
    pub(crate) fn saw(
        &self,
        agent: &str,
        rel: RelPath,
        seen: Observation,
        page: &Shown,
        moment: u64,
    ) {
        self.state().gate.observe_page(agent, rel, seen, page, moment);
    }

    /// Changes files as `body` says: all of it or nothing, and nothing that the agent did not see.
    ///
    /// `body` runs again when another one was faster; it changes nothing but what it is given.
    pub fn change<T>(
        &self,
        agent: &str,
        verb: Verb,
        body: impl FnMut(&mut Change<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.change_unless(agent, verb, &|| false, body)
    }

    /// [`Tree::change`], given up when `is_cancelled` says so before anything is published.
    pub fn change_unless<T>(
        &self,
        agent: &str,
        verb: Verb,
        is_cancelled: &dyn Fn() -> bool,
        mut body: impl FnMut(&mut Change<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let mut change = Change::new(self, agent, is_cancelled);
        let outcome = self.attempts(&mut change, verb, &mut body);
        let material = change.material;
        // The turn is over: however long a diff takes, nobody else waits for it.
        outcome.map_err(|stop| match (stop, material) {
            (Stop::Refused(mut refusal), Some(material)) if refusal.code.has_evidence() => {
                refusal.evidence = material.evidence(&refusal.path, self.options.evidence);
                Stop::Refused(refusal)
            }
            (stop, _) => stop,
        })
    }

    /// Makes a change, again when somebody else changed one of its files meanwhile.
    ///
    /// Files are looked at and staged beside each other; only what makes them visible happens in
    /// turn. Who was overtaken too often does all of it in its turn.
    fn attempts<T>(
        &self,
        change: &mut Change<'_>,
        verb: Verb,
        body: &mut impl FnMut(&mut Change<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        for _ in 0..ATTEMPTS {
            match self.attempt(change, verb, None, body) {
                Err(Miss::Overtaken) => change.restart(),
                Err(Miss::Stopped(stop)) => return Err(stop),
                Ok(value) => return Ok(value),
            }
        }
        let turn = self.turn()?;
        match self.attempt(change, verb, Some(turn), body) {
            Err(Miss::Overtaken) => Err(Refusal::new(Code::PublishLost, "").into()),
            Err(Miss::Stopped(stop)) => Err(stop),
            Ok(value) => Ok(value),
        }
    }

    fn attempt<T>(
        &self,
        change: &mut Change<'_>,
        verb: Verb,
        turn: Option<Turn<'_>>,
        body: &mut impl FnMut(&mut Change<'_>) -> Result<T, Stop>,
    ) -> Result<T, Miss> {
        self.free(&mut self.state()).map_err(Stop::from)?;
        let staged = body(change).and_then(|value| Ok((value, change.stage()?)));
        let (value, batch) = match staged {
            Ok((value, batch)) if !batch.is_empty() => (value, batch),
            other => {
                if let Some(journal) = &self.journal {
                    journal.look();
                }
                return Ok(other?.0);
            }
        };
        let is_last = turn.is_some();
        let turn = match turn {
            Some(turn) => turn,
            None => self.turn()?,
        };
        // A run may have begun while the files were staged.
        self.free(&mut self.state()).map_err(Stop::from)?;
        let Some(locked) = self.lock.take() else {
            return Err(Stop::from(Refusal::new(Code::Locked, "")).into());
        };
        let announced = self.journal.as_ref().map(|journal| journal.announce(change.before()));
        let published = match crate::publish::publish(batch) {
            Ok(published) => published,
            Err(failed) if failed.is_conflict() && !is_last => return Err(Miss::Overtaken),
            Err(failed) => return Err(change.unpublished(failed).into()),
        };
        if let Some(announced) = announced {
            let author = Identity::agent(&self.state().gate.name_of(change.agent), change.agent);
            let trailers = self.trailers(change.agent, None);
            let changes = change.after();
            announced.record(Record { capability: verb.as_str(), author, changes, trailers });
        }
        change.accept();
        drop(locked);
        drop(turn);
        published.keep();
        Ok(value)
    }

    /// The ids that a commit names, where that was asked for.
    fn trailers(&self, agent: &str, run: Option<&str>) -> String {
        if !self.options.trailers {
            return String::new();
        }
        text::trailers(agent, run)
    }

    /// Waits until nobody else makes anything visible.
    fn turn(&self) -> Result<Turn<'_>, Stop> {
        self.turns.take(TURN_WAIT).ok_or_else(|| Refusal::new(Code::Locked, "").into())
    }

    /// Refuses while a run holds the tree.
    fn free(&self, state: &mut State) -> Result<(), Refusal> {
        let now = (self.options.clock)();
        let (lease, overdue) = match state.leases.hold(now) {
            Hold::Free => return Ok(()),
            Hold::Reclaimed(Lease { run_id, .. }) => {
                tracing::warn!(%run_id, "a run without a worker lost the tree");
                return Ok(());
            }
            Hold::Busy(lease) => (lease, false),
            Hold::Overdue(lease) => (lease, true),
        };
        let code = if overdue { Code::BusyOverdue } else { Code::Busy };
        let holder = state.gate.name_of(&lease.agent);
        Err(Refusal::told(code, "", busy_text(&lease, &holder, overdue, now)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins the journal, with ignore rules where the tree has none.
fn begin_journal(files: &Filesystem, limits: ScanLimits) -> (Option<Journal>, JournalState) {
    let seeded = files.exists(ignores::NAME).and_then(|there| {
        if !there {
            files.write(ignores::NAME, ignores::SEED.as_bytes())?;
        }
        Ok(())
    });
    if let Err(error) = seeded {
        tracing::warn!(%error, "the ignore rules of the journal were not written");
    }
    match Journal::open(files.root(), limits) {
        Ok(journal) => (Some(journal), JournalState::On),
        Err(error) => {
            let tree = files.root().path().display();
            tracing::warn!(%error, %tree, "there is no journal");
            (None, JournalState::Off(error.to_string()))
        }
    }
}
