//! Stops a model that makes the same calls over and over.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{FutureExt as _, ready};
use serde_json::Value;

use super::{Hook, HookFuture, RunContext};
use crate::message::ModelResponse;
use crate::part::ToolCallPart;
use crate::queue::Priority;

/// A hook that compares the calls of each reply with those of the one before: tools and arguments,
/// whatever came out of them.
///
/// The model is told when it repeats itself, and the run ends when it does not listen.
#[derive(Clone, Debug)]
pub struct RepetitionGuard {
    warn_at: u32,
    stop_at: u32,
    polling: Arc<HashSet<String>>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    calls: Vec<(String, String)>,
    times: u32,
}

/// The model did not stop to repeat itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model made the same calls {times} times in a row: {tools}")]
pub struct Repetition {
    /// How often.
    pub times: u32,
    /// The tools it called.
    pub tools: String,
}

impl Default for RepetitionGuard {
    fn default() -> Self {
        Self::new(3, 10)
    }
}

impl RepetitionGuard {
    /// Warns the model when it makes the same calls for the `warn_at`th time in a row and ends the
    /// run at the `stop_at`th.
    pub fn new(warn_at: u32, stop_at: u32) -> Self {
        Self { warn_at, stop_at, polling: Arc::default(), seen: Arc::default() }
    }

    /// Lets these tools be called over and over.
    #[must_use]
    pub fn except(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.polling = Arc::new(tools.into_iter().map(Into::into).collect());
        self
    }

    /// How often these calls were made in a row, this time included.
    fn count(&self, response: &ModelResponse) -> u32 {
        let calls = response.tool_calls().filter(|call| !self.polling.contains(&call.tool_name));
        let calls: Vec<(String, String)> = calls.map(fingerprint).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.is_empty() || calls != seen.calls {
            seen.times = 0;
            seen.calls = calls;
        }
        seen.times += u32::from(!seen.calls.is_empty());
        seen.times
    }
}

impl Hook for RepetitionGuard {
    fn name(&self) -> &'static str {
        "repetition_guard"
    }

    fn for_run(&self) -> Option<Arc<dyn Hook>> {
        Some(Arc::new(Self { seen: Arc::default(), ..self.clone() }))
    }

    fn after_model_response<'a>(
        &'a self,
        run: &'a RunContext,
        response: &'a mut ModelResponse,
    ) -> HookFuture<'a> {
        let times = self.count(response);
        let tools = || {
            let names: Vec<&str> =
                response.tool_calls().map(|call| call.tool_name.as_str()).collect();
            names.join(", ")
        };
        let answer = if times >= self.stop_at {
            Err(Repetition { times, tools: tools() }.into())
        } else if times == self.warn_at {
            let text = format!(
                "You have now made the same calls ({}) with the same arguments {times} times in a \
                 row. They will give the same again. Use what you have, or do something else.",
                tools()
            );
            run.queue.enqueue(text, Priority::Asap).map(drop).map_err(Into::into)
        } else {
            Ok(())
        };
        ready(answer).boxed()
    }
}

/// The tool and its arguments, however they are spaced and ordered.
fn fingerprint(call: &ToolCallPart) -> (String, String) {
    let args = match call.args.parse() {
        Ok(mut args) => {
            args.sort_all_objects();
            Value::to_string(&args)
        }
        Err(_) => call.args.to_text(),
    };
    (call.tool_name.clone(), args)
}
