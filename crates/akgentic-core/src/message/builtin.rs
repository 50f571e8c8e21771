//! The messages every team knows.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Message;
use crate::address::ActorAddress;
use crate::config::AnyConfig;
use crate::message;
use crate::payload;
use crate::state::AnyState;
use crate::wire::{AnyValue, Dyn, no_addresses};

/// The message type all others derive from; as a body it says nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlainMessage {}
message!(PlainMessage = "akgentic.core.messages.message.Message",
    aliases: ["akgentic.core.messages.Message", "akgentic.core.Message"],
    snapshot: no_addresses);

/// Text from a person.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserMessage {
    /// What the person wrote.
    pub content: String,
}
message!(UserMessage = "akgentic.core.messages.message.UserMessage",
    aliases: ["akgentic.core.messages.UserMessage", "akgentic.core.UserMessage"],
    display: Human, content: content, snapshot: no_addresses);

/// Text for a person.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResultMessage {
    /// What the agent answers.
    pub content: String,
}
message!(ResultMessage = "akgentic.core.messages.message.ResultMessage",
    aliases: ["akgentic.core.messages.ResultMessage", "akgentic.core.ResultMessage"],
    display: Ai, content: content, snapshot: no_addresses);

/// Asks the receiver to abandon its current run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CancelMessage {
    /// Why; may be empty.
    #[serde(default)]
    pub reason: String,
}
message!(CancelMessage = "akgentic.core.messages.message.CancelMessage",
    aliases: ["akgentic.core.messages.CancelMessage", "akgentic.core.CancelMessage"],
    snapshot: no_addresses);

/// A member sent a message; opens its entry in the ledger.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SentMessage {
    /// What was sent.
    pub message: Arc<Message>,
    /// To whom.
    pub recipient: ActorAddress,
}
message!(SentMessage = "akgentic.core.messages.orchestrator.SentMessage",
    aliases: ["akgentic.core.messages.SentMessage", "akgentic.core.SentMessage"],
    snapshot: SentMessage::snapshot);

/// A member began its turn on a message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedMessage {
    /// The message.
    pub message_id: Uuid,
}
message!(ReceivedMessage = "akgentic.core.messages.orchestrator.ReceivedMessage",
    aliases: ["akgentic.core.messages.ReceivedMessage", "akgentic.core.ReceivedMessage"],
    snapshot: no_addresses);

/// A member ended its turn on a message; closes its entry in the ledger.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProcessedMessage {
    /// The message.
    pub message_id: Uuid,
}
message!(ProcessedMessage = "akgentic.core.messages.orchestrator.ProcessedMessage",
    aliases: ["akgentic.core.messages.ProcessedMessage", "akgentic.core.ProcessedMessage"],
    snapshot: no_addresses);

/// A message was taken from the inbox without a turn of its own; closes its entry in the ledger.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HandledMessage {
    /// The message.
    pub message_id: Uuid,
}
message!(HandledMessage = "akgentic.core.messages.orchestrator.HandledMessage",
    aliases: ["akgentic.core.messages.HandledMessage", "akgentic.core.HandledMessage"],
    snapshot: no_addresses);

/// A member started.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StartMessage {
    /// Its configuration.
    pub config: AnyConfig,
    /// Who created it.
    #[serde(default)]
    pub parent: Option<ActorAddress>,
}
message!(StartMessage = "akgentic.core.messages.orchestrator.StartMessage",
    aliases: ["akgentic.core.messages.StartMessage", "akgentic.core.StartMessage"],
    snapshot: StartMessage::snapshot);

/// A member stopped.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StopMessage {}
message!(StopMessage = "akgentic.core.messages.orchestrator.StopMessage",
    aliases: ["akgentic.core.messages.StopMessage", "akgentic.core.StopMessage"],
    snapshot: no_addresses);

/// Something observers should know.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct NotificationMessage {
    /// The kind of thing, such as the name of an error class.
    #[serde(default)]
    pub content_type: Option<String>,
    /// What happened.
    #[serde(default)]
    pub content: String,
    /// The message that was being handled.
    #[serde(default)]
    pub current_message: Option<Arc<Message>>,
}
message!(NotificationMessage = "akgentic.core.messages.orchestrator.NotificationMessage",
    aliases: ["akgentic.core.messages.NotificationMessage", "akgentic.core.NotificationMessage"],
    content: content, snapshot: NotificationMessage::snapshot);

/// A member failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ErrorMessage {
    /// What failed.
    #[serde(flatten)]
    pub notification: NotificationMessage,
    /// Where, when known.
    #[serde(default)]
    pub traceback: Option<String>,
}
message!(ErrorMessage = "akgentic.core.messages.orchestrator.ErrorMessage",
    aliases: ["akgentic.core.messages.ErrorMessage", "akgentic.core.ErrorMessage"],
    content: notification.content, parent: notification, snapshot: ErrorMessage::snapshot);

/// A member met a condition that was already dealt with.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WarningMessage {
    /// What happened.
    #[serde(flatten)]
    pub notification: NotificationMessage,
}
message!(WarningMessage = "akgentic.core.messages.orchestrator.WarningMessage",
    aliases: ["akgentic.core.messages.WarningMessage", "akgentic.core.WarningMessage"],
    content: notification.content, parent: notification, snapshot: WarningMessage::snapshot);

/// A member published its state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StateChangedMessage {
    /// The state.
    pub state: AnyState,
}
message!(StateChangedMessage = "akgentic.core.messages.orchestrator.StateChangedMessage",
    aliases: ["akgentic.core.messages.StateChangedMessage", "akgentic.core.StateChangedMessage"],
    snapshot: StateChangedMessage::snapshot);

/// A member announced something of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventMessage {
    /// Any value.
    pub event: AnyValue,
}
message!(EventMessage = "akgentic.core.messages.orchestrator.EventMessage",
    aliases: ["akgentic.core.messages.EventMessage", "akgentic.core.EventMessage"],
    snapshot: EventMessage::snapshot);

/// Payload: a notification was closed by a front end.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClosedNotification {
    /// The notification.
    pub message_id: Uuid,
}
payload!(ClosedNotification = "akgentic.core.messages.orchestrator.ClosedNotification",
    aliases: ["akgentic.core.messages.ClosedNotification"]);

/// A value that makes the actor it is told stop, its children first: for whoever can reach an actor
/// with data alone. In Rust, [`ActorAddress::request_stop`] is shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRecursively {}
payload!(StopRecursively = "akgentic.core.messages.orchestrator.StopRecursively",
    aliases: ["akgentic.core.messages.StopRecursively"], snapshot: no_addresses);

/// Payload: the team is about to stop.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TeamStoppingEvent {}
payload!(TeamStoppingEvent = "akgentic.core.messages.orchestrator.TeamStoppingEvent",
    aliases: ["akgentic.core.messages.TeamStoppingEvent"]);

impl SentMessage {
    fn snapshot(&self) -> Option<Self> {
        let message = self.message.snapshot();
        if message.is_none() && !self.recipient.is_live() {
            return None;
        }
        let message = message.map_or_else(|| Arc::clone(&self.message), Arc::new);
        Some(Self { message, recipient: self.recipient.to_snapshot() })
    }
}

impl StartMessage {
    fn snapshot(&self) -> Option<Self> {
        let config = self.config.snapshot_config();
        let is_live = self.parent.as_ref().is_some_and(ActorAddress::is_live);
        if config.is_none() && !is_live {
            return None;
        }
        let config = config.map_or_else(|| self.config.clone(), Dyn);
        Some(Self { config, parent: self.parent.as_ref().map(ActorAddress::to_snapshot) })
    }
}

impl NotificationMessage {
    fn snapshot(&self) -> Option<Self> {
        let current_message = self.current_message.as_ref()?.snapshot().map(Arc::new)?;
        Some(Self { current_message: Some(current_message), ..self.clone() })
    }
}

impl ErrorMessage {
    fn snapshot(&self) -> Option<Self> {
        let notification = self.notification.snapshot()?;
        Some(Self { notification, traceback: self.traceback.clone() })
    }
}

impl WarningMessage {
    fn snapshot(&self) -> Option<Self> {
        self.notification.snapshot().map(|notification| Self { notification })
    }
}

impl StateChangedMessage {
    fn snapshot(&self) -> Option<Self> {
        self.state.snapshot_state().map(|state| Self { state: Dyn(state) })
    }
}

impl EventMessage {
    fn snapshot(&self) -> Option<Self> {
        self.event.snapshot().map(|event| Self { event })
    }
}
