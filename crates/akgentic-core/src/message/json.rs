//! Messages on the wire: header and body as one object.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{DisplayType, Message, MessageBody, PlainMessage};
use crate::address::ActorAddress;
use crate::coerce::{Coercer, FieldError, Options};
use crate::wire::{
    Kind, LoadError, MODEL_KEY, Timestamp, TypeEntry, WireType as _, prepared, registry,
};

/// Reads a message of the type its marker names; without one it is a plain [`Message`].
pub fn load_message(mut value: Value) -> Result<Message, LoadError> {
    let coercer = Coercer::family(Kind::Message, Some(PlainMessage::PATH));
    coercer.coerce_at(&mut value, Options::RECORD, 0, "")?;
    from_prepared(value)
}

/// Builds a message from coerced fields without a marker.
pub(crate) fn build(entry: &TypeEntry, fields: Value) -> Result<Message, Box<FieldError>> {
    let Value::Object(fields) = fields else {
        return Err(FieldError::whole("model_type", "Input should be an object", fields).into());
    };
    let mut header = Map::with_capacity(HEADER.len());
    let mut own = Map::with_capacity(fields.len());
    for (key, value) in fields {
        if !HEADER.contains(&key.as_str()) {
            own.insert(key, value);
            continue;
        }
        if entry.overrides_header(&key) {
            own.insert(key.clone(), value.clone());
        }
        header.insert(key, value);
    }
    let header: Header = prepared::build(Value::Object(header))?;
    let body = entry.build_as::<dyn MessageBody>(Value::Object(own))?;
    Ok(Message {
        id: header.id,
        parent_id: header.parent_id,
        team_id: header.team_id,
        timestamp: header.timestamp,
        sender: header.sender,
        recipient: header.recipient,
        display_type: header.display_type.unwrap_or_else(|| body.display_type()),
        body,
    })
}

/// The schema of a body with the fields of the header before its own.
pub(crate) fn with_header(mut body: Value, display: Option<DisplayType>) -> Value {
    let optional = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
    let uuid = || json!({"type": "string", "format": "uuid"});
    let address = || json!({"type": "object", "x-akgentic": {"value": "address"}});
    let display = match display {
        None | Some(DisplayType::Other) => json!({"enum": ["human", "ai", "other"]}),
        Some(fixed) => json!({"const": fixed}),
    };
    let mut properties = Map::new();
    properties.insert("id".into(), uuid());
    properties.insert("parent_id".into(), optional(uuid()));
    properties.insert("team_id".into(), optional(uuid()));
    properties
        .insert("timestamp".into(), optional(json!({"type": "string", "format": "date-time"})));
    properties.insert("sender".into(), optional(address()));
    properties.insert("recipient".into(), optional(address()));
    properties.insert("display_type".into(), display);
    if let Some(schema) = body.as_object_mut() {
        if let Some(Value::Object(own)) = schema.remove("properties") {
            properties.extend(own);
        }
        schema.insert("properties".into(), Value::Object(properties));
    }
    body
}

const HEADER: [&str; 7] =
    ["id", "parent_id", "team_id", "timestamp", "sender", "recipient", "display_type"];

#[derive(Deserialize)]
struct Header {
    #[serde(default = "Uuid::new_v4")]
    id: Uuid,
    #[serde(default)]
    parent_id: Option<Uuid>,
    #[serde(default)]
    team_id: Option<Uuid>,
    #[serde(default = "now")]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    sender: Option<ActorAddress>,
    #[serde(default)]
    recipient: Option<ActorAddress>,
    #[serde(default)]
    display_type: Option<DisplayType>,
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional field")]
fn now() -> Option<Timestamp> {
    Some(Timestamp::now())
}

fn position() -> Value {
    json!({"type": "object", "x-akgentic": {"family": Kind::Message.name(), "default": PlainMessage::PATH}})
}

fn from_prepared(mut value: Value) -> Result<Message, LoadError> {
    let marker = value.as_object_mut().and_then(|fields| fields.shift_remove(MODEL_KEY));
    let path = marker.as_ref().and_then(Value::as_str).unwrap_or(PlainMessage::PATH);
    let entry = registry().resolve(path)?;
    prepared::build_document(entry.path(), || build(entry, value))
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = self.body.try_to_fields().map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        macro_rules! header {
            ($($field:ident),*) => {$(
                match fields.shift_remove(stringify!($field)) {
                    Some(own) => map.serialize_entry(stringify!($field), &own)?,
                    None => map.serialize_entry(stringify!($field), &self.$field)?,
                }
            )*};
        }
        header!(id, parent_id, team_id, timestamp, sender, recipient, display_type);
        for (key, value) in &fields {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry(MODEL_KEY, self.type_path())?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let built =
            if prepared::is_prepared() { from_prepared(value) } else { load_message(value) };
        built.map_err(prepared::fail)
    }
}

impl JsonSchema for Message {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Message".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        position().try_into().unwrap_or_else(|_| json_schema!(true))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::message::{SentMessage, UserMessage};

    #[test]
    fn a_body_field_may_take_the_place_of_a_header_field() {
        let info = json!({
            "__actor_address__": true, "__actor_type__": "", "role": "R", "name": "@a",
            "agent_id": Uuid::nil(), "team_id": Uuid::nil(), "squad_id": "", "is_user_proxy": false
        });
        let inner = Message::new(UserMessage { content: "hi".into() });
        let sent = json!({
            "__model__": SentMessage::PATH, "message": inner, "recipient": info, "timestamp": null
        });
        let loaded = load_message(sent).unwrap();
        assert_eq!(loaded.body::<SentMessage>().unwrap().recipient.name(), "@a");
        let written = serde_json::to_value(&loaded).unwrap();
        assert_eq!(written["recipient"], info);
        assert_eq!(written["message"]["content"], "hi");
    }
}
