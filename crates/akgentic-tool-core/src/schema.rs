//! JSON schemas of arguments, as a model sees them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The schema of an argument struct: an object that refuses unknown keys.
///
/// Doc comments become descriptions and serde defaults become defaults. Types used inside are
/// written in place unless they are recursive; titles and names of number formats are left out.
///
/// ```
/// use akgentic_tool_core::arguments_schema;
/// use schemars::JsonSchema;
/// use serde_json::json;
///
/// #[derive(JsonSchema)]
/// struct Args {
///     /// Which file.
///     path: String,
/// }
/// assert_eq!(arguments_schema::<Args>(), json!({
///     "type": "object",
///     "properties": {"path": {"type": "string", "description": "Which file."}},
///     "required": ["path"],
///     "additionalProperties": false,
/// }));
/// ```
pub fn arguments_schema<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    simplify(&mut schema);
    match schema {
        Value::Object(map) if map.get("type").is_none_or(|kind| kind == "object") => {
            Value::Object(closed(map))
        }
        // Unit structs and the like take no arguments.
        _ => json!({"type": "object", "properties": {}, "additionalProperties": false}),
    }
}

/// Builds an argument struct from coerced arguments; without any `()` and unit structs are built too.
pub(crate) fn parse_arguments<A: DeserializeOwned>(args: Value) -> serde_json::Result<A> {
    let empty = args.as_object().is_some_and(Map::is_empty);
    serde_json::from_value(args).or_else(|error| no_arguments(empty, error))
}

/// What takes no arguments, when there are none; otherwise the error.
pub(crate) fn no_arguments<A: DeserializeOwned>(
    empty: bool,
    error: serde_json::Error,
) -> serde_json::Result<A> {
    if empty { serde_json::from_value(Value::Null).map_err(|_| error) } else { Err(error) }
}

fn closed(mut map: Map<String, Value>) -> Map<String, Value> {
    map.shift_remove("description");
    map.entry("type").or_insert_with(|| "object".into());
    map.entry("properties").or_insert_with(|| json!({}));
    map.insert("additionalProperties".into(), Value::Bool(false));
    map
}

/// Drops titles and number formats, in schemas only: properties may be named like keywords.
fn simplify(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    map.shift_remove("title");
    bound_by_format(map);
    for (keyword, value) in map.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(schemas)) => {
                schemas.values_mut().for_each(simplify);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(simplify);
            }
            ("items" | "additionalProperties" | "not", schema) => simplify(schema),
            _ => {}
        }
    }
}

/// Says the range of a small integer in numbers instead of by the name of a format.
fn bound_by_format(map: &mut Map<String, Value>) {
    let range = match map.get("format").and_then(Value::as_str) {
        Some("int8") => (Some(i64::from(i8::MIN)), Some(i64::from(i8::MAX))),
        Some("int16") => (Some(i64::from(i16::MIN)), Some(i64::from(i16::MAX))),
        Some("int32") => (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))),
        Some("uint8") => (Some(0), Some(i64::from(u8::MAX))),
        Some("uint16") => (Some(0), Some(i64::from(u16::MAX))),
        Some("uint32") => (Some(0), Some(i64::from(u32::MAX))),
        Some("uint" | "uint64") => (Some(0), None),
        Some("int" | "int64" | "float" | "double") => (None, None),
        _ => return,
    };
    map.shift_remove("format");
    if let Some(minimum) = range.0 {
        map.entry("minimum").or_insert_with(|| minimum.into());
    }
    if let Some(maximum) = range.1 {
        map.entry("maximum").or_insert_with(|| maximum.into());
    }
}

/// The schema with local references followed, a few steps deep.
pub(crate) fn resolved<'s>(document: &'s Value, schema: &'s Value) -> &'s Value {
    let mut current = schema;
    for _ in 0..8 {
        let pointer = current.get("$ref").and_then(Value::as_str);
        match pointer.and_then(|pointer| document.pointer(pointer.strip_prefix('#')?)) {
            Some(target) => current = target,
            None => break,
        }
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Args {
        /// A property that is named like a keyword.
        title: String,
        #[serde(default)]
        count: Option<u8>,
        nested: Vec<Nested>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Nested {
        ratio: f64,
        inner: Option<Box<Nested>>,
    }

    #[test]
    fn titles_and_formats_go_and_properties_stay() {
        let schema = arguments_schema::<Args>();
        assert_eq!(schema["additionalProperties"], false);
        let title = &schema["properties"]["title"];
        assert_eq!(title["description"], "A property that is named like a keyword.");
        let count = &schema["properties"]["count"];
        assert_eq!(count["maximum"], 255);
        assert_eq!(count.get("format"), None);
        assert!(!schema.to_string().contains("double"), "{schema}");
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        let empty = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(arguments_schema::<()>(), empty);
    }
}
