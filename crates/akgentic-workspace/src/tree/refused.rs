//! Refusals in the words of the file layer.

use super::Stop;
use crate::error::{FileError, FileFault};
use crate::gate::{Code, FileCode, Refusal};
use crate::{refusal, text};

/// What is no text, and where that shows.
pub(super) fn not_text(path: &str, bytes: &[u8]) -> FileError {
    let offset = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
    let fault = FileFault::NotUtf8 {
        offset: u64::try_from(offset).unwrap_or(0),
        size: u64::try_from(bytes.len()).unwrap_or(0),
        guess: text::guess(bytes.get(..4096).unwrap_or(bytes)),
    };
    FileError::new(path, fault)
}

/// What staging or publishing has against a path that was fine before.
pub(super) fn fault_stop(path: &str, fault: FileFault) -> Stop {
    match fault {
        FileFault::Cancelled => Stop::Cancelled,
        FileFault::Denied => Refusal::new(Code::OsDenied, path).into(),
        FileFault::NotFound => Refusal::new(Code::PublishLost, path).into(),
        fault => file_refusal(&FileError::new(path, fault)).into(),
    }
}

/// The refusal that says what the file layer has against a path, in its words.
pub fn file_refusal(error: &FileError) -> Refusal {
    let code = match &error.fault {
        FileFault::NotFound => Code::NotFound,
        FileFault::Denied => Code::OsDenied,
        FileFault::Escape(_) => Code::File(FileCode::PathEscape),
        FileFault::IsDirectory | FileFault::TrailingSlash => Code::File(FileCode::IsDirectory),
        FileFault::NotADirectory => Code::File(FileCode::NotADirectory),
        FileFault::ExistsAsFile => Code::File(FileCode::ExistsAsFile),
        FileFault::NameTooLong { .. } | FileFault::PathTooLong { .. } => {
            Code::File(FileCode::NameTooLong)
        }
        FileFault::Nul => Code::File(FileCode::Nul),
        FileFault::NotRegular(_) => Code::File(FileCode::NotARegularFile),
        FileFault::NotUtf8 { .. } => Code::File(FileCode::NotUtf8),
        FileFault::TooLarge { .. } => Code::File(FileCode::TooLarge),
        FileFault::LinkLoop => Code::File(FileCode::LinkLoop),
        FileFault::Repository => Code::File(FileCode::Repository),
        FileFault::Unsteady | FileFault::Cancelled | FileFault::RootGone | FileFault::Io(_) => {
            Code::File(FileCode::Other)
        }
    };
    match code {
        Code::OsDenied => Refusal::new(code, error.path.as_str()),
        code => Refusal::told(code, error.path.as_str(), refusal::describe(error)),
    }
}
