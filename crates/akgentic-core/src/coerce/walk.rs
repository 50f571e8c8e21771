//! The walk over a value, alongside the compiled schema.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::error::Errors;
use super::node::{Branch, Format, List, Node, NodeId, Object, Range, Rest, Text, Tree};
use super::{FieldError, Loc, Options, Unknown, scalar};
use crate::wire::{DICT_KEY, LoadError, Timestamp};

/// Values nested deeper than this are rejected.
pub(crate) const MAX_DEPTH: usize = 128;

/// How deep branches of unions are tried inside the trial of another branch; each level multiplies
/// the work.
const MAX_TRIALS: usize = 6;

/// How much the trials inside trials of one document may weigh in all, besides what its own weight
/// allows.
const TRIAL_ALLOWANCE: usize = 100_000;

/// How often trials inside trials may go over the whole of a document.
const TRIAL_PASSES: usize = 64;

/// One step of the way, kept on the stack until an error needs it.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    pub(super) fn to_loc(self) -> Vec<Loc> {
        let mut loc = Vec::new();
        let mut step = self;
        loop {
            step = match step {
                Path::Root => break,
                Path::Key(parent, key) => {
                    loc.push(Loc::Key(key.to_owned()));
                    *parent
                }
                Path::Index(parent, index) => {
                    loc.push(Loc::Index(index));
                    *parent
                }
            };
        }
        loc.reverse();
        loc
    }
}

/// State of one coercion.
pub(super) struct Walk<'t> {
    pub(super) tree: &'t Tree,
    pub(super) options: Options,
    pub(super) errors: Errors,
    /// A failure that ends the walk: an unknown class, or a marked value that does not fit.
    pub(super) fatal: Option<LoadError>,
    pub(super) depth: usize,
    trials: usize,
    /// What trials inside trials may still weigh.
    allowance: usize,
}

impl<'t> Walk<'t> {
    pub(super) fn new(tree: &'t Tree, options: Options) -> Self {
        let errors = Errors::default();
        Self { tree, options, errors, fatal: None, depth: 0, trials: 0, allowance: TRIAL_ALLOWANCE }
    }

    pub(super) fn run(&mut self, value: &mut Value, depth: usize) {
        self.depth = depth;
        self.node(self.tree.root, value, &Path::Root);
    }

    pub(super) fn outcome(self, class: &str) -> Result<(), LoadError> {
        match self.fatal {
            Some(fatal) => Err(fatal),
            None if self.errors.is_empty() => Ok(()),
            None => {
                Err(LoadError::Invalid { class: class.to_owned(), errors: self.errors.into_vec() })
            }
        }
    }

    pub(super) fn node(&mut self, id: NodeId, value: &mut Value, at: &Path<'_>) {
        if self.fatal.is_some() {
            return;
        }
        if self.depth >= MAX_DEPTH {
            let too_deep = "Input is nested too deeply";
            let error = FieldError {
                kind: "recursion_loop",
                loc: at.to_loc(),
                msg: too_deep.into(),
                input: Value::Null,
            };
            self.fatal = Some(LoadError::Invalid { class: String::new(), errors: vec![error] });
            return;
        }
        self.depth += 1;
        self.entered(id, value, at);
        self.depth -= 1;
    }

    fn entered(&mut self, id: NodeId, value: &mut Value, at: &Path<'_>) {
        let Some(node) = self.tree.nodes.get(id) else {
            return;
        };
        match node {
            Node::Same(target) => self.node(*target, value, at),
            Node::Any => self.any(value, at),
            Node::Opaque => {}
            Node::Never => self.fail("no_such_value", "No value is accepted here", value, at),
            Node::Null | Node::Nullable(_) if value.is_null() => {}
            Node::Null => self.fail("none_required", "Input should be null", value, at),
            Node::Nullable(inner) => self.node(*inner, value, at),
            Node::Bool if value.is_boolean() => {}
            Node::Bool => match scalar::bool(value) {
                Ok(flag) => *value = Value::Bool(flag),
                Err((kind, msg)) => self.fail(kind, msg, value, at),
            },
            Node::Int(range) => match scalar::int(value) {
                Ok(number) => self.number(number, range, value, at),
                Err((kind, msg)) => self.fail(kind, msg, value, at),
            },
            Node::Float(range) => match scalar::float(value) {
                Ok(number) => self.number(number, range, value, at),
                Err((kind, msg)) => self.fail(kind, msg, value, at),
            },
            Node::Text(text) => self.text(text, value, at),
            Node::OneOf(values) => {
                if !values.iter().any(|known| same(known, value)) {
                    self.fail("literal_error", &expected(values), value, at);
                }
            }
            Node::List(list) => self.list(list, value, at),
            Node::Object(object) => self.object(object, value, at),
            Node::Union(branches) => self.union(branches, value, at),
            Node::Family { kind, default } => self.family(*kind, default.as_deref(), value, at),
            Node::FreeMap => self.free_map(value, at),
            Node::Address => self.address(value, at),
            Node::Type => self.type_reference(value, at),
            Node::Class => {
                if !value.is_string() {
                    self.type_reference(value, at);
                }
            }
        }
    }

    /// Records that `value` does not fit. Markers inside it are still followed, because a value of
    /// an unknown class fails as such wherever it stands.
    pub(super) fn fail(&mut self, kind: &'static str, msg: &str, value: &mut Value, at: &Path<'_>) {
        let input = if self.errors.is_full() { Value::Null } else { value.clone() };
        if value.is_object() || value.is_array() {
            self.any(value, at);
        }
        self.errors.push(FieldError { kind, loc: at.to_loc(), msg: msg.to_owned(), input });
    }

    fn number(&mut self, number: Number, range: &Range, value: &mut Value, at: &Path<'_>) {
        let misfit = range.misfit(&number);
        if let Some((kind, msg)) = misfit {
            self.fail(kind, &msg, value, at);
        } else {
            *value = Value::Number(number);
        }
    }

    fn text(&mut self, text: &Text, value: &mut Value, at: &Path<'_>) {
        match text.format {
            Format::Uuid => match scalar::uuid(value) {
                Ok(uuid) => {
                    let mut buffer = uuid::Uuid::encode_buffer();
                    let canonical = uuid.hyphenated().encode_lower(&mut buffer);
                    if value.as_str() != Some(canonical) {
                        *value = Value::from(&*canonical);
                    }
                }
                Err((kind, msg)) => return self.fail(kind, msg, value, at),
            },
            Format::DateTime => match Timestamp::from_json(value) {
                Some(time) => *value = Value::String(time.to_string()),
                None if value.is_string() => {
                    return self.fail(
                        "datetime_parsing",
                        "Input should be a valid datetime",
                        value,
                        at,
                    );
                }
                None => {
                    return self.fail(
                        "datetime_type",
                        "Input should be a valid datetime",
                        value,
                        at,
                    );
                }
            },
            Format::Plain => {}
        }
        let Value::String(found) = value else {
            return self.fail("string_type", "Input should be a valid string", value, at);
        };
        if text.min.is_none() && text.max.is_none() && text.pattern.is_none() {
            return;
        }
        let length = found.chars().count();
        let misfit = if let Some(min) = text.min.filter(|min| length < *min) {
            (
                "string_too_short",
                format!("String should have at least {}", counted(min, "character")),
            )
        } else if let Some(max) = text.max.filter(|max| length > *max) {
            ("string_too_long", format!("String should have at most {}", counted(max, "character")))
        } else if let Some(pattern) =
            text.pattern.as_ref().filter(|pattern| !pattern.is_match(found))
        {
            (
                "string_pattern_mismatch",
                format!("String should match pattern '{}'", pattern.as_str()),
            )
        } else {
            return;
        };
        self.fail(misfit.0, &misfit.1, value, at);
    }

    fn list(&mut self, list: &List, value: &mut Value, at: &Path<'_>) {
        let Value::Array(items) = value else {
            return self.fail("list_type", "Input should be a valid list", value, at);
        };
        let taken = std::mem::take(items);
        let mut kept = Vec::with_capacity(taken.len());
        for mut item in taken {
            let index = kept.len();
            let node = list.prefix.get(index).copied().or(list.items);
            let here = Path::Index(at, index);
            match node {
                Some(node) => self.node(node, &mut item, &here),
                None => self.any(&mut item, &here),
            }
            if !self.dropped_from_list() {
                kept.push(item);
            }
        }
        if list.unique {
            kept = distinct(kept);
        }
        let length = kept.len();
        *items = kept;
        let misfit = if let Some(min) = list.min.filter(|min| length < *min) {
            (
                "too_short",
                format!(
                    "List should have at least {} after validation, not {length}",
                    counted(min, "item")
                ),
            )
        } else if let Some(max) = list.max.filter(|max| length > *max) {
            (
                "too_long",
                format!(
                    "List should have at most {} after validation, not {length}",
                    counted(max, "item")
                ),
            )
        } else {
            return;
        };
        self.fail(misfit.0, &misfit.1, value, at);
    }

    fn object(&mut self, object: &Object, value: &mut Value, at: &Path<'_>) {
        let top = matches!(at, Path::Root);
        let Some(map) = value.as_object_mut() else {
            let arguments = top && self.options.unknown == Unknown::Forbid;
            let (kind, msg) = if object.properties.is_empty() || arguments {
                ("dict_type", "Input should be a valid dictionary")
            } else {
                ("model_type", "Input should be an object")
            };
            return self.fail(kind, msg, value, at);
        };
        if self.options.markers && !self.unmarked(object, map, at) {
            return;
        }
        let mut known = 0;
        for (key, property) in &object.properties {
            match map.get_mut(key) {
                Some(field) => {
                    known += 1;
                    self.node(property.node, field, &Path::Key(at, key));
                }
                None if property.required => {
                    self.errors.push_with(|| FieldError {
                        kind: "missing",
                        loc: Path::Key(at, key).to_loc(),
                        msg: "Field required".into(),
                        input: Value::Object(map.clone()),
                    });
                }
                None => {}
            }
        }
        if known < map.len() {
            self.rest(object, map, at);
        }
    }

    /// Deals with keys that are no properties.
    fn rest(&mut self, object: &Object, map: &mut Map<String, Value>, at: &Path<'_>) {
        let top = matches!(at, Path::Root);
        let unsaid = match self.options.unknown {
            Unknown::Forbid if top => Unknown::Forbid,
            Unknown::Forbid | Unknown::Drop if object.properties.is_empty() && !top => {
                Unknown::Keep
            }
            Unknown::Forbid | Unknown::Drop => Unknown::Drop,
            Unknown::Keep => Unknown::Keep,
        };
        map.retain(|key, field| {
            if object.properties.contains_key(key) {
                return true;
            }
            let here = Path::Key(at, key);
            match object.rest {
                Rest::Values(node) => {
                    self.node(node, field, &here);
                    return true;
                }
                Rest::Unsaid if unsaid == Unknown::Keep => {
                    self.any(field, &here);
                    return true;
                }
                Rest::Unsaid if unsaid == Unknown::Drop => self.any(field, &here),
                Rest::Unsaid | Rest::Forbidden => {
                    let msg = "Extra inputs are not permitted";
                    self.fail("extra_forbidden", msg, field, &here);
                }
            }
            false
        });
    }

    fn union(&mut self, branches: &[Branch], value: &mut Value, at: &Path<'_>) {
        if let Some(node) = self.best_exact(branches, value) {
            return self.node(node, value, at);
        }
        let weight = weight(value);
        if self.trials == 0 {
            self.allowance = TRIAL_ALLOWANCE.saturating_add(weight.saturating_mul(TRIAL_PASSES));
        } else if self.trials >= MAX_TRIALS || self.allowance < weight {
            return self.fail("value_error", "Input is too ambiguous", value, at);
        }
        self.trials += 1;
        let before = std::mem::take(&mut self.errors);
        let mut misfits = Errors::default();
        for branch in branches {
            if self.trials > 1 {
                self.allowance = self.allowance.saturating_sub(weight);
            }
            let mut trial = value.clone();
            self.node(branch.node, &mut trial, at);
            if self.fatal.is_some() {
                break;
            }
            let mut found = std::mem::take(&mut self.errors);
            if found.is_empty() {
                *value = trial;
                misfits = Errors::default();
                break;
            }
            let position = at.to_loc().len();
            for error in found.iter_mut() {
                error.loc.insert(position.min(error.loc.len()), Loc::Key(branch.name.clone()));
            }
            misfits.append(found);
        }
        self.trials -= 1;
        self.errors = before;
        self.errors.append(misfits);
    }

    /// A free map: its escape, if any, stays; what it holds is read.
    fn free_map(&mut self, value: &mut Value, at: &Path<'_>) {
        if !value.is_object() {
            return self.fail("dict_type", "Input should be a valid dictionary", value, at);
        }
        let Some(map) = value.as_object_mut() else {
            return;
        };
        if !self.options.markers {
            return;
        }
        if escaped_pairs(map).is_some() {
            return self.any(value, at);
        }
        if super::marker::reserved(map).is_some() {
            return self.fail("dict_type", "Input should be a valid dictionary", value, at);
        }
        for (key, field) in map.iter_mut() {
            self.any(field, &Path::Key(at, key));
        }
    }
}

/// The pairs of a map that was escaped because of a reserved key.
pub(super) fn escaped_pairs(map: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    if map.len() != 1 {
        return None;
    }
    let pairs = map.get_mut(DICT_KEY)?.as_array_mut()?;
    let is_pair = |pair: &Value| {
        pair.as_array()
            .is_some_and(|pair| pair.len() == 2 && pair.first().is_some_and(Value::is_string))
    };
    pairs.iter().all(is_pair).then_some(pairs)
}

/// How much work a copy of a value is.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => items.iter().map(weight).fold(1, usize::saturating_add),
        Value::Object(map) => map.values().map(weight).fold(1, usize::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// The first of all items that are equal, in order.
fn distinct(items: Vec<Value>) -> Vec<Value> {
    let seen: HashSet<&Value> = HashSet::with_capacity(items.len());
    let first = items.iter().scan(seen, |seen, item| Some(seen.insert(item)));
    let first: Vec<bool> = first.collect();
    items.into_iter().zip(first).filter_map(|(item, first)| first.then_some(item)).collect()
}

/// Whether two values are equal, an integral float counting as the integer.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        _ => left == right,
    }
}

fn expected(values: &[Value]) -> String {
    let mut text = String::from("Input should be ");
    for (index, value) in values.iter().enumerate() {
        match index {
            0 => {}
            last if last + 1 == values.len() => text.push_str(" or "),
            _ => text.push_str(", "),
        }
        let _ = match value {
            Value::String(name) => write!(text, "'{name}'"),
            other => write!(text, "{other}"),
        };
    }
    text
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;
    use crate::coerce::coerce;

    fn quickly<T>(work: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let result = work();
        assert!(before.elapsed() < Duration::from_secs(10), "took {:?}", before.elapsed());
        result
    }

    #[test]
    fn unknown_keys_are_left_out_in_one_pass() {
        let fields = (0..100_000).map(|index| (index.to_string(), json!(index)));
        let value = Value::Object(fields.chain([("a".to_owned(), json!("1"))]).collect());
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let kept = quickly(|| coerce(&schema, value.clone(), Options::RECORD));
        assert_eq!(kept, Ok(json!({"a": 1})));
        let errors = quickly(|| coerce(&schema, value, Options::ARGUMENTS)).unwrap_err();
        assert_eq!(errors.len(), 101);
        assert_eq!(errors[0].loc, [Loc::Key("0".into())]);
        assert_eq!(errors[100].msg, "99900 more errors are left out");
        assert!(errors[100].loc.is_empty());
    }

    #[test]
    fn unique_items_are_found_in_one_pass() {
        let items: Vec<Value> = (0..200_000).map(|index| json!({"n": index % 100_000})).collect();
        let schema = json!({"type": "array", "uniqueItems": true});
        let kept = quickly(|| coerce(&schema, items.into(), Options::RECORD)).unwrap();
        assert_eq!(kept.as_array().map(Vec::len), Some(100_000));
        assert_eq!(kept[1], json!({"n": 1}));
    }

    /// A list of unions of themselves, with as many branches as given.
    fn tree(branches: usize) -> Value {
        let branch = |index: usize| {
            json!({
                "type": "object",
                "properties": {
                    "name": {"const": index},
                    "left": {"$ref": "#/$defs/tree"},
                    "right": {"$ref": "#/$defs/tree"},
                },
                "required": ["name"],
            })
        };
        let branches: Vec<Value> = (0..branches).map(branch).collect();
        json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"anyOf": branches}}})
    }

    #[test]
    fn unions_of_themselves_cost_a_bounded_number_of_trials() {
        let mut value = json!({"name": "nobody"});
        for _ in 0..8 {
            value = json!({"name": "nobody", "left": value, "right": value});
        }
        let schema = tree(20);
        let errors = quickly(|| coerce(&schema, value, Options::RECORD)).unwrap_err();
        assert!(errors.len() <= 101, "{}", errors.len());
    }

    #[test]
    fn unions_side_by_side_are_all_read() {
        let schema = json!({"type": "array", "items": {"anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
             "required": ["b"]},
        ]}});
        let items: Value = (0..50_000).map(|index| json!({"b": index.to_string()})).collect();
        let read = quickly(|| coerce(&schema, items, Options::RECORD)).unwrap();
        assert_eq!(read[49_999], json!({"b": 49_999}));
    }
}
