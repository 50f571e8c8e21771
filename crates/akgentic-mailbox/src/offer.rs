//! Which waiting messages a run may take on.

use std::collections::HashSet;

use akgentic_core::{Message, PendingMail};
use uuid::Uuid;

use crate::access::MailboxAccess;
use crate::cancel::is_cancel;
use crate::message::MailboxMessage;

/// The waiting messages that the run of the current message may take on.
///
/// A message may be taken on when it is a [`MailboxMessage`] of exactly the type that is being
/// handled, and neither a cancel nor a command nor one whose sender waits for the answer. An idle
/// agent takes on nothing.
pub fn offerable(mail: &dyn MailboxAccess, pending: &[PendingMail]) -> HashSet<Uuid> {
    let Some(current) = mail.current_message() else { return HashSet::new() };
    let offered = pending.iter().filter(|one| may_take_on(mail, &current, one));
    offered.map(|one| one.message.id).collect()
}

/// Whether the run of `current` may take this message on.
pub(crate) fn may_take_on(mail: &dyn MailboxAccess, current: &Message, one: &PendingMail) -> bool {
    let message = &*one.message;
    !one.is_awaited
        && message.type_path() == current.type_path()
        && message.facet::<dyn MailboxMessage>().is_some()
        && !is_cancel(message)
        && !mail.is_command(message)
}
