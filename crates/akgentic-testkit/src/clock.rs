//! Time that passes when a test says so.

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

/// A clock that stands until it is moved.
#[derive(Debug, Default)]
pub struct FakeClock(Cell<Duration>);

impl FakeClock {
    /// Time since the clock was made.
    pub fn now(&self) -> Duration {
        self.0.get()
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

/// Runs a future on a runtime of its own whose clock jumps ahead when everybody waits.
///
/// # Panics
/// When no runtime can be made.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    match builder.enable_time().start_paused(true).build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("no runtime for the test: {error}"),
    }
}
