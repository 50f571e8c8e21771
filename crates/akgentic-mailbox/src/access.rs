//! What the hook needs of the agent and of its run.

use std::sync::Arc;

use akgentic_core::{ActorHandle, Message, PendingMail};
use uuid::Uuid;

/// An agent's inbox, as the hook around its runs uses it.
///
/// What implements it must not keep the agent alive. The one of a running actor is its
/// [`ActorHandle`].
pub trait MailboxAccess: Send + Sync {
    /// Messages that wait, in arrival order.
    fn get_mailbox(&self) -> Vec<PendingMail>;

    /// Takes waiting messages out, each closed in the ledger, and gives those that were there to
    /// take. Messages somebody waits on stay.
    fn consume_mailbox(&self, ids: &[Uuid]) -> Vec<Arc<Message>>;

    /// The message being handled; none while the agent is idle.
    fn current_message(&self) -> Option<Arc<Message>>;

    /// Whether the agent would run this message as a command; such a message is not taken on.
    fn is_command(&self, message: &Message) -> bool {
        let _ = message;
        false
    }

    /// Whether this message may cancel a run, given that it asks for that.
    fn may_cancel(&self, message: &Message) -> bool {
        let _ = message;
        true
    }

    /// How many messages ever came in, where that is known: the same number twice means that none
    /// came between, so that a step without new mail costs nothing.
    fn arrivals(&self) -> Option<u64> {
        None
    }
}

/// Of an actor that has stopped nothing waits.
impl MailboxAccess for ActorHandle {
    fn get_mailbox(&self) -> Vec<PendingMail> {
        self.get().map_or_else(|_| Vec::new(), |ctx| ctx.pending_mail())
    }

    fn consume_mailbox(&self, ids: &[Uuid]) -> Vec<Arc<Message>> {
        self.get().map_or_else(|_| Vec::new(), |ctx| ctx.consume_mailbox(ids))
    }

    fn current_message(&self) -> Option<Arc<Message>> {
        self.get().ok()?.current_message()
    }

    fn arrivals(&self) -> Option<u64> {
        Some(self.get().ok()?.mail_arrivals())
    }
}

/// Where content is put that a run gets with its next model request.
pub trait InjectionQueue {
    /// Identity of what was put there.
    type Id: Copy + PartialEq;

    /// Puts a text there; nothing when the run has ended and nobody would read it.
    fn enqueue(&self, text: String) -> Option<Self::Id>;

    /// Takes back what is there of these; what was delivered is left alone.
    fn remove(&self, ids: &[Self::Id]);
}
