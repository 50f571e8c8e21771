//! Which roles can be hired, as a model is told.

use std::collections::HashMap;
use std::sync::Arc;

use akgentic_core::AgentCard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "akgentic.tool.team.state.RoleRow")]
pub struct RoleRow {
    /// The role.
    pub role: String,
    /// What it does.
    pub description: String,
    /// What it can do.
    pub skills: Vec<String>,
}

impl RoleRow {
    fn line(&self) -> String {
        let skills =
            if self.skills.is_empty() { "none".to_owned() } else { self.skills.join(", ") };
        format!("{}: {} (Skills: {skills})", self.role, one_line(&self.description))
    }
}

/// The roles a team can hire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoleCatalogState {
    /// The roles, in the order in which their cards were registered.
    pub roles: Vec<RoleRow>,
}

impl RoleCatalogState {
    /// The roles of these cards.
    pub fn of(cards: &[Arc<AgentCard>]) -> Self {
        let rows = cards.iter().map(|card| RoleRow {
            role: card.role().to_owned(),
            description: card.description.clone(),
            skills: card.skills.clone(),
        });
        Self { roles: rows.collect() }
    }

    /// Every role; empty when there is none.
    pub fn render(&self) -> String {
        if self.roles.is_empty() {
            return String::new();
        }
        let mut lines = vec!["**Roles available for hiring:**".to_owned()];
        lines.extend(self.roles.iter().map(RoleRow::line));
        lines.join("\n")
    }

    /// Which roles came, went or changed since `previous`; `None` when none did.
    pub fn render_changes(&self, previous: &Self) -> Option<String> {
        fn by_role(state: &RoleCatalogState) -> HashMap<&str, &RoleRow> {
            state.roles.iter().map(|row| (row.role.as_str(), row)).collect()
        }
        let (before, now) = (by_role(previous), by_role(self));
        let mut added = Vec::new();
        let mut changed = Vec::new();
        for row in &self.roles {
            match before.get(row.role.as_str()) {
                None => added.push(format!("Role added — {}.", row.line())),
                Some(old) if **old != *row => {
                    changed.push(format!("Role re-described — {}.", row.line()));
                }
                Some(_) => {}
            }
        }
        let gone = previous.roles.iter().filter(|row| !now.contains_key(row.role.as_str()));
        let removed = gone.map(|row| format!("Role removed — {}.", row.role));
        let lines: Vec<String> = added.into_iter().chain(removed).chain(changed).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Line breaks of a description would break the one line per role.
fn one_line(text: &str) -> String {
    if text.contains(['\n', '\r']) {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text.to_owned()
    }
}
