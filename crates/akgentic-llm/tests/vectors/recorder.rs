//! A hook that writes down when it is called, in the notation of the vectors.

use std::sync::{Arc, Mutex};

use akgentic_llm::run::{CallOutcome, ModelStep, Node};
use akgentic_llm::*;
use futures_util::future::{BoxFuture, FutureExt as _, ready};
use serde_json::Value;

pub(crate) struct Recorder {
    name: String,
    fail: Value,
    log: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    pub(crate) fn new(capability: &Value, log: &Arc<Mutex<Vec<String>>>) -> Self {
        Self {
            name: capability["name"].as_str().unwrap().to_owned(),
            fail: capability.get("fail").cloned().unwrap_or_default(),
            log: Arc::clone(log),
        }
    }

    fn note(&self, hook: &str, detail: &str) -> Result<(), BoxError> {
        self.log.lock().unwrap().push(format!("{}.{hook}{detail}", self.name));
        match self.fail.get(hook) {
            Some(reason) => Err(reason.as_str().unwrap().into()),
            None => Ok(()),
        }
    }

    fn told(&self, hook: &str, detail: &str) -> HookFuture<'static> {
        ready(self.note(hook, detail)).boxed()
    }
}

impl Hook for Recorder {
    fn enter_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.told("wrap_run", ">")
    }
    fn leave_run<'a>(
        &'a self,
        _: &'a RunContext,
        result: &'a mut Result<Output, RunError>,
    ) -> BoxFuture<'a, ()> {
        self.note("wrap_run", if result.is_ok() { "<" } else { "!" }).unwrap();
        ready(()).boxed()
    }
    fn before_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.told("before_run", "")
    }
    fn after_run<'a>(&'a self, _: &'a RunContext, _: &'a mut Output) -> HookFuture<'a> {
        self.told("after_run", "")
    }
    fn on_run_error<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a RunError,
    ) -> BoxFuture<'a, Option<Output>> {
        self.note("on_run_error", "").unwrap();
        ready(None).boxed()
    }
    fn before_node<'a>(&'a self, _: &'a RunContext, node: Node) -> HookFuture<'a> {
        self.told("before_node_run", &format!(":{node}"))
    }
    fn after_node<'a>(&'a self, _: &'a RunContext, node: Node, next: Node) -> HookFuture<'a> {
        self.told("after_node_run", &format!(":{node}->{next}"))
    }
    fn enter_model_request<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.told("wrap_model_request", ">")
    }
    fn before_model_request<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        self.told("before_model_request", "")
    }
    fn after_model_response<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a mut ModelResponse,
    ) -> HookFuture<'a> {
        self.told("after_model_request", "")
    }
    fn on_model_error<'a>(&'a self, _: &'a RunContext, _: &'a ModelError) -> BoxFuture<'a, ()> {
        self.note("on_model_request_error", "").unwrap();
        ready(()).boxed()
    }
    fn leave_model_request<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.told("wrap_model_request", "<")
    }
    fn before_tool_validate(
        &self,
        _: &RunContext,
        call: &mut ToolCallPart,
    ) -> Result<(), BoxError> {
        self.note("before_tool_validate", &format!(":{}", call.tool_name))
    }
    fn after_tool_validate(&self, _: &RunContext, call: &ToolCallPart) -> Result<(), BoxError> {
        self.note("after_tool_validate", &format!(":{}", call.tool_name))
    }
    fn on_tool_validate_error(
        &self,
        _: &RunContext,
        _: &ToolCallPart,
        _: &mut Vec<ValidationError>,
    ) -> Result<(), BoxError> {
        self.note("on_tool_validate_error", "")
    }
    fn before_tool<'a>(&'a self, _: &'a RunContext, call: &'a ToolCallPart) -> HookFuture<'a> {
        self.told("before_tool_execute", &format!(":{}", call.tool_name))
    }
    fn after_tool<'a>(
        &'a self,
        _: &'a RunContext,
        call: &'a ToolCallPart,
        _: &'a mut CallOutcome,
    ) -> HookFuture<'a> {
        self.told("after_tool_execute", &format!(":{}", call.tool_name))
    }
    fn on_tool_error<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a ToolCallPart,
        _: &'a CallOutcome,
    ) -> HookFuture<'a> {
        self.told("on_tool_execute_error", "")
    }
    fn before_output_validate(&self, _: &RunContext, _: &mut String) -> Result<(), BoxError> {
        self.note("before_output_validate", "")
    }
    fn after_output_validate(&self, _: &RunContext, _: &mut Value) -> Result<(), BoxError> {
        self.note("after_output_validate", "")
    }
    fn on_output_validate_error(
        &self,
        _: &RunContext,
        _: &[ValidationError],
    ) -> Result<Option<String>, BoxError> {
        self.note("on_output_validate_error", "").map(|()| None)
    }
    fn before_output<'a>(&'a self, _: &'a RunContext, _: &'a Output) -> HookFuture<'a> {
        self.told("before_output_process", "")
    }
    fn after_output<'a>(&'a self, _: &'a RunContext, _: &'a mut Output) -> HookFuture<'a> {
        self.told("after_output_process", "")
    }
}
