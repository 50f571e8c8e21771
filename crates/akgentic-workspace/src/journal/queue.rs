//! What waits to be recorded, in the order in which it was accepted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::repository::Content;
use super::scan::Before;
use super::text::Identity;
use crate::admission::RelPath;

/// Entries that may wait.
const ENTRIES: usize = 1024;

/// Bytes of contents that may wait.
const BYTES: usize = 64 << 20;

/// How long a change waits for room before it goes unrecorded.
const PATIENCE: Duration = Duration::from_secs(2);

/// Something to be recorded.
#[derive(Debug)]
pub(crate) enum Entry {
    /// What an agent changed with a tool.
    Change { ticket: u64, record: Record },
    /// Whatever changed from outside.
    OutOfBand,
    /// Whatever changed while a run held the tree.
    Run { author: Identity, command: String, trailers: String },
}

/// A change by a tool.
#[derive(Clone, Debug)]
pub struct Record {
    /// The tool's verb.
    pub capability: &'static str,
    /// The agent.
    pub author: Identity,
    /// The paths it touched, with what they hold now; nothing for a removed one.
    pub changes: Vec<(RelPath, Option<Content>)>,
    /// What stands at the end of the commit.
    pub trailers: String,
}

impl Record {
    fn bytes(&self) -> usize {
        let contents = self.changes.iter().filter_map(|(_, content)| content.as_ref());
        contents.map(|content| content.bytes.len()).sum()
    }
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Per path the states before the changes that are under way or wait.
    before: HashMap<RelPath, VecDeque<(u64, Option<Content>)>>,
    /// Bytes of these states, by change.
    announced: HashMap<u64, usize>,
    tickets: u64,
    taken: u64,
    done: u64,
    closed: bool,
    ended: bool,
}

impl State {
    /// Bytes that an entry holds: what is there after the change, and what was before.
    fn bytes_of(&self, entry: &Entry) -> usize {
        match entry {
            Entry::Change { ticket, record } => {
                record.bytes() + self.announced.get(ticket).copied().unwrap_or(0)
            }
            Entry::OutOfBand | Entry::Run { .. } => 0,
        }
    }
}

/// The queue between those who change the tree and the one who records.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    moved: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces changes that are about to be made, with what is there before.
    pub(crate) fn announce(&self, before: Vec<(RelPath, Option<Content>)>) -> u64 {
        let mut state = self.lock();
        state.tickets += 1;
        let ticket = state.tickets;
        let contents = before.iter().filter_map(|(_, content)| content.as_ref());
        let bytes = contents.map(|content| content.bytes.len()).sum();
        state.announced.insert(ticket, bytes);
        for (path, content) in before {
            state.before.entry(path).or_default().push_back((ticket, content));
        }
        ticket
    }

    /// Takes an announcement back, or strikes it out once it is recorded.
    pub(crate) fn strike(&self, ticket: u64) {
        let mut state = self.lock();
        state.announced.remove(&ticket);
        state.before.retain(|_, states| {
            states.retain(|(of, _)| *of != ticket);
            !states.is_empty()
        });
    }

    /// The states before all that waits.
    pub(crate) fn before(&self) -> Before {
        let state = self.lock();
        let first = state.before.iter().filter_map(|(path, states)| {
            states.front().map(|(_, content)| (path.clone(), content.clone()))
        });
        first.collect()
    }

    /// The state of a path before the change of this ticket.
    pub(crate) fn before_ticket(&self, ticket: u64) -> Vec<(RelPath, Option<Content>)> {
        let state = self.lock();
        let own = state.before.iter().flat_map(|(path, states)| {
            let own = states.iter().filter(|(of, _)| *of == ticket);
            own.map(|(_, content)| (path.clone(), content.clone()))
        });
        own.collect()
    }

    /// Puts an entry at the end; whether there was room in time.
    pub(crate) fn push(&self, entry: Entry) -> bool {
        let mut state = self.lock();
        if matches!(entry, Entry::OutOfBand)
            && matches!(state.entries.back(), Some(Entry::OutOfBand))
        {
            return true;
        }
        let bytes = state.bytes_of(&entry);
        let deadline = Instant::now() + PATIENCE;
        let is_full = |state: &State| {
            state.entries.len() >= ENTRIES || state.bytes > 0 && state.bytes + bytes > BYTES
        };
        while is_full(&state) && !state.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.moved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed {
            return false;
        }
        state.bytes += bytes;
        state.entries.push_back(entry);
        state.taken += 1;
        self.moved.notify_all();
        true
    }

    /// The next entry; nothing once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<Entry> {
        let mut state = self.lock();
        loop {
            if let Some(entry) = state.entries.pop_front() {
                state.bytes -= state.bytes_of(&entry);
                return Some(entry);
            }
            if state.closed {
                return None;
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether nothing waits behind the entry that was taken last.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().entries.is_empty()
    }

    /// The entry that was taken last is recorded.
    pub(crate) fn done(&self) {
        self.lock().done += 1;
        self.moved.notify_all();
    }

    /// Waits until all that waits now is recorded; whether that came in time.
    pub(crate) fn settle(&self, within: Duration) -> bool {
        let mut state = self.lock();
        let target = state.taken;
        let deadline = Instant::now() + within;
        while state.done < target {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.moved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Takes nothing more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.moved.notify_all();
    }

    /// Nobody records any more.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.moved.notify_all();
    }

    /// Waits until nobody records any more; whether that came in time.
    pub(crate) fn has_ended(&self, within: Duration) -> bool {
        let state = self.lock();
        let waited = self.moved.wait_timeout_while(state, within, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}
