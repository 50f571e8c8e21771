//! The one way in which tools change files: decide on what is there, then publish all of it.
//!
//! A gate that refuses stale changes has its place here: between what a plan has read and what is
//! published, under one lock.

use akgentic_tool_core::{CallStopped, ToolError};

use crate::admission::RelPath;
use crate::batch::Change;
use crate::error::{FileError, FileFault};
use crate::filesystem::Filesystem;
use crate::refusal;
use crate::text::guess;

/// Most bytes of a file that is edited or patched.
pub(crate) const EDIT_BYTES_MAX: u64 = 64 << 20;

/// What a tool is going to do, and what it says when that is done.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub changes: Vec<Change>,
    pub answer: String,
}

/// The files as a plan sees them.
pub(crate) struct Live<'a> {
    pub files: &'a Filesystem,
    pub is_cancelled: &'a dyn Fn() -> bool,
}

impl Live<'_> {
    /// A file's place and its text.
    pub(crate) fn text(&self, path: &str) -> Result<(RelPath, String), FileError> {
        let open = self.files.open(path)?;
        if open.size > EDIT_BYTES_MAX {
            let fault = FileFault::TooLarge { size: open.size, most: EDIT_BYTES_MAX };
            return Err(FileError::new(path, fault));
        }
        let rel = open.rel.clone();
        let bytes = open.read().map_err(|fault| FileError::new(path, fault))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok((rel, text)),
            Err(error) => {
                let offset = u64::try_from(error.utf8_error().valid_up_to()).unwrap_or(0);
                let size = u64::try_from(error.as_bytes().len()).unwrap_or(u64::MAX);
                let guess = guess(error.as_bytes());
                Err(FileError::new(path, FileFault::NotUtf8 { offset, size, guess }))
            }
        }
    }
}

/// Plans a change and makes it, all of it or nothing.
pub(crate) fn mutate(
    files: &Filesystem,
    is_cancelled: &dyn Fn() -> bool,
    plan: impl FnOnce(&Live<'_>) -> Result<Plan, ToolError>,
) -> Result<String, ToolError> {
    let Plan { changes, answer } = plan(&Live { files, is_cancelled })?;
    if is_cancelled() {
        return Err(CallStopped::Cancelled.into());
    }
    match files.commit(&changes, is_cancelled) {
        Ok(_) => Ok(answer),
        Err(error) => Err(failed(&error)),
    }
}

/// The refusal of a file operation.
pub(crate) fn failed(error: &FileError) -> ToolError {
    match error.fault {
        FileFault::Cancelled => CallStopped::Cancelled.into(),
        _ => ToolError::retriable(refusal::describe(error)),
    }
}
