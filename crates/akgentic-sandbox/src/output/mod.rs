//! The output of a run: bounded while it is read, whole on disk when asked for.

mod capture;
mod pump;
mod spill;
mod text;

pub use capture::{Output, Spilled};
pub use spill::{SpillDirectory, SpillFile, SpillStore, Stream};

#[cfg(test)]
use capture::Capture;
pub(crate) use pump::{Flow, pump};

/// Three numbers that have nothing to do with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes of one stream that are shown to the reader; see [`Output::text`].
    pub display: usize,
    /// Bytes that are kept of the beginning of one stream.
    pub head: usize,
    /// Bytes that are kept of the end of one stream.
    pub tail: usize,
    /// Bytes of both streams after which the run is ended; nothing means never.
    pub kill: Option<u64>,
}

impl Default for OutputLimits {
    /// 64 KiB shown, 128 KiB kept at either end, ended after 1 GiB.
    fn default() -> Self {
        Self { display: 64 << 10, head: 128 << 10, tail: 128 << 10, kill: Some(1 << 30) }
    }
}
