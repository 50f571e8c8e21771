//! Commands: what people type as `/name …` and code calls with typed arguments.

mod binder;
mod command;
mod failure;
mod parameter;
mod registry;
mod tokens;

pub use binder::{BoundArgs, BoundValue};
pub use command::{Command, CommandArgs, CommandOutput, CommandShape};
pub use failure::{CommandFailure, FailureReason};
pub use registry::{
    CommandError, CommandRegistry, DispatchOutcome, DuplicateCommand, OWN_COMMANDS, SyntaxError,
};
pub use tokens::{QuotingError, tokenize};
