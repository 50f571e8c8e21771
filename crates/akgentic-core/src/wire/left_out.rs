//! What reading a record passes over.

use std::fmt;

use serde_json::Value;

use super::{LoadError, MODEL_KEY, registry};

/// Something in a written record that reading it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOut {
    /// A key that no type there has; the path to it.
    Key(String),
    /// An element of a list whose class is not registered.
    Element {
        /// The path to it.
        path: String,
        /// The marker that names the class.
        class: String,
    },
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(path) => write!(f, "{path} is no setting and changes nothing"),
            Self::Element { path, class } => {
                write!(f, "{path} is left out: nothing is registered as {class:?}")
            }
        }
    }
}

/// What reading `written` as a record of the registered type `class` leaves out, in the order it is
/// written. Keys that another name stands for when it is read count as left out.
pub fn left_out(class: &str, written: &Value) -> Result<Vec<LeftOut>, LoadError> {
    let mut found = Vec::new();
    if let Value::Object(fields) = written {
        let mut read = fields.clone();
        registry().resolve(class)?.coerce_fields(&mut read, 0)?;
        compare(written, &Value::Object(read), &mut String::new(), &mut found);
    }
    Ok(found)
}

/// Takes `inner` one step further along the path.
fn below(path: &mut String, step: &str, inner: impl FnOnce(&mut String)) {
    let length = path.len();
    if length > 0 {
        path.push('.');
    }
    path.push_str(step);
    inner(path);
    path.truncate(length);
}

fn compare(written: &Value, read: &Value, path: &mut String, found: &mut Vec<LeftOut>) {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            for (key, value) in written.iter().filter(|(key, _)| !key.starts_with("__")) {
                below(path, key, |path| match read.get(key) {
                    Some(read) => compare(value, read, path, found),
                    None => found.push(LeftOut::Key(path.clone())),
                });
            }
        }
        (Value::Array(written), Value::Array(read)) => {
            // elements that stay keep their order; if others are gone, what is where is not known
            let gone = written.iter().filter(|item| stranger(item).is_some()).count();
            let mut kept = (gone + read.len() == written.len()).then(|| read.iter());
            for (index, value) in written.iter().enumerate() {
                below(path, &index.to_string(), |path| match (stranger(value), &mut kept) {
                    (Some(class), _) => {
                        found.push(LeftOut::Element { path: path.clone(), class });
                    }
                    (None, Some(kept)) => {
                        if let Some(read) = kept.next() {
                            compare(value, read, path, found);
                        }
                    }
                    (None, None) => {}
                });
            }
        }
        _ => {}
    }
}

/// The marker in `value` that no type answers to and that takes the whole of `value` with it: one
/// that no list in between stops.
fn stranger(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    match fields.get(MODEL_KEY) {
        Some(Value::String(path)) if registry().get(path).is_some() => {}
        Some(Value::String(path)) => return Some(path.clone()),
        Some(other) => return Some(other.to_string()),
        None => {}
    }
    fields.values().find_map(stranger)
}
