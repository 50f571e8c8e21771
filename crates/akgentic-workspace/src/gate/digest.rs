//! What identifies a content: the SHA-256 of its bytes.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Lowercase hexadecimal SHA-256 of the bytes of a file.
///
/// ```
/// use akgentic_workspace::gate::Digest;
///
/// assert!(Digest::of(b"").as_str().starts_with("e3b0c442"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::finished(Sha256::new_with_prefix(bytes))
    }

    fn finished(state: Sha256) -> Self {
        let mut hex = String::with_capacity(64);
        let digits = state.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        hex.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        Self(hex.into())
    }

    /// A digest that was written down before.
    pub fn from_hex(hex: &str) -> Self {
        Self(hex.into())
    }

    /// Its hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// From this size on a source is digested beside its reading; a thread costs less than that.
const BESIDE: u64 = 1024 * 1024;

/// Pieces that may wait for a digest which is made beside the reading.
const WAITING: usize = 8;

/// A source whose bytes are digested as they are read.
pub(crate) struct Digesting<R> {
    source: R,
    work: Work,
}

enum Work {
    Here(Sha256),
    Beside(Beside),
}

/// A thread that digests what it is sent, and ends when nothing more can come.
struct Beside {
    pieces: SyncSender<Vec<u8>>,
    /// Pieces that were digested and can be filled again.
    empty: Receiver<Vec<u8>>,
    digest: JoinHandle<Sha256>,
}

impl Beside {
    fn start() -> io::Result<Self> {
        let (pieces, filled) = sync_channel::<Vec<u8>>(WAITING);
        let (give_back, empty) = sync_channel(WAITING);
        let digest =
            thread::Builder::new().name("workspace-digest".to_owned()).spawn(move || {
                let mut state = Sha256::new();
                for piece in filled {
                    state.update(&piece);
                    // Who reads takes a new one where none came back.
                    drop(give_back.try_send(piece));
                }
                state
            })?;
        Ok(Self { pieces, empty, digest })
    }

    fn feed(&self, bytes: &[u8]) -> io::Result<()> {
        let mut piece = self.empty.try_recv().unwrap_or_default();
        piece.clear();
        piece.extend_from_slice(bytes);
        self.pieces.send(piece).map_err(|_| gone())
    }

    fn finish(self) -> io::Result<Sha256> {
        drop(self.pieces);
        self.digest.join().map_err(|_| gone())
    }
}

fn gone() -> io::Error {
    io::Error::other("the digest could not be made")
}

impl<R> Digesting<R> {
    /// `size` is what the source is expected to hold.
    pub(crate) fn new(source: R, size: u64) -> Self {
        let beside = if size < BESIDE { None } else { Beside::start().ok() };
        let work = beside.map_or_else(|| Work::Here(Sha256::new()), Work::Beside);
        Self { source, work }
    }

    /// The digest of all that was read.
    pub(crate) fn finish(self) -> io::Result<Digest> {
        let state = match self.work {
            Work::Here(state) => state,
            Work::Beside(beside) => beside.finish()?,
        };
        Ok(Digest::finished(state))
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        match &mut self.work {
            _ if bytes.is_empty() => {}
            Work::Here(state) => state.update(bytes),
            Work::Beside(beside) => beside.feed(bytes)?,
        }
        Ok(read)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_here_or_beside_it_is_the_same() {
        let bytes: Vec<u8> = (0..3 * BESIDE).map(|at| (at % 251) as u8).collect();
        for size in [0, BESIDE] {
            let mut source = Digesting::new(&bytes[..], size);
            assert!(matches!(source.work, Work::Beside(_)) == (size == BESIDE));
            io::copy(&mut source, &mut io::sink()).unwrap();
            assert_eq!(source.finish().unwrap(), Digest::of(&bytes));
        }
    }

    #[test]
    fn of_a_part_when_reading_ends_early() {
        let bytes = vec![7; 200_000];
        let mut source = Digesting::new(&bytes[..], BESIDE);
        source.read_exact(&mut vec![0; 100_000]).unwrap();
        assert_eq!(source.finish().unwrap(), Digest::of(&bytes[..100_000]));
    }
}
