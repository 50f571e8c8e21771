//! What the example programs share: how they log and how they tell a failure.

use std::io::IsTerminal as _;

/// Sends what `RUST_LOG` asks for to standard error.
pub(crate) fn log_to_stderr() {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// A failure with its causes, without what has been said already.
pub(crate) fn failure(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}
