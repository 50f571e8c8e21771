//! Which branch of a union a value fits without any coercion.

use std::collections::HashMap;

use serde_json::Value;

use super::node::{Branch, Format, Node, NodeId, Object, Rest};
use super::walk::{MAX_DEPTH, Walk, same};
use super::{marker, scalar};
use crate::wire::{ADDRESS_KEY, MODEL_KEY, TYPE_KEY, Timestamp, registry};

/// How well a value fits; the greater the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// Whether it has the type itself, not one that reads the same.
    exact: bool,
    /// How many named fields it fills.
    fields: usize,
}

/// Fits of unions inside unions, by node and place of the value, so that none is tried twice.
type Memo = HashMap<(NodeId, usize), Option<Fit>>;

const EXACT: Fit = Fit { exact: true, fields: 0 };
const LOOSE: Fit = Fit { exact: false, fields: 0 };

impl Fit {
    fn and(self, other: Self) -> Self {
        Self { exact: self.exact && other.exact, fields: self.fields + other.fields }
    }
}

impl Walk<'_> {
    /// The branch that `value` fits best as it is; the first of equals.
    pub(super) fn best_exact(&self, branches: &[Branch], value: &Value) -> Option<NodeId> {
        let mut memo = Memo::new();
        let mut best: Option<(Fit, NodeId)> = None;
        for branch in branches {
            if let Some(fit) = self.fit(branch.node, value, self.depth, &mut memo)
                && best.is_none_or(|(known, _)| fit > known)
            {
                best = Some((fit, branch.node));
            }
        }
        best.map(|(_, node)| node)
    }

    fn fit(&self, id: NodeId, value: &Value, depth: usize, memo: &mut Memo) -> Option<Fit> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let mut inner = |id: NodeId, value: &Value| self.fit(id, value, depth + 1, memo);
        match self.tree.nodes.get(id)? {
            Node::Any | Node::Opaque => Some(LOOSE),
            Node::Never => None,
            Node::Null => value.is_null().then_some(EXACT),
            Node::Nullable(_) if value.is_null() => Some(EXACT),
            Node::Same(target) | Node::Nullable(target) => inner(*target, value),
            Node::Bool => value.is_boolean().then_some(EXACT),
            Node::Int(range) => {
                let number = value.as_number().filter(|number| !number.is_f64())?;
                range.misfit(number).is_none().then_some(EXACT)
            }
            Node::Float(range) => {
                let number = value.as_number()?;
                let fit = if number.is_f64() { EXACT } else { LOOSE };
                range.misfit(number).is_none().then_some(fit)
            }
            Node::Text(text) => {
                let found = value.as_str()?;
                let sized = text.min.is_none_or(|min| found.chars().count() >= min)
                    && text.max.is_none_or(|max| found.chars().count() <= max)
                    && text.pattern.as_ref().is_none_or(|pattern| pattern.is_match(found));
                let fit = match text.format {
                    Format::Plain => Some(EXACT),
                    Format::Uuid => scalar::uuid_from_text(found).map(|_| LOOSE),
                    Format::DateTime => Timestamp::parse(found).ok().map(|_| LOOSE),
                };
                fit.filter(|_| sized)
            }
            Node::OneOf(values) => values.iter().any(|known| same(known, value)).then_some(EXACT),
            Node::List(list) => {
                let items = value.as_array()?;
                if list.min.is_some_and(|min| items.len() < min)
                    || list.max.is_some_and(|max| items.len() > max)
                {
                    return None;
                }
                items.iter().enumerate().try_fold(EXACT, |fit, (index, item)| {
                    match list.prefix.get(index).copied().or(list.items) {
                        Some(node) => Some(fit.and(inner(node, item)?)),
                        None => Some(fit),
                    }
                })
            }
            Node::Object(object) => self.fit_object(object, value, depth, memo),
            Node::Union(branches) => {
                let key = (id, std::ptr::from_ref(value).addr());
                if let Some(known) = memo.get(&key) {
                    return *known;
                }
                let fits = branches
                    .iter()
                    .filter_map(|branch| self.fit(branch.node, value, depth + 1, memo));
                let best = fits.max();
                memo.insert(key, best);
                best
            }
            Node::Family { kind, default } => {
                let map = value.as_object()?;
                match marker::model_of(map) {
                    Some(path) => {
                        let entry = registry().get(path)?;
                        (entry.kind() == *kind).then_some(EXACT)
                    }
                    None => default.is_some().then_some(LOOSE),
                }
            }
            Node::FreeMap => value.is_object().then_some(LOOSE),
            Node::Address => value.get(ADDRESS_KEY).map(|_| EXACT),
            Node::Type => value.get(TYPE_KEY).map(|_| EXACT),
            Node::Class => (value.is_string() || value.get(TYPE_KEY).is_some()).then_some(EXACT),
        }
    }

    fn fit_object(
        &self,
        object: &Object,
        value: &Value,
        depth: usize,
        memo: &mut Memo,
    ) -> Option<Fit> {
        let map = value.as_object()?;
        if self.options.markers
            && let Some(path) = marker::model_of(map)
            && !marker::names(object, path)
        {
            return None;
        }
        let mut fit = EXACT;
        let mut known = usize::from(self.options.markers && map.contains_key(MODEL_KEY));
        for (key, property) in &object.properties {
            match map.get(key) {
                Some(field) => {
                    known += 1;
                    fit = fit.and(self.fit(property.node, field, depth + 1, memo)?);
                    fit.fields += 1;
                }
                None if property.required => return None,
                None => {}
            }
        }
        if known < map.len() {
            let mut unknown = map.iter().filter(|(key, _)| !object.properties.contains_key(*key));
            match object.rest {
                Rest::Forbidden => return None,
                Rest::Unsaid => {}
                Rest::Values(node) => {
                    fit = unknown.try_fold(fit, |fit, (_, field)| {
                        Some(fit.and(self.fit(node, field, depth + 1, memo)?))
                    })?;
                }
            }
        }
        Some(fit)
    }
}
