//! What happens in a run, as it happens, for front ends: nothing of it is recorded.

use std::sync::Arc;

use akgentic_core::{ActorAddress, ActorSystem};
use akgentic_llm::run::CallOutcome;
use akgentic_llm::{Hook, HookFuture, RunContext, ToolCallPart};
use futures_util::FutureExt as _;

/// A tool call has ended.
///
/// The record of it comes with the next answer of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFinished {
    /// The agent whose model called.
    pub agent: ActorAddress,
    /// The run.
    pub run_id: String,
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_call_id: String,
    /// Whether it gave a result.
    pub success: bool,
}

/// Sees what agents do while they do it; provided to the actor system with [`watch_live`].
pub trait LiveObserver: Send + Sync {
    /// A tool gave a result, or failed for good. Called within the run: it must not wait.
    fn on_tool_finished(&self, finished: &ToolFinished);
}

impl<F: Fn(&ToolFinished) + Send + Sync> LiveObserver for F {
    fn on_tool_finished(&self, finished: &ToolFinished) {
        self(finished);
    }
}

/// Has `observer` see what the agents of `system` do from their start on.
pub fn watch_live(system: &ActorSystem, observer: impl LiveObserver + 'static) {
    system.provide::<Arc<dyn LiveObserver>>(Arc::new(observer));
}

/// Tells the observer.
pub(crate) struct LiveHook {
    pub(crate) agent: ActorAddress,
    pub(crate) observer: Arc<dyn LiveObserver>,
}

impl LiveHook {
    fn tell<'a>(&self, run: &RunContext, call: &ToolCallPart, success: bool) -> HookFuture<'a> {
        self.observer.on_tool_finished(&ToolFinished {
            agent: self.agent.clone(),
            run_id: run.run_id.to_string(),
            tool_name: call.tool_name.clone(),
            tool_call_id: call.tool_call_id.clone(),
            success,
        });
        std::future::ready(Ok(())).boxed()
    }
}

impl Hook for LiveHook {
    fn after_tool<'a>(
        &'a self,
        run: &'a RunContext,
        call: &'a ToolCallPart,
        _: &'a mut CallOutcome,
    ) -> HookFuture<'a> {
        self.tell(run, call, true)
    }

    fn on_tool_error<'a>(
        &'a self,
        run: &'a RunContext,
        call: &'a ToolCallPart,
        _: &'a CallOutcome,
    ) -> HookFuture<'a> {
        self.tell(run, call, false)
    }
}
