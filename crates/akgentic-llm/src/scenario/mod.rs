//! Scenarios: what a whole team's models say, told in one YAML or JSON file.
//!
#![doc = include_str!("../../docs/scenarios.md")]

mod file;
mod model;
mod scene;
mod template;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

pub use model::ScriptedModel;

use file::{ScenarioFile, Turn};
use template::Templates;

/// Role whose turns serve every role without turns of its own.
pub const ANY_ROLE: &str = "*";

/// A scenario, read and checked; clones share it.
#[derive(Clone)]
pub struct Scenario(Arc<Script>);

struct Script {
    name: String,
    roles: IndexMap<String, Vec<Turn>>,
    templates: Templates,
}

/// Why a scenario cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario {path}: {message}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// The text is not a scenario.
    #[error("the scenario does not load: {0}")]
    Format(String),
    /// A template, expression or pattern is wrong.
    #[error("{place}: {message}")]
    Template {
        /// Where, such as `roles.Manager[0].steps[1].say`.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// The scenario says nothing for a role.
    #[error("the scenario {scenario:?} has no role {role:?}; it has {}", known.join(", "))]
    UnknownRole {
        /// The scenario.
        scenario: String,
        /// The role.
        role: String,
        /// The roles it has.
        known: Vec<String>,
    },
}

impl Scenario {
    /// Reads a scenario; JSON is YAML.
    ///
    /// # Errors
    /// Unknown keys, wrong types (with line and column) and every template, expression or pattern
    /// that does not compile (with its place).
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let file: ScenarioFile = serde_saphyr::from_str(text)
            .map_err(|error| ScenarioError::Format(error.to_string()))?;
        let templates = Templates::new();
        file.check(&templates)?;
        Ok(Self(Arc::new(Script { name: file.name, roles: file.roles, templates })))
    }

    /// Reads a scenario from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| ScenarioError::Unreadable {
            path: path.display().to_string(),
            message: error.to_string(),
        })?;
        Self::parse(&text)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The roles it speaks for.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.0.roles.keys().map(String::as_str)
    }

    /// The model that plays `role`.
    pub fn model(&self, role: &str) -> Result<ScriptedModel, ScenarioError> {
        let served = [role, ANY_ROLE].into_iter().find(|role| self.0.roles.contains_key(*role));
        match served {
            Some(served) => Ok(ScriptedModel::new(Arc::clone(&self.0), role, served)),
            None => Err(ScenarioError::UnknownRole {
                scenario: self.0.name.clone(),
                role: role.to_owned(),
                known: self.roles().map(str::to_owned).collect(),
            }),
        }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario")
            .field("name", &self.0.name)
            .field("roles", &self.0.roles.keys())
            .finish_non_exhaustive()
    }
}
