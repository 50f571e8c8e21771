//! What agents say to each other, and how it reads to a model.

use akgentic_core::wire::no_addresses;
use akgentic_core::{ActorAddress, Message, message};
use akgentic_mailbox::{MailboxMessage, preview};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the sender of a message wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    /// Do this and bring me the result.
    #[default]
    Request,
    /// Here is what you asked for.
    Response,
    /// For your information.
    Notification,
    /// Do this, perhaps for somebody else.
    Instruction,
    /// Got it.
    Acknowledgment,
}

impl Intent {
    /// Every intent, in the order in which they are documented.
    pub const ALL: [Self; 5] = [
        Self::Request,
        Self::Response,
        Self::Notification,
        Self::Instruction,
        Self::Acknowledgment,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Notification => "notification",
            Self::Instruction => "instruction",
            Self::Acknowledgment => "acknowledgment",
        }
    }

    /// What the receiver is told about answering; part of the interface between agents and prompts.
    pub fn reply_protocol(self, sender: &str) -> String {
        match self {
            Self::Request => {
                format!("A reply is expected: respond to {sender} with the result.")
            }
            Self::Response => {
                "This is a reply to something you asked. Take it into account and continue."
                    .to_owned()
            }
            Self::Instruction => {
                format!("Carry it out; acknowledge to {sender} only if asked to.")
            }
            Self::Notification => "Informational message. No reply is expected.".to_owned(),
            Self::Acknowledgment => "Receipt confirmed. No further action needed.".to_owned(),
        }
    }

    fn article(self) -> &'static str {
        if self.as_str().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
    }
}

/// A message that can be put before a model.
///
/// Message types list it among their facets; see [`message!`].
pub trait LlmRenderable: Send + Sync {
    /// The text a model reads; `message` is the whole of which this is the body.
    fn rendering(&self, message: &Message) -> String;
}

/// A message from one member to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMessage {
    /// What the sender wants.
    #[serde(rename = "type", default)]
    pub intent: Intent,
    /// The text; may be empty.
    pub content: String,
}
message!(AgentMessage = "akgentic.agent.messages.AgentMessage",
    aliases: ["akgentic.agent.AgentMessage"],
    content: content, facets: [dyn LlmRenderable, dyn MailboxMessage],
    snapshot: no_addresses);

impl AgentMessage {
    /// A message with this intent.
    pub fn new(intent: Intent, content: impl Into<String>) -> Self {
        Self { intent, content: content.into() }
    }
}

impl LlmRenderable for AgentMessage {
    fn rendering(&self, message: &Message) -> String {
        let sender = message.sender.as_ref().map_or("unknown", |sender| sender.name());
        let Self { intent, content } = self;
        let (article, kind) = (intent.article(), intent.as_str());
        let protocol = intent.reply_protocol(sender);
        format!("You received {article} {kind} from {sender}. {protocol}\n\n{content}")
    }
}

impl MailboxMessage for AgentMessage {
    fn rendering(&self, message: &Message) -> String {
        LlmRenderable::rendering(self, message)
    }

    fn rendering_preview(&self, message: &Message) -> String {
        let sender = message.sender.as_ref().map(ActorAddress::name);
        preview(sender, self.intent.as_str(), &self.content)
    }
}
