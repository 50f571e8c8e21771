//! A timer that waits while work is in flight; used to end idle teams.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

/// When an idle timer is armed: the rules of [`Timer`] without its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerState {
    armed: bool,
    closed: bool,
    count: usize,
}

impl TimerState {
    /// Arms the timer anew, unless it is closed.
    pub fn start(&mut self) {
        self.armed = !self.closed;
    }

    /// Disarms the timer.
    pub fn cancel(&mut self) {
        self.armed = false;
    }

    /// Disarms the timer for good.
    pub fn close(&mut self) {
        self.closed = true;
        self.armed = false;
    }

    /// Work begins: the timer waits.
    pub fn task_started(&mut self) {
        self.count += 1;
        self.cancel();
    }

    /// Work ended: with the last of it the timer starts anew.
    pub fn task_completed(&mut self) {
        self.count = self.count.saturating_sub(1);
        if self.count == 0 {
            self.start();
        }
    }

    /// The delay has passed; whether the callback is due.
    pub fn fire(&mut self) -> bool {
        std::mem::replace(&mut self.armed, false)
    }

    /// Whether the timer runs.
    pub fn is_armed(&self) -> bool {
        self.armed
    }

    /// Work in flight.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Calls back once after a quiet time, on the current Tokio runtime.
pub struct Timer {
    delay: Duration,
    callback: Arc<dyn Fn() + Send + Sync>,
    state: TimerState,
    waiting: Option<AbortHandle>,
}

impl Timer {
    /// A timer that is not armed yet.
    pub fn new(delay: Duration, callback: impl Fn() + Send + Sync + 'static) -> Self {
        Self { delay, callback: Arc::new(callback), state: TimerState::default(), waiting: None }
    }

    /// Arms the timer anew, unless it is closed.
    pub fn start(&mut self) {
        self.state.start();
        self.follow();
    }

    /// Disarms the timer.
    pub fn cancel(&mut self) {
        self.state.cancel();
        self.follow();
    }

    /// Disarms the timer for good.
    pub fn close(&mut self) {
        self.state.close();
        self.follow();
    }

    /// Work begins: the timer waits.
    pub fn task_started(&mut self) {
        self.state.task_started();
        self.follow();
    }

    /// Work ended: with the last of it the timer starts anew.
    pub fn task_completed(&mut self) {
        self.state.task_completed();
        if self.state.count() == 0 {
            self.follow();
        }
    }

    /// The rules of the timer as they stand; a timer that has called back still reads as armed.
    pub fn state(&self) -> TimerState {
        self.state
    }

    fn follow(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.abort();
        }
        if !self.state.is_armed() {
            return;
        }
        let (delay, callback) = (self.delay, Arc::clone(&self.callback));
        let task = tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            callback();
        });
        self.waiting = Some(task.abort_handle());
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.abort();
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("delay", &self.delay)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
