//! Command lines: split into words, checked against a list of programs.

mod policy;
mod redact;
mod words;

pub use policy::{AllowedCommand, CommandError, CommandPolicy, DEFAULT_PROGRAMS};
pub use redact::redact;
pub use words::{Operator, SplitError, Words, split};
