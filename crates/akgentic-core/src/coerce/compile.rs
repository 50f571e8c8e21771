//! From a JSON schema to nodes.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::EXTENSION;
use super::node::{Branch, Format, List, Node, NodeId, Object, Property, Range, Rest, Text, Tree};
use crate::wire::Kind;

impl Tree {
    pub(super) fn compile(schema: &Value) -> Self {
        let mut compiler = Compiler { document: schema, nodes: Vec::new(), known: IndexMap::new() };
        let root = compiler.reference("#", None);
        Self { nodes: compiler.nodes, root }
    }
}

struct Compiler<'s> {
    document: &'s Value,
    nodes: Vec<Node>,
    known: IndexMap<String, NodeId>,
}

impl<'s> Compiler<'s> {
    /// The node of a referenced schema, compiled on first use.
    fn reference(&mut self, pointer: &str, name: Option<&str>) -> NodeId {
        if let Some(&known) = self.known.get(pointer) {
            return known;
        }
        let id = self.add(Node::Any);
        self.known.insert(pointer.to_owned(), id);
        let document = self.document;
        let target = match pointer.strip_prefix('#') {
            Some(path) => document.pointer(&percent_decoded(path)),
            None => None,
        };
        if let Some(schema) = target {
            let compiled = self.schema(schema, name);
            self.nodes[id] = Node::Same(compiled);
        } else {
            tracing::warn!(pointer, "a schema reference leads nowhere; anything is accepted");
        }
        id
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn schema(&mut self, schema: &'s Value, name: Option<&str>) -> NodeId {
        let Some(map) = schema.as_object() else {
            let node = if schema == &Value::Bool(false) { Node::Never } else { Node::Any };
            return self.add(node);
        };
        if let Some(node) = extension(map) {
            let node = self.add(node);
            return if allows_null(map) { self.add(Node::Nullable(node)) } else { node };
        }
        if let Some(pointer) = map.get("$ref").and_then(Value::as_str) {
            let name = pointer.rsplit('/').next().map(percent_decoded);
            return self.reference(pointer, name.as_deref());
        }
        if let Some(value) = map.get("const") {
            return self.add(Node::OneOf(vec![value.clone()]));
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return self.one_of(values.iter().collect());
        }
        let has_fields = map.contains_key("properties");
        let branches = map.get("anyOf").or_else(|| map.get("oneOf")).and_then(Value::as_array);
        if let (Some(branches), false) = (branches, has_fields) {
            return self.union(branches);
        }
        if let (Some(parts), false) = (map.get("allOf").and_then(Value::as_array), has_fields) {
            return self.all_of(parts, name);
        }
        match map.get("type") {
            Some(Value::String(kind)) => self.typed(kind, map, name),
            Some(Value::Array(kinds)) => {
                let mut nullable = false;
                let mut nodes = Vec::new();
                for kind in kinds.iter().filter_map(Value::as_str) {
                    if kind == "null" {
                        nullable = true;
                    } else {
                        let node = self.typed(kind, map, name);
                        nodes.push(Branch { name: python_name(kind).to_owned(), node });
                    }
                }
                self.alternatives(nodes, nullable)
            }
            _ if has_fields || map.contains_key("additionalProperties") => {
                self.typed("object", map, name)
            }
            _ if map.contains_key("items") || map.contains_key("prefixItems") => {
                self.typed("array", map, name)
            }
            _ => self.add(Node::Any),
        }
    }

    fn typed(&mut self, kind: &str, map: &'s Map<String, Value>, name: Option<&str>) -> NodeId {
        let node = match kind {
            "null" => Node::Null,
            "boolean" => Node::Bool,
            "integer" => Node::Int(range(map)),
            "number" => Node::Float(range(map)),
            "string" => Node::Text(text(map)),
            "array" => self.list(map),
            "object" => self.object(map, name),
            _ => Node::Any,
        };
        self.add(node)
    }

    fn list(&mut self, map: &'s Map<String, Value>) -> Node {
        let prefix = map.get("prefixItems").and_then(Value::as_array);
        let prefix = prefix.into_iter().flatten().map(|schema| self.schema(schema, None)).collect();
        let items = map.get("items").map(|schema| self.schema(schema, None));
        Node::List(List {
            prefix,
            items,
            min: size(map, "minItems"),
            max: size(map, "maxItems"),
            unique: map.get("uniqueItems") == Some(&Value::Bool(true)),
        })
    }

    fn object(&mut self, map: &'s Map<String, Value>, name: Option<&str>) -> Node {
        let required = map.get("required").and_then(Value::as_array);
        let is_required =
            |key: &str| required.is_some_and(|keys| keys.iter().any(|known| known == key));
        let mut properties = IndexMap::new();
        for (key, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let node = self.schema(schema, None);
            properties.insert(key.clone(), Property { node, required: is_required(key) });
        }
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            if !properties.contains_key(key) {
                let node = self.add(Node::Any);
                properties.insert(key.to_owned(), Property { node, required: true });
            }
        }
        let open =
            map.contains_key("anyOf") || map.contains_key("oneOf") || map.contains_key("allOf");
        let rest = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => Rest::Forbidden,
            Some(schema) => Rest::Values(self.schema(schema, None)),
            None if open => Rest::Values(self.add(Node::Any)),
            None => Rest::Unsaid,
        };
        let title = || map.get("title").and_then(Value::as_str);
        let name = name.or_else(title).map(str::to_owned);
        Node::Object(Box::new(Object { name, properties, rest }))
    }

    fn one_of(&mut self, values: Vec<&Value>) -> NodeId {
        let nullable = values.iter().any(|value| value.is_null());
        let values = values.into_iter().filter(|value| !value.is_null()).cloned().collect();
        let node = self.add(Node::OneOf(values));
        if nullable { self.add(Node::Nullable(node)) } else { node }
    }

    fn union(&mut self, schemas: &'s [Value]) -> NodeId {
        let constants: Option<Vec<&Value>> =
            schemas.iter().map(|schema| schema.get("const")).collect();
        if let Some(values) = constants.filter(|values| !values.is_empty()) {
            return self.one_of(values);
        }
        let mut nullable = false;
        let mut branches = Vec::new();
        for schema in schemas {
            if schema.get("type").and_then(Value::as_str) == Some("null") {
                nullable = true;
                continue;
            }
            let name = branch_name(schema);
            let node = self.schema(schema, None);
            branches.push(Branch { name, node });
        }
        self.alternatives(branches, nullable)
    }

    fn alternatives(&mut self, mut branches: Vec<Branch>, nullable: bool) -> NodeId {
        let node = match branches.len() {
            0 => self.add(if nullable { Node::Null } else { Node::Never }),
            1 => branches.remove(0).node,
            _ => self.add(Node::Union(branches)),
        };
        if nullable { self.add(Node::Nullable(node)) } else { node }
    }

    /// One part stands for itself; of several the fields are taken together.
    fn all_of(&mut self, parts: &'s [Value], name: Option<&str>) -> NodeId {
        if let [part] = parts {
            return self.schema(part, name);
        }
        let mut properties = IndexMap::new();
        for part in parts {
            let id = self.schema(part, None);
            let Some(Node::Object(object)) = self.followed(id) else {
                return self.add(Node::Any);
            };
            for (key, Property { node, required }) in &object.properties {
                properties.insert(key.clone(), Property { node: *node, required: *required });
            }
        }
        let name = name.map(str::to_owned);
        self.add(Node::Object(Box::new(Object { name, properties, rest: Rest::Unsaid })))
    }

    fn followed(&self, id: NodeId) -> Option<&Node> {
        let mut node = self.nodes.get(id)?;
        for _ in 0..8 {
            match node {
                Node::Same(next) => node = self.nodes.get(*next)?,
                found => return Some(found),
            }
        }
        None
    }
}

fn allows_null(map: &Map<String, Value>) -> bool {
    let kinds = map.get("type").and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
}

/// The node of a position marked with this crate's own schema keyword.
fn extension(map: &Map<String, Value>) -> Option<Node> {
    let extension = map.get(EXTENSION)?;
    if let Some(family) = extension.get("family").and_then(Value::as_str) {
        let kind = Kind::from_name(family)?;
        let default = extension.get("default").and_then(Value::as_str).map(str::to_owned);
        return Some(Node::Family { kind, default });
    }
    match extension.get("value").and_then(Value::as_str)? {
        "any" => Some(Node::Any),
        "opaque" => Some(Node::Opaque),
        "map" => Some(Node::FreeMap),
        "address" => Some(Node::Address),
        "type" => Some(Node::Type),
        "class" => Some(Node::Class),
        _ => None,
    }
}

fn range(map: &Map<String, Value>) -> Range {
    let bound = |key: &str| map.get(key).and_then(Value::as_f64);
    let format = map.get("format").and_then(Value::as_str).unwrap_or_default();
    let by_format = match format {
        "int8" => Some((f64::from(i8::MIN), f64::from(i8::MAX))),
        "int16" => Some((f64::from(i16::MIN), f64::from(i16::MAX))),
        "int32" => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
        "uint8" => Some((0.0, f64::from(u8::MAX))),
        "uint16" => Some((0.0, f64::from(u16::MAX))),
        "uint32" => Some((0.0, f64::from(u32::MAX))),
        _ => None,
    };
    Range {
        minimum: bound("minimum").or(by_format.map(|(low, _)| low)),
        maximum: bound("maximum").or(by_format.map(|(_, high)| high)),
        exclusive_minimum: bound("exclusiveMinimum"),
        exclusive_maximum: bound("exclusiveMaximum"),
        multiple_of: bound("multipleOf").filter(|step| *step > 0.0),
        unsigned: matches!(format, "uint64" | "uint"),
    }
}

fn text(map: &Map<String, Value>) -> Text {
    let format = match map.get("format").and_then(Value::as_str) {
        Some("uuid") => Format::Uuid,
        Some("date-time") => Format::DateTime,
        _ => Format::Plain,
    };
    let pattern = map.get("pattern").and_then(Value::as_str).and_then(|pattern| {
        regex::Regex::new(pattern)
            .inspect_err(|error| tracing::warn!(pattern, %error, "a pattern is not checked"))
            .ok()
    });
    Text { format, min: size(map, "minLength"), max: size(map, "maxLength"), pattern }
}

fn size(map: &Map<String, Value>, key: &str) -> Option<usize> {
    map.get(key).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok())
}

fn branch_name(schema: &Value) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if let Some(reference) = text("$ref") {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    text("title").or_else(|| text("type").map(python_name)).unwrap_or("value").to_owned()
}

fn python_name(kind: &str) -> &str {
    match kind {
        "integer" => "int",
        "number" => "float",
        "string" => "str",
        "boolean" => "bool",
        "array" => "list",
        "object" => "dict",
        other => other,
    }
}

fn percent_decoded(path: &str) -> String {
    if !path.contains('%') {
        return path.to_owned();
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let decoded = (*first == b'%')
            .then(|| tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok()))
            .flatten()
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
