//! Runs of commands, as the owner of the tree sees them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use akgentic_sandbox::{SpillDirectory, SpillStore, redact};
use tokio::time::{Instant, timeout_at};

use super::spill::RUNS;
use super::{TURN_WAIT, Tree};
use crate::gate::{Code, Refusal};
use crate::journal::Identity;
use crate::lease::{Closed, ExecOutcome, ExecStatus, Lease, Patience};

/// How long a run waits for the journal to record what was there before it.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(2);

/// How long the start of a sandbox is waited for: as long as a worker has for everything.
const STARTING_MAX: Duration = Duration::from_secs(21);

/// Most bytes of one stream of a run that are kept beside the tree.
const SPILL_BYTES: u64 = 64 << 20;

/// Says why a command may not be run.
#[derive(Clone)]
pub struct CheckCommand(pub Arc<Check>);

/// Looks at a command; the error says why it may not be run.
pub type Check = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl fmt::Debug for CheckCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckCommand")
    }
}

/// How commands are run from now on.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Seconds a command may take.
    pub timeout_s: f64,
    /// Looks at a command before it gets the tree.
    pub check: Option<CheckCommand>,
}

/// A run that has the tree. Dropped without a report, it reports that it ended without one.
#[derive(Debug)]
pub struct Run {
    tree: Arc<Tree>,
    id: String,
    reported: bool,
}

impl Run {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where its output goes as far as it is too long to be kept in memory.
    pub(crate) fn spill_store(&self) -> Option<Arc<dyn SpillStore>> {
        let opened = self
            .tree
            .spills
            .folder(&self.id)
            .and_then(|folder| SpillDirectory::open(&folder, RUNS, &self.id, SPILL_BYTES));
        match opened {
            Ok(store) => Some(Arc::new(store)),
            Err(error) => {
                tracing::warn!(%error, run = %self.id, "long output will not be kept");
                None
            }
        }
    }

    /// The command begins: its time counts from here.
    pub fn started(&self) {
        self.tree.run_started(&self.id);
    }

    /// The run ended: with an outcome, or with the reason why there is none.
    pub fn report(mut self, result: Result<ExecOutcome, String>) {
        self.reported = true;
        match result {
            Ok(outcome) => self.tree.deliver(&self.id, outcome),
            Err(reason) => self.tree.fail(&self.id, &reason),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.reported {
            self.tree.fail(&self.id, "its worker ended without a report");
        }
    }
}

impl Tree {
    /// Says how commands are run; a run that holds the tree goes on as it began.
    pub fn configure_runs(&self, settings: RunSettings) {
        let mut state = self.state();
        state.leases.configure(settings.timeout_s);
        state.check = settings.check;
    }

    /// Gives the tree to a new run of `cmd`; whoever gets the [`Run`] works on it and reports.
    pub fn begin_run(self: &Arc<Self>, agent: &str, cmd: &str) -> Result<Run, Refusal> {
        let id = self.request_run(agent, cmd)?;
        Ok(Run { tree: Arc::clone(self), id, reported: false })
    }

    /// [`Tree::begin_run`] of a command that may take `timeout_s`, whatever was configured.
    pub fn begin_run_within(
        self: &Arc<Self>,
        agent: &str,
        cmd: &str,
        timeout_s: f64,
    ) -> Result<Run, Refusal> {
        let id = self.request(agent, cmd, Some(timeout_s))?;
        Ok(Run { tree: Arc::clone(self), id, reported: false })
    }

    /// [`Tree::begin_run`] for those who report by the run's id.
    pub fn request_run(&self, agent: &str, cmd: &str) -> Result<String, Refusal> {
        self.request(agent, cmd, None)
    }

    fn request(&self, agent: &str, cmd: &str, timeout_s: Option<f64>) -> Result<String, Refusal> {
        // No file is being put in its place while the run begins, and none can be from then on.
        let turn = self.turns.take(TURN_WAIT);
        let Some(_turn) = turn else { return Err(Refusal::new(Code::Locked, "")) };
        let mut state = self.state();
        self.free(&mut state)?;
        if timeout_s.is_none() && !state.leases.is_configured() {
            let text =
                "No sandbox is configured for this workspace, so commands cannot be run in it.";
            return Err(Refusal::told(Code::Unconfigured, "", text));
        }
        if let Some(CheckCommand(check)) = &state.check
            && let Err(text) = check(cmd)
        {
            return Err(Refusal::told(Code::CommandNotAllowed, "", text));
        }
        let mut id = (self.options.run_ids)();
        for _ in 0..8 {
            if !state.leases.knows(&id) {
                break;
            }
            id = (self.options.run_ids)();
        }
        if let Some(journal) = &self.journal {
            // What the run finds is not its work. Nobody can change a file meanwhile.
            journal.look();
            if !journal.settle(JOURNAL_PATIENCE) {
                tracing::warn!(run = %id, "the journal is behind: its work may count as the run's");
            }
        }
        let now = (self.options.clock)();
        state.leases.start(&id, agent, cmd, timeout_s, now);
        Ok(id)
    }

    /// The command of a run begins.
    pub fn run_started(&self, run_id: &str) {
        let now = (self.options.clock)();
        self.state().leases.run_started(run_id, now);
        self.reports.send_modify(|count| *count += 1);
    }

    /// Nothing works on a run any more.
    pub fn worker_gone(&self, run_id: &str) {
        self.state().leases.worker_gone(run_id);
    }

    /// A run came to an outcome.
    pub fn deliver(&self, run_id: &str, outcome: ExecOutcome) {
        let mut state = self.state();
        let closed = state.leases.deliver(run_id, outcome);
        self.closed(&closed, &state.gate.name_of(agent_of(&closed)));
        let forgotten = state.leases.take_forgotten();
        drop(state);
        for run in &forgotten {
            self.spills.forget(run);
        }
        self.reports.send_modify(|count| *count += 1);
    }

    /// A run came to no outcome.
    pub fn fail(&self, run_id: &str, reason: &str) {
        let mut state = self.state();
        let closed = state.leases.fail(run_id, reason);
        self.closed(&closed, &state.gate.name_of(agent_of(&closed)));
        let forgotten = state.leases.take_forgotten();
        drop(state);
        for run in &forgotten {
            self.spills.forget(run);
        }
        self.reports.send_modify(|count| *count += 1);
    }

    /// Hands what a run left behind to the journal, before anybody else can change a file.
    fn closed(&self, closed: &Closed, name: &str) {
        let Some(journal) = &self.journal else { return };
        match closed {
            Closed::Lease(lease) => {
                let trailers = self.trailers(&lease.agent, Some(&lease.run_id));
                let author = Identity::agent(name, &lease.agent);
                journal.record_run(author, &redact(&lease.cmd), trailers);
            }
            Closed::Reclaimed(Lease { run_id, .. }) => {
                tracing::warn!(%run_id, "a run reported after it had lost the tree");
                journal.look();
            }
            Closed::Nothing => {}
        }
    }

    /// The run that holds the tree.
    pub fn lease(&self) -> Option<Lease> {
        self.state().leases.lease().cloned()
    }

    /// What is known of a run.
    pub fn run_status(&self, agent: &str, run_id: &str) -> ExecStatus {
        self.state().leases.status(agent, run_id)
    }

    /// What an agent may know of a run; with `owner_only`, nothing of the runs of others.
    pub fn run_status_for(&self, agent: &str, run_id: &str, owner_only: bool) -> ExecStatus {
        let mut state = self.state();
        if owner_only && !state.leases.is_of(agent, run_id) {
            return state.leases.unknown(agent, run_id);
        }
        state.leases.status(agent, run_id)
    }

    /// Waits for the end of a run, as long as the caller's patience lasts.
    ///
    /// Who is to wait until the run ends waits for the sandbox first, and counts from there.
    /// It wakes when a run reports; nothing is polled. It may be dropped at any time.
    pub async fn wait_for_run(
        &self,
        agent: &str,
        run_id: &str,
        patience: &Patience,
    ) -> Option<ExecStatus> {
        let wait = patience.wait()?;
        let now = Instant::now();
        let mut begun = !patience.waits_out;
        let mut deadline = if begun { now + wait } else { now + wait.max(STARTING_MAX) };
        let mut reports = self.reports.subscribe();
        loop {
            reports.borrow_and_update();
            let status = self.run_status(agent, run_id);
            if status.is_settled() {
                return Some(status);
            }
            if !begun && self.has_begun(run_id) {
                begun = true;
                deadline = Instant::now() + wait;
            }
            if !matches!(timeout_at(deadline, reports.changed()).await, Ok(Ok(()))) {
                let status = self.run_status(agent, run_id);
                return status.is_settled().then_some(status);
            }
        }
    }

    /// Whether the command of a run has begun.
    pub fn has_begun(&self, run_id: &str) -> bool {
        let state = self.state();
        state.leases.lease().is_none_or(|lease| lease.run_id != run_id || lease.begun)
    }
}

fn agent_of(closed: &Closed) -> &str {
    match closed {
        Closed::Lease(lease) | Closed::Reclaimed(lease) => &lease.agent,
        Closed::Nothing => "",
    }
}
