//! Executes the calls of a batch side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use akgentic_tool_core::{CallStopped, Panicked, ToolCall, ToolError};
use futures_util::stream::{self, StreamExt as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Drivers;
use crate::error::{BoxError, RunError};
use crate::hook::{Hooks, RunContext};
use crate::part::ToolCallPart;
use crate::run::{CallOutcome, Event, PlannedCall, ToolBatch, ToolsReport};

/// How far a batch is.
pub(super) struct Progress {
    ended: Vec<Option<CallOutcome>>,
    started: Vec<Arc<AtomicBool>>,
    stopped: Option<RunError>,
}

impl Progress {
    pub(super) fn new(calls: usize) -> Self {
        Self {
            ended: (0..calls).map(|_| None).collect(),
            started: (0..calls).map(|_| Arc::default()).collect(),
            stopped: None,
        }
    }

    /// The batch as it stands; calls that have not ended are interrupted.
    pub(super) fn into_event(self) -> Event {
        let outcomes = self
            .ended
            .into_iter()
            .zip(self.started)
            .map(|(ended, started)| {
                ended.unwrap_or(if started.load(Ordering::Acquire) {
                    CallOutcome::Interrupted
                } else {
                    CallOutcome::NotStarted
                })
            })
            .collect();
        Event::ToolsDone(ToolsReport { outcomes, stopped: self.stopped })
    }

    pub(super) fn into_cancelled(mut self) -> Event {
        self.stopped = Some(RunError::Cancelled);
        self.into_event()
    }
}

/// How many calls of one reply run at a time; the others wait for their turn.
pub(super) const CONCURRENT: usize = 64;

/// What the calls of a batch are executed with.
pub(super) struct Around<'a> {
    pub(super) drivers: &'a Drivers,
    pub(super) hooks: &'a Hooks,
    /// How many run at a time.
    pub(super) together: usize,
}

/// Runs the calls concurrently and notes how they end, in the order they do.
///
/// When the run is cancelled, or a call fails for good, running calls get the signal and a short
/// grace; what has not ended by then is dropped.
pub(super) async fn execute(
    batch: ToolBatch,
    around: &Around<'_>,
    context: &RunContext,
    progress: &mut Progress,
) {
    let Around { drivers, hooks, together } = *around;
    let stop = drivers.cancel.child_token();
    let started = progress.started.clone();
    let calls = batch.calls.into_iter().zip(started).enumerate();
    let calls = calls.map(|(index, (planned, started))| {
        let call = one(planned, drivers, hooks, context.clone(), stop.clone(), started);
        async move { (index, call.await) }
    });
    let mut calls = std::pin::pin!(stream::iter(calls).buffer_unordered(together));
    loop {
        tokio::select! {
            biased;
            ended = calls.next() => match ended {
                None => return,
                Some((index, outcome)) => {
                    let last = progress.note(index, outcome);
                    if last {
                        break;
                    }
                }
            },
            () = drivers.cancel.cancelled() => {
                progress.stopped = Some(RunError::Cancelled);
                break;
            }
        }
    }
    stop.cancel();
    let grace = tokio::time::sleep(drivers.stopping.tool_grace);
    tokio::pin!(grace);
    loop {
        tokio::select! {
            biased;
            ended = calls.next() => match ended {
                None => return,
                Some((index, outcome)) => {
                    progress.note(index, outcome);
                }
            },
            () = &mut grace => return,
        }
    }
}

impl Progress {
    /// Notes how a call ended; `true` when the batch is to be stopped.
    fn note(&mut self, index: usize, outcome: CallOutcome) -> bool {
        let stop = outcome.ends_the_run();
        if let Some(slot) = self.ended.get_mut(index) {
            *slot = Some(outcome);
        }
        stop
    }
}

/// One call with the hooks around it.
async fn one(
    planned: PlannedCall,
    drivers: &Drivers,
    hooks: &Hooks,
    mut run: RunContext,
    stop: CancellationToken,
    started: Arc<AtomicBool>,
) -> CallOutcome {
    if stop.is_cancelled() {
        return CallOutcome::NotStarted;
    }
    run.queue = run.queue.during_call(&planned.call.tool_call_id);
    for hook in hooks.iter() {
        if let Err(error) = hook.before_tool(&run, &planned.call).await {
            return CallOutcome::Aborted(error);
        }
    }
    if stop.is_cancelled() {
        return CallOutcome::NotStarted;
    }
    started.store(true, Ordering::Release);
    let call = planned.call.clone();
    let outcome = executed(planned, drivers, &stop).await;
    after(outcome, hooks, &run, &call).await.unwrap_or_else(CallOutcome::Aborted)
}

/// Waits for the tool, as long as it may take.
async fn executed(
    planned: PlannedCall,
    drivers: &Drivers,
    stop: &CancellationToken,
) -> CallOutcome {
    let PlannedCall { call, tool, args, retry } = planned;
    let mut tool_call = ToolCall::default();
    tool_call.id.clone_from(&call.tool_call_id);
    tool_call.retry = retry;
    tool_call.cancel = stop.child_token();
    let cancel = tool_call.cancel.clone();
    let limit = drivers.deadlines.tool_call;
    let deadline = Instant::now().checked_add(limit);
    tool_call.deadline = deadline.map(Instant::into_std);
    let Ok(result) = tokio::time::timeout(limit, tool.run(args, tool_call)).await else {
        cancel.cancel();
        return CallOutcome::TimedOut(limit);
    };
    match result {
        Err(error) if error.downcast_ref() == Some(&CallStopped::DeadlinePassed) => {
            CallOutcome::TimedOut(limit)
        }
        Ok(content) => CallOutcome::Returned(content.into()),
        Err(ToolError::Retriable(text)) => CallOutcome::Retry(text),
        Err(ToolError::Busy(text)) => CallOutcome::Busy(text),
        Err(ToolError::Fatal(source)) => match source.downcast::<Panicked>() {
            Ok(panicked) => CallOutcome::Panicked(panicked.0),
            Err(source) => CallOutcome::Failed(source),
        },
        Err(other) => CallOutcome::Failed(Box::new(other)),
    }
}

async fn after(
    mut outcome: CallOutcome,
    hooks: &Hooks,
    run: &RunContext,
    call: &ToolCallPart,
) -> Result<CallOutcome, BoxError> {
    for hook in hooks.iter().rev() {
        match &outcome {
            CallOutcome::Returned(_) => hook.after_tool(run, call, &mut outcome).await?,
            CallOutcome::Failed(_) | CallOutcome::Panicked(_) => {
                hook.on_tool_error(run, call, &outcome).await?;
            }
            _ => return Ok(outcome),
        }
    }
    Ok(outcome)
}
