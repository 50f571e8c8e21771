//! Schema-driven coercion: the one way values from outside become values a type accepts.
//!
//! Cards, configurations, messages and tool arguments all pass here. A JSON schema, generated from
//! a Rust type or foreign, is compiled to a [`Coercer`]; it turns what *may stand for* a value
//! (`"7"` for 7, `1` for true) into the value itself and reports everything that cannot, not just
//! the first. Building the Rust value is then serde's part; defaults are its part too.

mod compile;
mod error;
mod escape;
mod exact;
mod marker;
mod node;
mod range;
pub mod scalar;
mod walk;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use error::{FieldError, Listed, Loc};

pub(crate) use walk::MAX_DEPTH;

use crate::wire::{Kind, LoadError};

/// Schema keyword that marks positions JSON schema has no words for.
///
/// `{"family": "config"}` is a value of a registered type, `{"value": …}` one of `any`, `opaque`,
/// `map`, `address`, `type` and `class`.
pub const EXTENSION: &str = "x-akgentic";

/// How lenient coercion is where the schema does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What becomes of keys that no property names.
    pub unknown: Unknown,
    /// Whether reserved keys such as `__model__` mean something; plain data otherwise.
    pub markers: bool,
}

/// What becomes of keys that no property names, where the schema does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// They are left out.
    Drop,
    /// They stay.
    Keep,
    /// They are errors at the top and left out below.
    Forbid,
}

impl Options {
    /// For stored records: unknown keys are dropped, markers are followed.
    pub const RECORD: Self = Self { unknown: Unknown::Drop, markers: true };
    /// For tool arguments: unknown top-level keys are errors, markers mean nothing.
    pub const ARGUMENTS: Self = Self { unknown: Unknown::Forbid, markers: false };
}

/// A compiled schema.
#[derive(Debug)]
pub struct Coercer {
    tree: node::Tree,
    has_maps: bool,
}

impl Coercer {
    /// Compiles a JSON schema. What it cannot understand accepts anything.
    pub fn new(schema: &Value) -> Self {
        Self::from_tree(node::Tree::compile(schema))
    }

    fn from_tree(tree: node::Tree) -> Self {
        Self { has_maps: escape::has_maps(&tree), tree }
    }

    /// Accepts anything and reads what it holds.
    pub(crate) fn any() -> Self {
        Self::from_tree(node::Tree::of(node::Node::Any))
    }

    /// Accepts any type of a family.
    pub(crate) fn family(kind: Kind, default: Option<&'static str>) -> Self {
        let default = default.map(str::to_owned);
        Self::from_tree(node::Tree::of(node::Node::Family { kind, default }))
    }

    /// Compiles the schema of a Rust type.
    pub fn of<T: JsonSchema + ?Sized>() -> Self {
        Self::new(&schema_of::<T>())
    }

    /// The value in the form the schema wants, or everything that does not fit.
    pub fn coerce(&self, mut value: Value, options: Options) -> Result<Value, Vec<FieldError>> {
        match self.coerce_at(&mut value, options, 0, "") {
            Ok(()) => Ok(value),
            Err(LoadError::Invalid { errors, .. }) => Err(errors),
            Err(other) => Err(vec![FieldError::whole("value_error", other.to_string(), value)]),
        }
    }

    /// Coerces and builds a `T`.
    pub fn parse<T: DeserializeOwned>(
        &self,
        value: Value,
        options: Options,
    ) -> Result<T, Vec<FieldError>> {
        let value = self.coerce(value, options)?;
        crate::wire::prepared::build(value).map_err(|error| vec![*error])
    }

    /// Like [`Coercer::coerce`], inside `depth` levels of a document; failures name `class`.
    pub(crate) fn coerce_at(
        &self,
        value: &mut Value,
        options: Options,
        depth: usize,
        class: &str,
    ) -> Result<(), LoadError> {
        let mut walk = walk::Walk::new(&self.tree, options);
        walk.run(value, depth);
        walk.outcome(class)
    }
}

/// Coerces `value` to what `schema` wants. Compile a [`Coercer`] for repeated use.
pub fn coerce(schema: &Value, value: Value, options: Options) -> Result<Value, Vec<FieldError>> {
    Coercer::new(schema).coerce(value, options)
}

/// Coerces `value` by the schema of `T`, as a stored record, and builds it.
pub fn from_value_coerced<T>(value: Value) -> Result<T, Vec<FieldError>>
where
    T: DeserializeOwned + JsonSchema,
{
    Coercer::of::<T>().parse(value, Options::RECORD)
}

/// The JSON schema of a Rust type, as it is read.
pub fn schema_of<T: JsonSchema + ?Sized>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}
