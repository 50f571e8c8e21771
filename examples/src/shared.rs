//! What the example programs share: how they print, how they log and how they end.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

/// Prints a line; that nobody reads it any more is no failure.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::shared::print_line(format_args!($($text)*))
    };
}
pub(crate) use say;

pub(crate) fn print_line(line: std::fmt::Arguments<'_>) {
    let _printed = writeln!(std::io::stdout(), "{line}").is_ok();
}

/// Tells the failure of a program, and how it ends.
pub(crate) fn exit(program: &str, outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Who does not read it sees the exit code.
            let _told = writeln!(std::io::stderr(), "{program}: {}", failure(&error)).is_ok();
            ExitCode::FAILURE
        }
    }
}

/// Sends what `RUST_LOG` asks for to standard error.
pub(crate) fn log_to_stderr() {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// A failure with its causes, without what has been said already.
fn failure(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}
