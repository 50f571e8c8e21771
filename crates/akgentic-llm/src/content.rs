//! What user prompts and tool returns carry: text, JSON and binary items.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use akgentic_tool_core::{Content, Media, Part};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use crate::form::{self, Form, InForm, Written, persisted};

/// Bytes of a media type inside a message.
#[derive(Clone, PartialEq)]
pub struct BinaryContent {
    /// The bytes; shared, cheap to clone.
    pub data: Arc<[u8]>,
    /// Such as `image/png`.
    pub media_type: String,
    /// What a vendor wants to know about it; opaque.
    pub vendor_metadata: Option<Value>,
    /// A name given by the caller; without one, [`BinaryContent::identifier`] derives it.
    pub explicit_identifier: Option<String>,
}

impl BinaryContent {
    /// Bytes of `media_type`, named by their digest.
    pub fn new(data: impl Into<Arc<[u8]>>, media_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            media_type: media_type.into(),
            vendor_metadata: None,
            explicit_identifier: None,
        }
    }

    /// The name models and transcripts know it by: the explicit one, else the first six
    /// hexadecimal digits of the SHA-1 of the data.
    pub fn identifier(&self) -> String {
        self.explicit_identifier.clone().unwrap_or_else(|| default_identifier(&self.data))
    }
}

impl BinaryContent {
    /// The bytes as text between two lines that name them, when their media type is one of text:
    /// `text/…`, JSON, XML, YAML or TOML. Every model can read that.
    pub fn as_inlined_file(&self) -> Option<String> {
        const TEXTUAL: [&str; 6] = ["json", "xml", "yaml", "x-yaml", "toml", "x-toml"];
        let media_type = self.media_type.split(';').next().unwrap_or_default().trim();
        let (family, subtype) = media_type.split_once('/')?;
        let textual = family == "text"
            || (family == "application" && TEXTUAL.contains(&subtype))
            || subtype.ends_with("+json")
            || subtype.ends_with("+xml");
        let id = self.identifier();
        textual.then(|| {
            let body = String::from_utf8_lossy(&self.data);
            format!(
                "-----BEGIN FILE id=\"{id}\" type=\"{}\"-----\n{body}\n-----END FILE id=\"{id}\"-----",
                self.media_type
            )
        })
    }
}

impl fmt::Debug for BinaryContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BinaryContent({}, {} bytes)", self.media_type, self.data.len())
    }
}

impl From<Media> for BinaryContent {
    fn from(media: Media) -> Self {
        Self::new(media.data, media.media_type)
    }
}

/// Content of a user prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum UserContent {
    /// One text.
    Text(String),
    /// Texts and binary items in order.
    Items(Vec<UserItem>),
}

/// One item of a user prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum UserItem {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(BinaryContent),
    /// A kind this version does not know; kept, not sent.
    Other(Value),
}

impl UserContent {
    /// The texts one by one.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::Items(items) => {
                let texts = items.iter().filter_map(|item| match item {
                    UserItem::Text(text) => Some(text.as_str()),
                    UserItem::Binary(_) | UserItem::Other(_) => None,
                });
                texts.collect()
            }
        }
    }

    /// All texts, joined by a blank.
    pub fn text(&self) -> String {
        self.texts().join(" ")
    }

    /// The content as text for a transcript: items on lines of their own, binary ones by name.
    pub(crate) fn to_text(&self) -> String {
        let items = match self {
            Self::Text(text) => return text.clone(),
            Self::Items(items) => items.iter(),
        };
        let texts = items.map(|item| match item {
            UserItem::Text(text) => text.clone(),
            UserItem::Binary(binary) => binary_text(binary),
            UserItem::Other(value) => value.to_string(),
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The same content with `text` in front: before a blank line of a text, as first item of a
    /// list.
    #[must_use]
    pub fn preceded_by(self, text: String) -> Self {
        match self {
            Self::Text(own) => Self::Text(format!("{text}\n\n{own}")),
            Self::Items(mut items) => {
                items.insert(0, UserItem::Text(text));
                Self::Items(items)
            }
        }
    }
}

impl From<&str> for UserContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for UserContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<UserItem>> for UserContent {
    fn from(items: Vec<UserItem>) -> Self {
        Self::Items(items)
    }
}

impl From<Content> for UserContent {
    fn from(content: Content) -> Self {
        if let Some(text) = content.as_text() {
            return Self::Text(text.to_owned());
        }
        let items = content.parts.into_iter().map(|part| match part {
            Part::Text(text) => UserItem::Text(text),
            Part::Media(media) => UserItem::Binary(media.into()),
        });
        Self::Items(items.collect())
    }
}

/// Content of a tool return.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolContent {
    /// Any JSON value; text is a JSON string.
    Json(Value),
    /// Bytes.
    Binary(BinaryContent),
    /// A list that holds at least one binary item.
    Items(Vec<ToolItem>),
}

/// One item of a tool return with media.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolItem {
    /// Any JSON value.
    Json(Value),
    /// Bytes.
    Binary(BinaryContent),
}

impl ToolContent {
    /// The content as text for a transcript or a plain-text API: a string as it is, null as
    /// nothing, other JSON compact, binary items by name.
    pub fn to_text(&self) -> String {
        match self {
            Self::Json(value) => json_text(value),
            Self::Binary(binary) => binary_text(binary),
            Self::Items(items) => {
                let texts: Vec<String> = items
                    .iter()
                    .map(|item| match item {
                        ToolItem::Json(value) => json_text(value),
                        ToolItem::Binary(binary) => binary_text(binary),
                    })
                    .collect();
                texts.join("\n")
            }
        }
    }
}

impl ToolContent {
    /// The same content, its text cut to about so many characters: the start and the end stay,
    /// and a note says how much is missing.
    #[must_use]
    pub(crate) fn capped(self, max: usize) -> Self {
        match self {
            Self::Json(value) => Self::Json(capped_json(value, max)),
            Self::Binary(binary) => Self::Binary(binary),
            Self::Items(items) => {
                let share = max / items.len().max(1);
                let items = items.into_iter().map(|item| match item {
                    ToolItem::Json(value) => ToolItem::Json(capped_json(value, share)),
                    binary @ ToolItem::Binary(_) => binary,
                });
                Self::Items(items.collect())
            }
        }
    }
}

fn capped_json(value: Value, max: usize) -> Value {
    let text = match value {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) => return value,
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= max {
                return value;
            }
            match text.chars().nth(max) {
                None => return value,
                Some(_) => text,
            }
        }
    };
    if text.len() <= max {
        return Value::String(text);
    }
    let characters = text.chars().count();
    if characters <= max {
        return Value::String(text);
    }
    let (head, tail) = (max - max / 4, max / 4);
    let missing = characters - head - tail;
    let place = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let start = text.get(..place(head)).unwrap_or_default();
    let end = text.get(place(characters - tail)..).unwrap_or_default();
    Value::String(format!(
        "{start}\n[... {missing} characters were left out: the result has {characters}, and {max} \
         fit. Ask for a smaller part of it. ...]\n{end}"
    ))
}

impl From<&str> for ToolContent {
    fn from(text: &str) -> Self {
        Self::Json(Value::from(text))
    }
}

impl From<String> for ToolContent {
    fn from(text: String) -> Self {
        Self::Json(Value::String(text))
    }
}

impl From<Value> for ToolContent {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

impl From<Content> for ToolContent {
    fn from(content: Content) -> Self {
        let mut items: Vec<ToolItem> = content
            .parts
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => ToolItem::Json(Value::String(text)),
                Part::Media(media) => ToolItem::Binary(media.into()),
            })
            .collect();
        if items.len() == 1 {
            return match items.remove(0) {
                ToolItem::Json(value) => Self::Json(value),
                ToolItem::Binary(binary) => Self::Binary(binary),
            };
        }
        if items.is_empty() {
            return Self::Json(Value::Null);
        }
        let texts: Option<Vec<Value>> = items
            .iter()
            .map(|item| match item {
                ToolItem::Json(value) => Some(value.clone()),
                ToolItem::Binary(_) => None,
            })
            .collect();
        match texts {
            Some(texts) => Self::Json(Value::Array(texts)),
            None => Self::Items(items),
        }
    }
}

/// The text of a JSON value as models get it: strings bare, null empty, the rest compact.
pub(crate) fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn binary_text(binary: &BinaryContent) -> String {
    format!("[binary {} {}]", binary.media_type, binary.identifier())
}

fn default_identifier(data: &[u8]) -> String {
    let digest = Sha1::digest(data);
    let mut name = String::with_capacity(6);
    for byte in digest.iter().take(3) {
        // writing to a string cannot fail
        let _ = write!(name, "{byte:02x}");
    }
    name
}

impl Written for BinaryContent {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        let encoded = STANDARD.encode(&self.data);
        let mut map = out.serialize_map(None)?;
        match form {
            Form::Adapter => {
                map.serialize_entry("data", &encoded)?;
                map.serialize_entry("media_type", &self.media_type)?;
                map.serialize_entry("vendor_metadata", &self.vendor_metadata)?;
                map.serialize_entry("kind", "binary")?;
                map.serialize_entry("identifier", &self.identifier())?;
            }
            Form::Persisted => {
                map.serialize_entry("data", &Tagged { __bytes__: &encoded })?;
                map.serialize_entry("media_type", &self.media_type)?;
                map.serialize_entry("vendor_metadata", &self.vendor_metadata)?;
                map.serialize_entry("_identifier", &self.explicit_identifier)?;
                map.serialize_entry("kind", "binary")?;
            }
        }
        form::close(map, form, "pydantic_ai.messages.BinaryContent")
    }
}

#[derive(serde::Serialize)]
struct Tagged<'a> {
    __bytes__: &'a str,
}

#[derive(Deserialize)]
struct RawBinary {
    data: RawBytes,
    media_type: String,
    #[serde(default)]
    vendor_metadata: Option<Value>,
    #[serde(default, alias = "_identifier")]
    identifier: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawBytes {
    Text(String),
    Tagged {
        #[serde(rename = "__bytes__")]
        bytes: String,
    },
}

impl<'de> Deserialize<'de> for BinaryContent {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let raw = RawBinary::deserialize(input)?;
        let (RawBytes::Text(text) | RawBytes::Tagged { bytes: text }) = raw.data;
        let standard = text.replace('-', "+").replace('_', "/");
        let data = STANDARD
            .decode(standard)
            .map_err(|error| D::Error::custom(format_args!("binary data: {error}")))?;
        let identifier = raw.identifier.filter(|name| *name != default_identifier(&data));
        Ok(Self {
            data: data.into(),
            media_type: raw.media_type,
            vendor_metadata: raw.vendor_metadata,
            explicit_identifier: identifier,
        })
    }
}

/// Whether JSON read from a message is a binary item.
fn is_binary(value: &Value) -> bool {
    value.get("kind").and_then(Value::as_str) == Some("binary")
        && value.get("data").is_some()
        && value.get("media_type").is_some_and(Value::is_string)
}

impl Written for UserContent {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => out.serialize_str(text),
            Self::Items(items) => items.write(form, out),
        }
    }
}

impl Written for UserItem {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => out.serialize_str(text),
            Self::Binary(binary) => binary.write(form, out),
            Self::Other(value) => value.write(form, out),
        }
    }
}

impl Written for ToolContent {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.write(form, out),
            Self::Binary(binary) => binary.write(form, out),
            Self::Items(items) => {
                let mut list = out.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&InForm(item, form))?;
                }
                list.end()
            }
        }
    }
}

impl Written for ToolItem {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.write(form, out),
            Self::Binary(binary) => binary.write(form, out),
        }
    }
}

persisted!(BinaryContent, UserContent, UserItem, ToolContent, ToolItem);

impl<'de> Deserialize<'de> for UserContent {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match Value::deserialize(input)? {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Array(items) => {
                let items: Result<Vec<UserItem>, _> = items.into_iter().map(user_item).collect();
                items.map(Self::Items).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom("a user prompt is text or a list of items")),
        }
    }
}

fn user_item(value: Value) -> Result<UserItem, serde_json::Error> {
    match value {
        Value::String(text) => Ok(UserItem::Text(text)),
        value if is_binary(&value) => serde_json::from_value(value).map(UserItem::Binary),
        value => Ok(UserItem::Other(value)),
    }
}

impl<'de> Deserialize<'de> for ToolContent {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match Value::deserialize(input)? {
            Value::Array(items) if items.iter().any(is_binary) => {
                let items: Result<Vec<ToolItem>, _> = items
                    .into_iter()
                    .map(|item| {
                        if is_binary(&item) {
                            serde_json::from_value(item).map(ToolItem::Binary)
                        } else {
                            Ok(ToolItem::Json(item))
                        }
                    })
                    .collect();
                items.map(Self::Items).map_err(D::Error::custom)
            }
            value if is_binary(&value) => {
                serde_json::from_value(value).map(Self::Binary).map_err(D::Error::custom)
            }
            value => Ok(Self::Json(value)),
        }
    }
}
