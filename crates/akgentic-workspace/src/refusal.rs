//! What the model is told when a file operation fails.

use crate::error::{FileError, FileFault};

/// First sentence about every path that leaves the root.
pub const PATH_ESCAPE: &str = "Path escapes workspace root — use a path relative to the workspace";

/// The text for the model: what happened, what was found, what to do next.
///
/// ```
/// use akgentic_workspace::{FileError, FileFault, refusal};
///
/// let error = FileError::new("notes.txt", FileFault::NotFound);
/// assert_eq!(refusal::describe(&error), "File not found: notes.txt");
/// ```
pub fn describe(error: &FileError) -> String {
    let path = if error.path.is_empty() { "the workspace root" } else { error.path.as_str() };
    match &error.fault {
        FileFault::Escape(route) => format!("{PATH_ESCAPE} ({}: {route})", quoted(path)),
        FileFault::Nul => {
            format!(
                "{} holds a NUL character, which no file name can. Spell it without.",
                quoted(path)
            )
        }
        FileFault::NameTooLong { length } => format!(
            "A name in {} has {length} bytes, at most {} are possible. Use a shorter name.",
            quoted(path),
            crate::error::NAME_MAX
        ),
        FileFault::PathTooLong { length } => format!(
            "{} is {length} bytes long, at most {} are possible. Use a shorter path.",
            quoted(path),
            crate::error::PATH_MAX
        ),
        FileFault::LinkLoop => format!(
            "{} leads through links that point at one another. Use a path without these links.",
            quoted(path)
        ),
        FileFault::NotFound => format!("File not found: {path}"),
        FileFault::IsDirectory => {
            format!(
                "{path} is a directory, not a file. List it with workspace_list, or name a file in it."
            )
        }
        FileFault::NotADirectory => {
            format!(
                "{path} lies below a file: a part of the path is no directory. Check it with workspace_list."
            )
        }
        FileFault::ExistsAsFile => {
            format!(
                "{path} exists and is a file, so no directory can have this name. Use another name."
            )
        }
        FileFault::NotRegular(kind) => {
            format!(
                "{path} is a {kind}, which is neither read nor written here. Use a regular file."
            )
        }
        FileFault::NotUtf8 { offset, size, guess } => format!(
            "{path} is not UTF-8 text ({size} bytes, the first bad one at {offset}): {guess}. It was left as it is."
        ),
        FileFault::TrailingSlash => format!(
            "{} ends with a slash, but a file is meant. Leave the slash out.",
            quoted(path)
        ),
        FileFault::TooLarge { size, most } => format!(
            "{path} has {size} bytes, and files of more than {most} are not taken as a whole. Read it in parts with other tools, or split it."
        ),
        FileFault::Repository => format!(
            "{} goes through `.git`, where git keeps settings and hooks that would run outside of the sandbox. It can be read, never changed here. Use another path.",
            quoted(path)
        ),
        FileFault::RootGone => {
            "The workspace folder is gone: somebody removed it. Nothing can be read or written until it is there again and the workspace is opened anew.".to_owned()
        }
        FileFault::Denied => format!(
            "The system refused access to {path}. The path itself is fine: try again later, or use another one."
        ),
        FileFault::Unsteady => format!(
            "{path} was replaced again and again while it was looked up. Nothing was done; try again."
        ),
        FileFault::Cancelled => format!("The work on {path} was cancelled. Nothing was changed."),
        FileFault::Io(source) => {
            format!(
                "The system failed on {path}: {source}. Nothing was changed; try again or use another path."
            )
        }
    }
}

/// The text when a directory was meant.
pub fn describe_directory(error: &FileError) -> String {
    match &error.fault {
        FileFault::NotFound | FileFault::NotADirectory => {
            format!("Directory not found: {}", error.path)
        }
        _ => describe(error),
    }
}

/// The path as the agent wrote it, cut.
fn quoted(path: &str) -> String {
    const SHOWN: usize = 200;
    let start = crate::text::clip(path, SHOWN);
    let more = if start.len() < path.len() { "…" } else { "" };
    format!("`{start}{more}`")
}
