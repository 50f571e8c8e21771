//! Hiring: from a role to a running member.

use std::sync::Arc;

use akgentic_core::orchestrator::Orchestrator;
use akgentic_core::wire::Dyn;
use akgentic_core::{ActorAddress, ActorRef, AgentCard, CallError, CreateError};
use akgentic_tool_core::{Observer, ObserverError, ToolError, quoted};

use crate::management::{HireNumbers, RandomNumbers, TeamManagement};
use crate::texts::{is_invisible, name_list};

/// Longest name a member may be given.
const MAX_NAME: usize = 100;

/// Most members a team may have before nobody is hired any more.
pub const MAX_MEMBERS: usize = 1000;

/// Why nobody was hired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HireError {
    /// There is no such role.
    #[error("there is no role {}; available roles: {}", quoted(role), listed(available))]
    UnknownRole {
        /// The role asked for.
        role: String,
        /// The roles there are.
        available: Vec<String>,
    },
    /// The hirer's card does not let it hire this role.
    #[error("your role may not hire {role:?}; it may hire: {}", listed(allowed))]
    NotAllowed {
        /// The role asked for.
        role: String,
        /// The roles the hirer may hire.
        allowed: Vec<String>,
    },
    /// The name cannot be given to a member.
    #[error(
        "{} cannot be the name of a member: {reason}; give another one, such as @{suggestion}",
        quoted(name)
    )]
    BadName {
        /// The name asked for.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
        /// The start of a name that would do.
        suggestion: String,
    },
    /// Somebody has the name.
    #[error("the name {0:?} is taken; give another one or none")]
    NameTaken(String),
    /// The team has as many members as a team may have.
    #[error("the team has {MAX_MEMBERS} members, no more can be hired; fire some first")]
    TeamFull,
    /// The hirer has stopped or has no team.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The team does not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The member could not be created.
    #[error("a member of role {role:?} cannot be created: {error}")]
    Create {
        /// The role asked for.
        role: String,
        /// Why.
        error: CreateError,
    },
}

impl HireError {
    /// Whether other input could do better.
    pub fn is_retriable(&self) -> bool {
        !matches!(self, Self::Call(_) | Self::Create { .. })
    }
}

impl From<HireError> for ToolError {
    fn from(error: HireError) -> Self {
        if error.is_retriable() { Self::retriable(error.to_string()) } else { Self::fatal(error) }
    }
}

fn listed(roles: &[String]) -> String {
    if roles.is_empty() { "none".to_owned() } else { name_list(roles) }
}

/// Hires members on behalf of one agent.
#[derive(Clone)]
pub(crate) struct Recruiter {
    observer: Observer,
    numbers: Arc<dyn HireNumbers>,
    only_hireable: bool,
}

impl Recruiter {
    pub(crate) fn new(observer: &Observer, only_hireable: bool) -> Self {
        let numbers = observer.get::<dyn HireNumbers>();
        Self {
            observer: observer.clone(),
            numbers: numbers.unwrap_or_else(|_| Arc::new(RandomNumbers)),
            only_hireable,
        }
    }

    /// Whether only roles that say so are hired.
    pub(crate) fn only_hireable(&self) -> bool {
        self.only_hireable
    }

    /// Hires one member below the agent; see the module documentation of the card for the rules.
    pub(crate) async fn hire(
        &self,
        role: &str,
        name: Option<&str>,
    ) -> Result<ActorAddress, HireError> {
        self.observer.context()?;
        let team = self.observer.team()?;
        let catalogue = team.get_agent_catalog().await?;
        let card = self.card_of(role, &catalogue)?;
        if team.get_team().await?.len() >= MAX_MEMBERS {
            return Err(HireError::TeamFull);
        }
        let name = if let Some(name) = name {
            given_name(&team, role, name).await?
        } else {
            let prefix = format!("@{}", role.replace(' ', ""));
            team.reserve_numbered_name(&prefix, self.numbers.next()).await?
        };
        match self.create(&card, &name) {
            Ok(member) => {
                if let Ok(management) = self.observer.get::<dyn TeamManagement>() {
                    management.on_hire(&member);
                }
                Ok(member)
            }
            Err(error) => {
                team.release_name(&name).await?;
                Err(error)
            }
        }
    }

    fn create(&self, card: &AgentCard, name: &str) -> Result<ActorAddress, HireError> {
        let mut config = card.get_config_copy();
        name.clone_into(&mut config.base_mut().name);
        card.role().clone_into(&mut config.base_mut().role);
        let config = Dyn(Arc::from(config));
        let created = self.observer.context()?.create_actor_of(card.agent_class.path(), &config);
        created.map_err(|error| HireError::Create { role: card.role().to_owned(), error })
    }

    fn card_of(
        &self,
        role: &str,
        catalogue: &[Arc<AgentCard>],
    ) -> Result<Arc<AgentCard>, HireError> {
        let is_offered = |card: &&Arc<AgentCard>| card.can_be_hired || !self.only_hireable;
        let mut offered = catalogue.iter().filter(is_offered);
        let Some(card) = offered.clone().find(|card| card.role() == role) else {
            let available = offered.by_ref().map(|card| card.role().to_owned()).collect();
            return Err(HireError::UnknownRole { role: role.to_owned(), available });
        };
        let own_role = self.observer.address()?.role();
        match allowed_roles(own_role, catalogue) {
            Some(allowed) if !allowed.iter().any(|allowed| allowed == role) => {
                Err(HireError::NotAllowed { role: role.to_owned(), allowed: allowed.to_vec() })
            }
            _ => Ok(Arc::clone(card)),
        }
    }
}

/// The roles that a holder of `own_role` may hire; `None` is no limit.
pub(crate) fn allowed_roles<'c>(
    own_role: &str,
    catalogue: &'c [Arc<AgentCard>],
) -> Option<&'c [String]> {
    let own = catalogue.iter().find(|card| card.role() == own_role)?;
    own.routes_to.as_deref()
}

/// Checks and keeps a name that was asked for.
async fn given_name(
    team: &ActorRef<Orchestrator>,
    role: &str,
    name: &str,
) -> Result<String, HireError> {
    let trimmed = name.trim();
    let bad = |reason| HireError::BadName {
        name: name.to_owned(),
        reason,
        suggestion: role.split_whitespace().collect(),
    };
    if trimmed.is_empty() {
        return Err(bad("it is empty"));
    }
    if trimmed.starts_with('#') {
        return Err(bad("names with # in front are those of tool actors"));
    }
    if trimmed.chars().any(char::is_control) {
        return Err(bad("it holds a control character"));
    }
    if trimmed.chars().any(is_invisible) {
        return Err(bad("it holds an invisible character or one that changes how text is shown"));
    }
    if trimmed.chars().count() > MAX_NAME {
        return Err(bad("it is longer than 100 characters"));
    }
    if trimmed != team.address().name() && team.reserve_name(trimmed).await? {
        Ok(trimmed.to_owned())
    } else {
        Err(HireError::NameTaken(trimmed.to_owned()))
    }
}
