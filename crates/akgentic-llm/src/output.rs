//! What a run produces: text, or a value of a schema.

use std::fmt;
use std::sync::Arc;

use akgentic_core::coerce::{Coercer, Options, Unknown};
use akgentic_tool_core::ToolDefinition;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::feedback::ValidationError;
use crate::merge::{Mergeable, Merging};
use crate::part::ToolArgs;

/// Name of the output tool.
pub const OUTPUT_TOOL: &str = "final_result";

/// How structured output is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// Plain text.
    Text,
    /// The provider holds the model to the schema.
    Native,
    /// The model calls the tool [`OUTPUT_TOOL`].
    Tool,
}

/// What a run is to produce.
#[derive(Clone, Debug, Default)]
pub struct OutputSpec {
    schema: Option<Arc<OutputSchema>>,
    mode: Option<OutputMode>,
}

impl OutputSpec {
    /// Plain text.
    pub fn text() -> Self {
        Self::default()
    }

    /// A value of type `T`; read it with [`Output::parse`].
    ///
    /// The schema comes from `T`: doc comments become descriptions, serde defaults become
    /// defaults, keys the type does not know are ignored. A type that is no object is wrapped into
    /// one with the single key `response`, and unwrapped again.
    pub fn of<T: DeserializeOwned + JsonSchema>() -> Self {
        let schema = schemars::schema_for!(T).to_value();
        let fits =
            |value: &Value| T::deserialize(value).map(drop).map_err(|error| error.to_string());
        Self {
            schema: Some(Arc::new(OutputSchema::new(&T::schema_name(), schema, Arc::new(fits)))),
            mode: None,
        }
    }

    /// A value of type `T` like [`OutputSpec::of`] gives; several objects in one text are merged
    /// into one, and what cannot be read is explained in the words of the type.
    pub fn mergeable<T: Mergeable + 'static>() -> Self {
        let mut spec = Self::of::<T>();
        // nobody else has it yet
        if let Some(schema) = spec.schema.as_mut().and_then(Arc::get_mut) {
            schema.merging = Some(Merging::of::<T>());
        }
        spec
    }

    /// A value of a schema that is data.
    pub fn from_schema(name: &str, schema: Value) -> Self {
        let schema = OutputSchema::new(name, schema, Arc::new(|_| Ok(())));
        Self { schema: Some(Arc::new(schema)), mode: None }
    }

    /// The same output, asked for in this way whatever the model can do. Plain text stays text.
    #[must_use]
    pub fn with_mode(mut self, mode: OutputMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The schema; `None` for plain text.
    pub fn schema(&self) -> Option<&Arc<OutputSchema>> {
        self.schema.as_ref()
    }

    /// How it is asked for from a model that can, or cannot, be held to a schema.
    pub fn resolve_mode(&self, native_output: bool) -> OutputMode {
        match (&self.schema, self.mode) {
            (None, _) => OutputMode::Text,
            (Some(_), Some(mode)) => mode,
            (Some(_), None) if native_output => OutputMode::Native,
            (Some(_), None) => OutputMode::Tool,
        }
    }
}

type Fits = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// The schema of structured output.
pub struct OutputSchema {
    /// Name of the type.
    pub name: String,
    /// What the type says about itself.
    pub description: Option<String>,
    /// The JSON schema, an object.
    pub schema: Value,
    wrapped: bool,
    coercer: Coercer,
    fits: Fits,
    merging: Option<Merging>,
}

impl OutputSchema {
    fn new(name: &str, mut schema: Value, fits: Fits) -> Self {
        let root = schema.as_object_mut();
        let description = root
            .and_then(|root| root.shift_remove("description"))
            .and_then(|text| text.as_str().map(str::to_owned));
        let wrapped = schema.get("type").and_then(Value::as_str) != Some("object")
            && schema.get("$ref").is_none()
            && schema.get("oneOf").is_none()
            && schema.get("anyOf").is_none();
        if wrapped {
            schema = wrap(schema);
        }
        let coercer = Coercer::new(&schema);
        Self { name: name.to_owned(), description, schema, wrapped, coercer, fits, merging: None }
    }

    /// The output as a tool the model can call.
    pub fn as_tool(&self) -> ToolDefinition {
        let description = self.description.clone();
        ToolDefinition {
            name: OUTPUT_TOOL.to_owned(),
            description: description.unwrap_or_else(|| OUTPUT_TOOL_DESCRIPTION.to_owned()),
            parameters: self.schema.clone(),
        }
    }

    /// Reads text of the model: a Markdown fence around an object is dropped, then it must be JSON
    /// of the schema.
    pub fn read_text(&self, text: &str) -> Result<Value, Vec<ValidationError>> {
        let text = strip_fence(text);
        let value = serde_json::from_str(text)
            .map_err(|error| vec![ValidationError::invalid_json(text, &error)])?;
        self.read(value)
    }

    /// Reads the arguments of a call of the output tool.
    pub fn read_args(&self, args: &ToolArgs) -> Result<Value, Vec<ValidationError>> {
        let value = args
            .parse()
            .map_err(|error| vec![ValidationError::invalid_json(&args.to_text(), &error)])?;
        self.read(value)
    }

    /// The objects written back to back in a text, merged into one; `None` when there are not
    /// several, when one of them does not fit, or when the type does not merge.
    pub fn merged(&self, text: &str) -> Option<String> {
        let merging = self.merging.as_ref().filter(|_| !self.wrapped)?;
        let objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let read = objects.map(|object| {
            let object = object.ok().filter(Value::is_object)?;
            self.read(object).ok()
        });
        let objects: Vec<Value> = read.collect::<Option<_>>()?;
        if objects.len() < 2 {
            return None;
        }
        (merging.merge)(objects).map(|merged| merged.to_string())
    }

    /// What a model is told about output that does not fit, when the type has words of its own.
    pub(crate) fn unreadable(&self, errors: &[ValidationError]) -> Option<String> {
        self.merging.as_ref().map(|merging| (merging.unreadable)(errors))
    }

    /// The value as a model has to give it.
    pub(crate) fn wrap_value(&self, value: Value) -> Value {
        if self.wrapped { json!({(WRAPPED): value}) } else { value }
    }

    fn read(&self, value: Value) -> Result<Value, Vec<ValidationError>> {
        let mut value = self
            .coercer
            .coerce(value, Options { unknown: Unknown::Drop, markers: false })
            .map_err(|errors| errors.into_iter().map(ValidationError::from).collect::<Vec<_>>())?;
        if self.wrapped {
            value = value.get_mut(WRAPPED).map(Value::take).unwrap_or_default();
        }
        match (self.fits)(&value) {
            Ok(()) => Ok(value),
            Err(message) => Err(vec![ValidationError::value(value, &message)]),
        }
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputSchema").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a run produced.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Plain text.
    Text(String),
    /// A value that passed its schema.
    Json(Value),
}

impl Output {
    /// The text: plain text as it is, a value as compact JSON.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) => value.to_string(),
        }
    }

    /// The value as the type the run was asked for.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        match self {
            Self::Text(text) => serde_json::from_value(Value::String(text.clone())),
            Self::Json(value) => T::deserialize(value),
        }
    }

    /// Whether there is nothing in it: null, or text of blanks.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Json(value) => value.is_null(),
        }
    }
}

const WRAPPED: &str = "response";

const OUTPUT_TOOL_DESCRIPTION: &str =
    "Call this with the final answer; it ends the task, so call it once everything else is done.";

fn wrap(mut inner: Value) -> Value {
    let definitions = inner.as_object_mut().and_then(|inner| inner.shift_remove("$defs"));
    if let Some(inner) = inner.as_object_mut() {
        inner.shift_remove("$schema");
    }
    let mut outer = json!({
        "type": "object",
        "properties": {(WRAPPED): inner},
        "required": [WRAPPED],
    });
    if let (Some(outer), Some(definitions)) = (outer.as_object_mut(), definitions) {
        outer.insert("$defs".to_owned(), definitions);
    }
    outer
}

/// The object inside a Markdown fence, or the text as it is.
///
/// Text that starts with `{` is never touched. Otherwise the first opening fence (three
/// backticks, a word, a line break) that is followed by an object counts, up to the first closing
/// brace after which the fence or the text ends.
pub fn strip_fence(text: &str) -> &str {
    if text.starts_with('{') {
        return text;
    }
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```") {
        let info = after.trim_start_matches(|next: char| next.is_alphanumeric() || next == '_');
        let body = info.strip_prefix("\r\n").or_else(|| info.strip_prefix('\n'));
        if let Some(body) = body.filter(|body| body.starts_with('{')) {
            // a brace that ends a later object ends this one too: no use in looking again
            return fenced_object(body).unwrap_or(text);
        }
        rest = after;
    }
    text
}

fn fenced_object(body: &str) -> Option<&str> {
    body.match_indices('}').find_map(|(index, _)| {
        let (object, after) = body.split_at_checked(index + 1)?;
        let after = after.trim_start();
        (after.is_empty() || after.starts_with("```")).then_some(object)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn an_endless_row_of_fences_is_read_once() {
        let hostile = "```\n{}x".repeat(200_000);
        let before = Instant::now();
        assert_eq!(strip_fence(&hostile).len(), hostile.len());
        assert!(before.elapsed().as_secs() < 5);
        let closed = format!("{hostile}\n```\n{{}}\n```");
        assert!(strip_fence(&closed).starts_with("{}x```"));
    }

    #[test]
    fn the_first_object_in_a_fence_counts() {
        assert_eq!(strip_fence("a ```json\nx``` ```json\n{\"a\": {}}\n``` b"), "{\"a\": {}}");
        assert_eq!(strip_fence("```\n{}x"), "```\n{}x");
    }
}
