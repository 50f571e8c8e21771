//! A JSON schema compiled for repeated use.

use indexmap::IndexMap;
use serde_json::Value;

/// Index of a node in its [`Tree`].
pub(super) type NodeId = usize;

/// Nodes by index, so that recursive schemas need no pointers.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

impl Tree {
    /// A schema of one position.
    pub(super) fn of(node: Node) -> Self {
        Self { nodes: vec![node], root: 0 }
    }
}

/// What one position accepts.
#[derive(Debug)]
pub(super) enum Node {
    /// Anything; markers are followed when the options say so.
    Any,
    /// Anything, left as it is; the type reads it itself, markers of its own included.
    Opaque,
    /// Nothing.
    Never,
    Null,
    Bool,
    Int(Range),
    Float(Range),
    Text(Text),
    /// One of these values.
    OneOf(Vec<Value>),
    List(List),
    Object(Box<Object>),
    Nullable(NodeId),
    Union(Vec<Branch>),
    /// The same as another node: a recursive reference.
    Same(NodeId),
    /// A value of a registered type of this family.
    Family {
        kind: crate::wire::Kind,
        default: Option<String>,
    },
    /// A free map that is written with escaped reserved keys.
    FreeMap,
    Address,
    /// A reference to a class.
    Type,
    /// A class named by text or by reference.
    Class,
}

#[derive(Debug, Default)]
pub(super) struct Range {
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: Option<f64>,
    pub(super) multiple_of: Option<f64>,
    /// Whether integers above `i64::MAX` fit.
    pub(super) unsigned: bool,
}

#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) format: Format,
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
    pub(super) pattern: Option<regex::Regex>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    #[default]
    Plain,
    Uuid,
    DateTime,
}

#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) prefix: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
    pub(super) unique: bool,
}

#[derive(Debug)]
pub(super) struct Object {
    /// Name of the type, a marker when it is a registered path.
    pub(super) name: Option<String>,
    pub(super) properties: IndexMap<String, Property>,
    pub(super) rest: Rest,
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) node: NodeId,
    pub(super) required: bool,
}

/// What becomes of keys that are no properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// The schema does not say.
    Unsaid,
    Forbidden,
    Values(NodeId),
}

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) name: String,
    pub(super) node: NodeId,
}
