//! The gate: nobody changes what it did not see.
//!
//! Nothing here touches a file or a clock. [`Gate`] keeps what each agent saw and who wrote what;
//! [`decide`] is the table that rules on a change; a [`Refusal`] says why not.

mod decision;
mod digest;
mod evidence;
mod observation;
mod pages;
mod recent;
mod refusal;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use decision::{Intent, Ruling, decide};
pub use digest::Digest;
pub(crate) use digest::Digesting;
pub use evidence::{Capped, Evidence, EvidenceLimits, Material};
pub use observation::{LastWrite, Observation};
use pages::Lines;
pub use pages::Shown;
pub(crate) use recent::Recent;
pub use refusal::{Author, Code, FileCode, Refusal};

use crate::admission::RelPath;

/// How much the gate remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLimits {
    /// Files per agent.
    pub observations_per_agent: usize,
    /// Last writers, and names of agents.
    pub writers: usize,
    /// Whether pages that together show a whole file count as having seen the whole.
    pub join_pages: bool,
}

impl Default for GateLimits {
    /// 256 files per agent, 512 writers; pages stay pages.
    fn default() -> Self {
        Self { observations_per_agent: 256, writers: 512, join_pages: false }
    }
}

/// Agents whose observations are kept; a forgotten one is asked to read again.
const AGENTS: usize = 4096;

/// A change the gate lets through, to be reported back with [`Gate::accept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Permit {
    /// The file is not the one the agent saw: only an exact match will do.
    pub exact_only: bool,
    /// The agent knows the whole file when the change is made.
    pub knows_all: bool,
}

/// Why there is no permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The change is refused.
    Refused(Refusal),
    /// A patch names a file that is not there.
    TargetMissing,
}

/// What each agent saw, and who wrote what.
#[derive(Debug)]
pub struct Gate {
    limits: GateLimits,
    seen: Recent<String, Seen>,
    writers: Recent<RelPath, LastWrite>,
    names: Recent<String, String>,
    moments: Moments,
}

/// Counts moments, so that what was seen earlier and told later is known as such.
#[derive(Clone, Debug, Default)]
pub struct Moments(Arc<AtomicU64>);

impl Moments {
    /// A moment after all that were given so far.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// What one agent saw.
#[derive(Debug)]
struct Seen {
    files: Recent<RelPath, Known>,
}

/// What one agent saw of one file.
#[derive(Debug)]
struct Known {
    observation: Observation,
    moment: u64,
    /// The lines it was shown of that content, where pages are joined.
    shown: Lines,
}

impl Gate {
    /// A gate that has seen nothing.
    pub fn new(limits: GateLimits) -> Self {
        Self {
            limits,
            seen: Recent::new(AGENTS),
            writers: Recent::new(limits.writers),
            names: Recent::new(limits.writers),
            moments: Moments::default(),
        }
    }

    /// Remembers the name an agent is to be called by.
    pub fn register(&mut self, agent: &str, name: &str) {
        self.names.put(agent.to_owned(), name.to_owned());
    }

    /// The name of an agent: the registered one, else its id.
    pub fn name_of(&self, agent: &str) -> String {
        let name = self.names.peek(agent).filter(|name| !name.is_empty());
        name.map_or_else(|| agent.to_owned(), Clone::clone)
    }

    /// Remembers what an agent saw; the order of calls is the order of events.
    pub fn observe(&mut self, agent: &str, path: RelPath, observation: Observation) {
        let now = self.moments.next();
        self.observe_at(agent, path, observation, now);
    }

    /// The counter of its moments.
    pub fn moments(&self) -> Moments {
        self.moments.clone()
    }

    /// Remembers what an agent saw at `moment`, unless it saw the file again since.
    ///
    /// Calls that an agent makes at the same time report in any order; moments are drawn from one
    /// counter when the file is looked at.
    pub fn observe_at(
        &mut self,
        agent: &str,
        path: RelPath,
        observation: Observation,
        moment: u64,
    ) {
        self.observe_lines(agent, path, observation, Lines::default(), moment);
    }

    /// [`Gate::observe_at`] of a page that shows these lines.
    pub fn observe_page(
        &mut self,
        agent: &str,
        path: RelPath,
        observation: Observation,
        page: &Shown,
        moment: u64,
    ) {
        if !self.limits.join_pages || observation.full {
            return self.observe_at(agent, path, observation, moment);
        }
        let seen = self.seen.peek(agent).and_then(|seen| seen.files.peek(&path));
        let before = seen.filter(|known| known.observation.sha == observation.sha);
        let full = before.is_some_and(|known| known.observation.full);
        let mut shown = before.map(|known| known.shown.clone()).unwrap_or_default();
        shown.add(page.lines.clone());
        let full = full || shown.covers(page.total);
        self.observe_lines(agent, path, Observation { full, ..observation }, shown, moment);
    }

    fn observe_lines(
        &mut self,
        agent: &str,
        path: RelPath,
        observation: Observation,
        shown: Lines,
        moment: u64,
    ) {
        if self.seen.touch(agent).is_none() {
            let files = Recent::new(self.limits.observations_per_agent);
            self.seen.put(agent.to_owned(), Seen { files });
        }
        let Some(seen) = self.seen.get_mut(agent) else { return };
        if seen.files.peek(&path).is_some_and(|known| known.moment > moment) {
            return;
        }
        seen.files.put(path, Known { observation, moment, shown });
    }

    /// What an agent last saw of a file.
    pub fn observation(&self, agent: &str, path: &RelPath) -> Option<&Observation> {
        self.seen.peek(agent)?.files.peek(path).map(|known| &known.observation)
    }

    /// Who wrote what is there now, by name; nobody if it is not what the last writer wrote.
    pub fn writer(&self, path: &RelPath, live: &Digest) -> Option<String> {
        let write = self.writers.peek(path).filter(|write| write.sha == *live)?;
        Some(self.name_of(&write.agent_id))
    }

    /// Rules on a change of `path`, which the agent spells `given`.
    ///
    /// A file that is gone is forgotten, so that writing it again is judged as a creation.
    pub fn judge(
        &mut self,
        agent: &str,
        path: &RelPath,
        given: &str,
        intent: Intent,
        live: Option<&Digest>,
    ) -> Result<Permit, Denied> {
        match decide(intent, live, self.observation(agent, path)) {
            Ruling::Create | Ruling::Replace => Ok(Permit { exact_only: false, knows_all: true }),
            Ruling::Anchored { exact_only, knows_all } => Ok(Permit { exact_only, knows_all }),
            Ruling::TargetMissing => Err(Denied::TargetMissing),
            Ruling::Refuse(code) => {
                if code == Code::Gone {
                    self.forget(agent, path);
                }
                Err(Denied::Refused(self.refusal(code, path, given, live)))
            }
        }
    }

    /// A refusal that names the last writer where it may.
    pub fn refusal(
        &self,
        code: Code,
        path: &RelPath,
        given: &str,
        live: Option<&Digest>,
    ) -> Refusal {
        let writer = match code {
            Code::Gone | Code::NotFound => None,
            _ => live.and_then(|live| self.writer(path, live)),
        };
        Refusal::new(code, given).written_by(writer)
    }

    /// Remembers a change that was made: the file is now what `sha` is the digest of.
    pub fn accept(&mut self, agent: &str, path: &RelPath, sha: Digest, permit: Permit) {
        let write = LastWrite { agent_id: agent.to_owned(), sha: sha.clone() };
        self.writers.put(path.clone(), write);
        let observation = Observation { sha, full: permit.knows_all };
        self.observe(agent, path.clone(), observation);
    }

    /// Remembers that an agent removed a file.
    pub fn accept_removal(&mut self, agent: &str, path: &RelPath) {
        self.writers.remove(path);
        self.forget(agent, path);
    }

    fn forget(&mut self, agent: &str, path: &RelPath) {
        if let Some(seen) = self.seen.get_mut(agent) {
            seen.files.remove(path);
        }
    }
}
