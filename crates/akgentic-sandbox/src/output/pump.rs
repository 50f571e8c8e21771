//! Reads one stream to its end, whatever its length, within a fixed amount of memory.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::Notify;

use super::OutputLimits;
use super::capture::{Capture, Output, Spilled};
use super::spill::{SpillFile, SpillStore, Stream};

const CHUNK: usize = 32 << 10;

/// How much both streams gave together, and who is told when it is too much.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    total: AtomicU64,
    exceeded: Notify,
}

impl Flow {
    /// Counts a piece of either stream.
    pub(crate) fn add(&self, bytes: usize, limit: Option<u64>) {
        let before = self.total.fetch_add(bytes as u64, Ordering::Relaxed);
        if limit.is_some_and(|limit| before + bytes as u64 > limit) {
            self.exceeded.notify_one();
        }
    }

    /// Waits until the limit is passed.
    pub(crate) async fn exceeded(&self) {
        self.exceeded.notified().await;
    }
}

/// A stream being read; its capture can be taken at any time.
pub(crate) struct Pump {
    stream: Stream,
    capture: Capture,
    spill: Spill,
    store: Option<Arc<dyn SpillStore>>,
    limits: OutputLimits,
}

enum Spill {
    Idle,
    Open { file: SpillFile, bytes: u64, complete: bool },
    Failed,
}

/// Starts with an empty capture.
pub(crate) fn pump(
    stream: Stream,
    limits: &OutputLimits,
    store: Option<Arc<dyn SpillStore>>,
) -> Pump {
    Pump { stream, capture: Capture::new(limits), spill: Spill::Idle, store, limits: *limits }
}

impl Pump {
    /// Reads until the stream ends; cancel-safe up to the chunk in hand.
    pub(crate) async fn read(&mut self, source: &mut (impl AsyncRead + Unpin), flow: &Flow) {
        let mut chunk = vec![0; CHUNK];
        loop {
            match source.read(&mut chunk).await {
                Ok(0) => return,
                Ok(count) => {
                    let read = chunk.get(..count).unwrap_or_default();
                    flow.add(count, self.limits.kill);
                    self.take(read);
                }
                Err(error) => {
                    tracing::warn!(%error, stream = self.stream.name(), "output not readable");
                    return;
                }
            }
        }
    }

    /// Takes a piece of the stream.
    pub(crate) fn take(&mut self, chunk: &[u8]) {
        if matches!(self.spill, Spill::Idle)
            && !self.capture.has_room(chunk.len())
            && let Some(store) = &self.store
        {
            self.spill = match store.create(self.stream) {
                Ok(file) => Spill::Open { file, bytes: 0, complete: true },
                Err(error) => {
                    tracing::warn!(%error, stream = self.stream.name(), "no spill file");
                    Spill::Failed
                }
            };
            let limit = store.limit();
            for part in self.capture.kept() {
                self.spill.write(part, limit);
            }
        }
        if let (Spill::Open { .. }, Some(store)) = (&self.spill, &self.store) {
            let limit = store.limit();
            self.spill.write(chunk, limit);
        }
        self.capture.push(chunk);
    }

    /// What was kept.
    pub(crate) fn finish(self) -> Output {
        let spilled = match self.spill {
            Spill::Open { file, bytes, complete } => {
                Some(Spilled { name: file.name, bytes, complete })
            }
            Spill::Idle | Spill::Failed => None,
        };
        self.capture.finish(spilled)
    }
}

impl Spill {
    /// Appends as far as the cap allows. The pieces are small and go to the page cache.
    fn write(&mut self, part: &[u8], limit: u64) {
        let Self::Open { file, bytes, complete } = self else { return };
        let room = usize::try_from(limit.saturating_sub(*bytes)).unwrap_or(usize::MAX);
        let now = part.get(..room).unwrap_or(part);
        *complete &= now.len() == part.len();
        if now.is_empty() {
            return;
        }
        match file.file.write_all(now) {
            Ok(()) => *bytes += now.len() as u64,
            Err(error) => {
                tracing::warn!(%error, file = %file.name, "the spill file is incomplete");
                *complete = false;
            }
        }
    }
}
