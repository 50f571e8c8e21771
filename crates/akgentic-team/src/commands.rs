//! The commands of the team card, as code and people call them.

use akgentic_core::ActorAddress;
use akgentic_tool_core::{CommandArgs, CommandOutput};
use schemars::JsonSchema;
use serde::Deserialize;

/// Hire one member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct HireMember {
    /// The role to hire, as in the list of roles.
    pub role: String,
    /// The name of the new member; one is made up when absent.
    #[serde(default)]
    pub name: Option<String>,
}

impl CommandArgs for HireMember {
    const NAME: &'static str = "hire_member";
    type Output = HiredMember;
}

/// A member that was hired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiredMember(pub ActorAddress);

impl CommandOutput for HiredMember {
    fn render(&self) -> Option<String> {
        Some(format!("Hired {} (role: {})", self.0.name(), self.0.role()))
    }
}

/// Fire one member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct FireMember {
    /// The exact name of the member.
    pub name: String,
}

impl CommandArgs for FireMember {
    const NAME: &'static str = "fire_member";
    type Output = String;
}

/// List the members.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct TeamMembers {}

impl CommandArgs for TeamMembers {
    const NAME: &'static str = "team_members";
    type Output = String;
}

/// List the roles that can be hired.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct TeamRoles {}

impl CommandArgs for TeamRoles {
    const NAME: &'static str = "team_roles";
    type Output = String;
}
