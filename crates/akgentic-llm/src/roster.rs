//! The models an agent may switch to: building, checking, switching.

use std::fmt;
use std::sync::Arc;

use crate::config::{ModelConfig, ReactAgentConfig};
use crate::error::BoxError;
use crate::model::Model;
use crate::provider::{Endpoint, EnvironmentError, Variables};

/// Builds the model of a configuration, without its fallbacks; does no I/O.
pub type BuildModel = dyn Fn(&ModelConfig) -> Result<Arc<dyn Model>, BoxError> + Send + Sync;

/// Why an agent keeps the model it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSwitchError {
    /// The agent has no roster.
    #[error("the agent has no roster of models to switch between")]
    NoRoster,
    /// The roster has no such model.
    #[error("there is no model {key:?} to switch to; there are {}", listed.join(", "))]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The keys there are.
        listed: Vec<String>,
    },
    /// Its history would be compacted too late.
    #[error("cannot switch to {key}: {reason}")]
    CompactionBounds {
        /// The model.
        key: String,
        /// What collides.
        reason: String,
    },
    /// It cannot be built.
    #[error("cannot switch to {key}: {source}")]
    CannotBuild {
        /// The model.
        key: String,
        /// Why.
        source: BoxError,
    },
    /// The agent plays a scenario and has no model.
    #[error("an agent that plays a scenario has no model to switch")]
    Mock,
}

/// A switch that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSwitch {
    /// The model from now on.
    pub key: String,
    /// Whether it writes summaries of the conversation, too.
    pub summarises: bool,
}

/// What keeps a model of a roster from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterFault {
    /// The model, or the fallback of one.
    pub key: String,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for RosterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

impl ReactAgentConfig {
    /// Everything that would keep a model of the agent from being used: keys that stand twice,
    /// variables that are not set, bounds that collide. Nothing is built and nothing is sent.
    pub fn check_roster(&self, variables: &Variables<'_>) -> Vec<RosterFault> {
        let mut faults = Vec::new();
        if let Err(reason) = self.check() {
            faults.push(RosterFault { key: self.model_cfg.key(), reason });
        }
        let mut fault = |model: &ModelConfig, error: EnvironmentError| {
            faults.push(RosterFault { key: model.key(), reason: error.to_string() });
        };
        let summariser = self.compaction_cfg.summary_model_cfg.iter();
        for model in self.models().iter().chain(summariser) {
            for link in std::iter::once(model).chain(&model.fallback_models) {
                if let Err(error) = Endpoint::new(link, variables) {
                    fault(link, error);
                }
            }
        }
        for model in self.models().iter().filter(|model| **model != self.model_cfg) {
            if let Err(reason) = self.check_bounds(model) {
                faults.push(RosterFault { key: model.key(), reason });
            }
        }
        faults
    }

    /// The entry of the roster with this key.
    pub(crate) fn entry(&self, key: &str) -> Result<&ModelConfig, ModelSwitchError> {
        if self.model_roster.is_empty() {
            return Err(ModelSwitchError::NoRoster);
        }
        self.model_roster.iter().find(|model| model.key() == key).ok_or_else(|| {
            ModelSwitchError::UnknownKey {
                key: key.to_owned(),
                listed: self.model_roster.iter().map(ModelConfig::key).collect(),
            }
        })
    }
}
