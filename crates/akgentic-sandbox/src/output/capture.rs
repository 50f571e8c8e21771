//! Head and rolling tail of a stream, with an exact count of what lies between.

use super::OutputLimits;
use super::text;

/// What was kept of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    spilled: Option<Spilled>,
}

/// Where the whole stream was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spilled {
    /// Name of the file, as its store calls it.
    pub name: String,
    /// Bytes in the file.
    pub bytes: u64,
    /// Whether that is everything; a file has a cap of its own.
    pub complete: bool,
}

impl Output {
    /// An output of this text, for backends that have it whole.
    pub fn of(text: impl Into<Vec<u8>>) -> Self {
        let head = text.into();
        Self { total: head.len() as u64, head, tail: Vec::new(), spilled: None }
    }

    /// Bytes that were written to the stream.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes between head and tail that were not kept.
    pub fn dropped(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    /// The beginning.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The end, as far as it does not belong to the beginning.
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// The file with the whole stream, when one was asked for and needed.
    pub fn spilled(&self) -> Option<&Spilled> {
        self.spilled.as_ref()
    }

    /// The stream as text of about `limit` bytes at most: invalid UTF-8 replaced, line ends unified.
    ///
    /// Where something is left out a line says how many bytes, and where they are to be had. The cut
    /// is made at line ends where there are some nearby.
    pub fn text(&self, limit: usize) -> String {
        text::render(self, limit)
    }
}

/// Collects one stream while it is read.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    head_max: usize,
    tail: Vec<u8>,
    tail_max: usize,
    /// Where the oldest byte of a full tail is.
    oldest: usize,
    total: u64,
}

impl Capture {
    pub(crate) fn new(limits: &OutputLimits) -> Self {
        Self {
            head: Vec::new(),
            head_max: limits.head,
            tail: Vec::new(),
            tail_max: limits.tail,
            oldest: 0,
            total: 0,
        }
    }

    /// Whether `more` bytes can be kept without dropping any.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.total + more as u64 <= (self.head_max + self.tail_max) as u64
    }

    /// What was kept so far, in order.
    pub(crate) fn kept(&self) -> [&[u8]; 3] {
        let (newer, older) = self.tail.split_at(self.oldest);
        [&self.head, older, newer]
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let (first, rest) = chunk.split_at(chunk.len().min(self.head_max - self.head.len()));
        self.head.extend_from_slice(first);
        let mut rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let room = self.tail_max - self.tail.len();
        let (fits, more) = rest.split_at(rest.len().min(room));
        if !fits.is_empty() {
            if self.tail.capacity() < self.tail.len() + fits.len() {
                let wanted = (self.tail.len() * 2).clamp(fits.len(), self.tail_max);
                self.tail.reserve_exact(wanted.max(self.tail.len() + fits.len()) - self.tail.len());
            }
            self.tail.extend_from_slice(fits);
        }
        rest = more;
        while !rest.is_empty() {
            let space = self.tail.len() - self.oldest;
            let (now, later) = rest.split_at(rest.len().min(space));
            self.tail[self.oldest..self.oldest + now.len()].copy_from_slice(now);
            self.oldest = (self.oldest + now.len()) % self.tail.len();
            rest = later;
        }
    }

    pub(crate) fn finish(mut self, spilled: Option<Spilled>) -> Output {
        self.tail.rotate_left(self.oldest);
        Output { head: self.head, tail: self.tail, total: self.total, spilled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(head: usize, tail: usize, chunks: &[Vec<u8>]) -> Output {
        let limits = OutputLimits { head, tail, ..OutputLimits::default() };
        let mut capture = Capture::new(&limits);
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish(None)
    }

    proptest::proptest! {
        #[test]
        fn head_and_tail_are_the_ends(
            head in 0_usize..40, tail in 0_usize..40,
            chunks in proptest::collection::vec(proptest::collection::vec(0_u8..=255, 0..50), 0..12),
        ) {
            let all: Vec<u8> = chunks.concat();
            let output = capture(head, tail, &chunks);
            let start = all.len().min(head);
            proptest::prop_assert_eq!(output.head(), &all[..start]);
            let end = all.len().saturating_sub(tail).max(start);
            proptest::prop_assert_eq!(output.tail(), &all[end..]);
            proptest::prop_assert_eq!(output.dropped(), (end - start) as u64);
        }
    }
}
