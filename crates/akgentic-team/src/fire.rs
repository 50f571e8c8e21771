//! Firing: from a name to a member that is gone.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use akgentic_core::orchestrator::{Orchestrator, is_tool_actor};
use akgentic_core::{ActorAddress, ActorRef, CallError};
use akgentic_tool_core::{Observer, ObserverError, ToolError, quoted};

use crate::management::TeamManagement;
use crate::texts::name_list;

/// How long a fired member may take to go before it is reported as stopping.
pub const FIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why nobody was fired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FireError {
    /// There is no such member.
    #[error("there is no member {}; current members: {}", quoted(name), name_list(members))]
    UnknownMember {
        /// The name asked for.
        name: String,
        /// The members there are.
        members: Vec<String>,
    },
    /// Nobody fires itself or who hired it.
    #[error("{0} cannot be fired by you: it is you, or you work below it")]
    Superior(String),
    /// The human stays.
    #[error("{0} stands for a person and cannot be fired")]
    Human(String),
    /// The agent that fires has stopped or has no team.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The team does not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<FireError> for ToolError {
    fn from(error: FireError) -> Self {
        match error {
            FireError::Call(error) => Self::fatal(error),
            other => Self::retriable(other.to_string()),
        }
    }
}

/// What became of a member that was fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired {
    /// It is gone.
    Gone(String),
    /// It was told, and takes its time.
    Stopping(String),
}

/// Fires members on behalf of one agent.
#[derive(Clone)]
pub(crate) struct Dismissal {
    observer: Observer,
}

impl Dismissal {
    pub(crate) fn new(observer: &Observer) -> Self {
        Self { observer: observer.clone() }
    }

    /// Fires one member, with everybody below it.
    pub(crate) async fn fire(&self, name: &str) -> Result<Fired, FireError> {
        self.observer.context()?;
        let team = self.observer.team()?;
        match team.get_team_member(name).await? {
            Some(member) => self.fire_member(&team, member).await,
            None => Err(unknown(&team, name).await?),
        }
    }

    /// Fires members in order; a name that went with somebody before it in the list counts as
    /// fired, a name given twice does not.
    pub(crate) async fn fire_all(
        &self,
        names: &[String],
    ) -> Result<Vec<Result<Fired, FireError>>, FireError> {
        self.observer.context()?;
        let team = self.observer.team()?;
        let mut known: HashMap<&str, ActorAddress> = HashMap::new();
        for name in names {
            if let Some(member) = team.get_team_member(name).await? {
                known.insert(name, member);
            }
        }
        let mut seen = HashSet::new();
        let mut results = Vec::with_capacity(names.len());
        for name in names {
            let member = known.get(name.as_str()).filter(|_| seen.insert(name.as_str()));
            results.push(match member {
                Some(member) => self.fire_member(&team, member.clone()).await,
                None => Err(unknown(&team, name).await?),
            });
        }
        Ok(results)
    }

    async fn fire_member(
        &self,
        team: &ActorRef<Orchestrator>,
        member: ActorAddress,
    ) -> Result<Fired, FireError> {
        let name = member.name().to_owned();
        if is_tool_actor(&name) {
            return Err(unknown(team, &name).await?);
        }
        let context = self.observer.context()?;
        if member == context.address() || context.ancestors().contains(&member) {
            return Err(FireError::Superior(name));
        }
        // A person the agent hired itself may go; those the team was set up with stay.
        if member.is_user_proxy() && !context.children().contains(&member) {
            return Err(FireError::Human(name));
        }
        let fired = match member.dismiss(FIRE_TIMEOUT).await {
            Ok(_) | Err(CallError::Dead(_)) => Fired::Gone(name),
            Err(CallError::Timeout(_)) => Fired::Stopping(name),
            Err(error) => return Err(error.into()),
        };
        if let Ok(management) = self.observer.get::<dyn TeamManagement>() {
            management.on_fire(&member);
        }
        Ok(fired)
    }
}

/// The names of members that could be fired by name.
pub(crate) async fn member_names(team: &ActorRef<Orchestrator>) -> Result<Vec<String>, CallError> {
    let members = team.get_team().await?;
    let names = members.iter().map(|member| member.name().to_owned());
    Ok(names.filter(|name| !is_tool_actor(name)).collect())
}

async fn unknown(team: &ActorRef<Orchestrator>, name: &str) -> Result<FireError, CallError> {
    let members = member_names(team).await?;
    Ok(FireError::UnknownMember { name: name.to_owned(), members })
}
