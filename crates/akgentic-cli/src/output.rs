//! Printing to a reader that may have gone.

use std::io::{self, ErrorKind, Write as _};

/// Prints a text; that nobody reads it any more is no failure.
pub(crate) fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
