//! Those who watch a team.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use uuid::Uuid;

use crate::card::AgentCard;
use crate::message::Message;
use crate::wire::Record;

/// What a subscriber answers.
pub type Watched = Result<(), Box<dyn Error + Send + Sync>>;

/// What a team knows beside its records; a log keeps it so that a team comes back with it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TeamData<'a> {
    /// Agent cards that were registered.
    Profiles(&'a [Arc<AgentCard>]),
    /// The metadata record that is in force now.
    Metadata(Option<&'a Arc<dyn Record>>),
}

/// Watches a team; called in the orchestrator's task, in subscription order.
///
/// Messages are snapshots: their addresses cannot deliver. A call that fails or panics is logged
/// and does not affect the others. Calls must be quick: the orchestrator waits for them.
pub trait Subscriber: Send + Sync {
    /// Something was recorded.
    fn on_message(&self, message: &Arc<Message>) -> Watched;

    /// The team was told something that is no record; also called with all of it on subscription.
    fn on_team_data(&self, data: TeamData<'_>) -> Watched {
        let _ = data;
        Ok(())
    }

    /// The team is being restored: what follows happened before, until called with `false`.
    fn set_restoring(&self, team_id: Uuid, restoring: bool) -> Watched {
        let _ = (team_id, restoring);
        Ok(())
    }

    /// The team was asked to stop.
    fn on_stop_request(&self, team_id: Uuid) -> Watched {
        let _ = team_id;
        Ok(())
    }

    /// The team is down.
    fn on_stop(&self, team_id: Uuid) -> Watched {
        let _ = team_id;
        Ok(())
    }
}

/// A closure that sees every message.
impl<F: Fn(&Arc<Message>) + Send + Sync> Subscriber for F {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        self(message);
        Ok(())
    }
}

/// Calls every subscriber; failures are logged.
pub(super) fn tell_all(
    subscribers: &[Arc<dyn Subscriber>],
    what: &'static str,
    call: impl Fn(&dyn Subscriber) -> Watched,
) {
    for subscriber in subscribers {
        match catch_unwind(AssertUnwindSafe(|| call(&**subscriber))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(what, %error, "a subscriber failed"),
            Err(_) => tracing::error!(what, "a subscriber panicked"),
        }
    }
}
