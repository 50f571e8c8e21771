//! Stand-ins for the message classes that the vectors name.

use akgentic_core::message::{CancelMessage, PlainMessage, ResultMessage, UserMessage};
use akgentic_core::{ActorAddress, AddressInfo, Message, message};
use akgentic_mailbox::{MailboxMessage, preview};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The agents' message, with its own words.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentMessage {
    #[serde(rename = "type")]
    kind: String,
    content: String,
}
message!(AgentMessage = "mailbox.vectors.AgentMessage", content: content,
    facets: [dyn MailboxMessage]);

impl MailboxMessage for AgentMessage {
    fn rendering(&self, message: &Message) -> String {
        let sender = message.sender.as_ref().map_or("unknown", |sender| sender.name());
        let Self { kind, content } = self;
        let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let guidance = match kind.as_str() {
            "request" => format!("A reply is expected: respond to {sender} with the result."),
            "response" => "This is a reply to something you asked. Take it into account and \
                           continue."
                .to_owned(),
            "instruction" => {
                format!("Carry it out; acknowledge to {sender} only if asked to.")
            }
            "notification" => "Informational message. No reply is expected.".to_owned(),
            "acknowledgment" => "Receipt confirmed. No further action needed.".to_owned(),
            other => panic!("no type {other}"),
        };
        format!("You received {article} {kind} from {sender}. {guidance}\n\n{content}")
    }

    fn rendering_preview(&self, message: &Message) -> String {
        preview(message.sender.as_ref().map(ActorAddress::name), &self.kind, &self.content)
    }
}

/// A message that derives from the agents' one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SubAgentMessage {
    #[serde(flatten)]
    base: AgentMessage,
}
message!(SubAgentMessage = "mailbox.vectors.SubAgentMessage", content: base.content, parent: base);

/// Another message that may be taken on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OtherMail {
    note: String,
}
message!(OtherMail = "mailbox.vectors.OtherMail", facets: [dyn MailboxMessage]);

impl MailboxMessage for OtherMail {
    fn rendering(&self, _: &Message) -> String {
        format!("Note: {}", self.note)
    }

    fn rendering_preview(&self, _: &Message) -> String {
        format!("note {}", self.note)
    }
}

/// A message with text of its own that may not be taken on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TriageMessage {
    incident: String,
    reported_by: String,
}
message!(TriageMessage = "mailbox.vectors.TriageMessage");

/// A message whose content is no text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OddContent {
    content: Vec<String>,
}
message!(OddContent = "mailbox.vectors.OddContent");

/// The message that a case describes; `class` is the one it has when none is named.
pub(crate) fn message(given: &Value, class: &str) -> Message {
    let class = given["class"].as_str().unwrap_or(class);
    let content = given["content"].as_str().unwrap_or("x").to_owned();
    let kind = given["type"].as_str().unwrap_or("request").to_owned();
    let mut message = match class {
        "AgentMessage" => Message::new(AgentMessage { kind, content }),
        "SubAgentMessage" => Message::new(SubAgentMessage { base: AgentMessage { kind, content } }),
        "OtherMail" => Message::new(OtherMail { note: content }),
        "TriageMessage" => {
            Message::new(TriageMessage { incident: content, reported_by: "unknown".into() })
        }
        "OddContent" => Message::new(OddContent { content: vec![content] }),
        "UserMessage" => Message::new(UserMessage { content }),
        "ResultMessage" => Message::new(ResultMessage { content }),
        "CancelMessage" => Message::new(CancelMessage::default()),
        "Message" => Message::new(PlainMessage {}),
        other => panic!("no class {other}"),
    };
    message.sender = match given.get("sender") {
        Some(Value::Null) => None,
        Some(name) => Some(sender(name.as_str().expect("a name"))),
        None => Some(sender("@H")),
    };
    message
}

fn sender(name: &str) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::nil(),
        name: name.to_owned(),
        role: "Member".to_owned(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: String::new(),
        extra: serde_json::Map::new(),
    })
}
