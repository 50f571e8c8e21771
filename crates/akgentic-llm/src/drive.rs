//! Drives a run: waits for the model and the tools, calls hooks, hands messages on.

mod execute;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tokio_util::sync::CancellationToken;

use crate::error::{BoxError, ModelError, RunError};
use crate::hook::{Hooks, RunContext};
use crate::message::{ModelMessage, ModelResponse};
use crate::model::{Model, ModelInput};
use crate::output::Output;
use crate::run::{Action, Event, Node, Run, ToolBatch};
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
    let hooks = Arc::clone(run.hooks());
    let mut driver = Driver { run, hooks, drivers, sink, progress: None, node: Node::UserPrompt };
    let mut entered = 0;
    let mut result = driver.whole_run(first, &mut entered).await;
    let context = driver.run.context();
    for hook in driver.hooks.iter().take(entered).rev() {
        hook.leave_run(&context, &mut result).await;
    }
    result
}

struct Driver<'a> {
    run: &'a mut Run,
    hooks: Hooks,
    drivers: &'a Drivers,
    sink: &'a mut dyn MessageSink,
    /// The batch in flight; what a dropped driver has to close.
    progress: Option<Progress>,
    node: Node,
}

impl Driver<'_> {
    /// `entered` is set to the number of hooks that are in the run.
    async fn whole_run(&mut self, first: Action, entered: &mut usize) -> Result<Output, RunError> {
        if let Err(error) = self.before_run(entered).await {
            let ended = self.run.next(Event::Failed(error));
            return self.steps(ended).await;
        }
        let mut output = match self.started(first).await {
            Ok(output) => output,
            Err(error) => self.on_error(error).await?,
        };
        let context = self.run.context();
        for hook in self.hooks.iter().rev() {
            hook.after_run(&context, &mut output).await.map_err(RunError::Hook)?;
        }
        Ok(output)
    }

    async fn before_run(&self, entered: &mut usize) -> Result<(), RunError> {
        let context = self.run.context();
        for hook in self.hooks.iter() {
            hook.enter_run(&context).await.map_err(RunError::Hook)?;
            *entered += 1;
        }
        for hook in self.hooks.iter() {
            hook.before_run(&context).await.map_err(RunError::Hook)?;
        }
        Ok(())
    }

    async fn started(&mut self, first: Action) -> Result<Output, RunError> {
        let context = self.run.context();
        for hook in self.hooks.iter() {
            if let Err(error) = hook.before_node(&context, Node::UserPrompt).await {
                let ended = self.run.next(Event::Failed(RunError::Hook(error)));
                return self.steps(ended).await;
            }
        }
        drop(context);
        self.steps(first).await
    }

    async fn on_error(&self, error: RunError) -> Result<Output, RunError> {
        let context = self.run.context();
        for hook in self.hooks.iter().rev() {
            if let Some(output) = hook.on_run_error(&context, &error).await {
                return Ok(output);
            }
        }
        Err(error)
    }

    async fn steps(&mut self, mut action: Action) -> Result<Output, RunError> {
        loop {
            if self.leads_to_a_request(&action)
                && let Err(error) = self.before_step()
            {
                action = self.run.next(Event::Failed(RunError::Hook(error)));
            }
            // hooks may still refuse the prompt
            let refusable = self.node == Node::UserPrompt && matches!(action, Action::Enter(_));
            if !refusable && let Err(error) = self.store() {
                action = match action {
                    Action::Finish(Err(earlier)) => Action::Finish(Err(earlier)),
                    _ => self.run.next(Event::Failed(error)),
                };
            }
            let event = match action {
                Action::Enter(node) => self.enter(node).await,
                Action::Prepare => self.prepare().await,
                Action::CallModel(input) => self.call_model(input).await,
                Action::CallTools(batch) => self.call_tools(batch).await,
                Action::Settle(output) => self.at_end(output).await,
                Action::Finish(result) => return result,
            };
            action = self.run.next(event);
        }
    }

    /// Whether a model request follows, as far as the limits are concerned.
    fn leads_to_a_request(&self, action: &Action) -> bool {
        match action {
            Action::Prepare => true,
            Action::Enter(Node::ModelRequest) => {
                self.node != Node::UserPrompt && self.run.check_request().is_ok()
            }
            _ => false,
        }
    }

    fn before_step(&self) -> Result<(), BoxError> {
        if self.hooks.is_empty() {
            return Ok(());
        }
        let context = self.run.context();
        self.hooks.iter().try_for_each(|hook| hook.before_step(&context))
    }

    /// Goes from one stage to the next.
    async fn enter(&mut self, next: Node) -> Event {
        let node = std::mem::replace(&mut self.node, next);
        if self.hooks.is_empty() {
            return Event::Entered;
        }
        let context = self.run.context();
        if node != Node::End
            && let Err(error) = self.after_node(&context, node, next).await
        {
            return Event::Failed(RunError::Hook(error));
        }
        for hook in self.hooks.iter() {
            if let Err(error) = hook.before_node(&context, next).await {
                return Event::Failed(RunError::Hook(error));
            }
        }
        Event::Entered
    }

    async fn after_node(
        &self,
        context: &RunContext,
        node: Node,
        next: Node,
    ) -> Result<(), BoxError> {
        for hook in self.hooks.iter().rev() {
            hook.after_node(context, node, next).await?;
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
        if !self.hooks.is_empty()
            && let Err(error) = self.before_model_request().await
        {
            return Event::Failed(RunError::Hook(error));
        }
        if self.drivers.cancel.is_cancelled() {
            return Event::Failed(RunError::Cancelled);
        }
        Event::Prepared
    }

    async fn before_model_request(&mut self) -> Result<(), BoxError> {
        let context = self.run.context();
        for hook in self.hooks.iter() {
            hook.enter_model_request(&context).await?;
        }
        let mut step = self.run.step();
        for hook in self.hooks.iter() {
            hook.before_model_request(&context, &mut step).await?;
        }
        self.run.set_step(step);
        Ok(())
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
        let context = self.run.context();
        let mut response = match reply {
            Ok(response) => response,
            Err(error) => {
                for hook in self.hooks.iter().rev() {
                    hook.on_model_error(&context, &error).await;
                }
                return Event::Replied(Err(error));
            }
        };
        response.model_name.get_or_insert_with(|| self.drivers.model.name().to_owned());
        match self.after_model_response(&context, &mut response).await {
            Ok(()) => Event::Replied(Ok(response)),
            Err(error) => Event::Failed(RunError::Hook(error)),
        }
    }

    async fn after_model_response(
        &self,
        context: &RunContext,
        response: &mut ModelResponse,
    ) -> Result<(), BoxError> {
        for hook in self.hooks.iter().rev() {
            hook.after_model_response(context, response).await?;
        }
        for hook in self.hooks.iter().rev() {
            hook.leave_model_request(context).await?;
        }
        Ok(())
    }

    async fn call_tools(&mut self, batch: ToolBatch) -> Event {
        let context = self.run.context();
        let progress = self.progress.insert(Progress::new(batch.calls.len()));
        let together = if self.run.one_call_at_a_time() { 1 } else { execute::CONCURRENT };
        let around = execute::Around { drivers: self.drivers, hooks: &self.hooks, together };
        execute::execute(batch, &around, &context, progress).await;
        match self.progress.take() {
            Some(progress) => progress.into_event(),
            None => Event::Failed(RunError::Cancelled),
        }
    }

    async fn at_end(&mut self, mut output: Output) -> Event {
        let node = std::mem::replace(&mut self.node, Node::End);
        match self.around_output(node, &mut output).await {
            Ok(()) => Event::Settled(output),
            Err(error) => Event::Failed(RunError::Hook(error)),
        }
    }

    async fn around_output(&self, node: Node, output: &mut Output) -> Result<(), BoxError> {
        let context = self.run.context();
        for hook in self.hooks.iter() {
            hook.before_output(&context, output).await?;
        }
        for hook in self.hooks.iter().rev() {
            hook.after_output(&context, output).await?;
        }
        self.after_node(&context, node, Node::End).await
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
