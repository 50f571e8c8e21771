//! A value of any type that can be written.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    ADDRESS_KEY, BYTES_KEY, DICT_KEY, LoadError, MODEL_KEY, Record, TYPE_KEY, Timestamp, TypePath,
    WireType, is_reserved_key, load_value, prepared,
};
use crate::address::ActorAddress;
use crate::message::Message;

/// A value of any type: payload of events, free metadata.
#[derive(Clone, Debug, Default)]
pub enum AnyValue {
    /// Nothing.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float; written as null when it is not finite.
    Float(f64),
    /// Text; also what uuids, dates and times are written as.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A reference to a class.
    Type(TypePath),
    /// An address.
    Address(ActorAddress),
    /// A list.
    List(Vec<AnyValue>),
    /// A map with text keys.
    Map(AnyMap),
    /// A record of a registered type.
    Record(Arc<dyn Record>),
    /// A message, with its header.
    Message(Arc<Message>),
}

/// A map of anything; a map that holds a reserved key is written escaped.
#[derive(Clone, Default, PartialEq)]
pub struct AnyMap(pub IndexMap<String, AnyValue>);

impl AnyValue {
    /// A record.
    pub fn record(record: impl WireType) -> Self {
        Self::Record(Arc::new(record))
    }

    /// A map, keys written as text.
    pub fn map<K: fmt::Display, V: Into<Self>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let pairs = pairs.into_iter().map(|(key, value)| (key.to_string(), value.into()));
        Self::Map(AnyMap(pairs.collect()))
    }

    /// What `value` is written as, read back: markers in it mean what they say.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, LoadError> {
        let written = super::dump(value)
            .map_err(|error| LoadError::rule("", error.to_string(), Value::Null))?;
        load_value(written)
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        super::dump(self).unwrap_or_else(|error| {
            tracing::error!(%error, "a value cannot be written");
            Value::Null
        })
    }

    /// The record as `T`, when it is one.
    pub fn downcast<T: WireType>(&self) -> Option<&T> {
        match self {
            Self::Record(record) => record.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// What kind of value this is: the path of a record's or message's type, or a plain name.
    ///
    /// Plain names are `None`, `bool`, `int`, `float`, `str`, `bytes`, `type`, `address`, `list`
    /// and `dict`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::Type(_) => "type",
            Self::Address(_) => "address",
            Self::List(_) => "list",
            Self::Map(_) => "dict",
            Self::Record(record) => record.type_path(),
            Self::Message(message) => message.type_path(),
        }
    }

    /// The path of the record's or message's type.
    pub fn type_path(&self) -> Option<&'static str> {
        match self {
            Self::Record(record) => Some(record.type_path()),
            Self::Message(message) => Some(message.type_path()),
            _ => None,
        }
    }

    /// The text, when it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A copy that holds no live address: `None` when this value already is one.
    pub fn snapshot(&self) -> Option<Self> {
        match self {
            Self::Address(address) => {
                address.is_live().then(|| Self::Address(address.to_snapshot()))
            }
            Self::List(items) => {
                let mut copies = items.iter().map(Self::snapshot).collect::<Vec<_>>();
                if copies.iter().all(Option::is_none) {
                    return None;
                }
                let merged = copies.iter_mut().zip(items);
                Some(Self::List(
                    merged
                        .map(|(copy, item)| copy.take().unwrap_or_else(|| item.clone()))
                        .collect(),
                ))
            }
            Self::Map(map) => map.snapshot().map(Self::Map),
            Self::Record(record) => record.snapshot().map(Self::Record),
            Self::Message(message) => message.snapshot().map(|copy| Self::Message(Arc::new(copy))),
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::Text(_)
            | Self::Bytes(_)
            | Self::Type(_) => None,
        }
    }
}

impl AnyMap {
    /// A copy that holds no live address: `None` when this map already is one.
    pub fn snapshot(&self) -> Option<Self> {
        let mut copy: Option<Self> = None;
        for (key, value) in &self.0 {
            if let Some(value) = value.snapshot() {
                copy.get_or_insert_with(|| self.clone()).0.insert(key.clone(), value);
            }
        }
        copy
    }

    fn is_reserved(&self) -> bool {
        self.0.keys().any(|key| is_reserved_key(key))
    }
}

impl std::ops::Deref for AnyMap {
    type Target = IndexMap<String, AnyValue>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl std::ops::DerefMut for AnyMap {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for AnyMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<K: Into<String>, V: Into<AnyValue>> FromIterator<(K, V)> for AnyMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl PartialEq for AnyValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Int(left), Self::Int(right)) => left == right,
            (Self::Float(left), Self::Float(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            (Self::Type(left), Self::Type(right)) => left == right,
            (Self::Address(left), Self::Address(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Map(left), Self::Map(right)) => left == right,
            (Self::Record(left), Self::Record(right)) => {
                Arc::ptr_eq(left, right) || left.to_json() == right.to_json()
            }
            (Self::Message(left), Self::Message(right)) => {
                Arc::ptr_eq(left, right) || super::dump(left).ok() == super::dump(right).ok()
            }
            _ => false,
        }
    }
}

impl Serialize for AnyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(flag) => serializer.serialize_bool(*flag),
            Self::Int(int) => serializer.serialize_i64(*int),
            Self::Float(float) if float.is_finite() => serializer.serialize_f64(*float),
            Self::Null | Self::Float(_) => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(BYTES_KEY, &STANDARD.encode(bytes))?;
                map.end()
            }
            Self::Type(path) => path.serialize(serializer),
            Self::Address(address) => address.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Map(map) => map.serialize(serializer),
            Self::Record(record) => {
                let written = record.try_to_json().map_err(serde::ser::Error::custom)?;
                written.serialize(serializer)
            }
            Self::Message(message) => message.serialize(serializer),
        }
    }
}

impl Serialize for AnyMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Pairs<'a>(&'a AnyMap);
        impl Serialize for Pairs<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut pairs = serializer.serialize_seq(Some(self.0.len()))?;
                for pair in &self.0.0 {
                    pairs.serialize_element(&pair)?;
                }
                pairs.end()
            }
        }
        if !self.is_reserved() {
            return self.0.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(DICT_KEY, &Pairs(self))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let built =
            if prepared::is_prepared() { Self::from_prepared(value) } else { load_value(value) };
        built.map_err(prepared::fail)
    }
}

impl<'de> Deserialize<'de> for AnyMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match AnyValue::deserialize(deserializer)? {
            AnyValue::Map(map) => Ok(map),
            _ => Err(serde::de::Error::custom("Input should be a valid dictionary")),
        }
    }
}

impl JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

impl JsonSchema for AnyMap {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyMap".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": true, "x-akgentic": {"value": "map"}})
    }
}

/// Builds what a coerced map stands for.
pub(super) fn from_prepared_map(mut map: Map<String, Value>) -> Result<AnyValue, LoadError> {
    if map.contains_key(ADDRESS_KEY) {
        return ActorAddress::from_wire(map).map(AnyValue::Address);
    }
    if let Some(Value::String(text)) = map.get(BYTES_KEY) {
        return decode_base64(text)
            .map(AnyValue::Bytes)
            .ok_or_else(|| LoadError::rule("", "not base64 text", Value::from(text.as_str())));
    }
    if let Some(Value::String(path)) = map.get(TYPE_KEY) {
        return Ok(AnyValue::Type(TypePath::new(path.as_str())));
    }
    if let Some(Value::String(path)) = map.shift_remove(MODEL_KEY) {
        return AnyValue::build_record(&path, Value::Object(map));
    }
    let pairs = match unescaped(map) {
        Ok(pairs) => pairs,
        Err(map) => map.into_iter().collect(),
    };
    let read = |(key, value)| Ok((key, AnyValue::from_prepared(value)?));
    Ok(AnyValue::Map(AnyMap(pairs.into_iter().map(read).collect::<Result<_, LoadError>>()?)))
}

/// The pairs of an escaped map, or the map back when it is not escaped.
fn unescaped(mut map: Map<String, Value>) -> Result<Vec<(String, Value)>, Map<String, Value>> {
    let is_pair =
        |pair: &Value| matches!(pair.as_array().map(Vec::as_slice), Some([Value::String(_), _]));
    let escaped = map.len() == 1
        && map
            .get(DICT_KEY)
            .and_then(Value::as_array)
            .is_some_and(|pairs| pairs.iter().all(is_pair));
    match map.get_mut(DICT_KEY) {
        Some(Value::Array(pairs)) if escaped => Ok(std::mem::take(pairs)
            .into_iter()
            .filter_map(|pair| match pair {
                Value::Array(pair) => match <[Value; 2]>::try_from(pair) {
                    Ok([Value::String(key), value]) => Some((key, value)),
                    _ => None,
                },
                _ => None,
            })
            .collect()),
        _ => Err(map),
    }
}

/// Decodes base64 as leniently as the data needs: foreign characters are skipped.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if let Ok(bytes) = STANDARD.decode(text) {
        return Some(bytes);
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let kept: Vec<u8> = text.bytes().filter(is_base64).collect();
    STANDARD.decode(kept).ok()
}

macro_rules! any_value_from {
    ($($from:ty: $value:ident => $build:expr;)*) => {$(
        impl From<$from> for AnyValue {
            fn from($value: $from) -> Self {
                $build
            }
        }
    )*};
}

any_value_from! {
    bool: value => Self::Bool(value);
    i64: value => Self::Int(value);
    i32: value => Self::Int(value.into());
    u32: value => Self::Int(value.into());
    f64: value => Self::Float(value);
    &str: value => Self::Text(value.to_owned());
    String: value => Self::Text(value);
    Vec<u8>: value => Self::Bytes(value);
    &[u8]: value => Self::Bytes(value.to_vec());
    TypePath: value => Self::Type(value);
    ActorAddress: value => Self::Address(value);
    Uuid: value => Self::Text(value.to_string());
    Timestamp: value => Self::Text(value.to_string());
    jiff::civil::Date: value => Self::Text(value.to_string());
    jiff::civil::Time: value => Self::Text(time_to_iso(value));
    jiff::SignedDuration: value => Self::Text(super::duration::to_iso(value));
    std::time::Duration: value => {
        let signed = jiff::SignedDuration::try_from(value).unwrap_or(jiff::SignedDuration::MAX);
        signed.into()
    };
    std::path::PathBuf: value => Self::Text(value.to_string_lossy().into_owned());
    AnyMap: value => Self::Map(value);
    Vec<AnyValue>: value => Self::List(value);
    Arc<dyn Record>: value => Self::Record(value);
    Arc<Message>: value => Self::Message(value);
    Message: value => Self::Message(Arc::new(value));
}

impl<T: Into<AnyValue>> From<Option<T>> for AnyValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Plain data: reserved keys in it are keys like any other.
impl From<Value> for AnyValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(flag),
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Int),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(map) => Self::Map(map.into_iter().collect()),
        }
    }
}

fn time_to_iso(time: jiff::civil::Time) -> String {
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    match time.subsec_nanosecond() / 1000 {
        0 => format!("{hour:02}:{minute:02}:{second:02}"),
        micros => format!("{hour:02}:{minute:02}:{second:02}.{micros:06}"),
    }
}
