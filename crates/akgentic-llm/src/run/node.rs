//! The stages of a run.

use std::fmt;

/// A stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The prompt is added to the conversation.
    UserPrompt,
    /// The model is asked.
    ModelRequest,
    /// The reply is read: its calls are executed, its output is taken.
    CallTools,
    /// Nothing follows.
    End,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserPrompt => "user_prompt",
            Self::ModelRequest => "model_request",
            Self::CallTools => "call_tools",
            Self::End => "end",
        })
    }
}
