//! Who is in the team, as a model is told.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use akgentic_core::ActorAddress;
use akgentic_core::orchestrator::is_tool_actor;

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "akgentic.tool.team.state.TeamMemberRow")]
pub struct TeamMemberRow {
    /// Name, such as `@Developer421`.
    pub name: String,
    /// Role.
    pub role: String,
    /// Whether it is the agent that is told.
    pub is_self: bool,
}

/// The members of a team, tool actors left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamRosterState {
    /// The members, in order of their first start.
    pub members: Vec<TeamMemberRow>,
}

impl TeamRosterState {
    /// The roster as the agent of this name is told.
    pub fn of(members: &[ActorAddress], own_name: &str) -> Self {
        let rows = members.iter().filter(|member| !is_tool_actor(member.name()));
        let rows = rows.map(|member| TeamMemberRow {
            name: member.name().to_owned(),
            role: member.role().to_owned(),
            is_self: member.name() == own_name,
        });
        Self { members: rows.collect() }
    }

    /// Everybody; empty when there is nobody.
    pub fn render(&self) -> String {
        if self.members.is_empty() {
            return String::new();
        }
        let mut lines = vec!["**Team members (name and role):**".to_owned()];
        lines.extend(self.members.iter().map(|row| {
            let own = if row.is_self { " - [you]" } else { "" };
            format!("{} (role: {}){own}", row.name, row.role)
        }));
        lines.join("\n")
    }

    /// Who came and who went since `previous`; `None` when nobody did.
    pub fn render_changes(&self, previous: &Self) -> Option<String> {
        fn keys(state: &TeamRosterState) -> HashSet<(&str, &str)> {
            state.members.iter().map(|row| (row.name.as_str(), row.role.as_str())).collect()
        }
        let (before, now) = (keys(previous), keys(self));
        let mut lines = Vec::new();
        for row in &self.members {
            if !before.contains(&(row.name.as_str(), row.role.as_str())) {
                lines.push(format!("{} (role: {}) joined the team.", row.name, row.role));
            }
        }
        for row in &previous.members {
            if !now.contains(&(row.name.as_str(), row.role.as_str())) {
                lines.push(format!("{} (role: {}) left the team.", row.name, row.role));
            }
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}
