//! Processes: started through one launcher, read within bounds, gone at the end with all they started.

#[cfg(target_os = "linux")]
pub(crate) mod cgroup;
pub(crate) mod launch;
pub(crate) mod owner;
#[cfg(target_os = "linux")]
pub(crate) mod proc;
pub(crate) mod spare;
pub(crate) mod supervise;
#[cfg(target_os = "linux")]
pub(crate) mod warden;

use std::fmt::Display;
use std::sync::LazyLock;

use futures_util::future::BoxFuture;

/// The environment variable that carries the mark of a run, by which what it started is found.
pub(crate) const MARK: &str = "AKGENTIC_SANDBOX_RUN";

/// What the marks of this process begin with, and of no other one, in whatever namespace.
static PROCESS: LazyLock<uuid::Uuid> = LazyLock::new(uuid::Uuid::new_v4);

/// The mark of a run of this process.
pub(crate) fn mark(run: impl Display) -> String {
    format!("{}-{run}", PROCESS.simple())
}

/// Everything one run started, as far as the backend can name it.
pub(crate) trait Tree: Send + Sync {
    /// Asks every process to end.
    fn terminate(&self);

    /// Ends every process. Called more than once, and when a run is dropped.
    fn kill(&self);

    /// Waits until nothing is left, ending what comes up; says whether that was reached in time.
    fn gone(&self) -> BoxFuture<'_, bool>;
}
