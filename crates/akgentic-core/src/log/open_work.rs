//! What the records of a team leave open: members that were alive, messages not dealt with.

use std::sync::Arc;

use indexmap::IndexMap;
use uuid::Uuid;

use crate::address::ActorAddress;
use crate::config::AnyConfig;
use crate::message::{
    EventMessage, HandledMessage, Message, ProcessedMessage, ReceivedMessage, SentMessage,
    StartMessage, StateChangedMessage, StopMessage,
};
use crate::state::AnyState;
use crate::wire::AnyValue;

/// A member that was alive when its team ended.
#[derive(Clone, Debug)]
pub(super) struct MemberRecord {
    pub(super) address: ActorAddress,
    pub(super) config: AnyConfig,
    pub(super) parent: Option<Uuid>,
    pub(super) state: Option<AnyState>,
    pub(super) events: Vec<AnyValue>,
    alive: bool,
}

/// A message that was sent and not dealt with.
#[derive(Clone, Debug)]
pub(super) enum OpenMessage {
    /// Its turn had begun: the effects are unknown.
    Interrupted { message: Option<Arc<Message>>, message_id: Uuid, member: ActorAddress },
    /// Nobody had looked at it.
    Undelivered { message: Arc<Message>, recipient: ActorAddress },
}

/// What the records leave open.
#[derive(Debug, Default)]
pub(super) struct OpenWork {
    /// Members alive at the end, in the order of their first start.
    pub(super) members: Vec<MemberRecord>,
    /// Open messages: cut-off turns in the order they began, then undelivered ones as sent.
    pub(super) messages: Vec<OpenMessage>,
}

impl OpenWork {
    /// Reads the records of a team; `orchestrator` is no member.
    pub(super) fn of(messages: &[Arc<Message>], orchestrator: Uuid) -> Self {
        let mut ledger = Ledger::default();
        let mut members: IndexMap<Uuid, MemberRecord> = IndexMap::new();
        for message in messages {
            let Some(sender) = &message.sender else { continue };
            if !ledger.see(message, sender) && sender.agent_id() != orchestrator {
                see_member(&mut members, message, sender);
            }
        }
        let members = members.into_values().filter(|member| member.alive).collect();
        Self { members, messages: ledger.open() }
    }
}

/// What was sent, whose turn began, and what was closed: by message and member, since one message
/// may be sent to several, and counted, since it may be sent to one of them more than once.
#[derive(Default)]
struct Ledger {
    entries: IndexMap<Key, LedgerEntry>,
    /// Messages in the order in which their turns began.
    begun: Vec<Key>,
}

/// A message and the member it went to.
type Key = (Uuid, Uuid);

#[derive(Default)]
struct LedgerEntry {
    sent: Option<(Arc<Message>, ActorAddress)>,
    member: Option<ActorAddress>,
    deliveries: usize,
    turns: usize,
    processed: usize,
    handled: usize,
}

impl LedgerEntry {
    /// Deliveries nobody has looked at.
    fn waiting(&self) -> usize {
        self.deliveries.saturating_sub(self.turns + self.handled)
    }
}

impl Ledger {
    /// Takes a record in; `false` when it is none of the ledger.
    fn see(&mut self, record: &Message, sender: &ActorAddress) -> bool {
        if let Some(body) = record.body::<SentMessage>() {
            let entry = self.entry((body.message.id, body.recipient.agent_id()));
            entry.sent = Some((Arc::clone(&body.message), body.recipient.clone()));
            entry.deliveries += 1;
        } else if let Some(body) = record.body::<ReceivedMessage>() {
            let key = (body.message_id, sender.agent_id());
            let entry = self.entry(key);
            entry.turns += 1;
            entry.member = Some(sender.clone());
            self.begun.push(key);
        } else if let Some(body) = record.body::<ProcessedMessage>() {
            self.entry((body.message_id, sender.agent_id())).processed += 1;
        } else if let Some(body) = record.body::<HandledMessage>() {
            self.handled(body.message_id, sender);
        } else {
            return false;
        }
        true
    }

    fn entry(&mut self, key: Key) -> &mut LedgerEntry {
        self.entries.entry(key).or_default()
    }

    /// A message was closed without a turn: by who had it, or by who could not deliver it.
    fn handled(&mut self, message_id: Uuid, by: &ActorAddress) {
        let key = (message_id, by.agent_id());
        if self.entries.get(&key).is_some_and(|entry| entry.deliveries > 0) {
            self.entry(key).handled += 1;
            return;
        }
        let mut latest = self.entries.iter_mut().rev();
        let failed = latest.find(|((id, _), entry)| *id == message_id && entry.waiting() > 0);
        if let Some((_, entry)) = failed {
            entry.handled += 1;
        }
    }

    fn open(mut self) -> Vec<OpenMessage> {
        let mut open = Vec::new();
        for key in std::mem::take(&mut self.begun) {
            let entry = self.entry(key);
            if entry.turns <= entry.processed {
                continue;
            }
            entry.processed = entry.turns;
            if let Some(member) = entry.member.clone() {
                let message = entry.sent.as_ref().map(|(message, _)| Arc::clone(message));
                open.push(OpenMessage::Interrupted { message, message_id: key.0, member });
            }
        }
        for entry in self.entries.into_values() {
            let waiting = entry.waiting();
            if let Some((message, recipient)) = entry.sent {
                let undelivered = OpenMessage::Undelivered { message, recipient };
                open.extend(std::iter::repeat_n(undelivered, waiting));
            }
        }
        open
    }
}

/// Takes in what a record says about its member.
fn see_member(members: &mut IndexMap<Uuid, MemberRecord>, record: &Message, sender: &ActorAddress) {
    let id = sender.agent_id();
    if let Some(start) = record.body::<StartMessage>() {
        let (state, events) = match members.get_mut(&id) {
            Some(member) => (member.state.take(), std::mem::take(&mut member.events)),
            None => (None, Vec::new()),
        };
        let member = MemberRecord {
            address: sender.clone(),
            config: start.config.clone(),
            parent: start.parent.as_ref().map(ActorAddress::agent_id),
            state,
            events,
            alive: true,
        };
        members.insert(id, member);
        return;
    }
    let Some(member) = members.get_mut(&id) else { return };
    if record.body::<StopMessage>().is_some() {
        member.alive = false;
    } else if let Some(changed) = record.body::<StateChangedMessage>() {
        member.state = Some(changed.state.clone());
    } else if let Some(event) = record.body::<EventMessage>() {
        member.events.push(event.event.clone());
    }
}
