//! The team card: hire, fire, know who is there and who could be hired.

use std::sync::{Arc, LazyLock};

use akgentic_core::orchestrator::Orchestrator;
use akgentic_core::{ActorRef, AgentCard, CallError};
use akgentic_tool_core::{
    BindError, BoundCard, Capability, Channel, Command, CommandShape, ContextProvider,
    ContextState, Observer, ObserverError, Tool, ToolCall, ToolCard, ToolError, ToolParam,
    ToolShape, context_state, tool_card,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::commands::{FireMember, HireMember, HiredMember, TeamMembers, TeamRoles};
use crate::fire::{Dismissal, FireError, Fired, member_names};
use crate::hire::{HireError, Recruiter, allowed_roles};
use crate::params::{
    FireTeamMember, GetRoleProfiles, GetTeamActivity, GetTeamRoster, HireTeamMember,
};
use crate::roles::RoleCatalogState;
use crate::roster::TeamRosterState;
use crate::texts::name_list;

/// Lets an agent hire and fire members and tells it who is in its team.
///
/// A hired member works below the agent that hired it. Generated names are `@`, the role without
/// blanks and a number. A card with `routes_to` limits which roles its holder may hire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamTool {
    /// Hiring.
    pub hire_team_members: Capability<HireTeamMember>,
    /// Firing.
    pub fire_team_members: Capability<FireTeamMember>,
    /// The list of roles.
    pub get_role_profiles: Capability<GetRoleProfiles>,
    /// The list of members.
    pub get_team_roster: Capability<GetTeamRoster>,
    /// The report of what members are doing; kept, not offered in this version.
    pub get_team_activity: Capability<GetTeamActivity>,
    /// Whether only roles whose card says `can_be_hired` are told and hired; otherwise every one is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_hireable: bool,
}
tool_card!(TeamTool = "akgentic.tool.team.team.TeamTool",
    aliases: ["akgentic.tool.team.TeamTool"],
    capabilities: [hire_team_members, fire_team_members, get_role_profiles, get_team_roster]);

context_state!(TeamRosterState = "akgentic.tool.team.state.TeamRosterState",
    aliases: ["akgentic.tool.team.TeamRosterState"]);
context_state!(RoleCatalogState = "akgentic.tool.team.state.RoleCatalogState",
    aliases: ["akgentic.tool.team.RoleCatalogState"]);

impl ContextState for TeamRosterState {
    fn render_full(&self) -> String {
        self.render()
    }

    fn render_delta(&self, previous: &dyn ContextState) -> Option<String> {
        self.render_changes(previous.downcast::<Self>()?)
    }
}

impl ContextState for RoleCatalogState {
    fn render_full(&self) -> String {
        self.render()
    }

    fn render_delta(&self, previous: &dyn ContextState) -> Option<String> {
        self.render_changes(previous.downcast::<Self>()?)
    }
}

impl ToolCard for TeamTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            observer.orchestrator()?;
            let mut bound = BoundCard::new();
            self.bind_hiring(observer, &mut bound);
            self.bind_firing(observer, &mut bound);
            self.bind_lists(observer, &mut bound);
            Ok(bound)
        })
    }
}

impl TeamTool {
    fn bind_hiring(&self, observer: &Observer, bound: &mut BoundCard) {
        let Some(param) = self.hire_team_members.resolve() else { return };
        let recruiter = Recruiter::new(observer, self.only_hireable);
        if param.is_exposed(Channel::ToolCall) {
            let (recruiter, observer) = (recruiter.clone(), observer.clone());
            let hire = Tool::shaped(&shapes().hire, move |args: HireMembers, _: ToolCall| {
                let (recruiter, observer) = (recruiter.clone(), observer.clone());
                async move { hire_members(&recruiter, &observer, &args.roles).await }
            });
            bound.tools.push(hire.with_instructions(param.instructions()));
        }
        if param.is_exposed(Channel::Command) {
            let hire = Command::shaped(&shapes().hire_member, move |hire: HireMember| {
                let recruiter = recruiter.clone();
                async move {
                    let member = recruiter.hire(&hire.role, hire.name.as_deref()).await?;
                    Ok(HiredMember(member))
                }
            });
            bound.commands.push(hire);
        }
    }

    fn bind_firing(&self, observer: &Observer, bound: &mut BoundCard) {
        let Some(param) = self.fire_team_members.resolve() else { return };
        let dismissal = Dismissal::new(observer);
        if param.is_exposed(Channel::ToolCall) {
            let (dismissal, observer) = (dismissal.clone(), observer.clone());
            let fire = Tool::shaped(&shapes().fire, move |args: FireMembers, _: ToolCall| {
                let (dismissal, observer) = (dismissal.clone(), observer.clone());
                async move { fire_members(&dismissal, &observer, &args.names).await }
            });
            bound.tools.push(fire.with_instructions(param.instructions()));
        }
        if param.is_exposed(Channel::Command) {
            let fire = Command::shaped(&shapes().fire_member, move |fire: FireMember| {
                let dismissal = dismissal.clone();
                async move {
                    Ok(match dismissal.fire(&fire.name).await? {
                        Fired::Gone(name) => format!("Member {name} has been fired."),
                        Fired::Stopping(name) => format!("Member {name} is stopping."),
                    })
                }
            });
            bound.commands.push(fire);
        }
    }

    fn bind_lists(&self, observer: &Observer, bound: &mut BoundCard) {
        if let Some(param) = self.get_team_roster.resolve() {
            if param.is_exposed(Channel::Command) {
                let observer = observer.clone();
                bound.commands.push(Command::shaped(&shapes().members, move |_: TeamMembers| {
                    let observer = observer.clone();
                    async move {
                        Ok(match roster(&observer).await {
                            Ok(roster) => roster.render(),
                            Err(HireError::Observer(ObserverError::Gone)) => String::new(),
                            Err(error) => {
                                tracing::warn!(%error, "the roster cannot be read");
                                "The list of members cannot be read now.".to_owned()
                            }
                        })
                    }
                }));
            }
            if param.is_exposed(Channel::LlmContext) {
                let observer = observer.clone();
                bound.context_states.push(ContextProvider::new("team_roster_state", move || {
                    let observer = observer.clone();
                    async move { logged(roster(&observer).await, "roster") }
                }));
            }
        }
        let only_hireable = self.only_hireable;
        if let Some(param) = self.get_role_profiles.resolve() {
            if param.is_exposed(Channel::Command) {
                let observer = observer.clone();
                bound.commands.push(Command::shaped(&shapes().roles, move |_: TeamRoles| {
                    let observer = observer.clone();
                    async move {
                        Ok(match roles(&observer, only_hireable).await {
                            Ok(roles) => roles.render(),
                            Err(error) => {
                                tracing::warn!(%error, "the roles cannot be read");
                                "The list of roles cannot be read now.".to_owned()
                            }
                        })
                    }
                }));
            }
            if param.is_exposed(Channel::LlmContext) {
                let observer = observer.clone();
                bound.context_states.push(ContextProvider::new("role_catalog_state", move || {
                    let observer = observer.clone();
                    async move { logged(roles(&observer, only_hireable).await, "roles") }
                }));
            }
        }
    }
}

/// What the tools and commands of all team cards have in common.
struct Shapes {
    hire: ToolShape,
    fire: ToolShape,
    hire_member: CommandShape,
    fire_member: CommandShape,
    members: CommandShape,
    roles: CommandShape,
}

fn shapes() -> &'static Shapes {
    static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes {
        hire: ToolShape::of::<HireMembers>("hire_members", HIRE),
        fire: ToolShape::of::<FireMembers>("fire_members", FIRE),
        hire_member: CommandShape::of::<HireMember>(
            "Hires one member of a role, with a name of your choice if you like.",
        ),
        fire_member: CommandShape::of::<FireMember>("Fires one member, with everybody it hired."),
        members: CommandShape::of::<TeamMembers>("Lists the members."),
        roles: CommandShape::of::<TeamRoles>("Lists the roles."),
    });
    &SHAPES
}

/// Roles to hire.
#[derive(Debug, Deserialize, JsonSchema)]
struct HireMembers {
    /// One role for each member to hire, as in the list of roles; a role may come twice.
    roles: Vec<String>,
}

/// Members to fire.
#[derive(Debug, Deserialize, JsonSchema)]
struct FireMembers {
    /// The exact names of the members.
    names: Vec<String>,
}

const HIRE: &str = "Hires new members for the team, one for each role given. Hire only when the \
    user asked for it or your instructions say so, and nobody more than the work needs. Only roles \
    from the list of roles can be hired. Each new member gets a name of the form @<Role><number>, \
    which is in the answer: use it exactly. New members start with nothing to do: send each the \
    work it was hired for, not a greeting.";

const FIRE: &str = "Fires members of the team, each with everybody it hired. Fire only when the \
    user asked for it: what they are working on is lost. Give the exact names, which usually start \
    with @.";

async fn roster(observer: &Observer) -> Result<TeamRosterState, HireError> {
    observer.context()?;
    let members = observer.team()?.get_team().await?;
    Ok(TeamRosterState::of(&members, observer.address()?.name()))
}

async fn roles(observer: &Observer, only_hireable: bool) -> Result<RoleCatalogState, HireError> {
    observer.context()?;
    let team = observer.team()?;
    // Cards are in the view when their registration is over: no need to queue behind other work.
    let catalogue = match team.view().filter(|_| team.address().is_alive()) {
        Some(view) => view.cards(),
        None => team.get_agent_catalog().await?,
    };
    let allowed = allowed_roles(observer.address()?.role(), &catalogue);
    let is_told = |card: &&Arc<AgentCard>| {
        let may = allowed.is_none_or(|allowed| allowed.iter().any(|role| role == card.role()));
        may && (card.can_be_hired || !only_hireable)
    };
    let cards: Vec<Arc<AgentCard>> = catalogue.iter().filter(is_told).cloned().collect();
    Ok(RoleCatalogState::of(&cards))
}

fn logged<S>(state: Result<S, HireError>, what: &str) -> Option<S> {
    match state {
        Ok(state) => Some(state),
        Err(HireError::Observer(ObserverError::Gone)) => None,
        Err(error) => {
            tracing::warn!(what, %error, "no context update");
            None
        }
    }
}

/// Most members that one call hires.
const MAX_ROLES: usize = 50;

async fn hire_members(
    recruiter: &Recruiter,
    observer: &Observer,
    roles: &[String],
) -> Result<String, ToolError> {
    gone(observer)?;
    if roles.is_empty() {
        return Err(ToolError::retriable("no role was given; name at least one role to hire"));
    }
    if roles.len() > MAX_ROLES {
        return Err(ToolError::retriable(format!(
            "nobody was hired: {} roles were given, at most {MAX_ROLES} members can be hired in \
             one call; hire only whom the work needs",
            roles.len()
        )));
    }
    let mut hired = Vec::new();
    let mut failed = Vec::new();
    for role in roles {
        match recruiter.hire(role, None).await {
            Ok(member) => hired.push(member.name().to_owned()),
            Err(error) => failed.push((role.as_str(), error)),
        }
    }
    if failed.is_empty() {
        return Ok(format!("Members hired: {}", name_list(&hired)));
    }
    let mut text = String::new();
    if !hired.is_empty() {
        text = format!("Partial success - Members hired: {}. ", name_list(&hired));
    }
    let reasons = failed.iter().map(|(role, error)| match error {
        HireError::UnknownRole { .. } => format!("role '{role}' is unknown"),
        HireError::NotAllowed { .. } => format!("role '{role}' may not be hired by you"),
        error => format!("role '{role}' was not hired ({error})"),
    });
    text.push_str("Not hired: ");
    text.push_str(&reasons.collect::<Vec<_>>().join("; "));
    text.push_str(". ");
    text.push_str(&available(recruiter, observer, &failed).await);
    Err(ToolError::retriable(text))
}

async fn available(
    recruiter: &Recruiter,
    observer: &Observer,
    failed: &[(&str, HireError)],
) -> String {
    let listed = |roles: &[String]| match roles {
        [] => "There is no role you can hire.".to_owned(),
        roles => format!("Roles you can hire: {}", name_list(roles)),
    };
    let limited = failed.iter().find_map(|(_, error)| match error {
        HireError::NotAllowed { allowed, .. } => Some(listed(allowed)),
        _ => None,
    });
    if let Some(limited) = limited {
        return limited;
    }
    match roles(observer, recruiter.only_hireable()).await {
        Ok(state) => {
            let names: Vec<String> = state.roles.into_iter().map(|row| row.role).collect();
            listed(&names)
        }
        Err(error) => format!("The list of roles cannot be read now ({error})."),
    }
}

async fn fire_members(
    dismissal: &Dismissal,
    observer: &Observer,
    names: &[String],
) -> Result<String, ToolError> {
    gone(observer)?;
    if names.is_empty() {
        return Err(ToolError::retriable("no name was given; name at least one member to fire"));
    }
    let mut fired = Vec::new();
    let mut stopping = Vec::new();
    let mut failed = Vec::new();
    for (name, result) in names.iter().zip(dismissal.fire_all(names).await?) {
        match result {
            Ok(Fired::Gone(name)) => fired.push(name),
            Ok(Fired::Stopping(name)) => {
                stopping.push(name.clone());
                fired.push(name);
            }
            Err(FireError::UnknownMember { .. }) => failed.push(format!("member '{name}'")),
            Err(error) => failed.push(format!("member '{name}' ({error})")),
        }
    }
    let note = match stopping.as_slice() {
        [] => String::new(),
        names => format!(" (still stopping: {})", names.join(", ")),
    };
    if failed.is_empty() {
        return Ok(format!("Members fired: {}{note}", fired.join(", ")));
    }
    let mut text = String::new();
    if !fired.is_empty() {
        text = format!("Partial success - Members fired: {}{note}. ", name_list(&fired));
    }
    let team: ActorRef<Orchestrator> = observer.team().map_err(FireError::from)?;
    let left = member_names(&team).await.map_err(|error: CallError| ToolError::fatal(error))?;
    text.push_str("Not fired: ");
    text.push_str(&failed.join("; "));
    text.push_str(". Current members: ");
    text.push_str(&name_list(&left));
    Err(ToolError::retriable(text))
}

fn gone(observer: &Observer) -> Result<(), ToolError> {
    match observer.context() {
        Ok(_) => Ok(()),
        Err(error) => Err(ToolError::retriable(error.to_string())),
    }
}
