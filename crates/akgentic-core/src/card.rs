//! Agent cards: what a team can hire.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::config::{AnyConfig, BaseConfig, Config};
use crate::wire::{
    AnyMap, Kind, LoadError, MODEL_KEY, Registration, TYPE_KEY, TypeEntry, TypePath,
    UnresolvableClass, WireType, load_record, prepared, registry, resolve,
};

/// The class of an agent, as it was given: both forms are written back the way they came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentClass {
    /// A path, canonical or short.
    Path(String),
    /// A class reference.
    Reference(TypePath),
}

/// Describes one role of a team: which agent plays it, with which configuration.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentCard {
    /// The class of the agent.
    pub agent_class: AgentClass,
    /// What it is good at; order and duplicates are kept.
    #[serde(default)]
    pub skills: Vec<String>,
    /// What it does.
    pub description: String,
    /// Its configuration; the role must not be empty.
    pub config: AnyConfig,
    /// Whether it may be hired on demand.
    #[serde(default)]
    pub can_be_hired: bool,
    /// Anything else about it.
    #[serde(default)]
    pub metadata: AnyMap,
    /// Roles a holder of this card may hire: any when absent, none when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes_to: Option<Vec<String>>,
}

/// A card that describes no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// `config.role` is empty.
    #[error("an agent card needs a role: config.role is empty")]
    NoRole,
}

impl AgentCard {
    /// A card made in code; the class need not be known yet.
    pub fn new(
        agent_class: impl Into<AgentClass>,
        description: impl Into<String>,
        config: impl Into<AnyConfig>,
    ) -> Result<Self, CardError> {
        let card = Self {
            agent_class: agent_class.into(),
            skills: Vec::new(),
            description: description.into(),
            config: config.into(),
            can_be_hired: false,
            metadata: AnyMap::default(),
            routes_to: None,
        };
        card.check()?;
        Ok(card)
    }

    /// The role, taken from the configuration.
    pub fn role(&self) -> &str {
        &self.config.base().role
    }

    /// Whether it lists exactly this skill.
    pub fn has_skill(&self, skill: &str) -> bool {
        self.skills.iter().any(|known| known == skill)
    }

    /// An independent copy of the configuration, to hire with.
    pub fn get_config_copy(&self) -> Box<dyn Config> {
        self.config.clone_config()
    }

    /// The registered class of the agent.
    pub fn get_agent_class(&self) -> Result<&'static TypeEntry, UnresolvableClass> {
        resolve(self.agent_class.path())
    }

    /// Whether the card describes a role.
    pub fn check(&self) -> Result<(), CardError> {
        if self.role().is_empty() { Err(CardError::NoRole) } else { Ok(()) }
    }
}

impl AgentClass {
    /// The path, in the spelling it was given.
    pub fn path(&self) -> &str {
        match self {
            Self::Path(path) => path,
            Self::Reference(reference) => &reference.path,
        }
    }
}

impl From<&str> for AgentClass {
    fn from(path: &str) -> Self {
        Self::Path(path.to_owned())
    }
}

impl From<String> for AgentClass {
    fn from(path: String) -> Self {
        Self::Path(path)
    }
}

impl From<TypePath> for AgentClass {
    fn from(reference: TypePath) -> Self {
        Self::Reference(reference)
    }
}

impl JsonSchema for AgentClass {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AgentClass".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-akgentic": {"value": "class"}})
    }
}

impl<'de> Deserialize<'de> for AgentCard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !prepared::is_prepared() {
            let value = Value::deserialize(deserializer)?;
            return load_record(value).map_err(prepared::fail);
        }
        let fields = Fields::deserialize(deserializer)?;
        let card = Self {
            agent_class: fields.agent_class,
            skills: fields.skills,
            description: fields.description,
            config: fields.config,
            can_be_hired: fields.can_be_hired,
            metadata: fields.metadata,
            routes_to: fields.routes_to,
        };
        card.check().map_err(serde::de::Error::custom)?;
        Ok(card)
    }
}

#[derive(Deserialize)]
struct Fields {
    agent_class: AgentClass,
    #[serde(default)]
    skills: Vec<String>,
    description: String,
    config: AnyConfig,
    #[serde(default)]
    can_be_hired: bool,
    #[serde(default)]
    metadata: AnyMap,
    #[serde(default)]
    routes_to: Option<Vec<String>>,
}

crate::wire_type!(AgentCard = "akgentic.core.agent_card.AgentCard",
    aliases: ["akgentic.core.AgentCard"]);

inventory::submit! {
    Registration::of::<AgentCard>(Kind::Payload).refined(as_declared)
}

/// Resolves the class and makes the configuration one of the type it declares.
///
/// A map without a marker gets the declared type's; one with a marker has to be of that type or
/// derive from it.
fn as_declared(fields: &mut Map<String, Value>) -> Result<(), LoadError> {
    let class = match fields.get("agent_class") {
        Some(Value::String(path)) => path.as_str(),
        Some(Value::Object(reference)) => match reference.get(TYPE_KEY) {
            Some(Value::String(path)) => path.as_str(),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let rule = |text: String| LoadError::rule(AgentCard::PATH, text, Value::Object(fields.clone()));
    let entry = resolve(class).map_err(|unknown| rule(unknown.to_string()))?;
    let declared = entry.agent_type().map_or(BaseConfig::PATH, |agent| agent.config);
    match fields.get("config") {
        Some(Value::Object(config)) => match config.get(MODEL_KEY).and_then(Value::as_str) {
            Some(marker) => {
                let found = resolve(marker)?;
                let fits = found.kind() == Kind::Config
                    && (declared == BaseConfig::PATH
                        || registry().derives_from(found.path(), declared));
                if !fits {
                    found.coerce_fields(&mut config.clone(), 0)?;
                    return Err(rule(format!(
                        "{class} is configured with {declared}, not {marker}"
                    )));
                }
            }
            None => {
                if let Some(Value::Object(config)) = fields.get_mut("config") {
                    config.insert(MODEL_KEY.to_owned(), declared.into());
                }
            }
        },
        None => {
            let mut config = Map::new();
            config.insert(MODEL_KEY.to_owned(), declared.into());
            fields.insert("config".to_owned(), Value::Object(config));
        }
        Some(_) => {}
    }
    Ok(())
}
