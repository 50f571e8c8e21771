//! Why a reply cannot be used, and how models are told.

use std::fmt;
use std::io;

use akgentic_core::coerce::{FieldError, Loc};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::form::{Form, Written, object, same_in_both};

/// What is retried and how often it may be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RetryInfo {
    /// Why.
    pub cause: RetryCause,
    /// Which attempt failed, from 1.
    pub attempt: u32,
    /// How many failures are allowed.
    pub max_retries: u32,
}

/// Why something is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryCause {
    /// Arguments or an output do not fit their schema.
    ValidationError,
    /// A tool or a hook asks for another try.
    ModelRetry,
    /// The reply held nothing of use.
    NoOutput,
    /// No tool has this name.
    UnknownTool,
    /// The tool exists but cannot be called now.
    UnavailableTool,
}

/// Feedback: one text, or validation errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Feedback {
    /// Text for the model.
    Text(String),
    /// What is wrong, field by field.
    Errors(Vec<ValidationError>),
}

impl Feedback {
    /// The text, or the errors as JSON.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Errors(errors) => errors_json(errors).to_string(),
        }
    }
}

/// One value that does not fit, in the spelling that models get.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationError {
    /// The rule that is broken, such as `missing`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where: keys and indexes from the root.
    pub loc: Vec<Value>,
    /// What is wrong, in words.
    pub msg: String,
    /// The rejected value; the start of it as text when it is long.
    #[serde(default)]
    pub input: Value,
}

impl ValidationError {
    /// A text that is no JSON.
    pub(crate) fn invalid_json(text: &str, error: &serde_json::Error) -> Self {
        Self {
            kind: "json_invalid".to_owned(),
            loc: Vec::new(),
            msg: format!("invalid JSON: {error}"),
            input: shown(Value::from(text)),
        }
    }

    /// A value that passed its schema and still is not what its type wants.
    pub(crate) fn value(input: Value, message: &str) -> Self {
        let (msg, input) = (shortened(message), shown(input));
        Self { kind: "value_error".to_owned(), loc: Vec::new(), msg, input }
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.loc.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            match step {
                Value::String(key) => f.write_str(key)?,
                other => write!(f, "{other}")?,
            }
        }
        if !self.loc.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.msg)
    }
}

impl From<FieldError> for ValidationError {
    fn from(error: FieldError) -> Self {
        let step = |step: &Loc| match step {
            Loc::Key(key) => Value::from(shortened(key)),
            Loc::Index(index) => Value::from(*index),
        };
        Self {
            kind: error.kind.to_owned(),
            loc: error.loc.iter().map(step).collect(),
            msg: shortened(&error.msg),
            input: shown(error.input),
        }
    }
}

/// Bytes of a rejected value, of its text as JSON, that models are shown.
const SHOWN: usize = 1000;

/// The value as it is, or the start of its JSON when that is long: a model knows what it wrote.
fn shown(value: Value) -> Value {
    let mut start = Start { bytes: Vec::new(), room: SHOWN };
    if serde_json::to_writer(&mut start, &value).is_ok() {
        return value;
    }
    let text = match &value {
        Value::String(text) => return Value::from(shortened(text)),
        _ => String::from_utf8_lossy(&start.bytes),
    };
    Value::from(format!("{}…", text.trim_end_matches(char::REPLACEMENT_CHARACTER)))
}

/// The text, or its start when it is long.
pub(crate) fn shortened(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(SHOWN)).unwrap_or_default())
}

/// Keeps the start of what is written and then refuses.
struct Start {
    bytes: Vec<u8>,
    room: usize,
}

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fitting = bytes.get(..self.room).unwrap_or(bytes);
        self.bytes.extend_from_slice(fitting);
        self.room -= fitting.len();
        if fitting.len() < bytes.len() {
            Err(io::ErrorKind::WriteZero.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The errors as the JSON list that models get.
pub(crate) fn errors_json(errors: &[ValidationError]) -> Value {
    serde_json::to_value(errors).unwrap_or_default()
}

/// Tags that frame text the model did not write; see [`escape_framing`].
const FRAMING_TAGS: [&str; 8] = [
    "system",
    "tool_result",
    "assistant_thinking",
    "context",
    "context_diff",
    "validation_errors",
    "retry_feedback",
    "conversation_summary",
];

/// Feedback on an output as the user text that models without a place of its own for it get.
///
/// `no_output` is the only cause that speaks with the voice of the system; it comes wrapped.
pub fn feedback_text(content: &Feedback, retry: Option<&RetryInfo>) -> String {
    let cause = retry.map(|retry| retry.cause);
    match content {
        Feedback::Errors(errors) => {
            let list = escape_framing(&errors_json(errors).to_string());
            format!("{RETRY_FRAMING}\n<validation_errors>\n{list}\n</validation_errors>")
        }
        Feedback::Text(text) if cause == Some(RetryCause::NoOutput) => {
            format!("<system>{}</system>", escape_framing(text))
        }
        Feedback::Text(text) => {
            let text = escape_framing(text);
            format!("{RETRY_FRAMING}\n<retry_feedback>\n{text}\n</retry_feedback>")
        }
    }
}

const RETRY_FRAMING: &str = "Your last answer could not be used. Correct it and answer again:";

/// `text` with each `<` that begins one of the framing tags, opening or closing, made harmless.
pub fn escape_framing(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut pieces = text.split('<');
    escaped.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let name = piece.strip_prefix('/').unwrap_or(piece);
        let framing = FRAMING_TAGS.iter().any(|tag| {
            name.strip_prefix(tag).is_some_and(|rest| {
                !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
            })
        });
        escaped.push_str(if framing { "&lt;" } else { "<" });
        escaped.push_str(piece);
    }
    escaped
}

same_in_both!(RetryCause, ValidationError);

object!(RetryInfo as "pydantic_ai.messages.RetryInfo" { cause, attempt, max_retries });

impl Written for Feedback {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => out.serialize_str(text),
            Self::Errors(errors) => errors.write(form, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_shown_by_their_start() {
        let long = "é".repeat(3_000_000);
        let error = |input: Value| {
            let key = Loc::Key(long.clone());
            let error = FieldError { kind: "missing", loc: vec![key], msg: long.clone(), input };
            serde_json::to_string(&ValidationError::from(error)).unwrap()
        };
        assert!(error(json!(long)).len() < 4000);
        let object = error(json!({"a": long, "b": [1, 2]}));
        assert!(object.len() < 4000 && object.contains("{\\\"a\\\":\\\"éé"), "{object}");
        assert_eq!(shown(json!({"a": [1, 2]})), json!({"a": [1, 2]}));
        assert!(
            errors_json(&[ValidationError::value(json!(long), &long)]).to_string().len() < 4000
        );
    }
}
