//! Documents as text: the converters, and the rule by which a model helps out.

#[cfg(feature = "docs")]
mod archive;
#[cfg(feature = "docs")]
mod epub;
#[cfg(feature = "docs")]
mod html;
#[cfg(feature = "docs")]
mod msg;
#[cfg(feature = "docs")]
mod office;
#[cfg(feature = "docs")]
mod pdf;
#[cfg(feature = "docs")]
mod streams;

use std::fmt;

use crate::kinds::FileKind;

/// What stands for a document that has no text.
pub const NO_TEXT: &str = "<!-- markitdown: no text extracted -->";

/// Characters, white space aside, from which on a document counts as having text.
pub const ENOUGH_CHARS: usize = 50;

/// Most bytes of a document's text; the rest is cut with a notice.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Converts documents to Markdown.
///
/// A host that brings its own hands it over as a capability of the observer:
/// `with::<dyn DocumentConverter>(…)`. It works on a thread of its own, may take its time within
/// bounds, and may panic.
pub trait DocumentConverter: fmt::Debug + Send + Sync {
    /// Names it and its version: what it made is kept under this name.
    fn name(&self) -> &'static str;

    /// Whether it can convert anything in this program; what cannot is said to the model up front.
    fn is_there(&self) -> bool {
        true
    }

    /// The text of a document; `suffix` is that of its name in lower case, such as `.pdf`.
    ///
    /// An empty text is one that it does not see, such as that of an image.
    fn convert(&self, data: &[u8], suffix: &str) -> Result<String, ConvertFault>;
}

/// Why a document has no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertFault {
    /// The converters are not part of this program.
    #[error(
        "this program is built without the feature `docs`, which reads {0} files: add `features = [\"docs\"]` to \
         `akgentic-workspace`"
    )]
    NotBuilt(String),
    /// No converter takes this suffix.
    #[error("no reader takes {0:?} files")]
    UnknownSuffix(String),
    /// It needs a password.
    #[error("it is encrypted, and its password is not known here")]
    Encrypted,
    /// It unpacks to more than is held.
    #[error("it unpacks to more than {0} MiB")]
    TooLarge(u64),
    /// It is damaged, or not what its name says.
    #[error("it cannot be read as a {kind} document: {reason}")]
    Unreadable {
        /// The kind of document.
        kind: &'static str,
        /// What the reader says.
        reason: String,
    },
}

impl ConvertFault {
    #[cfg(feature = "docs")]
    fn unreadable(kind: &'static str, reason: impl fmt::Display) -> Self {
        let reason = crate::text::clip(&reason.to_string(), 300).to_owned();
        Self::Unreadable { kind, reason }
    }
}

/// The converters of this crate.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInConverters;

impl DocumentConverter for BuiltInConverters {
    fn name(&self) -> &'static str {
        "built-in-1"
    }

    fn is_there(&self) -> bool {
        cfg!(feature = "docs")
    }

    #[cfg(feature = "docs")]
    fn convert(&self, data: &[u8], suffix: &str) -> Result<String, ConvertFault> {
        match suffix {
            ".pdf" => pdf::text(data),
            ".docx" | ".xlsx" | ".pptx" | ".xls" => office::markdown(data, suffix),
            ".epub" => epub::markdown(data),
            ".msg" => msg::markdown(data),
            image if FileKind::of(&format!("x{image}")) == FileKind::Image => Ok(String::new()),
            other => Err(ConvertFault::UnknownSuffix(other.to_owned())),
        }
    }

    #[cfg(not(feature = "docs"))]
    fn convert(&self, _data: &[u8], suffix: &str) -> Result<String, ConvertFault> {
        match FileKind::of(&format!("x{suffix}")) {
            FileKind::Image => Ok(String::new()),
            FileKind::Document => Err(ConvertFault::NotBuilt(suffix.to_owned())),
            FileKind::Text => Err(ConvertFault::UnknownSuffix(suffix.to_owned())),
        }
    }
}

/// Whether a text is worth keeping.
///
/// ```
/// use akgentic_workspace::documents::has_enough_text;
///
/// assert!(has_enough_text(&"x ".repeat(50)));
/// assert!(!has_enough_text(&"x\u{3000}\n".repeat(49)));
/// ```
pub fn has_enough_text(text: &str) -> bool {
    let visible = text.chars().filter(|character| !crate::text::is_blank(*character));
    visible.take(ENOUGH_CHARS).count() == ENOUGH_CHARS
}
