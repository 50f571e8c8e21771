//! The one queue of an actor: messages, values, typed calls and stop requests in arrival order.
//!
//! The queue can be looked into and messages can be taken out of its middle while the actor is
//! busy. Everything happens under one short lock, the decision whether the actor must be woken
//! included, so an entry is either handled, taken or handed back, and never lost between.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::message::Message;

/// How many entries an inbox holds before it refuses more.
pub const DEFAULT_INBOX_CAPACITY: usize = 65_536;

/// What the queue needs to know of an entry.
pub(crate) trait InboxEntry {
    /// The message, when this is one.
    fn message(&self) -> Option<&Arc<Message>>;
    /// Whether somebody waits for the answer.
    fn is_awaited(&self) -> bool;
    /// Whether it waits until the inbox is released; see [`Queue::release`].
    fn is_mail(&self) -> bool;
}

/// Why an entry was handed back.
#[derive(Debug)]
pub(crate) enum Refused<E> {
    /// The queue is full.
    Full(E),
    /// The actor has stopped.
    Closed(E),
}

/// Whether the caller of a push has to wake the actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The actor sleeps and nobody has woken it yet.
    Needed,
    /// A wake-up is on its way or the actor is at work.
    NotNeeded,
}

/// A message that waits in an inbox.
#[derive(Clone, Debug)]
pub struct PendingMail {
    /// The message.
    pub message: Arc<Message>,
    /// Whether its sender waits for the answer; such a message cannot be taken out.
    pub is_awaited: bool,
}

/// The queue itself, without its lock.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Queue<E> {
    entries: VecDeque<E>,
    /// What must not wait behind everything else, such as the end of a team's grace.
    urgent: VecDeque<E>,
    capacity: usize,
    awake: bool,
    closed: bool,
    held: bool,
    /// How many messages ever came in.
    arrivals: u64,
    /// Whether a turn waits for the next one.
    is_watched: bool,
}

impl<E: InboxEntry> Queue<E> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            urgent: VecDeque::new(),
            capacity,
            awake: false,
            closed: false,
            held: false,
            arrivals: 0,
            is_watched: false,
        }
    }

    /// Adds an entry. `exempt` entries (telemetry, stops) are taken also when the queue is full.
    pub(crate) fn push(&mut self, entry: E, exempt: bool) -> Result<Wake, Refused<E>> {
        if self.closed {
            return Err(Refused::Closed(entry));
        }
        if !exempt && self.entries.len() >= self.capacity {
            return Err(Refused::Full(entry));
        }
        self.arrivals += u64::from(entry.message().is_some());
        self.entries.push_back(entry);
        Ok(if std::mem::replace(&mut self.awake, true) { Wake::NotNeeded } else { Wake::Needed })
    }

    /// Adds an entry that is handed out before all others, also while mail is held.
    pub(crate) fn push_urgent(&mut self, entry: E) -> Result<Wake, Refused<E>> {
        if self.closed {
            return Err(Refused::Closed(entry));
        }
        self.urgent.push_back(entry);
        Ok(if std::mem::replace(&mut self.awake, true) { Wake::NotNeeded } else { Wake::Needed })
    }

    /// The next entry; `None` puts the actor to sleep, so that the next push wakes it.
    pub(crate) fn pop(&mut self) -> Option<E> {
        let entry = if let Some(urgent) = self.urgent.pop_front() {
            Some(urgent)
        } else if self.held {
            let free = self.entries.iter().position(|entry| !entry.is_mail());
            free.and_then(|at| self.entries.remove(at))
        } else {
            self.entries.pop_front()
        };
        if entry.is_none() {
            self.awake = false;
        }
        entry
    }

    /// Messages that wait, in arrival order.
    pub(crate) fn pending(&self) -> Vec<Arc<Message>> {
        self.entries.iter().filter_map(|entry| entry.message().cloned()).collect()
    }

    /// The same, with whether somebody waits for the answer.
    pub(crate) fn pending_mail(&self) -> Vec<PendingMail> {
        let mail = self.entries.iter().filter_map(|entry| {
            let message = Arc::clone(entry.message()?);
            Some(PendingMail { message, is_awaited: entry.is_awaited() })
        });
        mail.collect()
    }

    /// What came in after the first `seen` messages and still waits; perhaps with some of those that
    /// came before, when newer ones were taken out.
    pub(crate) fn mail_since(&self, seen: u64) -> Vec<PendingMail> {
        let new = usize::try_from(self.arrivals.saturating_sub(seen)).unwrap_or(usize::MAX);
        let newest = self.entries.iter().rev().filter_map(|entry| {
            let message = Arc::clone(entry.message()?);
            Some(PendingMail { message, is_awaited: entry.is_awaited() })
        });
        newest.take(new).collect()
    }

    /// How many messages ever came in; the same number twice means that none came between.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The number of arrivals, when there are more than `seen`; else the next one is to be told, see
    /// [`Queue::take_watch`].
    pub(crate) fn arrivals_after(&mut self, seen: u64) -> Option<u64> {
        let more = (self.arrivals > seen).then_some(self.arrivals);
        self.is_watched |= more.is_none();
        more
    }

    /// Whether somebody is to be told of the message that just came in.
    pub(crate) fn take_watch(&mut self) -> bool {
        std::mem::take(&mut self.is_watched)
    }

    /// Takes out the told messages with these ids, in arrival order.
    ///
    /// Messages somebody waits on stay. Every copy with a listed id goes.
    pub(crate) fn consume(&mut self, ids: &[Uuid]) -> Vec<Arc<Message>> {
        if ids.is_empty() {
            return Vec::new();
        }
        let ids: HashSet<Uuid> = ids.iter().copied().collect();
        self.take(|message| ids.contains(&message.id))
    }

    /// Takes out the told messages of one sender with these ids.
    pub(crate) fn withdraw(&mut self, sender: Uuid, ids: &[Uuid]) -> Vec<Arc<Message>> {
        let is_own = |message: &Message| {
            message.sender.as_ref().is_some_and(|address| address.agent_id() == sender)
        };
        self.take(|message| ids.contains(&message.id) && is_own(message))
    }

    /// Takes out every told message, in arrival order.
    pub(crate) fn consume_all(&mut self) -> Vec<Arc<Message>> {
        self.take(|_| true)
    }

    fn take(&mut self, wanted: impl Fn(&Message) -> bool) -> Vec<Arc<Message>> {
        let mut taken = Vec::new();
        self.entries.retain(|entry| match entry.message() {
            Some(message) if !entry.is_awaited() && wanted(message) => {
                taken.push(Arc::clone(message));
                false
            }
            _ => true,
        });
        taken
    }

    /// Holds mail back: only typed calls are handed out until [`Queue::release`].
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// Hands mail out again.
    pub(crate) fn release(&mut self) -> Wake {
        self.held = false;
        if self.entries.is_empty() || std::mem::replace(&mut self.awake, true) {
            Wake::NotNeeded
        } else {
            Wake::Needed
        }
    }

    /// Takes no more entries and hands back what is left.
    pub(crate) fn close(&mut self) -> Vec<E> {
        self.closed = true;
        self.urgent.drain(..).chain(self.entries.drain(..)).collect()
    }

    /// How many entries wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether another entry would be refused for want of room.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.capacity
    }
}

/// A [`Queue`] behind its lock.
#[derive(Debug)]
pub(crate) struct Inbox<E>(Mutex<Queue<E>>);

impl<E: InboxEntry> Inbox<E> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Mutex::new(Queue::new(capacity)))
    }

    /// The queue, locked; hold it for one operation only.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Queue<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    //! Every interleaving of producers, a consumer and a closer over the real queue.
    //!
    //! The queue does everything under one lock, so an interleaving of whole operations is an
    //! interleaving of threads.

    use std::collections::BTreeMap;

    use super::*;
    use crate::message::UserMessage;

    #[derive(Clone, Debug)]
    struct Told(Arc<Message>, bool);

    impl InboxEntry for Told {
        fn message(&self) -> Option<&Arc<Message>> {
            Some(&self.0)
        }

        fn is_awaited(&self) -> bool {
            self.1
        }

        fn is_mail(&self) -> bool {
            true
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A producer tells the message with this number.
        Tell(usize),
        /// A producer asks with the message of this number.
        Ask(usize),
        /// The actor's turn takes these messages out of the queue.
        Consume(&'static [usize]),
        /// The actor stops.
        Close,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fate {
        Handled,
        Consumed,
        HandedBack,
        Refused,
    }

    #[derive(Clone)]
    struct World {
        queue: Queue<Told>,
        fates: BTreeMap<usize, Vec<Fate>>,
        order: Vec<usize>,
        woken: bool,
    }

    impl Clone for Queue<Told> {
        fn clone(&self) -> Self {
            Self {
                entries: self.entries.clone(),
                urgent: self.urgent.clone(),
                capacity: self.capacity,
                awake: self.awake,
                closed: self.closed,
                held: self.held,
                arrivals: self.arrivals,
                is_watched: self.is_watched,
            }
        }
    }

    fn message(number: usize) -> Arc<Message> {
        let mut message = Message::new(UserMessage { content: number.to_string() });
        message.id = Uuid::from_u128(number as u128);
        Arc::new(message)
    }

    fn number(message: &Message) -> usize {
        usize::try_from(message.id.as_u128()).expect("small")
    }

    impl World {
        fn new(capacity: usize) -> Self {
            let queue = Queue::new(capacity);
            Self { queue, fates: BTreeMap::new(), order: Vec::new(), woken: false }
        }

        fn meets(&mut self, number: usize, fate: Fate) {
            self.fates.entry(number).or_default().push(fate);
        }

        fn run(&mut self, step: Step) {
            match step {
                Step::Tell(number) => self.push(number, false),
                Step::Ask(number) => self.push(number, true),
                Step::Consume(numbers) => {
                    let ids: Vec<_> = numbers.iter().map(|n| Uuid::from_u128(*n as u128)).collect();
                    for taken in self.queue.consume(&ids) {
                        self.meets(super::tests::number(&taken), Fate::Consumed);
                    }
                }
                Step::Close => {
                    for Told(message, _) in self.queue.close() {
                        self.meets(super::tests::number(&message), Fate::HandedBack);
                    }
                }
            }
        }

        fn push(&mut self, number: usize, awaited: bool) {
            match self.queue.push(Told(message(number), awaited), false) {
                Ok(Wake::Needed) => {
                    assert!(!self.woken, "a second wake-up while one is on its way");
                    self.woken = true;
                }
                Ok(Wake::NotNeeded) => assert!(self.woken, "nobody would wake the actor"),
                Err(Refused::Full(_) | Refused::Closed(_)) => self.meets(number, Fate::Refused),
            }
        }

        /// One step of the actor; `false` when it sleeps.
        fn pop(&mut self) -> bool {
            if !self.woken {
                return false;
            }
            match self.queue.pop() {
                Some(Told(message, _)) => {
                    let number = super::tests::number(&message);
                    self.order.push(number);
                    self.meets(number, Fate::Handled);
                }
                None => self.woken = false,
            }
            true
        }

        fn check(mut self, told: usize) {
            while self.pop() {}
            assert_eq!(self.fates.len(), told, "every message meets a fate: {:?}", self.fates);
            for (number, fates) in &self.fates {
                assert_eq!(fates.len(), 1, "message {number} met {fates:?}");
            }
        }
    }

    /// Runs `threads` in every interleaving with the actor popping in between.
    fn explore(world: &World, threads: &[&[Step]], told: usize, seen: &mut usize) {
        if threads.iter().all(|steps| steps.is_empty()) {
            *seen += 1;
            world.clone().check(told);
        }
        for (at, steps) in threads.iter().enumerate() {
            if let Some((step, rest)) = steps.split_first() {
                let mut next = world.clone();
                next.run(*step);
                let mut threads = threads.to_vec();
                threads[at] = rest;
                explore(&next, &threads, told, seen);
            }
        }
        let mut popped = world.clone();
        if popped.pop() {
            explore(&popped, threads, told, seen);
        }
    }

    #[test]
    fn every_message_meets_exactly_one_fate() {
        let mut seen = 0;
        let threads: [&[Step]; 4] = [
            &[Step::Tell(1), Step::Tell(2)],
            &[Step::Ask(3), Step::Tell(4)],
            &[Step::Consume(&[1, 3, 4]), Step::Consume(&[2])],
            &[Step::Close],
        ];
        explore(&World::new(8), &threads, 4, &mut seen);
        assert!(seen > 1000, "{seen} interleavings");
    }

    #[test]
    fn a_full_queue_refuses_and_loses_nothing() {
        let mut seen = 0;
        let threads: [&[Step]; 2] =
            [&[Step::Tell(1), Step::Tell(2), Step::Tell(3)], &[Step::Consume(&[1, 2, 3])]];
        explore(&World::new(2), &threads, 3, &mut seen);
        assert!(seen > 50, "{seen} interleavings");
    }

    #[test]
    fn asked_messages_are_seen_and_stay() {
        let mut world = World::new(8);
        world.run(Step::Ask(1));
        world.run(Step::Tell(2));
        assert_eq!(world.queue.pending().len(), 2);
        world.run(Step::Consume(&[1, 2, 7]));
        assert_eq!(world.queue.pending().len(), 1);
        world.check(2);
    }

    #[test]
    fn held_mail_waits_for_its_release() {
        let mut queue = Queue::new(8);
        queue.hold();
        let told = |number| Told(message(number), false);
        assert_eq!(queue.push(told(1), false).expect("taken"), Wake::Needed);
        assert!(queue.pop().is_none());
        assert_eq!(queue.release(), Wake::Needed);
        assert_eq!(queue.release(), Wake::NotNeeded, "a wake-up is on its way");
        assert!(queue.pop().is_some());
    }

    #[test]
    fn arrival_order_is_kept() {
        let mut world = World::new(64);
        for number in 0..50 {
            world.run(Step::Tell(number));
        }
        while world.pop() {}
        assert!(world.order.is_sorted());
    }
}
