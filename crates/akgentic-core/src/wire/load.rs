//! Reading and writing whole documents.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{AnyValue, Kind, LoadError, MODEL_KEY, WireType, markers_last, prepared, registry};
use crate::coerce::{Coercer, Options};

/// Reads any JSON: records by their marker, addresses, bytes and class references by theirs.
pub fn load_value(mut value: Value) -> Result<AnyValue, LoadError> {
    Coercer::any().coerce_at(&mut value, Options::RECORD, 0, "")?;
    prepared::forget_failure();
    AnyValue::from_prepared(value)
}

/// Reads a record of whatever type its marker names.
pub fn load(value: Value) -> Result<AnyValue, LoadError> {
    if value.get(MODEL_KEY).is_none() {
        return Err(LoadError::rule("", format!("not a record: {MODEL_KEY} is missing"), value));
    }
    load_value(value)
}

/// Reads a record of type `T`, with its own marker or none.
pub fn load_record<T: WireType>(value: Value) -> Result<T, LoadError> {
    let Value::Object(mut fields) = value else {
        return Err(LoadError::rule(T::PATH, "Input should be an object", value));
    };
    if let Some(marker) = fields.get(MODEL_KEY) {
        let path = marker.as_str().unwrap_or_default();
        if path != T::PATH && registry().resolve(path)?.path() != T::PATH {
            let text = format!("marked as another class, {path}");
            return Err(LoadError::rule(T::PATH, text, Value::Object(fields)));
        }
    }
    if let Some(entry) = registry().get(T::PATH).filter(|entry| entry.is::<T>()) {
        entry.coerce_fields(&mut fields, 0)?;
        return prepared::build_document(T::PATH, || prepared::build(Value::Object(fields)));
    }
    fields.shift_remove(MODEL_KEY);
    let mut value = Value::Object(fields);
    Coercer::of::<T>().coerce_at(&mut value, Options::RECORD, 0, T::PATH)?;
    prepared::build_document(T::PATH, || prepared::build(value))
}

/// Writes a value, with every marker in its last place.
pub fn dump<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Value> {
    let mut written = serde_json::to_value(value)?;
    markers_last(&mut written);
    Ok(written)
}

impl AnyValue {
    /// Builds the value from coerced JSON.
    pub(crate) fn from_prepared(value: Value) -> Result<Self, LoadError> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(flag),
            Value::Number(number) => match number.as_i64() {
                Some(int) => Self::Int(int),
                None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(text),
            Value::Array(items) => {
                Self::List(items.into_iter().map(Self::from_prepared).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => super::any_value::from_prepared_map(map)?,
        })
    }

    /// Builds the record that `path` names.
    pub(super) fn build_record(path: &str, fields: Value) -> Result<Self, LoadError> {
        let entry = registry().resolve(path)?;
        let built = if entry.kind() == Kind::Message {
            crate::message::build(entry, fields).map(|message| Self::Message(Arc::new(message)))
        } else {
            entry.build(fields).map(Self::Record)
        };
        built.map_err(|error| entry.misfit(error))
    }
}
