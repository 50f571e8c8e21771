//! Something slow to start, started before it is needed.

use std::future::Future;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::launch::{Launched, Launcher};

/// How long one is kept that nobody asks for.
const KEPT: Duration = Duration::from_secs(30);

/// How long one is awaited that is being made.
const MADE: Duration = Duration::from_secs(10);

/// At most one of them, made by a task that ends with this.
pub(crate) struct Spare<T>(Mutex<Option<Waiting<T>>>);

struct Waiting<T> {
    /// Where it was made. Another runtime does not drive that one, and may outlive it.
    runtime: Id,
    asks: oneshot::Sender<oneshot::Sender<T>>,
    /// It owns the spare, so that the spare ends with the runtime it belongs to.
    maker: JoinSet<()>,
}

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Send + 'static> Spare<T> {
    /// Makes one in the background, in place of one that is there.
    pub(crate) fn make(&self, making: impl Future<Output = io::Result<T>> + Send + 'static) {
        let (asks, asked) = oneshot::channel::<oneshot::Sender<T>>();
        let runtime = Handle::current().id();
        let mut maker = JoinSet::new();
        maker.spawn(async move {
            let made = match making.await {
                Ok(made) => made,
                Err(error) => {
                    tracing::debug!(%error, "no launcher was made ready");
                    return;
                }
            };
            if let Ok(Ok(taker)) = tokio::time::timeout(KEPT, asked).await {
                // Dropped where nobody waits for it any more.
                let _gone = taker.send(made).is_err();
            }
        });
        self.put(Some(Waiting { runtime, asks, maker }));
    }

    /// The one that is there, or is about to be; nothing when it was made in another runtime.
    pub(crate) async fn take(&self) -> Option<T> {
        let waiting = self.put(None)?;
        if waiting.runtime != Handle::current().id() {
            return None;
        }
        let (give, given) = oneshot::channel();
        waiting.asks.send(give).ok()?;
        tokio::time::timeout(MADE, given).await.ok()?.ok()
    }

    /// Ends the one that is there, with what belongs to it.
    pub(crate) async fn end(&self) {
        let Some(mut waiting) = self.put(None) else { return };
        if tokio::time::timeout(MADE, waiting.maker.shutdown()).await.is_err() {
            tracing::debug!("a launcher that nobody needs any more was not ended in time");
        }
    }

    fn put(&self, new: Option<Waiting<T>>) -> Option<Waiting<T>> {
        let mut place = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut *place, new)
    }
}

/// A launcher and what belongs to the run it will be.
pub(crate) struct Ready<R> {
    /// Ends before the rest does.
    pub launcher: Launcher,
    pub rest: R,
}

impl<R> Ready<R> {
    /// Lets the launcher read this, and nothing after it.
    pub(crate) async fn run(self, line: &[u8]) -> io::Result<(Launched, R)> {
        Ok((self.launcher.run(line).await?, self.rest))
    }
}

/// Runs a program in the spare launcher, or in a new one where that is not there or has ended.
///
/// `at_once`, the next one is made while the program runs.
pub(crate) async fn launch<R, T, F, G>(
    spare: &Spare<Ready<R>>,
    ready: impl Fn() -> F,
    run: impl Fn(Ready<R>) -> G,
    at_once: bool,
) -> io::Result<(Launched, T)>
where
    R: Send + 'static,
    F: Future<Output = io::Result<Ready<R>>> + Send + 'static,
    G: Future<Output = io::Result<(Launched, T)>>,
{
    let mut running = None;
    if let Some(spared) = spare.take().await {
        match run(spared).await {
            Ok(launched) => running = launched.0.took_it.then_some(launched),
            Err(error) => tracing::debug!(%error, "the launcher that was ready was of no use"),
        }
    }
    let running = match running {
        Some(running) => running,
        None => run(ready().await?).await?,
    };
    if at_once {
        spare.make(ready());
    }
    Ok(running)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::process::launch::{Frame, line};

    #[tokio::test(start_paused = true)]
    async fn one_is_taken_once_and_not_kept_for_ever() {
        let spare = Spare::default();
        assert_eq!(spare.take().await, None);
        spare.make(async { Ok(1) });
        assert_eq!(spare.take().await, Some(1));
        assert_eq!(spare.take().await, None);
        spare.make(async { Err(io::Error::other("no")) });
        assert_eq!(spare.take().await, None);
        spare.make(async { Ok(2) });
        tokio::time::sleep(KEPT * 2).await;
        assert_eq!(spare.take().await, None);
    }

    #[tokio::test]
    async fn it_ends_with_its_owner() {
        let (held, mut gone) = oneshot::channel::<()>();
        let spare = Spare::default();
        spare.make(async { Ok(held) });
        tokio::task::yield_now().await;
        assert!(gone.try_recv().is_err());
        drop(spare);
        assert!(gone.await.is_err());
    }

    /// A runtime that nobody drives would never hand it over.
    #[test]
    fn one_of_another_runtime_is_left_alone() {
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_all().build().expect("a runtime")
        };
        let (first, second) = (runtime(), runtime());
        let spare = Spare::default();
        first.block_on(async {
            spare.make(async { Ok(1) });
            tokio::task::yield_now().await;
        });
        assert_eq!(second.block_on(spare.take()), None);
        second.block_on(async { spare.make(async { Ok(2) }) });
        drop(first);
        assert_eq!(second.block_on(spare.take()), Some(2));
    }

    /// A shell that adds up who was started.
    async fn ready(number: u32) -> io::Result<Ready<u32>> {
        let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let launcher = Launcher::start(Frame { env, ..Frame::default() }, || Ok(())).await?;
        Ok(Ready { launcher, rest: number })
    }

    #[tokio::test]
    async fn serial_a_launcher_that_ended_is_replaced() {
        let spare = Spare::default();
        let started = AtomicU32::new(0);
        let next = || ready(started.fetch_add(1, Ordering::Relaxed));
        let line = line(&["echo", "hello"]);
        let run = async || {
            let (launched, number) =
                launch(&spare, next, |ready| ready.run(&line), true).await.expect("it runs");
            let output = launched.child.wait_with_output().await.expect("it ended");
            assert_eq!(output.stdout, b"hello\n");
            number
        };
        assert_eq!(run().await, 0);
        assert_eq!(run().await, 1, "the one that was made ready");
        let mut ended = spare.take().await.expect("another is there");
        ended.launcher.end().await;
        spare.make(async { Ok(ended) });
        assert_eq!(run().await, 3, "a new one, since number 2 has ended");
        let frozen = spare.take().await.expect("another is there");
        let pid = rustix::process::Pid::from_raw(frozen.launcher.id()).expect("a number");
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("frozen");
        spare.make(async { Ok(frozen) });
        assert_eq!(run().await, 4, "it goes on");
    }
}
