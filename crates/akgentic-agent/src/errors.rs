//! Names under which failures of an agent are recorded.

use akgentic_core::ActorError;
use akgentic_llm::{RunError, UnexpectedBehavior};

use crate::cancel::is_interruption;

/// The failure of a run as its actor reports it.
pub(crate) fn actor_error(error: RunError) -> ActorError {
    let kind = match &error {
        RunError::Model(_) | RunError::ContentFilter => "ProviderError",
        RunError::UnexpectedModelBehavior(UnexpectedBehavior::OutputRetries { .. }) => {
            "OutputRetriesExhausted"
        }
        RunError::UnexpectedModelBehavior(UnexpectedBehavior::ToolRetries { .. }) => {
            "ToolRetriesExhausted"
        }
        RunError::UnexpectedModelBehavior(_) => "UnexpectedModelBehavior",
        RunError::Tool { .. } | RunError::ToolPanicked { .. } => "ToolCrashed",
        error if is_interruption(error) => "RunInterruptedError",
        _ => "RunError",
    };
    ActorError::from(error).with_content_type(kind)
}
