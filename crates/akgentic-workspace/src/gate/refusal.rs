//! Why a change was not made, and what the model reads about it.

use std::fmt;

use super::evidence::Evidence;

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The file exists and the agent never read it; it was to be replaced or removed.
    UnreadWrite,
    /// The file exists and the agent never read it; a part of it was to be changed.
    UnreadEdit,
    /// The file is another one than the agent read.
    Changed,
    /// The agent read a page of the file only.
    Partial,
    /// The file the agent read is not there any more.
    Gone,
    /// The file changed and the anchor is not in it exactly.
    ExactMiss,
    /// The file changed and a hunk does not fit any more.
    PatchStale,
    /// Nothing is there.
    NotFound,
    /// The system refuses to replace or remove the file.
    OsDenied,
    /// What was staged, or was to be removed, vanished before it could be published.
    PublishLost,
    /// A run holds the tree.
    Busy,
    /// A run holds the tree for longer than it may.
    BusyOverdue,
    /// Another program holds the tree's lock.
    Locked,
    /// An anchor is empty.
    EmptyAnchor,
    /// The text to replace does not stand there as written, and several places are like it.
    AmbiguousMatch,
    /// One call asks for more changes than are made at once.
    TooMany,
    /// A patch is of another kind than those that are applied.
    OtherDialect,
    /// The path stands for the output of a run, which nobody changes.
    Reserved,
    /// Commands cannot be run here.
    Unconfigured,
    /// The command is not one that may be run.
    CommandNotAllowed,
    /// The path, or what is there, is nothing that can be changed; the file layer says why.
    File(FileCode),
}

/// What the file layer has against a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileCode {
    /// It leaves the root.
    PathEscape,
    /// It is a directory.
    IsDirectory,
    /// It lies below a file.
    NotADirectory,
    /// It exists as a file.
    ExistsAsFile,
    /// A name or the whole of it is too long.
    NameTooLong,
    /// It holds a NUL.
    Nul,
    /// It is a pipe, socket or device.
    NotARegularFile,
    /// It is not text in UTF-8.
    NotUtf8,
    /// It is larger than the gate reads.
    TooLarge,
    /// Its links point at one another.
    LinkLoop,
    /// It belongs to what git keeps of a repository.
    Repository,
    /// Something else the system says.
    Other,
}

impl Code {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnreadWrite => "unread_write",
            Self::UnreadEdit => "unread_edit",
            Self::Changed => "changed",
            Self::Partial => "partial",
            Self::Gone => "gone",
            Self::ExactMiss => "exact_miss",
            Self::PatchStale => "patch_stale",
            Self::NotFound => "not_found",
            Self::OsDenied => "os_denied",
            Self::PublishLost => "publish_lost",
            Self::Busy => "busy",
            Self::BusyOverdue => "busy_overdue",
            Self::Locked => "locked",
            Self::EmptyAnchor => "empty_anchor",
            Self::AmbiguousMatch => "ambiguous_match",
            Self::TooMany => "too_many",
            Self::OtherDialect => "other_dialect",
            Self::Reserved => "reserved_path",
            Self::Unconfigured => "unconfigured",
            Self::CommandNotAllowed => "command_not_allowed",
            Self::File(FileCode::PathEscape) => "path_escape",
            Self::File(FileCode::IsDirectory) => "is_a_directory",
            Self::File(FileCode::NotADirectory) => "not_a_directory",
            Self::File(FileCode::ExistsAsFile) => "exists_as_file",
            Self::File(FileCode::NameTooLong) => "name_too_long",
            Self::File(FileCode::Nul) => "nul_in_path",
            Self::File(FileCode::NotARegularFile) => "not_a_regular_file",
            Self::File(FileCode::NotUtf8) => "not_utf8",
            Self::File(FileCode::TooLarge) => "too_large",
            Self::File(FileCode::LinkLoop) => "symlink_loop",
            Self::File(FileCode::Repository) => "in_repository",
            Self::File(FileCode::Other) => "other",
        }
    }

    /// Whether the refused agent could not have done better: a retry that should not count.
    pub const fn is_nobodys_fault(self) -> bool {
        matches!(self, Self::Busy | Self::BusyOverdue | Self::Locked)
    }

    /// Whether the one who wrote what is there is told, and strangers are told of.
    const fn tells_of_strangers(self) -> bool {
        matches!(self, Self::Changed | Self::ExactMiss | Self::PatchStale)
    }

    /// Whether the live file is shown.
    pub(crate) const fn has_evidence(self) -> bool {
        matches!(
            self,
            Self::UnreadWrite
                | Self::UnreadEdit
                | Self::Changed
                | Self::Partial
                | Self::ExactMiss
                | Self::PatchStale
        )
    }

    fn reason(self) -> &'static str {
        match self {
            Self::UnreadWrite => {
                "it exists and you have not read it; a file is read before it is replaced or removed"
            }
            Self::UnreadEdit => {
                "it exists and you have not read it; a file is read before it is edited"
            }
            Self::Changed => "it has changed since you read it",
            Self::Partial => {
                "you have read a part of it only, and a part does not license replacing the whole"
            }
            Self::Gone => "it was deleted since you read it",
            Self::ExactMiss => {
                "it has changed since you read it, and the text to replace is no longer in it \
                 exactly; nothing is matched approximately in a file that changed"
            }
            Self::PatchStale => {
                "it has changed since you read it, and the lines of a hunk are not found in it, or \
                 not in one place only; the line numbers of the patch have moved"
            }
            Self::OsDenied => {
                "the system does not let this process replace or remove it. Nothing was published. \
                 The path is fine and lies in the workspace"
            }
            Self::PublishLost => {
                "it vanished while the change was being published. Nothing was changed, and nobody \
                 else wrote it"
            }
            Self::Locked => {
                "another program holds the lock of this workspace for a change of its own"
            }
            Self::EmptyAnchor => "the text to replace is empty, which is in no one place of a file",
            Self::Reserved => {
                "paths below `.akgentic/runs` stand for what commands wrote; they can be read, not changed"
            }
            Self::NotFound
            | Self::AmbiguousMatch
            | Self::TooMany
            | Self::OtherDialect
            | Self::Busy
            | Self::BusyOverdue
            | Self::Unconfigured
            | Self::CommandNotAllowed
            | Self::File(_) => "it cannot be done",
        }
    }

    fn next_step(self) -> &'static str {
        match self {
            Self::Gone => {
                "Decide whether it should exist: writing it again now creates it as a new file."
            }
            Self::OsDenied => "Try again later, or use another path.",
            Self::PublishLost | Self::Locked => "Make exactly the same change again.",
            Self::EmptyAnchor => "Name the text that is to be replaced.",
            Self::Reserved => "Use another path.",
            _ => {
                "Read the file again, look at your change against what is there now, then redo it."
            }
        }
    }
}

/// Who wrote what is in the file now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// Nothing is said about it.
    Unsaid,
    /// The agent of this name.
    Agent(String),
    /// No agent: it came from outside the tools.
    Outside,
}

/// A change that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub code: Code,
    /// The path in the agent's own spelling; empty where the whole tree is meant.
    pub path: String,
    /// Who wrote what is there now.
    pub author: Author,
    /// What is there now.
    pub evidence: Option<Evidence>,
    /// The text of the part that refuses, where it is not this one.
    pub told: Option<String>,
}

impl Refusal {
    /// A refusal without author and evidence.
    pub fn new(code: Code, path: impl Into<String>) -> Self {
        let path = crate::spelling::tell(path.into());
        Self { code, path, author: Author::Unsaid, evidence: None, told: None }
    }

    /// A refusal in other words than these.
    pub fn told(code: Code, path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { told: Some(text.into()), ..Self::new(code, path) }
    }

    /// The same with what is known of the last writer: its name, or nothing.
    #[must_use]
    pub(crate) fn written_by(mut self, writer: Option<String>) -> Self {
        self.author = match writer {
            Some(name) => Author::Agent(name),
            None if self.code.tells_of_strangers() => Author::Outside,
            None => Author::Unsaid,
        };
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.told {
            return f.write_str(text);
        }
        if self.code == Code::NotFound {
            return write!(f, "File not found: {}", self.path);
        }
        let path = if self.path.is_empty() { "the workspace" } else { &self.path };
        writeln!(f, "Refused to modify {path}: {}.", self.code.reason())?;
        match &self.author {
            Author::Unsaid => {}
            Author::Agent(name) => writeln!(f, "It was last written by agent '{name}'.")?,
            Author::Outside => writeln!(
                f,
                "No agent of this team wrote what is there now: it came from outside the workspace tools."
            )?,
        }
        f.write_str(self.code.next_step())?;
        match &self.evidence {
            Some(evidence) => write!(f, "\n{evidence}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
