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
#[cfg(test)]
mod faults;
mod lock;
mod refused;
mod registry;
mod runs;
mod sweep;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use change::{Change, Changed, LIVE_BYTES, Stop};
pub use refused::file_refusal;
pub use runs::{Check, CheckCommand, Run, RunSettings};

use crate::filesystem::Filesystem;
use crate::gate::{
    Code, Digest, EvidenceLimits, Gate, GateLimits, Material, Moments, Observation, Refusal,
};
use crate::journal::{Identity, Journal, JournalReport, JournalState, Record, ScanLimits, ignores};
use crate::lease::{Hold, Lease, Leases, busy_text};
use lock::TreeLock;

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
    moments: Moments,
    lock: TreeLock,
    journal: Option<Journal>,
    /// Why there is no journal.
    unjournalled: JournalState,
    reports: tokio::sync::watch::Sender<u64>,
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
        sweep::sweep(files.root());
        let gate = Gate::new(options.gate);
        let moments = gate.moments();
        let (journal, unjournalled) = match options.journal {
            None => (None, JournalState::Unwanted),
            Some(limits) => begin_journal(&files, limits),
        };
        Self {
            lock: TreeLock::of(files.root()),
            files,
            state: Mutex::new(State { gate, leases: Leases::default(), check: None }),
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

    /// Gives a file a whole content.
    pub fn write(&self, agent: &str, path: &str, content: &str) -> Result<(), Stop> {
        self.change(agent, Verb::Write, |change| change.write(path, content))
    }

    /// Removes a file.
    pub fn delete(&self, agent: &str, path: &str) -> Result<(), Stop> {
        self.change(agent, Verb::Delete, |change| change.delete(path))
    }

    /// Makes a directory, its parents included.
    pub fn mkdir(&self, path: &str) -> Result<(), Stop> {
        // Held to the end, so that no run begins meanwhile.
        let mut state = self.state();
        self.free(&mut state)?;
        if let Some(journal) = &self.journal {
            journal.look();
        }
        match self.files.mkdir(path) {
            Ok(_) => Ok(()),
            Err(error) => Err(file_refusal(&error).into()),
        }
    }

    /// Changes files as `body` says: all of it or nothing, and nothing that the agent did not see.
    pub fn change<T>(
        &self,
        agent: &str,
        verb: Verb,
        body: impl FnOnce(&mut Change<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.change_unless(agent, verb, &|| false, body)
    }

    /// [`Tree::change`], given up when `is_cancelled` says so before anything is published.
    pub fn change_unless<T>(
        &self,
        agent: &str,
        verb: Verb,
        is_cancelled: &dyn Fn() -> bool,
        body: impl FnOnce(&mut Change<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let (outcome, material) = self.locked(agent, verb, is_cancelled, body);
        // The lock is free: however long a diff takes, nobody else waits for it.
        outcome.map_err(|stop| match (stop, material) {
            (Stop::Refused(mut refusal), Some(material)) if refusal.code.has_evidence() => {
                refusal.evidence = material.evidence(&refusal.path, self.options.evidence);
                Stop::Refused(refusal)
            }
            (stop, _) => stop,
        })
    }

    fn locked<T>(
        &self,
        agent: &str,
        verb: Verb,
        is_cancelled: &dyn Fn() -> bool,
        body: impl FnOnce(&mut Change<'_>) -> Result<T, Stop>,
    ) -> (Result<T, Stop>, Option<Material>) {
        let mut state = self.state();
        if let Err(refusal) = self.free(&mut state) {
            return (Err(refusal.into()), None);
        }
        let Some(_taken) = self.lock.take() else {
            return (Err(Refusal::new(Code::Locked, "").into()), None);
        };
        let author =
            self.journal.as_ref().map(|_| Identity::agent(&state.gate.name_of(agent), agent));
        let mut change = Change {
            root: self.files.root(),
            durable: self.options.durable,
            gate: &mut state.gate,
            agent,
            is_cancelled,
            entries: Vec::new(),
            material: None,
        };
        let staged = body(&mut change).and_then(|value| Ok((value, change.stage()?)));
        let (value, batch) = match staged {
            Ok(staged) => staged,
            Err(stop) => {
                if let Some(journal) = &self.journal {
                    journal.look();
                }
                return (Err(stop), change.material);
            }
        };
        if batch.is_empty() {
            if let Some(journal) = &self.journal {
                journal.look();
            }
            return (Ok(value), None);
        }
        let announced = self.journal.as_ref().map(|journal| journal.announce(change.before()));
        if let Err(failed) = crate::publish::publish(batch) {
            let stop = change.unpublished(failed);
            return (Err(stop), change.material);
        }
        if let (Some(announced), Some(author)) = (announced, author) {
            let changes = change.after();
            announced.record(Record { capability: verb.as_str(), author, changes });
        }
        change.accept();
        (Ok(value), None)
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
