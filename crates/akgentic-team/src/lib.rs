#![doc = include_str!("../README.md")]

mod card;
mod commands;
mod fire;
mod hire;
mod management;
mod params;
mod roles;
mod roster;
mod texts;

pub use card::TeamTool;
pub use commands::{FireMember, HireMember, HiredMember, TeamMembers, TeamRoles};
pub use fire::{FIRE_TIMEOUT, FireError, Fired};
pub use hire::{HireError, MAX_MEMBERS};
pub use management::{HireNumbers, TeamManagement};
pub use params::{
    ActivitySummarizer, FireTeamMember, GetRoleProfiles, GetTeamActivity, GetTeamRoster,
    HireTeamMember,
};
pub use roles::{RoleCatalogState, RoleRow};
pub use roster::{TeamMemberRow, TeamRosterState};

/// Registers the types of this crate; see [`akgentic_core::register`].
pub fn register() {
    akgentic_core::register();
}
