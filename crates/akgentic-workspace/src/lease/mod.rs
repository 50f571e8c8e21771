//! The exec lease: while a command runs, its run holds the tree and nobody changes a file.
//!
//! [`Leases`] is the state machine: no clock, no thread, no process in it. [`run_worker`] is what
//! works on one run, with whatever backend it is given.

mod budget;
mod models;
pub mod text;
mod worker;

use std::time::Duration;

pub use budget::{
    LEASE_GRACE_S, Patience, REPLY_GRACE_S, REPORT_MARGIN_S, WORKER_BUDGET_S, ask_seconds,
    looks_within,
};
pub use models::{
    ExecConfig, ExecLease, ExecOutcome, ExecPayload, ExecStart, ExecState, ExecStatus, Lease,
};
pub use text::STREAM_SHOWN;
pub use worker::{Command, CommandFault, Payload, Sandbox, Started, run_worker};

use crate::gate::Recent;

/// Runs whose results are kept.
pub const RESULTS: usize = 128;

/// Run ids that are kept per agent, and runs whose lease was taken away.
pub const RECENT_RUNS: usize = 32;

/// Agents whose run ids are kept.
const AGENTS: usize = 1024;

/// Whether a change may be made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Yes.
    Free,
    /// Yes: a run whose worker is gone held the tree past its deadline, and has lost it.
    Reclaimed(Lease),
    /// No: a run holds the tree.
    Busy(Lease),
    /// No: a run holds the tree past its deadline, and is still at work.
    Overdue(Lease),
}

/// What the report of a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The lease: what changed since it began is the run's.
    Lease(Lease),
    /// A run that had lost its lease: what changed is nobody's.
    Reclaimed(Lease),
    /// Nothing.
    Nothing,
}

/// The lease, and what is known of runs.
#[derive(Debug)]
pub struct Leases {
    timeout_s: Option<f64>,
    lease: Option<Lease>,
    reclaimed: Recent<String, Lease>,
    results: Recent<String, Option<ExecOutcome>>,
    errors: Recent<String, String>,
    in_flight: Recent<String, ()>,
    recent: Recent<String, Recent<String, ()>>,
    /// Runs whose results went for those of others.
    forgotten: Vec<String>,
}

impl Default for Leases {
    fn default() -> Self {
        Self {
            timeout_s: None,
            lease: None,
            reclaimed: Recent::new(RECENT_RUNS),
            results: Recent::new(RESULTS),
            errors: Recent::new(RESULTS),
            in_flight: Recent::new(RESULTS),
            recent: Recent::new(AGENTS),
            forgotten: Vec::new(),
        }
    }
}

impl Leases {
    /// Says how long commands may take; runs are refused before.
    pub fn configure(&mut self, timeout_s: f64) {
        self.timeout_s = Some(timeout_s);
    }

    /// Whether runs are possible at all.
    pub fn is_configured(&self) -> bool {
        self.timeout_s.is_some()
    }

    /// The run that holds the tree.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Asks for the tree; a run that is past its deadline and has no worker loses it.
    pub fn hold(&mut self, now: Duration) -> Hold {
        let Some(lease) = self.lease.take() else { return Hold::Free };
        if now <= lease.deadline || lease.worker_alive {
            let answer = lease.clone();
            let overdue = now > lease.deadline;
            self.lease = Some(lease);
            return if overdue { Hold::Overdue(answer) } else { Hold::Busy(answer) };
        }
        self.reclaimed.put(lease.run_id.clone(), lease.clone());
        Hold::Reclaimed(lease)
    }

    /// Gives the tree to a run, once [`Leases::hold`] says that it is free.
    ///
    /// The command may take `timeout_s`, or else as long as was configured.
    pub fn start(
        &mut self,
        run_id: &str,
        agent: &str,
        cmd: &str,
        timeout_s: Option<f64>,
        now: Duration,
    ) {
        let timeout = timeout_s.or(self.timeout_s).unwrap_or(0.0);
        let budget = budget::seconds(timeout.min(WORKER_BUDGET_S));
        let lease = Lease {
            run_id: run_id.to_owned(),
            agent: agent.to_owned(),
            cmd: cmd.to_owned(),
            started_at: now,
            budget,
            deadline: now + budget + budget::seconds(LEASE_GRACE_S),
            begun: false,
            worker_alive: true,
        };
        self.lease = Some(lease);
        self.in_flight.put(run_id.to_owned(), ());
        if self.recent.touch(agent).is_none() {
            self.recent.put(agent.to_owned(), Recent::new(RECENT_RUNS));
        }
        if let Some(recent) = self.recent.get_mut(agent) {
            recent.put(run_id.to_owned(), ());
        }
    }

    /// Whether an id was given to a run of which something is still known.
    pub fn knows(&self, run_id: &str) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.run_id == run_id)
            || self.in_flight.peek(run_id).is_some()
            || self.results.peek(run_id).is_some()
            || self.errors.peek(run_id).is_some()
            || self.reclaimed.peek(run_id).is_some()
    }

    /// The command of a run begins: its time counts from here.
    pub fn run_started(&mut self, run_id: &str, now: Duration) {
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.run_id == run_id) {
            lease.deadline = now + lease.budget + budget::seconds(LEASE_GRACE_S);
            lease.begun = true;
        }
    }

    /// Nothing works on a run any more.
    pub fn worker_gone(&mut self, run_id: &str) {
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.run_id == run_id) {
            lease.worker_alive = false;
        }
    }

    /// A run came to an outcome.
    pub fn deliver(&mut self, run_id: &str, outcome: ExecOutcome) -> Closed {
        self.keep(run_id, Some(outcome));
        self.close(run_id)
    }

    /// A run came to no outcome.
    pub fn fail(&mut self, run_id: &str, reason: &str) -> Closed {
        let reason = if reason.trim().is_empty() { "it ended without saying why" } else { reason };
        self.keep(run_id, None);
        self.errors.put(run_id.to_owned(), reason.to_owned());
        self.close(run_id)
    }

    fn keep(&mut self, run_id: &str, result: Option<ExecOutcome>) {
        if let Some((gone, _)) = self.results.put(run_id.to_owned(), result)
            && gone != run_id
        {
            self.forgotten.push(gone);
        }
    }

    /// Runs whose results are not kept any more since this was asked last.
    pub fn take_forgotten(&mut self) -> Vec<String> {
        std::mem::take(&mut self.forgotten)
    }

    fn close(&mut self, run_id: &str) -> Closed {
        self.in_flight.remove(run_id);
        if let Some(lease) = self.lease.take_if(|lease| lease.run_id == run_id) {
            return Closed::Lease(lease);
        }
        self.reclaimed.remove(run_id).map_or(Closed::Nothing, Closed::Reclaimed)
    }

    /// What is known of a run; asking keeps an outcome longer.
    pub fn status(&mut self, agent: &str, run_id: &str) -> ExecStatus {
        if let Some(Some(outcome)) = self.results.peek(run_id) {
            let outcome = Some(outcome.clone());
            self.results.touch(run_id);
            return ExecStatus { outcome, ..ExecStatus::new(ExecState::Done, run_id) };
        }
        if let Some(reason) = self.errors.peek(run_id) {
            let reason = reason.clone();
            return ExecStatus { reason, ..ExecStatus::new(ExecState::Failed, run_id) };
        }
        if self.in_flight.peek(run_id).is_some() {
            return ExecStatus::new(ExecState::Running, run_id);
        }
        self.unknown(agent, run_id)
    }

    /// Whether an agent asked for a run, as far as that is still known.
    pub fn is_of(&self, agent: &str, run_id: &str) -> bool {
        self.recent.peek(agent).is_some_and(|recent| recent.peek(run_id).is_some())
    }

    /// The answer about a run of which the asking agent knows nothing.
    pub fn unknown(&self, agent: &str, run_id: &str) -> ExecStatus {
        let recent = self
            .recent
            .peek(agent)
            .map(|recent| recent.iter().map(|(run, ())| run.clone()).collect());
        ExecStatus {
            recent_run_ids: recent.unwrap_or_default(),
            ..ExecStatus::new(ExecState::Unknown, run_id)
        }
    }
}

/// What an agent reads when a run keeps it from what it wants to do.
pub fn busy_text(lease: &Lease, holder: &str, overdue: bool, now: Duration) -> String {
    let run = &lease.run_id;
    if overdue {
        return format!(
            "workspace busy: run {run} of agent '{holder}' has passed its budget and is still waited \
             on. Nothing was changed. Files can be read meanwhile; try again when the run has ended."
        );
    }
    let left = lease.deadline.saturating_sub(now).as_secs().max(1);
    format!(
        "workspace busy: run {run} of agent '{holder}' holds it for {left}s at most. Nothing was \
         changed. Files can be read meanwhile; try again when the run has ended."
    )
}
