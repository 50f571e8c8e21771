//! The end that comes from outside: what runs is ended in order.

use std::future::Future;
use std::io;
use std::process::ExitCode;

/// Does `work`, unless the program is told to end before that; gives the exit code then.
#[cfg(unix)]
pub(crate) async fn unless_told<T>(
    work: impl Future<Output = T>,
) -> io::Result<Result<T, ExitCode>> {
    use tokio::signal::unix::{SignalKind, signal};

    const INTERRUPTED: u8 = 130;
    const TERMINATED: u8 = 143;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        done = work => Ok(done),
        _ = interrupt.recv() => Err(ExitCode::from(INTERRUPTED)),
        _ = terminate.recv() => Err(ExitCode::from(TERMINATED)),
    })
}

/// Does `work`; there are no such signals here.
#[cfg(not(unix))]
pub(crate) async fn unless_told<T>(
    work: impl Future<Output = T>,
) -> io::Result<Result<T, ExitCode>> {
    Ok(Ok(work.await))
}
