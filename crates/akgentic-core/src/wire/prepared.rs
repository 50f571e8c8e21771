//! Telling the polymorphic positions whether a value passed coercion already.
//!
//! Loading coerces a whole document once and then builds it with serde. A polymorphic field that
//! is read by plain serde, outside loading, has to coerce its part itself; this flag tells the two
//! apart.

use std::cell::{Cell, RefCell};

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::LoadError;
use crate::coerce::{FieldError, Loc};

thread_local! {
    static PREPARED: Cell<bool> = const { Cell::new(false) };
    static FAILURE: RefCell<Option<LoadError>> = const { RefCell::new(None) };
}

/// Builds a `T` of a value that already has the form its schema wants.
///
/// What fails here is a rule of `T` that no schema can express.
pub fn build<T: DeserializeOwned>(value: Value) -> Result<T, Box<FieldError>> {
    within(|| serde_path_to_error::deserialize(value)).map_err(|error| {
        let steps = error.path().iter().filter_map(|segment| match segment {
            Segment::Seq { index } => Some(Loc::Index(*index)),
            Segment::Map { key } => Some(Loc::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        });
        let loc = steps.collect();
        let msg = error.into_inner().to_string();
        Box::new(FieldError { kind: "value_error", loc, msg, input: Value::Null })
    })
}

/// Builds a document; a failure inside names the class it happened in.
pub(crate) fn build_document<T>(
    class: &str,
    build: impl FnOnce() -> Result<T, Box<FieldError>>,
) -> Result<T, LoadError> {
    forget_failure();
    build().map_err(|error| innermost(class, error))
}

/// Starts a document: what failed before has nothing to do with it.
pub(crate) fn forget_failure() {
    FAILURE.take();
}

/// The failure that was handed to serde last, or `error` in `class` when there was none.
pub(crate) fn innermost(class: &str, error: Box<FieldError>) -> LoadError {
    let outer = || LoadError::Invalid { class: class.to_owned(), errors: vec![*error] };
    FAILURE.take().unwrap_or_else(outer)
}

/// Hands a failure to serde; the innermost one of a document is kept as it is.
pub(crate) fn fail<E: serde::de::Error>(failure: LoadError) -> E {
    let error = E::custom(&failure);
    FAILURE.with_borrow_mut(|kept| {
        kept.get_or_insert(failure);
    });
    error
}

/// Whether the value being read passed coercion.
pub(crate) fn is_prepared() -> bool {
    PREPARED.get()
}

/// Runs `build` for a value that passed coercion.
pub(crate) fn within<T>(build: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            PREPARED.set(self.0);
        }
    }
    let _restore = Restore(PREPARED.replace(true));
    build()
}
