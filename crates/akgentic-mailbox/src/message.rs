//! Messages that may be taken on in the middle of a run.

use akgentic_core::Message;

/// A message that a run may take on: it says what it is to a model that works on something else.
///
/// Message types list it among their facets; see [`message!`](macro@akgentic_core::message). A type
/// that does not keeps its messages out of running runs; each gets a turn of its own.
///
/// ```
/// use akgentic_core::Message;
/// use akgentic_mailbox::{MailboxMessage, single_line};
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// struct Memo { text: String }
/// akgentic_core::message!(Memo = "my_app.Memo", facets: [dyn MailboxMessage]);
///
/// impl MailboxMessage for Memo {
///     fn rendering(&self, _: &Message) -> String {
///         format!("A memo for your information:\n\n{}", self.text)
///     }
///     fn rendering_preview(&self, _: &Message) -> String {
///         format!("memo: {}", single_line(&self.text, 80))
///     }
/// }
///
/// let memo = Message::new(Memo { text: "the plan\nhas changed".into() });
/// let mail = memo.facet::<dyn MailboxMessage>().expect("a memo may be taken on");
/// assert_eq!(mail.rendering_preview(&memo), "memo: the plan has changed");
/// ```
pub trait MailboxMessage: Send + Sync {
    /// The message in words that need nothing else: who, what kind, what is expected, the body.
    /// `message` is the whole of which this is the body.
    fn rendering(&self, message: &Message) -> String;

    /// The message in one short line.
    fn rendering_preview(&self, message: &Message) -> String;
}
