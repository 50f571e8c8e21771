//! What the records of a team leave open: members that were alive, messages not dealt with.

use std::collections::HashSet;
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
/// may be sent to several.
#[derive(Default)]
struct Ledger {
    sent: IndexMap<Key, (Arc<Message>, ActorAddress)>,
    received: IndexMap<Key, ActorAddress>,
    closed: HashSet<Key>,
}

/// A message and the member it went to.
type Key = (Uuid, Uuid);

impl Ledger {
    /// Takes a record in; `false` when it is none of the ledger.
    fn see(&mut self, record: &Message, sender: &ActorAddress) -> bool {
        if let Some(body) = record.body::<SentMessage>() {
            let entry = (Arc::clone(&body.message), body.recipient.clone());
            self.sent.insert((body.message.id, body.recipient.agent_id()), entry);
        } else if let Some(body) = record.body::<ReceivedMessage>() {
            self.received.insert((body.message_id, sender.agent_id()), sender.clone());
        } else if let Some(body) = record.body::<ProcessedMessage>() {
            self.closed.insert((body.message_id, sender.agent_id()));
        } else if let Some(body) = record.body::<HandledMessage>() {
            self.handled(body.message_id, sender);
        } else {
            return false;
        }
        true
    }

    /// A message was closed without a turn: by who had it, or by who could not deliver it.
    fn handled(&mut self, message_id: Uuid, by: &ActorAddress) {
        let key = (message_id, by.agent_id());
        if self.sent.contains_key(&key) {
            self.closed.insert(key);
            return;
        }
        let failed = self
            .sent
            .keys()
            .rev()
            .find(|(id, to)| *id == message_id && !self.closed.contains(&(*id, *to)));
        self.closed.insert(failed.copied().unwrap_or(key));
    }

    fn open(self) -> Vec<OpenMessage> {
        let Self { sent, received, closed } = self;
        let mut open = Vec::new();
        for (key, member) in &received {
            if !closed.contains(key) {
                open.push(OpenMessage::Interrupted {
                    message: sent.get(key).map(|(message, _)| Arc::clone(message)),
                    message_id: key.0,
                    member: member.clone(),
                });
            }
        }
        for (key, (message, recipient)) in sent {
            if !closed.contains(&key) && !received.contains_key(&key) {
                open.push(OpenMessage::Undelivered { message, recipient });
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
