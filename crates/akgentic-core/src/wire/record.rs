//! What a value of a named type can do: be written with its marker, copied, looked into.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::snapshot::is_copying;
use super::{MODEL_KEY, registry};

/// A Rust type with a stable name on the wire.
///
/// Implement it with one of the macros of this crate ([`payload!`](macro@crate::payload),
/// [`message!`](macro@crate::message), [`config!`](macro@crate::config), [`state!`](macro@crate::state)), which also
/// register the type, so that stored JSON with this marker loads again.
pub trait WireType:
    Clone + fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// The canonical marker, `package.module.Class`.
    const PATH: &'static str;
    /// Other spellings under which stored data may name the type.
    const ALIASES: &'static [&'static str] = &[];
    /// Former paths; using one is reported.
    const DEPRECATED: &'static [&'static str] = &[];

    /// A copy that holds no live address: `None` when this value already is one.
    ///
    /// The default writes the value to find out, so no type can leak an address; types that are
    /// published often know better.
    fn snapshot_value(&self) -> Option<Self> {
        super::snapshot_addresses(self)
    }
}

/// A value of a [`WireType`], behind a pointer.
pub trait Record: Any + fmt::Debug + Send + Sync {
    /// The canonical marker of the concrete type.
    fn type_path(&self) -> &'static str;

    /// The fields in declaration order, without the marker.
    ///
    /// A value that cannot be written as a JSON object is a programming error of its type.
    fn try_to_fields(&self) -> serde_json::Result<Map<String, Value>>;

    /// The same; a value that cannot be written is logged and gives an empty map.
    fn to_fields(&self) -> Map<String, Value> {
        self.try_to_fields().unwrap_or_else(|error| {
            tracing::error!(class = self.type_path(), %error, "a record cannot be written");
            Map::new()
        })
    }

    /// Writes the fields as compact JSON, without building a tree.
    fn write_json(&self, out: &mut dyn std::io::Write) -> serde_json::Result<()>;

    /// The value as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;

    /// A copy that holds no live address: `None` when this value already is one.
    fn snapshot(&self) -> Option<Arc<dyn Record>>;

    /// A copy behind a new pointer.
    fn clone_record(&self) -> Arc<dyn Record>;

    /// The last segment of [`Record::type_path`].
    fn class_name(&self) -> &'static str {
        class_name(self.type_path())
    }

    /// The value as JSON: its fields, then the marker.
    fn to_json(&self) -> Value {
        marked(self.to_fields(), self.type_path())
    }

    /// The same; a value that cannot be written is the error.
    fn try_to_json(&self) -> serde_json::Result<Value> {
        Ok(marked(self.try_to_fields()?, self.type_path()))
    }
}

impl<T: WireType> Record for T {
    fn type_path(&self) -> &'static str {
        T::PATH
    }

    fn try_to_fields(&self) -> serde_json::Result<Map<String, Value>> {
        let Value::Object(mut fields) = serde_json::to_value(self)? else {
            let text = format!("{} is not written as an object", T::PATH);
            return Err(serde::ser::Error::custom(text));
        };
        if !is_copying()
            && let Some(entry) = registry().get(T::PATH).filter(|it| it.is::<T>())
        {
            fields = entry.escape_maps(fields);
        }
        fields.shift_remove(MODEL_KEY);
        fields.values_mut().for_each(markers_last);
        Ok(fields)
    }

    fn write_json(&self, out: &mut dyn std::io::Write) -> serde_json::Result<()> {
        serde_json::to_writer(out, self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn snapshot(&self) -> Option<Arc<dyn Record>> {
        self.snapshot_value().map(|copy| Arc::new(copy) as Arc<dyn Record>)
    }

    fn clone_record(&self) -> Arc<dyn Record> {
        Arc::new(self.clone())
    }
}

fn marked(mut fields: Map<String, Value>, path: &'static str) -> Value {
    fields.shift_remove(MODEL_KEY);
    fields.insert(MODEL_KEY.to_owned(), Value::from(path));
    Value::Object(fields)
}

/// Moves the marker of every map to the end, as serde writes the tag of a struct first.
pub(crate) fn markers_last(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.keys().next_back().is_some_and(|last| last != MODEL_KEY)
                && let Some(marker) = map.shift_remove(MODEL_KEY)
            {
                map.insert(MODEL_KEY.to_owned(), marker);
            }
            map.values_mut().for_each(markers_last);
        }
        Value::Array(items) => items.iter_mut().for_each(markers_last),
        _ => {}
    }
}

/// The last segment of a dotted path.
pub fn class_name(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}
