//! Writing maps of users so that none of their keys is taken for a marker.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Coercer;
use super::node::{Node, NodeId, Object, Rest, Tree};
use crate::wire::{DICT_KEY, is_reserved_key};

impl Coercer {
    /// Escapes every map of the schema's own that holds a reserved key.
    ///
    /// Records and free maps inside are left alone: they see to it themselves.
    pub(crate) fn escape_maps(&self, value: &mut Value) {
        if !self.has_maps {
            return;
        }
        // Several branches of a union may describe one map, which is escaped once.
        let mut found = Found::new();
        find(&self.tree, self.tree.root, value, false, &mut found);
        if !found.is_empty() {
            escape(value, &found);
        }
    }
}

/// Where the maps stand that are to be escaped.
type Found = HashSet<*const Map<String, Value>>;

/// Whether any position is a map with keys of the user's choice.
pub(super) fn has_maps(tree: &Tree) -> bool {
    tree.nodes.iter().any(|node| matches!(node, Node::Object(object) if is_map(object)))
}

fn is_map(object: &Object) -> bool {
    object.properties.is_empty() && matches!(object.rest, Rest::Values(_))
}

fn find(tree: &Tree, id: NodeId, value: &Value, ambiguous: bool, found: &mut Found) {
    match (tree.nodes.get(id), value) {
        (Some(Node::Same(next) | Node::Nullable(next)), value) => {
            find(tree, *next, value, ambiguous, found);
        }
        (Some(Node::Union(branches)), Value::Object(_) | Value::Array(_)) => {
            // A marker may be the doing of another branch.
            let marked = branches.iter().any(|branch| writes_markers(tree, branch.node));
            for branch in branches {
                find(tree, branch.node, value, ambiguous || marked, found);
            }
        }
        (Some(Node::List(list)), Value::Array(items)) => {
            let rest = std::iter::repeat(list.items);
            let nodes = list.prefix.iter().copied().map(Some).chain(rest);
            for (item, node) in items.iter().zip(nodes) {
                if let Some(node) = node {
                    find(tree, node, item, ambiguous, found);
                }
            }
        }
        (Some(Node::Object(object)), Value::Object(map)) => {
            for (key, field) in map {
                match (object.properties.get(key), object.rest) {
                    (Some(property), _) => find(tree, property.node, field, ambiguous, found),
                    (None, Rest::Values(node)) => find(tree, node, field, ambiguous, found),
                    (None, Rest::Unsaid | Rest::Forbidden) => {}
                }
            }
            if !ambiguous && is_map(object) && map.keys().any(|key| is_reserved_key(key)) {
                found.insert(std::ptr::from_ref(map));
            }
        }
        _ => {}
    }
}

/// Escapes what was found, the innermost first: a map stays where it is until its own turn.
fn escape(value: &mut Value, found: &Found) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(|field| escape(field, found));
            if found.contains(&std::ptr::from_ref(map)) {
                escape_map(map);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| escape(item, found)),
        _ => {}
    }
}

/// Whether a value of this node may be written with a marker of its own.
fn writes_markers(tree: &Tree, id: NodeId) -> bool {
    match tree.nodes.get(id) {
        Some(Node::Same(next) | Node::Nullable(next)) => writes_markers(tree, *next),
        Some(Node::Union(branches)) => {
            branches.iter().any(|branch| writes_markers(tree, branch.node))
        }
        Some(
            Node::Any
            | Node::Opaque
            | Node::Family { .. }
            | Node::FreeMap
            | Node::Address
            | Node::Type
            | Node::Class,
        ) => true,
        Some(Node::Object(object)) => object.properties.keys().any(|key| is_reserved_key(key)),
        _ => false,
    }
}

fn escape_map(map: &mut Map<String, Value>) {
    let pairs = std::mem::take(map).into_iter();
    let pairs = pairs.map(|(key, value)| Value::Array(vec![Value::String(key), value])).collect();
    map.insert(DICT_KEY.to_owned(), Value::Array(pairs));
}
