//! Drives a run: waits for the model and the tools, calls hooks, hands messages on.

mod execute;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tokio_util::sync::CancellationToken;

use crate::error::{BoxError, ModelError, RunError};
use crate::hook::{Hook, RunContext};
use crate::message::ModelMessage;
use crate::model::{Model, ModelInput};
use crate::output::Output;
use crate::run::{Action, Event, Run, ToolBatch};
use execute::Progress;

/// Where the messages of a run go, each once and in order, as soon as they exist.
pub trait MessageSink: Send + Sync {
    /// Stores a message. An error ends the run.
    fn store(&mut self, message: Arc<ModelMessage>) -> Result<(), BoxError>;

    /// Shortens the stored conversation, if it is time: asked before each model request but the
    /// first. What it gives is sent instead of what was sent before.
    fn shorten(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<ModelMessage>>>, BoxError>> {
        ready(Ok(None)).boxed()
    }
}

impl<F> MessageSink for F
where
    F: FnMut(Arc<ModelMessage>) -> Result<(), BoxError> + Send + Sync,
{
    fn store(&mut self, message: Arc<ModelMessage>) -> Result<(), BoxError> {
        self(message)
    }
}

/// What a run is driven with.
#[derive(Clone)]
pub struct Drivers {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Code around the steps, outermost first.
    pub hooks: Arc<[Arc<dyn Hook>]>,
    /// Ends the run when it fires.
    pub cancel: CancellationToken,
    /// How cancelling goes.
    pub stopping: Stopping,
    /// How long single steps may take.
    pub deadlines: Deadlines,
}

/// How long a model request may take when nothing else is said.
const MODEL_REQUEST: Duration = Duration::from_mins(2);

/// How long a tool call may take when nothing else is said.
pub const TOOL_TIMEOUT: Duration = Duration::from_mins(10);

/// How long single steps of a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// One model request, its retries included; longer ones fail the run with
    /// [`ModelError::Timeout`].
    pub model_request: Duration,
    /// One tool call; longer ones are dropped and answered as interrupted, and the run goes on.
    pub tool_call: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { model_request: MODEL_REQUEST, tool_call: TOOL_TIMEOUT }
    }
}

/// How cancelling goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// How long running tools may take to end after the signal.
    pub tool_grace: Duration,
    /// Whether a model request in flight is dropped at once; otherwise its reply is awaited, kept
    /// and counted, and the run ends after it.
    pub drop_model_request: bool,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { tool_grace: Duration::from_secs(1), drop_model_request: true }
    }
}

/// Drives a run to its end.
///
/// Every message is stored before anything it causes is awaited. Cancel-safe: dropping the future
/// stops running tools, closes their calls as interrupted and stores what the run had added.
pub async fn drive(
    run: &mut Run,
    first: Action,
    drivers: &Drivers,
    sink: &mut dyn MessageSink,
) -> Result<Output, RunError> {
    let mut driver = Driver { run, drivers, sink, progress: None };
    let result = driver.finish(first).await;
    let context = driver.context();
    for hook in drivers.hooks.iter().rev() {
        hook.after_run(&context, &result).await;
    }
    result
}

struct Driver<'a> {
    run: &'a mut Run,
    drivers: &'a Drivers,
    sink: &'a mut dyn MessageSink,
    /// The batch in flight; what a dropped driver has to close.
    progress: Option<Progress>,
}

impl Driver<'_> {
    async fn finish(&mut self, first: Action) -> Result<Output, RunError> {
        let mut action = match self.before_run().await {
            Ok(()) => first,
            Err(error) => self.run.next(Event::Failed(error)),
        };
        loop {
            if let Err(error) = self.store() {
                action = match action {
                    Action::Finish(Err(earlier)) => Action::Finish(Err(earlier)),
                    _ => self.run.next(Event::Failed(error)),
                };
            }
            let event = match action {
                Action::Prepare => self.prepare().await,
                Action::CallModel(input) => self.call_model(input).await,
                Action::CallTools(batch) => self.call_tools(batch).await,
                Action::Settle(output) => self.at_end(output).await,
                Action::Finish(result) => return result,
            };
            action = self.run.next(event);
        }
    }

    async fn before_run(&self) -> Result<(), RunError> {
        let context = self.context();
        for hook in self.drivers.hooks.iter() {
            hook.before_run(&context).await.map_err(RunError::Hook)?;
        }
        Ok(())
    }

    async fn prepare(&mut self) -> Event {
        if self.drivers.cancel.is_cancelled() {
            return Event::Failed(RunError::Cancelled);
        }
        if self.run.steps() > 0
            && let Err(error) = self.shorten().await
        {
            return Event::Failed(error);
        }
        if !self.drivers.hooks.is_empty() {
            let context = self.context();
            let mut step = self.run.step();
            for hook in self.drivers.hooks.iter() {
                if let Err(error) = hook.before_model_request(&context, &mut step).await {
                    return Event::Failed(RunError::Hook(error));
                }
            }
            self.run.set_step(step);
        }
        if self.drivers.cancel.is_cancelled() {
            return Event::Failed(RunError::Cancelled);
        }
        Event::Prepared
    }

    async fn shorten(&mut self) -> Result<(), RunError> {
        let shortened = tokio::select! {
            biased;
            () = self.drivers.cancel.cancelled() => return Err(RunError::Cancelled),
            shortened = self.sink.shorten() => shortened.map_err(RunError::Observer)?,
        };
        if let Some(history) = shortened {
            self.run.replace_history(&history);
        }
        Ok(())
    }

    async fn call_model(&mut self, input: ModelInput) -> Event {
        let drop_early = self.drivers.stopping.drop_model_request;
        let limit = self.drivers.deadlines.model_request;
        let reply = tokio::select! {
            biased;
            () = self.drivers.cancel.cancelled(), if drop_early => {
                return Event::Failed(RunError::Cancelled);
            }
            reply = tokio::time::timeout(limit, self.drivers.model.request(input)) => reply,
        };
        let reply = reply.unwrap_or_else(|_| {
            let model = self.drivers.model.name().to_owned();
            Err(ModelError::Timeout { model, after: limit })
        });
        let mut response = match reply {
            Ok(response) => response,
            Err(error) => return Event::Replied(Err(error)),
        };
        response.model_name.get_or_insert_with(|| self.drivers.model.name().to_owned());
        let context = self.context();
        for hook in self.drivers.hooks.iter().rev() {
            if let Err(error) = hook.after_model_response(&context, &mut response).await {
                return Event::Failed(RunError::Hook(error));
            }
        }
        Event::Replied(Ok(response))
    }

    async fn call_tools(&mut self, batch: ToolBatch) -> Event {
        let context = self.context();
        let progress = self.progress.insert(Progress::new(batch.calls.len()));
        execute::execute(batch, self.drivers, &context, progress).await;
        match self.progress.take() {
            Some(progress) => progress.into_event(),
            None => Event::Failed(RunError::Cancelled),
        }
    }

    async fn at_end(&self, mut output: Output) -> Event {
        let context = self.context();
        for hook in self.drivers.hooks.iter().rev() {
            if let Err(error) = hook.at_end(&context, &mut output).await {
                return Event::Failed(RunError::Hook(error));
            }
        }
        Event::Settled(output)
    }

    /// Stores what is new; one failure does not keep the rest from being stored.
    fn store(&mut self) -> Result<(), RunError> {
        let mut first_error = None;
        for message in self.run.take_added() {
            if let Err(error) = self.sink.store(message) {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), |error| Err(RunError::Observer(error)))
    }

    fn context(&self) -> RunContext {
        RunContext {
            run_id: self.run.run_id().into(),
            usage: self.run.usage(),
            steps: self.run.steps(),
            queue: self.run.queue().clone(),
        }
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        let event = match self.progress.take() {
            Some(progress) => progress.into_cancelled(),
            None => Event::Failed(RunError::Cancelled),
        };
        // a run that has ended already answers with an end and adds nothing
        drop(self.run.next(event));
        if let Err(error) = self.store() {
            tracing::warn!(%error, "the messages of a dropped run were not stored");
        }
    }
}
