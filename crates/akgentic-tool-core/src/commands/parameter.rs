//! The parameters of a command, compiled from its schema for reading words.

use std::fmt::Write as _;

use akgentic_core::coerce::{Coercer, Options, scalar};
use serde_json::{Map, Value};

use super::binder::BoundValue;
use crate::events::CommandArg;
use crate::schema::resolved;

/// One parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) required: bool,
    reader: Reader,
    /// What it takes, in words.
    pub(super) takes: String,
    /// The same in one word, for usage lines.
    pub(super) placeholder: &'static str,
    arg: CommandArg,
}

/// How a word becomes a value.
#[derive(Debug)]
enum Reader {
    /// As it stands.
    Text,
    /// A number that may be infinite, which JSON cannot say.
    Float(Coercer),
    /// By the schema.
    Scalar(Coercer),
    /// By the schema, as JSON text.
    Json(Coercer),
}

impl Parameter {
    /// The parameters of an argument schema, in order.
    pub(super) fn all_of(schema: &Value) -> Vec<Self> {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let properties = schema.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, property)| Self::new(name, property, schema, is_required(name)))
            .collect()
    }

    fn new(name: &str, property: &Value, document: &Value, required: bool) -> Self {
        let shape = Shape::of(document, property);
        let coercer = || Coercer::new(&standalone(property, document));
        let reader = match shape.value {
            Some("string") if shape.is_plain => Reader::Text,
            None if shape.is_plain && shape.is_any => Reader::Text,
            Some("number") => Reader::Float(coercer()),
            Some("object" | "array") => Reader::Json(coercer()),
            _ => Reader::Scalar(coercer()),
        };
        let description = property.get("description").and_then(Value::as_str).map(str::to_owned);
        let arg = CommandArg {
            name: name.to_owned(),
            kind: shape.declared.unwrap_or("string").to_owned(),
            required,
            description,
            value_type: shape.nullable.then(|| shape.value.unwrap_or("string").to_owned()),
            nullable: shape.nullable.then_some(true),
        };
        Self {
            name: name.to_owned(),
            required,
            reader,
            takes: shape.takes(),
            placeholder: shape.placeholder(),
            arg,
        }
    }

    pub(super) fn arg(&self) -> &CommandArg {
        &self.arg
    }

    /// The value a word stands for.
    pub(super) fn read(&self, word: &str) -> Option<BoundValue> {
        let text = || Value::String(word.to_owned());
        let by_schema = |coercer: &Coercer, value: Value| {
            coercer.coerce(value, Options::ARGUMENTS).ok().map(BoundValue::Json)
        };
        match &self.reader {
            Reader::Text => Some(BoundValue::Json(text())),
            Reader::Float(coercer) => {
                let float = scalar::float_from_text(word)?;
                if float.is_finite() {
                    by_schema(coercer, Value::from(float))
                } else {
                    Some(BoundValue::Float(float))
                }
            }
            Reader::Scalar(coercer) => by_schema(coercer, text()),
            Reader::Json(coercer) => {
                let value: Value = serde_json::from_str(word).ok()?;
                let is_container = value.is_object() || value.is_array();
                is_container.then(|| by_schema(coercer, value)).flatten()
            }
        }
    }
}

/// What a property accepts, as far as words about it need.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Shape<'s> {
    /// The single JSON type the schema declares.
    declared: Option<&'s str>,
    /// The single JSON type, null left aside.
    value: Option<&'s str>,
    nullable: bool,
    choices: Vec<&'s Value>,
    is_uuid: bool,
    /// Whether nothing but the type restricts it.
    is_plain: bool,
    is_any: bool,
}

impl<'s> Shape<'s> {
    fn of(document: &'s Value, property: &'s Value) -> Self {
        let schema = resolved(document, property);
        let mut shape = Self {
            declared: schema.get("type").and_then(Value::as_str),
            value: None,
            nullable: false,
            choices: Vec::new(),
            is_uuid: false,
            is_plain: true,
            is_any: false,
        };
        let mut kinds = Vec::new();
        shape.collect(document, schema, &mut kinds, 0);
        kinds.dedup();
        if let [kind] = kinds.as_slice() {
            shape.value = Some(kind);
        }
        shape.is_any = kinds.is_empty() && shape.choices.is_empty();
        shape
    }

    fn collect(
        &mut self,
        document: &'s Value,
        schema: &'s Value,
        kinds: &mut Vec<&'s str>,
        depth: u8,
    ) {
        let schema = resolved(document, schema);
        for keyword in ["pattern", "minLength", "maxLength", "format", "const", "enum"] {
            if schema.get(keyword).is_some() {
                self.is_plain = false;
            }
        }
        self.is_uuid |= schema.get("format").is_some_and(|format| format == "uuid");
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        for choice in listed.chain(schema.get("const")) {
            if choice.is_null() {
                self.nullable = true;
            } else {
                self.choices.push(choice);
            }
        }
        for branches in ["anyOf", "oneOf", "allOf"] {
            let branches = schema.get(branches).and_then(Value::as_array);
            for branch in branches.into_iter().flatten() {
                if depth < 8 {
                    self.collect(document, branch, kinds, depth + 1);
                }
            }
        }
        let declared = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for kind in declared {
            if kind == "null" {
                self.nullable = true;
            } else if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }

    fn takes(&self) -> String {
        if !self.choices.is_empty() {
            let mut text = "one of".to_owned();
            for (index, choice) in self.choices.iter().enumerate() {
                let separator = if index == 0 { " " } else { ", " };
                let _infallible = match choice {
                    Value::String(choice) => write!(text, "{separator}{choice}"),
                    other => write!(text, "{separator}{other}"),
                };
            }
            return text;
        }
        match self.value {
            Some("string") if self.is_uuid => "a UUID",
            Some("string") => "a text",
            Some("integer") => "an integer",
            Some("number") => "a number",
            Some("boolean") => "true or false",
            Some("array") => "a list, written as JSON text",
            Some("object") => "an object, written as JSON text",
            _ => "a value",
        }
        .to_owned()
    }

    fn placeholder(&self) -> &'static str {
        if !self.choices.is_empty() {
            return "choice";
        }
        match self.value {
            Some("string") if self.is_uuid => "uuid",
            Some("string") => "text",
            Some("integer") => "integer",
            Some("number") => "number",
            Some("boolean") => "true|false",
            Some("array") => "JSON list",
            Some("object") => "JSON object",
            _ => "value",
        }
    }
}

/// A property's schema as a document of its own.
fn standalone(property: &Value, document: &Value) -> Value {
    let mut schema = match property {
        Value::Object(map) => map.clone(),
        // Anything goes.
        _ => Map::new(),
    };
    for shared in ["$defs", "definitions"] {
        if let Some(definitions) = document.get(shared) {
            schema.insert(shared.to_owned(), definitions.clone());
        }
    }
    Value::Object(schema)
}
