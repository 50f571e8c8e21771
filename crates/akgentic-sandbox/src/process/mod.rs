//! Processes: started through one launcher, read within bounds, gone at the end with all they started.

#[cfg(target_os = "linux")]
pub(crate) mod cgroup;
pub(crate) mod launch;
#[cfg(target_os = "linux")]
pub(crate) mod proc;
pub(crate) mod spare;
pub(crate) mod supervise;

use futures_util::future::BoxFuture;

/// Everything one run started, as far as the backend can name it.
pub(crate) trait Tree: Send + Sync {
    /// Asks every process to end.
    fn terminate(&self);

    /// Ends every process. Called more than once, and when a run is dropped.
    fn kill(&self);

    /// Waits until nothing is left, ending what comes up; says whether that was reached in time.
    fn gone(&self) -> BoxFuture<'_, bool>;
}
