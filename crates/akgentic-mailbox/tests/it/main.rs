//! What the mailbox does.

#![cfg(test)]

mod announcing;
mod binding;
mod exactly_once;
mod hostile;

#[path = "../vectors/world.rs"]
mod world;

use akgentic_core::{Message, message};
use akgentic_mailbox::{MailboxMessage, preview};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message that may be taken on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Mail {
    text: String,
}
message!(Mail = "mailbox.it.Mail", content: text, facets: [dyn MailboxMessage]);

impl MailboxMessage for Mail {
    fn rendering(&self, _: &Message) -> String {
        format!("Mail: {}", self.text)
    }

    fn rendering_preview(&self, _: &Message) -> String {
        preview(None, "mail", &self.text)
    }
}

fn mail(text: &str) -> Message {
    Message::new(Mail { text: text.to_owned() })
}
