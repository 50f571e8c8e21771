//! An inbox and a queue to look into.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use akgentic_core::{Message, PendingMail};
use akgentic_mailbox::{InjectionQueue, MailboxAccess};
use uuid::Uuid;

/// An inbox, and what was taken out of it.
#[derive(Default)]
pub(crate) struct Inbox {
    pub(crate) current: Mutex<Option<Arc<Message>>>,
    pub(crate) pending: Mutex<Vec<PendingMail>>,
    pub(crate) handled: Mutex<Vec<Uuid>>,
    /// Whether it counts what comes in.
    pub(crate) arrivals: Option<Mutex<u64>>,
}

impl Inbox {
    pub(crate) fn arrive(&self, message: Message, is_awaited: bool) {
        let message = Arc::new(message);
        self.pending.lock().expect("lock").push(PendingMail { message, is_awaited });
        if let Some(arrivals) = &self.arrivals {
            *arrivals.lock().expect("lock") += 1;
        }
    }

    pub(crate) fn waiting(&self) -> Vec<Uuid> {
        self.pending.lock().expect("lock").iter().map(|one| one.message.id).collect()
    }
}

impl MailboxAccess for Inbox {
    fn get_mailbox(&self) -> Vec<PendingMail> {
        self.pending.lock().expect("lock").clone()
    }

    fn consume_mailbox(&self, ids: &[Uuid]) -> Vec<Arc<Message>> {
        let mut taken = Vec::new();
        self.pending.lock().expect("lock").retain(|one| {
            let goes = !one.is_awaited && ids.contains(&one.message.id);
            if goes {
                taken.push(Arc::clone(&one.message));
            }
            !goes
        });
        self.handled.lock().expect("lock").extend(taken.iter().map(|message| message.id));
        taken
    }

    fn current_message(&self) -> Option<Arc<Message>> {
        self.current.lock().expect("lock").clone()
    }

    fn arrivals(&self) -> Option<u64> {
        self.arrivals.as_ref().map(|arrivals| *arrivals.lock().expect("lock"))
    }
}

/// A queue of texts, each with whether it is delivered with the next request.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) items: RefCell<Vec<(u32, String, bool)>>,
    next: Cell<u32>,
}

impl Queue {
    pub(crate) fn put(&self, text: String, asap: bool) -> u32 {
        let id = self.next.get();
        self.next.set(id + 1);
        self.items.borrow_mut().push((id, text, asap));
        id
    }

    /// Takes out what is due.
    pub(crate) fn deliver(&self) -> Vec<String> {
        let due: Vec<String> =
            self.items.borrow().iter().filter(|item| item.2).map(|item| item.1.clone()).collect();
        self.items.borrow_mut().retain(|item| !item.2);
        due
    }
}

impl InjectionQueue for Queue {
    type Id = u32;

    fn enqueue(&self, text: String) -> Option<u32> {
        Some(self.put(text, true))
    }

    fn remove(&self, ids: &[u32]) {
        self.items.borrow_mut().retain(|item| !ids.contains(&item.0));
    }
}
