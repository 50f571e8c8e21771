//! What identifies a content: the SHA-256 of its bytes.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Lowercase hexadecimal SHA-256 of the bytes of a file.
///
/// ```
/// use akgentic_workspace::gate::Digest;
///
/// assert!(Digest::of(b"").as_str().starts_with("e3b0c442"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hex = String::with_capacity(64);
        let digits = Sha256::digest(bytes).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        hex.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        Self(hex.into())
    }

    /// A digest that was written down before.
    pub fn from_hex(hex: &str) -> Self {
        Self(hex.into())
    }

    /// Its hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
