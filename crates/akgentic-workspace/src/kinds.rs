//! What a file name says about the file.

/// Suffixes of documents, which are read by way of a conversion to text.
pub const DOCUMENT_EXTENSIONS: [&str; 13] = [
    ".pdf", ".docx", ".xlsx", ".xls", ".pptx", ".msg", ".epub", ".jpg", ".jpeg", ".png", ".gif",
    ".bmp", ".webp",
];

/// Suffixes of files that are surely text; files of any other kind are read as text too.
pub const TEXT_EXTENSIONS: [&str; 16] = [
    ".txt", ".md", ".py", ".js", ".ts", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".xml",
    ".rst", ".cfg", ".ini", ".log",
];

/// Suffixes of images.
const IMAGE_EXTENSIONS: [&str; 6] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"];

/// What kind of reading a file name asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Text, or unknown: to be read as text.
    Text,
    /// A document.
    Document,
    /// An image.
    Image,
}

impl FileKind {
    /// The kind by the last name of `path`.
    ///
    /// ```
    /// use akgentic_workspace::FileKind;
    ///
    /// assert_eq!(FileKind::of("a/Report.PDF"), FileKind::Document);
    /// assert_eq!(FileKind::of("a/.Report.pdf.md"), FileKind::Text);
    /// ```
    pub fn of(path: &str) -> Self {
        let suffix = suffix(path);
        if IMAGE_EXTENSIONS.contains(&suffix.as_str()) {
            Self::Image
        } else if DOCUMENT_EXTENSIONS.contains(&suffix.as_str()) {
            Self::Document
        } else {
            Self::Text
        }
    }
}

/// The suffix of the last name in lower case, with its dot.
///
/// There is none when the last dot is the first or the last character of the name.
pub fn suffix(path: &str) -> String {
    let path = crate::spelling::read(path);
    let path = path.to_string_lossy();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() && !end.is_empty() => {
            format!(".{}", end.to_lowercase())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes() {
        for (path, expected) in [
            ("a.TXT", ".txt"),
            (".env", ""),
            ("a.", ""),
            ("a.tar.gz", ".gz"),
            ("d.x/name", ""),
            ("d/a.b/", ".b"),
            ("", ""),
            ("..a", ".a"),
            (r#"d/"a\nb.PNG""#, ".png"),
        ] {
            assert_eq!(suffix(path), expected, "{path:?}");
        }
    }
}
