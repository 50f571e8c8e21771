//! What an actor is configured with.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::wire::{Dyn, Family, Kind, Record, WireType as _};

/// Configuration of an actor; implemented with [`config!`](macro@crate::config).
pub trait Config: Record {
    /// Name, role and squad.
    fn base(&self) -> &BaseConfig;
    /// Name, role and squad, to change.
    fn base_mut(&mut self) -> &mut BaseConfig;
    /// An independent copy.
    fn clone_config(&self) -> Box<dyn Config>;
    /// A copy without live addresses; `None` when there are none.
    fn snapshot_config(&self) -> Option<Arc<dyn Config>>;
}

/// Any configuration, loaded by its marker.
pub type AnyConfig = Dyn<dyn Config>;

/// Name, role and squad of an actor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaseConfig {
    /// Name in the team; empty gives a generated one.
    #[serde(default)]
    pub name: String,
    /// Role in the team; empty gives the class name.
    #[serde(default)]
    pub role: String,
    /// Squad; empty falls back to the parent's.
    #[serde(default)]
    pub squad_id: Option<Uuid>,
}

impl BaseConfig {
    /// A configuration with this name and role.
    pub fn new(name: impl Into<String>, role: impl Into<String>) -> Self {
        Self { name: name.into(), role: role.into(), squad_id: None }
    }
}

impl AsRef<BaseConfig> for BaseConfig {
    fn as_ref(&self) -> &BaseConfig {
        self
    }
}

impl AsMut<BaseConfig> for BaseConfig {
    fn as_mut(&mut self) -> &mut BaseConfig {
        self
    }
}

crate::config!(BaseConfig = "akgentic.core.agent_config.BaseConfig",
    aliases: ["akgentic.core.BaseConfig"]);

impl Family for dyn Config {
    const KIND: Kind = Kind::Config;
    const DEFAULT: Option<&'static str> = Some(BaseConfig::PATH);

    fn as_record(&self) -> &dyn Record {
        self
    }
}

impl<C: Config> From<C> for AnyConfig {
    fn from(config: C) -> Self {
        Dyn(Arc::new(config))
    }
}
