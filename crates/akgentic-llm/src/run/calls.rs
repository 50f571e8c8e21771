//! The calls of a batch, and how they end.

use std::time::Duration;

use akgentic_tool_core::{Tool, ValidArgs};

use crate::content::ToolContent;
use crate::error::{BoxError, RunError};
use crate::part::ToolCallPart;

/// Calls to execute, concurrently; each at most once.
#[derive(Debug)]
pub struct ToolBatch {
    /// The calls, in the order of the reply.
    pub calls: Vec<PlannedCall>,
}

/// A call whose arguments passed.
#[derive(Debug)]
pub struct PlannedCall {
    /// The call as the model made it.
    pub call: ToolCallPart,
    /// The tool.
    pub tool: Tool,
    /// Its arguments.
    pub args: ValidArgs,
    /// How often calls of this tool failed in a row so far.
    pub retry: u32,
}

/// How the calls of a batch ended.
#[derive(Debug)]
pub struct ToolsReport {
    /// One outcome for each call, in the order of the batch.
    pub outcomes: Vec<CallOutcome>,
    /// Why the batch was stopped before all calls ended, when it was; the run ends with it.
    pub stopped: Option<RunError>,
}

/// How one call ended.
#[derive(Debug)]
pub enum CallOutcome {
    /// It gave a result.
    Returned(ToolContent),
    /// It failed; the model may correct it.
    Retry(String),
    /// Something it needs was in use; the model may call it again, and nothing is counted.
    Busy(String),
    /// It failed for good.
    Failed(BoxError),
    /// It panicked.
    Panicked(String),
    /// A hook around it ended the run.
    Aborted(BoxError),
    /// It took longer than this and was cut off; it may have had effects.
    TimedOut(Duration),
    /// It was stopped before it ended; it may have had effects.
    Interrupted,
    /// It was never started.
    NotStarted,
}

impl CallOutcome {
    /// Whether the run ends with it.
    pub fn ends_the_run(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked(_) | Self::Aborted(_))
    }
}
