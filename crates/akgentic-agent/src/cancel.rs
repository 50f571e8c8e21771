//! Cancelling inside of a step: a cancel that arrives ends the run it finds.

use std::convert::Infallible;

use akgentic_core::Context;
use akgentic_llm::RunError;
use akgentic_mailbox::{MailboxAccess as _, RunInterrupted, is_cancel, purge_cancels};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::mailbox_capability::MailboxCapability;

/// Where in a run a pending cancel acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelGranularity {
    /// Everywhere: a model request in flight is dropped, running tools are told to stop and get a
    /// second to do it.
    #[default]
    Immediate,
    /// Before each model request only.
    Step,
}

/// Whether a run ended because it was cancelled.
pub(crate) fn is_interruption(error: &RunError) -> bool {
    match error {
        RunError::Cancelled => true,
        RunError::Hook(source) => source.is::<RunInterrupted>(),
        _ => false,
    }
}

impl MailboxCapability {
    /// Waits for a run that `cancel` ends, and cancels it as soon as a message asks for that.
    ///
    /// The cancels are taken out when the run has ended through them. A run that gives its output in the
    /// same moment keeps it, and the cancel gets its turn. A conclusion that is cancelled gives the
    /// breach that led to it.
    pub(crate) async fn cancellable<T>(
        &self,
        run: impl Future<Output = Result<T, RunError>>,
        cancel: &CancellationToken,
        ctx: &Context,
    ) -> Result<T, RunError> {
        let result = match self.granularity() {
            CancelGranularity::Step => run.await,
            CancelGranularity::Immediate => tokio::select! {
                biased;
                result = run => result,
                never = self.cancel_on_arrival(cancel, ctx) => match never {},
            },
        };
        match result {
            Err(RunError::Cancelled)
                if !ctx.cancellation().is_cancelled() && purge_cancels(self.mail()) =>
            {
                Err(match self.take_breach() {
                    Some(breach) => RunError::RunUsageLimit(breach),
                    None => RunError::Hook(Box::new(RunInterrupted)),
                })
            }
            result => result,
        }
    }

    /// Looks at what waits and at each message that comes, until one cancels.
    async fn cancel_on_arrival(&self, cancel: &CancellationToken, ctx: &Context) -> Infallible {
        let mut seen = 0;
        loop {
            let arrivals = ctx.mail_after(seen).await;
            let new = ctx.mail_since(seen);
            seen = arrivals;
            let cancels = |message| is_cancel(message) && self.mail().may_cancel(message);
            if new.iter().any(|one| cancels(&one.message)) {
                tracing::debug!(agent = %ctx.name(), "a message cancels the run");
                cancel.cancel();
                return std::future::pending().await;
            }
        }
    }
}
