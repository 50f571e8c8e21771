//! Addresses: handles that outlive the actor they name.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::cell::ActorCell;
use crate::coerce::scalar::{bool_from_text, uuid_from_text};
use crate::coerce::{FieldError, Loc};
use crate::wire::{
    ACTOR_TYPE_KEY, ADDRESS_KEY, LoadError, note_address, prepared, resolve_address,
};

/// What an address tells about its actor; fixed when the address is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressInfo {
    /// Identity of the actor.
    pub agent_id: Uuid,
    /// Name in the team, such as `@Manager`; tool actors start with `#`.
    pub name: String,
    /// Role in the team.
    pub role: String,
    /// The team it belongs to.
    pub team_id: Uuid,
    /// The squad it belongs to.
    pub squad_id: Option<Uuid>,
    /// Whether it stands for a person.
    pub is_user_proxy: bool,
    /// Class path of the actor type, empty when unknown.
    pub actor_type: String,
    /// Keys of a loaded address that this version does not know; written back unchanged.
    pub extra: Map<String, Value>,
}

/// Handle to an actor: live, a snapshot that cannot deliver, or a member known to be gone.
///
/// Two addresses are equal when they name the same agent id, whatever their kind.
#[derive(Clone)]
pub struct ActorAddress {
    info: Arc<AddressInfo>,
    link: Link,
    /// The map it was loaded from, when it is not written the same way.
    loaded: Option<Arc<Map<String, Value>>>,
}

#[derive(Clone)]
enum Link {
    Live(Weak<ActorCell>),
    Proxy,
    Stopped,
}

impl ActorAddress {
    /// A snapshot: readable, never deliverable.
    pub fn proxy(info: impl Into<Arc<AddressInfo>>) -> Self {
        Self { info: info.into(), link: Link::Proxy, loaded: None }
    }

    /// The address of a member known to be gone.
    pub fn stopped(info: impl Into<Arc<AddressInfo>>) -> Self {
        Self { info: info.into(), link: Link::Stopped, loaded: None }
    }

    pub(crate) fn live(info: Arc<AddressInfo>, cell: Weak<ActorCell>) -> Self {
        Self { info, link: Link::Live(cell), loaded: None }
    }

    /// Everything known about the actor.
    pub fn info(&self) -> &AddressInfo {
        &self.info
    }

    /// Identity of the actor.
    pub fn agent_id(&self) -> Uuid {
        self.info.agent_id
    }

    /// Name in the team.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Role in the team.
    pub fn role(&self) -> &str {
        &self.info.role
    }

    /// The team it belongs to.
    pub fn team_id(&self) -> Uuid {
        self.info.team_id
    }

    /// The squad it belongs to.
    pub fn squad_id(&self) -> Option<Uuid> {
        self.info.squad_id
    }

    /// Whether it stands for a person.
    pub fn is_user_proxy(&self) -> bool {
        self.info.is_user_proxy
    }

    /// Whether this address can deliver at all; a snapshot or stopped address cannot.
    pub fn is_live(&self) -> bool {
        matches!(self.link, Link::Live(_))
    }

    /// Whether the actor runs, as far as this address knows; a snapshot always says yes.
    pub fn is_alive(&self) -> bool {
        match &self.link {
            Link::Live(cell) => cell.upgrade().is_some_and(|cell| cell.is_alive()),
            Link::Proxy => true,
            Link::Stopped => false,
        }
    }

    /// A copy that is safe to hand out of the team: it cannot deliver.
    #[must_use]
    pub fn to_snapshot(&self) -> Self {
        match self.link {
            Link::Live(_) => Self::proxy(Arc::clone(&self.info)),
            Link::Proxy | Link::Stopped => self.clone(),
        }
    }

    /// Reads the wire form; a resolver that is in force may replace the result.
    pub(crate) fn from_wire(map: Map<String, Value>) -> Result<Self, LoadError> {
        let Some(info) = AddressInfo::from_wire(&map) else {
            let misfit = |(key, msg): (&str, &str)| FieldError {
                kind: "value_error",
                loc: vec![Loc::Key(key.to_owned())],
                msg: msg.to_owned(),
                input: map.get(key).cloned().unwrap_or_default(),
            };
            let errors = check_address(&map).into_iter().map(misfit).collect();
            return Err(LoadError::Invalid { class: String::new(), errors });
        };
        let mut address = Self::proxy(info);
        if !address.info.is_written_as(&map) {
            address.loaded = Some(Arc::new(map));
        }
        resolve_address(address)
    }

    pub(crate) fn cell(&self) -> Option<Arc<ActorCell>> {
        match &self.link {
            Link::Live(cell) => cell.upgrade(),
            Link::Proxy | Link::Stopped => None,
        }
    }
}

impl AddressInfo {
    /// Whether the address is written as just this map.
    fn is_written_as(&self, map: &Map<String, Value>) -> bool {
        let text = |key: &str, wanted: &str| map.get(key).and_then(Value::as_str) == Some(wanted);
        let uuid = |key: &str, wanted: Uuid| {
            text(key, wanted.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
        };
        let flag = |key: &str, wanted: bool| map.get(key) == Some(&Value::Bool(wanted));
        map.len() == 8 + self.extra.len()
            && flag(ADDRESS_KEY, true)
            && text(ACTOR_TYPE_KEY, &self.actor_type)
            && uuid("agent_id", self.agent_id)
            && text("name", &self.name)
            && text("role", &self.role)
            && uuid("team_id", self.team_id)
            && self.squad_id.map_or_else(|| text("squad_id", ""), |id| uuid("squad_id", id))
            && flag("is_user_proxy", self.is_user_proxy)
    }

    fn from_wire(map: &Map<String, Value>) -> Option<Self> {
        const KNOWN: [&str; 8] = [
            ADDRESS_KEY,
            ACTOR_TYPE_KEY,
            "agent_id",
            "name",
            "role",
            "team_id",
            "squad_id",
            "is_user_proxy",
        ];
        if !check_address(map).is_empty() {
            return None;
        }
        let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
        let extra = map.iter().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
        Some(Self {
            agent_id: uuid_from_text(text("agent_id"))?,
            name: text("name").to_owned(),
            role: text("role").to_owned(),
            team_id: uuid_from_text(text("team_id"))?,
            squad_id: uuid_from_text(text("squad_id")),
            is_user_proxy: map.get("is_user_proxy").and_then(flag).unwrap_or_default(),
            actor_type: text(ACTOR_TYPE_KEY).to_owned(),
            extra: extra.map(|(key, value)| (key.clone(), value.clone())).collect(),
        })
    }
}

/// The fields of an address map that do not fit, with the reason.
///
/// A null name or role is accepted as empty: data exists where an address was taken of an actor
/// that had just died.
pub(crate) fn check_address(map: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
    const UUID: &str = "Input should be a valid UUID";
    const TEXT: &str = "Input should be a valid string";
    let is_uuid = |value: &Value| value.as_str().is_some_and(|text| uuid_from_text(text).is_some());
    let is_absent = |value: &Value| value.is_null() || value.as_str() == Some("");
    let is_text = |value: &Value| value.is_null() || value.is_string();
    let mut misfits = Vec::new();
    let mut check = |key: &'static str, reason: &'static str, fits: bool| {
        if !fits {
            misfits.push((key, if map.contains_key(key) { reason } else { "Field required" }));
        }
    };
    check("agent_id", UUID, map.get("agent_id").is_some_and(is_uuid));
    check("name", TEXT, map.get("name").is_some_and(is_text));
    check("role", TEXT, map.get("role").is_some_and(is_text));
    check("team_id", UUID, map.get("team_id").is_some_and(is_uuid));
    check("squad_id", UUID, map.get("squad_id").is_none_or(|id| is_absent(id) || is_uuid(id)));
    let is_flag = |value: &Value| value.is_null() || flag(value).is_some();
    let boolean = "Input should be a valid boolean";
    check("is_user_proxy", boolean, map.get("is_user_proxy").is_none_or(is_flag));
    misfits
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => bool_from_text(text),
        Value::Number(number) => match number.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        _ => None,
    }
}

impl Serialize for ActorAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        note_address(self.is_live());
        if let Some(loaded) = &self.loaded {
            return loaded.serialize(serializer);
        }
        let info = &*self.info;
        let mut map = serializer.serialize_map(Some(8 + info.extra.len()))?;
        map.serialize_entry(ADDRESS_KEY, &true)?;
        map.serialize_entry(ACTOR_TYPE_KEY, &info.actor_type)?;
        map.serialize_entry("agent_id", &info.agent_id)?;
        map.serialize_entry("name", &info.name)?;
        map.serialize_entry("role", &info.role)?;
        map.serialize_entry("team_id", &info.team_id)?;
        match &info.squad_id {
            Some(id) => map.serialize_entry("squad_id", id)?,
            None => map.serialize_entry("squad_id", "")?,
        }
        map.serialize_entry("is_user_proxy", &info.is_user_proxy)?;
        for (key, value) in &info.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ActorAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        if !map.contains_key(ADDRESS_KEY) {
            return Err(serde::de::Error::custom("Input should be an address"));
        }
        Self::from_wire(map).map_err(prepared::fail)
    }
}

impl JsonSchema for ActorAddress {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ActorAddress".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "x-akgentic": {"value": "address"}})
    }
}

impl PartialEq for ActorAddress {
    fn eq(&self, other: &Self) -> bool {
        self.info.agent_id == other.info.agent_id
    }
}

impl Eq for ActorAddress {}

impl Hash for ActorAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.info.agent_id.hash(state);
    }
}

impl fmt::Display for ActorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.link {
            Link::Live(_) => "ActorAddress",
            Link::Proxy => "ActorAddressProxy",
            Link::Stopped => "ActorAddressStopped",
        };
        let AddressInfo { role, name, agent_id, .. } = &*self.info;
        write!(f, "<{kind} {role} {name} ({agent_id})>")
    }
}

impl fmt::Debug for ActorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
