//! Messages: one header that every message has, and a body of a registered type.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::address::ActorAddress;
use crate::wire::{Timestamp, WireType as _, take_uncopied};

mod body;
mod builtin;
mod json;

pub use body::{ContentField, Facet, MessageBody};
pub use builtin::*;
pub use json::load_message;

pub(crate) use json::{build, with_header};

/// Who a message is for when it is shown to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DisplayType {
    /// Written by a person.
    Human,
    /// Written by a model.
    Ai,
    /// Neither.
    #[default]
    Other,
}

/// A message of the team.
///
/// The header is stamped when the message is sent; the body is shared and never changes. On the
/// wire header and body are one object with the body's marker.
#[derive(Clone, Debug)]
pub struct Message {
    /// Identity; sending one message twice gives one id.
    pub id: Uuid,
    /// The message that was being handled when this one was sent.
    pub parent_id: Option<Uuid>,
    /// The team it travels in.
    pub team_id: Option<Uuid>,
    /// When it was made.
    pub timestamp: Option<Timestamp>,
    /// Who sent it.
    pub sender: Option<ActorAddress>,
    /// Who it is meant for; informative, not set by sending.
    pub recipient: Option<ActorAddress>,
    /// How a front end shows it.
    pub display_type: DisplayType,
    /// What it says.
    pub body: Arc<dyn MessageBody>,
}

impl Message {
    /// A message with a fresh id and the current time.
    pub fn new(body: impl MessageBody) -> Self {
        Self {
            id: Uuid::new_v4(),
            parent_id: None,
            team_id: None,
            timestamp: Some(Timestamp::now()),
            sender: None,
            recipient: None,
            display_type: body.display_type(),
            body: Arc::new(body),
        }
    }

    /// The body as `T`, when it is one or derives from one.
    pub fn body<T: MessageBody>(&self) -> Option<&T> {
        let mut body: &dyn MessageBody = &*self.body;
        loop {
            if let Some(found) = body.as_any().downcast_ref::<T>() {
                return Some(found);
            }
            body = body.parent()?;
        }
    }

    /// A copy that holds no live address: `None` when this message already is one.
    pub fn snapshot(&self) -> Option<Self> {
        // A failure of some earlier copy is not this message's.
        take_uncopied();
        let body = match self.body.snapshot_body() {
            None if take_uncopied() => return Some(self.without_body()),
            body => body,
        };
        let live =
            |address: &Option<ActorAddress>| address.as_ref().is_some_and(ActorAddress::is_live);
        if body.is_none() && !live(&self.sender) && !live(&self.recipient) {
            return None;
        }
        let mut copy = self.clone();
        copy.sender = copy.sender.map(|address| address.to_snapshot());
        copy.recipient = copy.recipient.map(|address| address.to_snapshot());
        if let Some(body) = body {
            copy.body = body;
        }
        Some(copy)
    }

    /// A snapshot of the header alone, in place of a message whose body cannot be shown.
    pub(crate) fn without_body(&self) -> Self {
        let snapshot = |address: &ActorAddress| address.to_snapshot();
        Self {
            sender: self.sender.as_ref().map(snapshot),
            recipient: self.recipient.as_ref().map(snapshot),
            body: Arc::new(PlainMessage {}),
            ..self.clone()
        }
    }

    /// The wire path of the body's type.
    pub fn type_path(&self) -> &'static str {
        self.body.type_path()
    }

    /// The class name of the body's type.
    pub fn class_name(&self) -> &'static str {
        self.body.class_name()
    }

    /// Marks the message as sent by `sender` in `team` while `current` was being handled.
    pub fn stamp(&mut self, sender: ActorAddress, team: Uuid, current: Option<Uuid>) {
        self.parent_id = current;
        self.team_id = Some(team);
        self.sender = Some(sender);
    }

    /// Wire paths from the concrete type to `Message`, most derived first.
    pub fn type_chain(&self) -> Vec<&'static str> {
        let mut chain = Vec::with_capacity(3);
        let mut body: &dyn MessageBody = &*self.body;
        loop {
            chain.push(body.type_path());
            match body.parent() {
                Some(parent) => body = parent,
                None => break,
            }
        }
        if chain.last() != Some(&PlainMessage::PATH) {
            chain.push(PlainMessage::PATH);
        }
        chain
    }
}

impl<B: MessageBody> From<B> for Message {
    fn from(body: B) -> Self {
        Self::new(body)
    }
}
