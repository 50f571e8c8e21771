//! Hooks around the loop.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};

use crate::error::{BoxError, RunError};
use crate::message::ModelResponse;
use crate::output::Output;
use crate::part::ToolCallPart;
use crate::queue::RunQueue;
use crate::run::{CallOutcome, ModelStep};
use crate::usage::Usage;

/// What a hook answers: an error ends the run.
pub type HookFuture<'a> = BoxFuture<'a, Result<(), BoxError>>;

/// Code around the steps of a run; every method does nothing unless it is written.
///
/// Hooks mounted in a list run in that order on the way in (`before_…`) and in reverse on the way
/// out (`after_…`, `at_end`).
pub trait Hook: Send + Sync {
    /// A run starts.
    fn before_run<'a>(&'a self, _run: &'a RunContext) -> HookFuture<'a> {
        nothing()
    }

    /// A model request is about to be made. What is changed in `step` is sent, and stays changed.
    fn before_model_request<'a>(
        &'a self,
        _run: &'a RunContext,
        _step: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        nothing()
    }

    /// The model answered.
    fn after_model_response<'a>(
        &'a self,
        _run: &'a RunContext,
        _response: &'a mut ModelResponse,
    ) -> HookFuture<'a> {
        nothing()
    }

    /// A tool is about to be executed; called concurrently for the calls of one reply.
    fn before_tool<'a>(&'a self, _run: &'a RunContext, _call: &'a ToolCallPart) -> HookFuture<'a> {
        nothing()
    }

    /// A tool gave a result; called concurrently for the calls of one reply. Not called for calls
    /// that failed.
    fn after_tool<'a>(
        &'a self,
        _run: &'a RunContext,
        _call: &'a ToolCallPart,
        _outcome: &'a mut CallOutcome,
    ) -> HookFuture<'a> {
        nothing()
    }

    /// The run would end with `output`. Content that waits in the queue turns the end into another
    /// step, so this can happen more than once.
    fn at_end<'a>(&'a self, _run: &'a RunContext, _output: &'a mut Output) -> HookFuture<'a> {
        nothing()
    }

    /// The run has ended; nothing can be changed any more.
    fn after_run<'a>(
        &'a self,
        _run: &'a RunContext,
        _result: &'a Result<Output, RunError>,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }
}

/// What hooks know about the run.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// Identity of the run.
    pub run_id: Arc<str>,
    /// What it consumed so far.
    pub usage: Usage,
    /// How many model requests were started.
    pub steps: u32,
    /// Where content is injected.
    pub queue: RunQueue,
}

fn nothing<'a>() -> HookFuture<'a> {
    ready(Ok(())).boxed()
}
