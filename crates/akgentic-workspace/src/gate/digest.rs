//! What identifies a content: the SHA-256 of its bytes.

use std::fmt;
use std::io::{self, Read};
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
        Self::finished(Sha256::new_with_prefix(bytes))
    }

    fn finished(state: Sha256) -> Self {
        let mut hex = String::with_capacity(64);
        let digits = state.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
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

/// A source whose bytes are digested as they are read.
pub(crate) struct Digesting<R> {
    source: R,
    state: Sha256,
}

impl<R> Digesting<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, state: Sha256::new() }
    }

    /// The digest of all that was read.
    pub(crate) fn finish(self) -> Digest {
        Digest::finished(self.state)
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.state.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
