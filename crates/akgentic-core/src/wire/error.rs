//! Why stored data does not load.

use serde_json::Value;

use crate::coerce::{FieldError, Listed};

/// No registered type answers to the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no class is registered as {path:?}")]
pub struct UnresolvableClass {
    /// The path as it was given.
    pub path: String,
}

/// Why a value does not load.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A marker names a class that is not registered.
    #[error(transparent)]
    UnresolvableClass(#[from] UnresolvableClass),
    /// Values do not fit the class they are meant for.
    #[error("invalid {class}: {}", Listed(errors))]
    Invalid {
        /// Path of the innermost class that does not fit, empty outside any class.
        class: String,
        /// Everything that does not fit, located within that class.
        errors: Vec<FieldError>,
    },
    /// An address could not be resolved.
    #[error("cannot resolve an address: {0}")]
    Resolve(String),
}

impl LoadError {
    /// A rule about the whole of a class is broken.
    pub fn rule(class: &str, msg: impl Into<String>, input: Value) -> Self {
        let errors = vec![FieldError::whole("value_error", msg, input)];
        Self::Invalid { class: class.to_owned(), errors }
    }

    /// What does not fit; empty when the class itself is unknown.
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Self::Invalid { errors, .. } => errors,
            Self::UnresolvableClass(_) | Self::Resolve(_) => &[],
        }
    }
}
