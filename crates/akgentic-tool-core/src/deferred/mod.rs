//! Slow work of a tool actor, done beside it and remembered.

mod actor;
mod cache;
mod poll;
mod results;

pub use actor::{DeferredResultActor, DeferredSource, GetDeferred, RequestDeferred};
pub use cache::{Admission, CACHE_CAPACITY, DeferredCache, FlightId, NEGATIVE_TTL};
pub use poll::{POLL_ATTEMPTS, POLL_DELAY, poll_deferred};
pub use results::{DeferredResults, Settled, WORKER_BUDGET, WorkerCall, worker_name};
