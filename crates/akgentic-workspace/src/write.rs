//! Whole-file writes of text.

use std::borrow::Cow;
use std::io::{self, Read as _};

use crate::admission::RelPath;
use crate::error::{FileError, FileFault, READ_MAX};
use crate::filesystem::{Filesystem, OpenFile};
use crate::text::{EndingCount, LineEnding, Utf8Check};

/// Writes `content` as the whole file at `path`, atomically, parents included.
///
/// The text gets the line ending that the existing file has, when that file is UTF-8; a new file,
/// or one that is not UTF-8, takes the text as it is.
pub fn write_text(
    files: &Filesystem,
    path: &str,
    content: &str,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<RelPath, FileError> {
    let text = with_ending_of_file(files, path, content, is_cancelled)?;
    files.write_unless(path, text.as_bytes(), is_cancelled)
}

/// The text that is to replace the file at `path`, with the line ending that the file has.
pub(crate) fn with_ending_of_file<'t>(
    files: &Filesystem,
    path: &str,
    content: &'t str,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Cow<'t, str>, FileError> {
    match files.open(path) {
        Ok(live) => match ending_of(live, is_cancelled) {
            Ok(Some(ending)) => Ok(ending.apply(content)),
            Ok(None) => Ok(Cow::Borrowed(content)),
            Err(fault) => Err(FileError::new(path, fault)),
        },
        Err(error) => match error.fault {
            // The write itself tells what it makes of these.
            FileFault::NotFound | FileFault::Denied => Ok(Cow::Borrowed(content)),
            _ => Err(error),
        },
    }
}

/// The line ending of a file, if the file is UTF-8 and no larger than is taken as a whole.
fn ending_of(
    live: OpenFile,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Option<LineEnding>, FileFault> {
    if live.size > READ_MAX {
        return Ok(None);
    }
    let mut source = live.file.take(live.size);
    let mut piece = vec![0; 64 * 1024];
    let mut check = Utf8Check::default();
    let mut count = EndingCount::default();
    loop {
        if is_cancelled() {
            return Err(FileFault::Cancelled);
        }
        let bytes = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(filled) => piece.get(..filled).unwrap_or(&[]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if check.feed(bytes).is_err() {
            return Ok(None);
        }
        count.feed(bytes);
    }
    Ok(check.finish().is_ok().then(|| count.dominant()))
}
