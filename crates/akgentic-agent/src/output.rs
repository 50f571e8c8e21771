//! What an agent answers: messages, each with a recipient.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::message::Intent;

/// What the model of an agent is to produce in a turn.
///
/// ```
/// use akgentic_agent::AgentOutput;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Verdict { text: String }
///
/// impl AgentOutput for Verdict {}
/// ```
pub trait AgentOutput: DeserializeOwned + JsonSchema + Send + 'static {
    /// What a turn gives whose run was interrupted; without one the turn fails.
    fn default_output() -> Option<Self> {
        None
    }
}

/// The answer of an agent's turn.
///
/// Text outside of `messages` reaches nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StructuredOutput {
    /// The messages to send, in order: the only way to reach anybody. Several are allowed. Leave it
    /// empty only when there is nothing to send.
    #[serde(default)]
    pub messages: Vec<Request>,
}

impl AgentOutput for StructuredOutput {
    fn default_output() -> Option<Self> {
        Some(Self::default())
    }
}

/// One message to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// What you want: request = do this and bring me the result; response = here is what you asked
    /// for; notification = for your information; instruction = do this, perhaps for somebody else;
    /// acknowledgment = got it.
    pub message_type: Intent,
    /// The text.
    pub message: String,
    /// The exact @Name of a member from the team list. Anything else is read as a role: a new
    /// member of that role is hired and gets the message.
    pub recipient: String,
}
