//! Hooks around the loop.

mod order;
mod repetition;

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use serde_json::Value;

pub(crate) use order::sorted;
pub use order::{HookOrderError, Place};
pub use repetition::{Repetition, RepetitionGuard};

use crate::error::{BoxError, ModelError, RunError};
use crate::feedback::ValidationError;
use crate::history::History;
use crate::message::ModelResponse;
use crate::output::Output;
use crate::part::ToolCallPart;
use crate::queue::RunQueue;
use crate::run::{CallOutcome, ModelStep, Node};
use crate::usage::Usage;

/// What a hook answers: an error ends the run.
pub type HookFuture<'a> = BoxFuture<'a, Result<(), BoxError>>;

/// Code around the steps of a run; every method does nothing unless it is written.
///
/// Hooks mounted in a list run in that order on the way in (`enter_…`, `before_…`) and in reverse
/// on the way out (`leave_…`, `after_…`, `on_…`), unless their [`place`](Hook::place) says
/// otherwise. Hooks around validation do not wait: they look, change and refuse. A run whose future
/// is dropped calls no hook any more.
pub trait Hook: Send + Sync {
    /// A name that other hooks may refer to.
    fn name(&self) -> &'static str {
        ""
    }

    /// Where it wants to stand among the others.
    fn place(&self) -> Place {
        Place::default()
    }

    /// The hook for one run, when it keeps something that runs must not share.
    fn for_run(&self) -> Option<Arc<dyn Hook>> {
        None
    }

    /// A run begins, before anything else.
    fn enter_run<'a>(&'a self, _run: &'a RunContext) -> HookFuture<'a> {
        nothing()
    }

    /// The run has ended, however it did; called for each hook whose `enter_run` was well. What is
    /// changed in `result` is what the caller gets.
    fn leave_run<'a>(
        &'a self,
        _run: &'a RunContext,
        _result: &'a mut Result<Output, RunError>,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// A run starts.
    fn before_run<'a>(&'a self, _run: &'a RunContext) -> HookFuture<'a> {
        nothing()
    }

    /// The run has an output; nothing can be injected any more.
    fn after_run<'a>(&'a self, _run: &'a RunContext, _output: &'a mut Output) -> HookFuture<'a> {
        nothing()
    }

    /// The run failed after it had started. An output that is given here is its result after all.
    fn on_run_error<'a>(
        &'a self,
        _run: &'a RunContext,
        _error: &'a RunError,
    ) -> BoxFuture<'a, Option<Output>> {
        ready(None).boxed()
    }

    /// A stage of the run begins.
    fn before_node<'a>(&'a self, _run: &'a RunContext, _node: Node) -> HookFuture<'a> {
        nothing()
    }

    /// A stage of the run is over, its messages are stored, and `next` would follow.
    fn after_node<'a>(&'a self, _run: &'a RunContext, _node: Node, _next: Node) -> HookFuture<'a> {
        nothing()
    }

    /// A model request would follow, and what led to it is not stored yet. An error ends the run.
    ///
    /// It looks and refuses, and does not wait. It may be called more than once for a request.
    fn before_step(&self, _run: &RunContext) -> Result<(), BoxError> {
        Ok(())
    }

    /// A model request is about to be made, before [`before_model_request`] of any hook.
    ///
    /// [`before_model_request`]: Hook::before_model_request
    fn enter_model_request<'a>(&'a self, _run: &'a RunContext) -> HookFuture<'a> {
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

    /// The model failed.
    fn on_model_error<'a>(
        &'a self,
        _run: &'a RunContext,
        _error: &'a ModelError,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// A model request was answered, and every [`after_model_response`] is over.
    ///
    /// [`after_model_response`]: Hook::after_model_response
    fn leave_model_request<'a>(&'a self, _run: &'a RunContext) -> HookFuture<'a> {
        nothing()
    }

    /// The arguments of a call are about to be validated; they may be changed. Not called for
    /// tools that do not exist.
    fn before_tool_validate(
        &self,
        _run: &RunContext,
        _call: &mut ToolCallPart,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// The arguments of a call passed.
    fn after_tool_validate(&self, _run: &RunContext, _call: &ToolCallPart) -> Result<(), BoxError> {
        Ok(())
    }

    /// The arguments of a call did not pass; what the model is told may be changed.
    fn on_tool_validate_error(
        &self,
        _run: &RunContext,
        _call: &ToolCallPart,
        _errors: &mut Vec<ValidationError>,
    ) -> Result<(), BoxError> {
        Ok(())
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

    /// A tool failed for good, or panicked; the run ends with it. Not called for failures the
    /// model may correct.
    fn on_tool_error<'a>(
        &'a self,
        _run: &'a RunContext,
        _call: &'a ToolCallPart,
        _outcome: &'a CallOutcome,
    ) -> HookFuture<'a> {
        nothing()
    }

    /// Text, or the arguments of the output tool, is about to be read as structured output; it may
    /// be changed.
    fn before_output_validate(
        &self,
        _run: &RunContext,
        _text: &mut String,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// Structured output passed; it may be changed.
    fn after_output_validate(&self, _run: &RunContext, _value: &mut Value) -> Result<(), BoxError> {
        Ok(())
    }

    /// Structured output did not pass. A text that is given here is what the model is told instead
    /// of the errors.
    fn on_output_validate_error(
        &self,
        _run: &RunContext,
        _errors: &[ValidationError],
    ) -> Result<Option<String>, BoxError> {
        Ok(None)
    }

    /// The run would end with `output`. Content that waits in the queue turns the end into another
    /// step, so this can happen more than once.
    fn before_output<'a>(&'a self, _run: &'a RunContext, _output: &'a Output) -> HookFuture<'a> {
        nothing()
    }

    /// The run would end with `output`, which may be changed.
    fn after_output<'a>(&'a self, _run: &'a RunContext, _output: &'a mut Output) -> HookFuture<'a> {
        nothing()
    }
}

/// Hooks in the order they run on the way in.
pub type Hooks = Arc<[Arc<dyn Hook>]>;

/// What hooks know about the run.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// Identity of the run.
    pub run_id: Arc<str>,
    /// What it consumed so far.
    pub usage: Usage,
    /// How many model requests were started.
    pub steps: u32,
    /// What is sent: the conversation so far, cleaned.
    pub messages: History,
    /// Where content is injected.
    pub queue: RunQueue,
}

fn nothing<'a>() -> HookFuture<'a> {
    ready(Ok(())).boxed()
}
