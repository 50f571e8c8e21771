//! Work on data of unknown origin: on a thread of its own, guarded against panics, within a time.
//!
//! A parser that hangs cannot be stopped from outside. It keeps its slot, so that no more than a few
//! threads are ever lost to such files, and whoever asked is told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use akgentic_tool_core::{Panicked, ToolError};
use tokio::sync::{Semaphore, oneshot};

/// Bytes of the stack of such a thread: files may nest deeply.
const STACK: usize = 64 << 20;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeavyFault {
    /// It took too long.
    #[error("it takes longer than {0:?}")]
    TooLong(Duration),
    /// The parser panicked.
    #[error("the reader of this format failed on it ({0})")]
    Panicked(String),
    /// All slots are taken.
    #[error("other files are being worked on and do not come to an end")]
    Busy,
}

/// A number of threads for one kind of work.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    longest: Duration,
}

impl Slots {
    /// `count` threads at a time, `longest` for each piece of work.
    pub(crate) fn new(count: usize, longest: Duration) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), longest }
    }

    /// Does `work`; dropping the future does not stop what has begun.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HeavyFault> {
        let waiting = tokio::time::timeout(self.longest, Arc::clone(&self.free).acquire_owned());
        let Ok(Ok(slot)) = waiting.await else { return Err(HeavyFault::Busy) };
        let (done, outcome) = oneshot::channel();
        let begun = thread::Builder::new()
            .name("workspace-files".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(work))
                    .map_err(|payload| Panicked::from_payload(&*payload).to_string());
                drop(slot);
                // Nobody may wait for it any more.
                drop(done.send(result));
            });
        if begun.is_err() {
            return Err(HeavyFault::Busy);
        }
        match tokio::time::timeout(self.longest, outcome).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(panic))) => Err(HeavyFault::Panicked(panic)),
            Ok(Err(_)) => Err(HeavyFault::Panicked("its thread is gone".to_owned())),
            Err(_) => Err(HeavyFault::TooLong(self.longest)),
        }
    }
}

impl HeavyFault {
    /// The text for the model about the file at `path`.
    pub(crate) fn about(&self, path: &str) -> ToolError {
        let next = match self {
            Self::Busy => "Try again later",
            Self::TooLong(_) | Self::Panicked(_) => "The file was left as it is; go on without it",
        };
        ToolError::retriable(format!("{path} cannot be read: {self}. {next}."))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn panics_and_endless_work_are_answers() {
        let patient = Slots::new(1, Duration::from_secs(30));
        assert_eq!(patient.run(|| 7).await, Ok(7));
        let panicked = patient.run(|| panic!("odd font")).await;
        assert!(matches!(panicked, Err(HeavyFault::Panicked(text)) if text.contains("odd font")));
        let soon = Duration::from_millis(50);
        let hasty = Slots { longest: soon, ..patient.clone() };
        let (end, wait) = mpsc::channel::<()>();
        let endless = hasty.run(move || wait.recv().is_ok()).await;
        assert_eq!(endless, Err(HeavyFault::TooLong(soon)));
        assert_eq!(hasty.run(|| 7).await, Err(HeavyFault::Busy), "the thread is still there");
        drop(end);
        assert_eq!(patient.run(|| 8).await, Ok(8), "its slot comes back");
    }
}
