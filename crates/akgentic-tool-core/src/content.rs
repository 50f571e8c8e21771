//! What a tool gives back: text, or text and media in order.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::commands::CommandArgs;

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// Text, as it stands.
    Text(String),
    /// Bytes of a media type.
    Media(Media),
}

/// Bytes with their media type; cheap to clone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The bytes; written as base64 text.
    #[serde(with = "base64_text")]
    pub data: Arc<[u8]>,
    /// Such as `image/png`.
    pub media_type: String,
}

impl Media {
    /// Bytes of a media type.
    pub fn new(data: impl Into<Arc<[u8]>>, media_type: impl Into<String>) -> Self {
        Self { data: data.into(), media_type: media_type.into() }
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Media({}, {} bytes)", self.media_type, self.data.len())
    }
}

/// Content parts in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content {
    /// The parts.
    pub parts: Vec<Part>,
}

impl Content {
    /// Content of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    /// The text when this is exactly one text part.
    pub fn as_text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Media(media) => {
                    write!(f, "[{}, {} bytes]", media.media_type, media.data.len())?;
                }
            }
        }
        Ok(())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<Vec<Part>> for Content {
    fn from(parts: Vec<Part>) -> Self {
        Self { parts }
    }
}

impl From<Media> for Content {
    fn from(media: Media) -> Self {
        Self { parts: vec![Part::Media(media)] }
    }
}

/// Arguments of the command `_expand_media_refs`: puts the media a text refers to in its place.
///
/// The workspace offers it, the agent calls it; both see only these types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpandMediaRefs {
    /// The text.
    pub prompt: String,
}

impl CommandArgs for ExpandMediaRefs {
    const NAME: &'static str = "_expand_media_refs";
    type Output = Vec<Part>;
}

mod base64_text {
    use std::sync::Arc;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<[u8]>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Arc::from).map_err(serde::de::Error::custom)
    }
}
