//! What becomes of a turn that reaches a limit: the human is told, the turn ends with a warning.

use std::future::Future;

use akgentic_core::{ActorError, Context};
use akgentic_llm::{LimitBreach, RunError};

use crate::errors::actor_error;
use crate::human::notify_human;

/// What the guard needs of an agent.
pub trait AgentLike {
    /// The name of the agent.
    fn agent_name(&self) -> &str;

    /// Tells a human of the team; without one the text is logged.
    fn notify_human(&self, text: &str) -> impl Future<Output = ()> + Send;
}

impl AgentLike for Context {
    fn agent_name(&self) -> &str {
        self.name()
    }

    async fn notify_human(&self, text: &str) {
        notify_human(self, text).await;
    }
}

/// The outcome of work that reaches the model: a limit of either tier that was reached is told to
/// the human once and becomes a warning.
pub async fn guard_usage_limits<T: Send>(
    agent: &(impl AgentLike + Sync),
    outcome: Result<T, RunError>,
) -> Result<T, ActorError> {
    match outcome {
        Ok(value) => Ok(value),
        Err(RunError::RunUsageLimit(breach) | RunError::AgentUsageLimit(breach)) => {
            Err(escalate_usage_limit(agent, &breach).await)
        }
        Err(error) => Err(actor_error(error)),
    }
}

/// Tells the human about a limit that was reached; gives the warning that ends the turn.
pub async fn escalate_usage_limit(
    agent: &(impl AgentLike + Sync),
    breach: &LimitBreach,
) -> ActorError {
    let name = agent.agent_name();
    tracing::warn!(agent = name, %breach, "a usage limit was reached");
    let notice = format!(
        "{name} reached its {breach} and stopped working on the message it had. \
         Please review its work so far and tell it how to go on."
    );
    agent.notify_human(&notice).await;
    ActorError::warning(format!("{name} reached its {breach}"))
}
