//! Changes that do not work out although nothing forbids them.

use std::fmt;

use crate::gate::FileCode;

/// Why a change came to nothing; the text is what the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub cause: Cause,
    /// The file it is about, in the agent's spelling; of a patch the section's.
    pub path: String,
    /// The file that a section of a patch means, where the section does not name it.
    pub target: Option<String>,
    /// What happened, what was found, what to do.
    pub text: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The text to replace is not in the file.
    AnchorNotFound,
    /// The lines of a hunk are not in the file.
    HunkAbsent,
    /// The lines of a hunk are in several places of the file.
    HunkAmbiguous,
    /// A patch names a file that is not there.
    TargetMissing,
    /// A patch is not written as it has to be.
    Malformed,
    /// The system refuses the file that a patch names.
    Denied,
    /// A patch names a path that nothing can be done with.
    File(FileCode),
}

impl Failure {
    /// A failure about a file, in the words of the part it comes from.
    pub(crate) fn new(cause: Cause, path: impl Into<String>, text: impl Into<String>) -> Self {
        let path = crate::spelling::tell(path.into());
        Self { cause, path, target: None, text: text.into() }
    }
}

impl Cause {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnchorNotFound => "anchor_not_found",
            Self::HunkAbsent => "hunk_absent",
            Self::HunkAmbiguous => "hunk_ambiguous",
            Self::TargetMissing => "target_missing",
            Self::Malformed => "malformed",
            Self::Denied => "os_denied",
            Self::File(code) => crate::gate::Code::File(code).as_str(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[ERROR] {}", self.text)
    }
}
