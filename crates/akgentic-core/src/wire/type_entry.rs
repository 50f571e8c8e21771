//! One registered type.

use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::{Family, Kind, LoadError, Loader, MODEL_KEY, Record, Registration, prepared};
use crate::actor_type::AgentType;
use crate::coerce::{Coercer, FieldError, Options};

/// What the registry knows about a type: its paths, its kind, its schema and how to build it.
pub struct TypeEntry {
    registration: &'static Registration,
    compiled: OnceLock<Compiled>,
}

struct Compiled {
    schema: Value,
    coercer: Coercer,
    /// Fields of the type itself, without those of a message header.
    body_fields: Vec<String>,
}

impl TypeEntry {
    pub(super) fn new(registration: &'static Registration) -> Self {
        Self { registration, compiled: OnceLock::new() }
    }

    /// The canonical path, written as the marker.
    pub fn path(&self) -> &'static str {
        self.registration.path
    }

    /// Other paths it is found under.
    pub fn aliases(&self) -> &'static [&'static str] {
        self.registration.aliases
    }

    /// Former paths it is found under with a warning.
    pub fn deprecated(&self) -> &'static [&'static str] {
        self.registration.deprecated
    }

    /// What it is for.
    pub fn kind(&self) -> Kind {
        self.registration.kind
    }

    /// The path of the type it derives from, when it names one.
    pub fn extends(&self) -> Option<&'static str> {
        self.registration.extends
    }

    /// What only actor types have.
    pub fn agent_type(&self) -> Option<&AgentType> {
        self.registration.agent.as_ref()
    }

    /// Whether this is the entry of `T`.
    pub fn is<T: 'static>(&self) -> bool {
        self.type_id() == TypeId::of::<T>()
    }

    /// The JSON schema; of a message, of header and body together.
    pub fn schema(&self) -> &Value {
        &self.compiled().schema
    }

    /// The fields, in declaration order.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        let fields = self.schema().get("properties").and_then(Value::as_object);
        fields.into_iter().flat_map(|fields| fields.keys().map(String::as_str))
    }

    /// Coerces the fields in place and takes the marker off.
    pub(crate) fn coerce_fields(
        &self,
        fields: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), LoadError> {
        if self.registration.record.is_none() {
            let input = Value::Object(fields.clone());
            return Err(LoadError::rule(
                self.registration.path,
                "not a class of stored values",
                input,
            ));
        }
        fields.shift_remove(MODEL_KEY);
        if let Some(refine) = self.registration.refine {
            refine(fields)?;
        }
        let mut value = Value::Object(std::mem::take(fields));
        let outcome = self.compiled().coercer.coerce_at(
            &mut value,
            Options::RECORD,
            depth,
            self.registration.path,
        );
        if let Value::Object(coerced) = value {
            *fields = coerced;
        }
        outcome
    }

    /// Escapes the typed maps that hold reserved keys.
    pub(crate) fn escape_maps(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::Object(fields);
        self.compiled().coercer.escape_maps(&mut value);
        match value {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// Whether the body of this message type has a field that is named like one of the header.
    pub(crate) fn overrides_header(&self, key: &str) -> bool {
        self.compiled().body_fields.iter().any(|field| field == key)
    }

    /// Builds the value from coerced fields.
    pub(crate) fn build(&self, fields: Value) -> Result<Arc<dyn Record>, Box<FieldError>> {
        match self.registration.record {
            Some(build) => build(fields),
            None => {
                Err(FieldError::whole("value_error", "not a class of stored values", fields).into())
            }
        }
    }

    /// Builds the value from coerced fields as a member of `F`.
    pub(crate) fn build_as<F: Family + ?Sized>(
        &self,
        fields: Value,
    ) -> Result<Arc<F>, Box<FieldError>> {
        let loader = self.registration.family.and_then(|loader| loader.downcast_ref::<Loader<F>>());
        if let Some(Loader(build)) = loader {
            return build(fields);
        }
        Err(FieldError::whole("is_instance_of", format!("not a {}", F::KIND), fields).into())
    }

    /// A failure to build a value of this type, or of one inside it.
    pub(crate) fn misfit(&self, error: Box<FieldError>) -> LoadError {
        prepared::innermost(self.path(), error)
    }

    pub(super) fn type_id(&self) -> TypeId {
        (self.registration.rust_type)()
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let mut schema = (self.registration.schema)();
            let own = schema.get("properties").and_then(Value::as_object);
            let body_fields = own.map(|own| own.keys().cloned().collect()).unwrap_or_default();
            if self.registration.kind == Kind::Message {
                schema = crate::message::with_header(schema, self.registration.display);
            }
            Compiled { coercer: Coercer::new(&schema), schema, body_fields }
        })
    }
}

impl fmt::Debug for TypeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypeEntry")
            .field("path", &self.registration.path)
            .field("kind", &self.registration.kind)
            .finish_non_exhaustive()
    }
}
