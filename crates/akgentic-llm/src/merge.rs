//! Output that models write in several pieces.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::feedback::ValidationError;

/// An output type of which a model may write several objects back to back.
///
/// Models that answer with a comment and a final part do that; together they are one answer.
pub trait Mergeable: DeserializeOwned + Serialize + JsonSchema {
    /// One value that says what all of them say; `None` when that cannot be.
    fn merge(pieces: Vec<Self>) -> Option<Self>;

    /// What the model is told when its output cannot be read.
    fn unreadable_output_error(errors: &[ValidationError]) -> String {
        explain_unreadable(errors)
    }
}

/// The usual words for output that cannot be read: that it was not used, what is wrong with it, and
/// what is wanted instead.
pub fn explain_unreadable(errors: &[ValidationError]) -> String {
    let mut text =
        String::from("Your reply could not be read, so nothing of it was used. What is wrong:\n");
    for error in errors {
        // writing to a string cannot fail
        let _ = writeln!(text, "- {error}");
    }
    text.push_str("Send the whole answer again, as one JSON object and nothing else.");
    text
}

/// How the values of a type are merged, with the type forgotten.
#[derive(Clone)]
pub(crate) struct Merging {
    pub(crate) merge: Arc<Merge>,
    pub(crate) unreadable: Arc<Explain>,
}

type Merge = dyn Fn(Vec<Value>) -> Option<Value> + Send + Sync;

type Explain = dyn Fn(&[ValidationError]) -> String + Send + Sync;

impl Merging {
    pub(crate) fn of<T: Mergeable + 'static>() -> Self {
        let merge = |pieces: Vec<Value>| {
            let pieces: Result<Vec<T>, _> =
                pieces.into_iter().map(serde_json::from_value).collect();
            serde_json::to_value(T::merge(pieces.ok()?)?).ok()
        };
        Self { merge: Arc::new(merge), unreadable: Arc::new(T::unreadable_output_error) }
    }
}
