//! Waiting a little for a result.

use std::future::Future;
use std::time::Duration;

/// How often a tool looks for a result before it answers without.
pub const POLL_ATTEMPTS: u32 = 5;
/// How long it waits between two looks.
pub const POLL_DELAY: Duration = Duration::from_millis(400);

/// Looks for a result up to `attempts` times, `delay` apart; the first one counts.
///
/// There is no wait before the first look and none after the last.
///
/// ```
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use akgentic_tool_core::deferred::poll_deferred;
///
/// let mut looks = 0;
/// let found = poll_deferred(|| { looks += 1; async move { (looks == 2).then_some("here") } },
///     5, Duration::from_millis(1)).await;
/// assert_eq!(found, Some("here"));
/// # });
/// ```
pub async fn poll_deferred<T, F, Fut>(mut fetch: F, attempts: u32, delay: Duration) -> Option<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    for attempt in 0..attempts {
        if attempt > 0 {
            tokio::time::sleep(delay).await;
        }
        if let Some(result) = fetch().await {
            return Some(result);
        }
    }
    None
}
