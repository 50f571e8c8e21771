//! Content injected into a running run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::content::UserContent;

/// When injected content is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// With the next model request.
    Asap,
    /// When the run would otherwise end.
    WhenIdle,
}

/// Identity of an injected item within its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueuedId(u64);

/// An injected item that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// Its identity.
    pub id: QueuedId,
    /// What the model will read.
    pub content: UserContent,
    /// When.
    pub priority: Priority,
    /// The tool call during which it was injected.
    pub during_call: Option<String>,
}

/// The run has ended; nobody would read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run has ended; nothing can be enqueued")]
pub struct QueueClosed;

/// Handle to the queue of one run; usable from any thread while the run lives.
#[derive(Clone, Debug, Default)]
pub struct RunQueue {
    shared: Arc<Mutex<Items>>,
    during_call: Option<String>,
}

#[derive(Debug, Default)]
struct Items {
    waiting: VecDeque<Queued>,
    next_id: u64,
    closed: bool,
}

impl RunQueue {
    /// Injects content.
    pub fn enqueue(
        &self,
        content: impl Into<UserContent>,
        priority: Priority,
    ) -> Result<QueuedId, QueueClosed> {
        let mut items = self.lock();
        if items.closed {
            return Err(QueueClosed);
        }
        let id = QueuedId(items.next_id);
        items.next_id += 1;
        items.waiting.push_back(Queued {
            id,
            content: content.into(),
            priority,
            during_call: self.during_call.clone(),
        });
        Ok(id)
    }

    /// Takes an item back; `false` when it was delivered already.
    pub fn remove(&self, id: QueuedId) -> bool {
        let mut items = self.lock();
        let before = items.waiting.len();
        items.waiting.retain(|item| item.id != id);
        items.waiting.len() < before
    }

    /// What waits, in order.
    pub fn waiting(&self) -> Vec<Queued> {
        self.lock().waiting.iter().cloned().collect()
    }

    /// The same queue; what is injected through it belongs to a running tool call.
    pub(crate) fn during_call(&self, id: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), during_call: Some(id.to_owned()) }
    }

    /// What is to be delivered with the next request.
    pub(crate) fn take_asap(&self) -> Vec<Queued> {
        self.take(|item| item.priority == Priority::Asap)
    }

    /// What was injected during one tool call and is due.
    pub(crate) fn take_of_call(&self, id: &str) -> Vec<Queued> {
        self.take(|item| item.priority == Priority::Asap && item.during_call.as_deref() == Some(id))
    }

    /// At a would-be end: everything, urgent content first. Closes the queue when there is
    /// nothing, so that nothing can slip in after the decision to end.
    pub(crate) fn take_all_or_close(&self) -> Vec<Queued> {
        let mut items = self.lock();
        let (asap, idle): (Vec<Queued>, Vec<Queued>) =
            items.waiting.drain(..).partition(|item| item.priority == Priority::Asap);
        items.closed = asap.is_empty() && idle.is_empty();
        asap.into_iter().chain(idle).collect()
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    fn take(&self, due: impl Fn(&Queued) -> bool) -> Vec<Queued> {
        let mut items = self.lock();
        if items.waiting.is_empty() {
            return Vec::new();
        }
        let (taken, kept) = items.waiting.drain(..).partition(|item| due(item));
        items.waiting = kept;
        Vec::from(taken)
    }

    fn lock(&self) -> MutexGuard<'_, Items> {
        // a queue is consistent after every statement, so a poisoned lock is still good
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
