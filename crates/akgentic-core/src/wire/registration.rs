//! What a crate says about a type when it registers it.

use std::any::{Any, TypeId};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Kind, LoadError, Record, WireType, prepared};
use crate::actor_type::AgentType;
use crate::coerce::{FieldError, schema_of};
use crate::message::DisplayType;
use crate::spawn::Spawner;

/// Builds a value of one type, seen as a member of its family, from coerced fields.
pub struct Loader<F: ?Sized>(pub fn(Value) -> Result<Arc<F>, Box<FieldError>>);

/// What is done to the fields of a record before they are coerced.
pub type Refine = fn(&mut Map<String, Value>) -> Result<(), LoadError>;

type BuildRecord = fn(Value) -> Result<Arc<dyn Record>, Box<FieldError>>;

/// What a crate tells the registry about one of its types; submitted by the macros of this crate.
#[derive(Clone, Copy)]
pub struct Registration {
    pub(super) path: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) deprecated: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) extends: Option<&'static str>,
    pub(super) rust_type: fn() -> TypeId,
    pub(super) schema: fn() -> Value,
    pub(super) record: Option<BuildRecord>,
    pub(super) family: Option<&'static (dyn Any + Send + Sync)>,
    pub(super) refine: Option<Refine>,
    pub(super) agent: Option<AgentType>,
    pub(super) display: Option<DisplayType>,
}

impl Registration {
    /// A record type.
    pub const fn of<T: WireType>(kind: Kind) -> Self {
        Self {
            path: T::PATH,
            aliases: T::ALIASES,
            deprecated: T::DEPRECATED,
            kind,
            extends: None,
            rust_type: TypeId::of::<T>,
            schema: schema_of::<T>,
            record: Some(build_record::<T>),
            family: None,
            refine: None,
            agent: None,
            display: None,
        }
    }

    /// An actor type `A`, or a class that is only named in data.
    pub const fn agent<A: 'static>(path: &'static str, aliases: &'static [&'static str]) -> Self {
        Self {
            path,
            aliases,
            deprecated: &[],
            kind: Kind::Agent,
            extends: None,
            rust_type: TypeId::of::<A>,
            schema: no_schema,
            record: None,
            family: None,
            refine: None,
            agent: None,
            display: None,
        }
    }

    /// Sets the configuration type an actor type declares and how it is started.
    #[must_use]
    pub const fn with_agent(mut self, config: &'static str, spawn: Option<Spawner>) -> Self {
        self.agent = Some(AgentType { config, spawn });
        self
    }

    /// Sets how the value is built as a member of its family: a `&'static Loader<dyn Trait>`.
    #[must_use]
    pub const fn with_family(mut self, loader: &'static (dyn Any + Send + Sync)) -> Self {
        self.family = Some(loader);
        self
    }

    /// Sets the path of the type this one derives from.
    #[must_use]
    pub const fn extending(mut self, parent: &'static str) -> Self {
        self.extends = Some(parent);
        self
    }

    /// Sets what is done to the fields before they are coerced.
    #[must_use]
    pub const fn refined(mut self, refine: Refine) -> Self {
        self.refine = Some(refine);
        self
    }

    /// Sets who messages of this type are shown to.
    #[must_use]
    pub const fn shown_to(mut self, display: DisplayType) -> Self {
        self.display = Some(display);
        self
    }
}

inventory::collect!(Registration);

fn build_record<T: WireType>(fields: Value) -> Result<Arc<dyn Record>, Box<FieldError>> {
    Ok(Arc::new(prepared::build::<T>(fields)?))
}

fn no_schema() -> Value {
    Value::Bool(true)
}
