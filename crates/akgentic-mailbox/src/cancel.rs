//! Which messages cancel a run.

use akgentic_core::message::CancelMessage;
use akgentic_core::{ActorAddress, Message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::preview::is_space;

/// The word that cancels.
const STOP: &str = "/stop";

/// Whether a message asks to cancel what its receiver is working on: a [`CancelMessage`], or one
/// with text whose first word is `/stop`.
///
/// ```
/// use akgentic_core::{Message, message::UserMessage};
/// use akgentic_mailbox::is_cancel;
///
/// let says = |text: &str| Message::new(UserMessage { content: text.into() });
/// assert!(is_cancel(&says("  /stop now")));
/// assert!(!is_cancel(&says("/stopwatch")));
/// ```
pub fn is_cancel(message: &Message) -> bool {
    if message.body::<CancelMessage>().is_some() {
        return true;
    }
    message.body.content_text().is_some_and(asks_to_stop)
}

/// Whether the first word of a text is `/stop`.
pub fn asks_to_stop(text: &str) -> bool {
    // No further than the first word: texts may be long.
    let Some(rest) = text.trim_start_matches(is_space).strip_prefix(STOP) else { return false };
    rest.chars().next().is_none_or(is_space)
}

/// Whose messages cancel a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CancelPolicy {
    /// Everybody's.
    #[default]
    Anyone,
    /// Those of people and of the team's orchestrator, and what the program itself delivers without a
    /// sender. A teammate whose model writes `/stop` cancels nothing: its message waits for a turn.
    People,
}

impl CancelPolicy {
    /// Whether a message of `sender` may cancel; `orchestrator` is the one of the receiver's team.
    pub fn allows(
        self,
        sender: Option<&ActorAddress>,
        orchestrator: Option<&ActorAddress>,
    ) -> bool {
        match (self, sender) {
            (Self::Anyone, _) | (Self::People, None) => true,
            (Self::People, Some(sender)) => {
                sender.is_user_proxy() || orchestrator.is_some_and(|own| own == sender)
            }
        }
    }
}
