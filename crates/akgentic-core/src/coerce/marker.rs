//! Reserved keys: what a map that holds one stands for.

use serde_json::{Map, Value};

use super::node::Object;
use super::walk::{Path, Walk, escaped_pairs};
use super::{FieldError, Loc};
use crate::address::check_address;
use crate::wire::{
    ADDRESS_KEY, BYTES_KEY, Kind, LoadError, MODEL_KEY, TYPE_KEY, TypeEntry, UnresolvableClass,
    class_name, registry,
};

/// What a map stands for because of a key it holds, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    Address,
    Bytes,
    Type,
    Model,
}

/// The reserved key that decides what `map` is.
pub(super) fn reserved(map: &Map<String, Value>) -> Option<Reserved> {
    if map.contains_key(ADDRESS_KEY) {
        Some(Reserved::Address)
    } else if map.contains_key(BYTES_KEY) {
        Some(Reserved::Bytes)
    } else if map.contains_key(TYPE_KEY) {
        Some(Reserved::Type)
    } else if map.contains_key(MODEL_KEY) {
        Some(Reserved::Model)
    } else {
        None
    }
}

/// The marker of a map that is a record.
pub(super) fn model_of(map: &Map<String, Value>) -> Option<&str> {
    match reserved(map)? {
        Reserved::Model => map.get(MODEL_KEY)?.as_str(),
        Reserved::Address | Reserved::Bytes | Reserved::Type => None,
    }
}

/// Whether the marker `path` names the very type of `object`.
///
/// A type that is not tagged with its path goes by its class name.
pub(super) fn names(object: &Object, path: &str) -> bool {
    let Some(name) = &object.name else {
        return false;
    };
    name == path
        || registry()
            .get(path)
            .is_some_and(|entry| entry.path() == name || class_name(entry.path()) == name)
}

impl Walk<'_> {
    /// Reads a value of any kind: records by their marker, maps and lists through and through.
    pub(super) fn any(&mut self, value: &mut Value, at: &Path<'_>) {
        if !self.options.markers || self.fatal.is_some() {
            return;
        }
        match value {
            Value::Number(number) if number.is_u64() && !number.is_i64() => {
                let msg = "Input should be an integer that fits into 64 bits".to_owned();
                self.push("int_parsing_size", msg, value, at);
            }
            Value::Array(_) | Value::Object(_) if self.depth >= super::MAX_DEPTH => {
                self.too_deep(at);
            }
            Value::Array(items) => {
                self.depth += 1;
                let taken = std::mem::take(items);
                items.reserve(taken.len());
                for mut item in taken {
                    self.any(&mut item, &Path::Index(at, items.len()));
                    if !self.dropped_from_list() {
                        items.push(item);
                    }
                }
                self.depth -= 1;
            }
            Value::Object(map) => {
                self.depth += 1;
                match reserved(map) {
                    Some(Reserved::Address) => self.address(value, at),
                    Some(Reserved::Type) => self.type_reference(value, at),
                    Some(Reserved::Bytes) => self.bytes(value, at),
                    Some(Reserved::Model) => {
                        self.marked(map, at);
                    }
                    None => self.plain_map(map, at),
                }
                self.depth -= 1;
            }
            _ => {}
        }
    }

    fn plain_map(&mut self, map: &mut Map<String, Value>, at: &Path<'_>) {
        if let Some(pairs) = escaped_pairs(map) {
            for pair in pairs {
                if let Some([Value::String(key), field]) =
                    pair.as_array_mut().map(Vec::as_mut_slice)
                {
                    self.any(field, &Path::Key(at, key));
                }
            }
            return;
        }
        for (key, field) in map.iter_mut() {
            self.any(field, &Path::Key(at, key));
        }
    }

    /// Coerces a marked map by the type its marker names and writes the canonical marker. A
    /// failure ends the walk.
    fn marked(
        &mut self,
        map: &mut Map<String, Value>,
        at: &Path<'_>,
    ) -> Option<&'static TypeEntry> {
        let path = match map.get(MODEL_KEY) {
            Some(Value::String(path)) => path.as_str(),
            other => {
                let path = other.map(Value::to_string).unwrap_or_default();
                self.fatal = Some(UnresolvableClass { path }.into());
                return None;
            }
        };
        let entry = match registry().resolve(path) {
            Ok(entry) => entry,
            Err(unknown) => {
                self.fatal = Some(unknown.into());
                return None;
            }
        };
        if let Err(failure) = entry.coerce_fields(map, self.depth) {
            self.fatal = Some(placed(failure, at));
            return None;
        }
        map.insert(MODEL_KEY.to_owned(), Value::from(entry.path()));
        Some(entry)
    }

    pub(super) fn family(
        &mut self,
        kind: Kind,
        default: Option<&str>,
        value: &mut Value,
        at: &Path<'_>,
    ) {
        let wrong = format!("Input should be a {}", kind.name());
        let found = value.as_object().map(reserved);
        match found {
            Some(Some(Reserved::Model)) => {
                let Some(map) = value.as_object_mut() else {
                    return;
                };
                if let Some(entry) = self.marked(map, at)
                    && entry.kind() != kind
                {
                    self.push("is_instance_of", wrong, value, at);
                }
            }
            Some(None) => {
                let entry = default.and_then(|path| registry().get(path));
                let Some((entry, map)) = entry.zip(value.as_object_mut()) else {
                    return self.fail(
                        "is_instance_of",
                        &format!("{wrong}, named by {MODEL_KEY}"),
                        value,
                        at,
                    );
                };
                let before = map.len();
                match entry.coerce_fields(map, self.depth) {
                    Ok(()) => {
                        if map.len() < before {
                            tracing::warn!(class = entry.path(), at = %Located(at), "an unmarked map lost fields the declared class does not know");
                        }
                        map.insert(MODEL_KEY.to_owned(), Value::from(entry.path()));
                    }
                    Err(LoadError::Invalid { class, errors }) if class == entry.path() => {
                        for mut error in errors {
                            let mut loc = at.to_loc();
                            loc.append(&mut error.loc);
                            self.errors.push(FieldError { loc, ..error });
                        }
                    }
                    Err(failure) => self.fatal = Some(failure),
                }
            }
            Some(Some(_)) | None => self.fail("model_type", &wrong, value, at),
        }
    }

    /// Checks the marker of a map in a position of a fixed type and takes it off. A map that
    /// stands for something else fails there.
    pub(super) fn unmarked(
        &mut self,
        object: &Object,
        map: &mut Map<String, Value>,
        at: &Path<'_>,
    ) -> bool {
        let free = object.properties.is_empty();
        match reserved(map) {
            None if free => {
                if let Some(pairs) = escaped_pairs(map) {
                    let pairs = std::mem::take(pairs);
                    map.clear();
                    for pair in pairs {
                        if let Value::Array(pair) = pair
                            && let Ok([Value::String(key), field]) = <[Value; 2]>::try_from(pair)
                        {
                            map.insert(key, field);
                        }
                    }
                }
                true
            }
            None => true,
            Some(Reserved::Model) => {
                let own = map
                    .get(MODEL_KEY)
                    .and_then(Value::as_str)
                    .is_some_and(|path| names(object, path));
                if own {
                    map.shift_remove(MODEL_KEY);
                    return true;
                }
                if self.marked(map, at).is_some() {
                    let msg = "Input is marked as another class".to_owned();
                    self.push("model_type", msg, &Value::Object(map.clone()), at);
                }
                false
            }
            Some(_) => {
                let mut value = Value::Object(map.clone());
                self.fail("model_type", "Input should be an object", &mut value, at);
                false
            }
        }
    }

    pub(super) fn address(&mut self, value: &mut Value, at: &Path<'_>) {
        let Some(map) = value.as_object().filter(|map| map.contains_key(ADDRESS_KEY)) else {
            return self.fail("is_instance_of", "Input should be an address", value, at);
        };
        for (key, msg) in check_address(map) {
            self.errors.push_with(|| {
                let mut loc = at.to_loc();
                loc.push(Loc::Key(key.to_owned()));
                let kind = if map.contains_key(key) { "value_error" } else { "missing" };
                let input = map.get(key).cloned().unwrap_or_else(|| value.clone());
                FieldError { kind, loc, msg: msg.to_owned(), input }
            });
        }
    }

    pub(super) fn type_reference(&mut self, value: &mut Value, at: &Path<'_>) {
        match value.get(TYPE_KEY) {
            Some(Value::String(_)) => {}
            _ => self.fail_plain("is_instance_of", "Input should be a class reference", value, at),
        }
    }

    fn bytes(&mut self, value: &Value, at: &Path<'_>) {
        if !value.get(BYTES_KEY).is_some_and(Value::is_string) {
            self.fail_plain("bytes_type", "Input should be base64 text", value, at);
        }
    }

    fn fail_plain(&mut self, kind: &'static str, msg: &str, value: &Value, at: &Path<'_>) {
        self.push(kind, msg.to_owned(), value, at);
    }

    fn push(&mut self, kind: &'static str, msg: String, value: &Value, at: &Path<'_>) {
        self.errors.push_with(|| {
            let (loc, input) = (at.to_loc(), value.clone());
            FieldError { kind, loc, msg, input }
        });
    }

    fn too_deep(&mut self, at: &Path<'_>) {
        let msg = "Input is nested too deeply".to_owned();
        let error =
            FieldError { kind: "recursion_loop", loc: at.to_loc(), msg, input: Value::Null };
        self.fatal = Some(LoadError::Invalid { class: String::new(), errors: vec![error] });
    }

    /// Whether the element just read is gone with its class; the list goes on without it.
    pub(super) fn dropped_from_list(&mut self) -> bool {
        match &self.fatal {
            Some(LoadError::UnresolvableClass(unknown)) => {
                tracing::warn!(class = unknown.path, "dropped a list element whose class is gone");
                self.fatal = None;
                true
            }
            _ => false,
        }
    }
}

/// Gives a failure that belongs to no class, such as too much depth, its place.
fn placed(failure: LoadError, at: &Path<'_>) -> LoadError {
    match failure {
        LoadError::Invalid { class, mut errors } if class.is_empty() => {
            for error in &mut errors {
                error.loc = at.to_loc();
            }
            LoadError::Invalid { class, errors }
        }
        other => other,
    }
}

struct Located<'a>(&'a Path<'a>);

impl std::fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for step in self.0.to_loc() {
            write!(f, "/{step}")?;
        }
        Ok(())
    }
}
