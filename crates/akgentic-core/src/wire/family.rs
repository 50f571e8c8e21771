//! Fields that hold any type of a family.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Kind, LoadError, MODEL_KEY, Record, prepared, registry};
use crate::coerce::{Coercer, EXTENSION, Options};

/// A trait whose implementing types can stand in one field and are told apart by their marker.
///
/// Implemented for the trait object: `impl Family for dyn Config`. Types join by registering a
/// [`Loader`](super::Loader) of the trait object; see [`Registration::with_family`](super::Registration::with_family).
pub trait Family: Send + Sync + 'static {
    /// The kind its types are registered with.
    const KIND: Kind;
    /// The type of a map without a marker; `None` rejects such a map.
    const DEFAULT: Option<&'static str>;

    /// The value as a record.
    fn as_record(&self) -> &dyn Record;
}

/// A field that holds any type of the family `F`, written with its marker.
pub struct Dyn<F: ?Sized>(pub Arc<F>);

impl<F: Family + ?Sized> Dyn<F> {
    /// Loads a value by its marker.
    pub fn load(mut value: Value) -> Result<Self, LoadError> {
        Coercer::family(F::KIND, F::DEFAULT).coerce_at(&mut value, Options::RECORD, 0, "")?;
        prepared::forget_failure();
        Self::build(value)
    }

    /// Builds the value from its coerced form.
    fn build(mut value: Value) -> Result<Self, LoadError> {
        let marker = value.as_object_mut().and_then(|fields| fields.shift_remove(MODEL_KEY));
        let path = marker.as_ref().and_then(Value::as_str).or(F::DEFAULT).unwrap_or_default();
        let entry = registry().resolve(path)?;
        entry.build_as::<F>(value).map(Self).map_err(|error| entry.misfit(error))
    }
}

impl<F: ?Sized> Clone for Dyn<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: fmt::Debug + ?Sized> fmt::Debug for Dyn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<F: ?Sized> Deref for Dyn<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}

impl<F: ?Sized> From<Arc<F>> for Dyn<F> {
    fn from(value: Arc<F>) -> Self {
        Self(value)
    }
}

impl<F: Family + ?Sized> PartialEq for Dyn<F> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_record().to_json() == other.as_record().to_json()
    }
}

impl<F: Family + ?Sized> Serialize for Dyn<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = self.as_record().try_to_json().map_err(serde::ser::Error::custom)?;
        written.serialize(serializer)
    }
}

impl<'de, F: Family + ?Sized> Deserialize<'de> for Dyn<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let built = if prepared::is_prepared() { Self::build(value) } else { Self::load(value) };
        built.map_err(prepared::fail)
    }
}

impl<F: Family + ?Sized> JsonSchema for Dyn<F> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Any {}", F::KIND).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        family_schema::<F>().try_into().unwrap_or_else(|_| json_schema!(true))
    }
}

fn family_schema<F: Family + ?Sized>() -> Value {
    let mut family = serde_json::json!({"family": F::KIND.name()});
    if let Some(default) = F::DEFAULT {
        family["default"] = default.into();
    }
    serde_json::json!({"type": "object", EXTENSION: family})
}
