//! Which lines of a file were shown, page by page.

use std::ops::Range;

/// Ranges that are kept of one file; what goes beyond counts as not shown.
const RANGES: usize = 64;

/// A page of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The lines it shows as they are, counted from 0.
    pub lines: Range<u64>,
    /// Lines of the file.
    pub total: u64,
}

/// Lines that were shown: ranges in order, none of them touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines(Vec<Range<u64>>);

impl Lines {
    pub(super) fn add(&mut self, lines: Range<u64>) {
        if lines.is_empty() {
            return;
        }
        let mut joined = lines;
        self.0.retain(|range| {
            let apart = range.end < joined.start || joined.end < range.start;
            if !apart {
                joined = range.start.min(joined.start)..range.end.max(joined.end);
            }
            apart
        });
        if self.0.len() < RANGES {
            let at = self.0.partition_point(|range| range.start < joined.start);
            self.0.insert(at, joined);
        }
    }

    /// Whether all lines of a file with so many were shown.
    pub(super) fn covers(&self, total: u64) -> bool {
        matches!(self.0.as_slice(), [all] if all.start == 0 && all.end >= total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_when_nothing_is_between_them() {
        let mut lines = Lines::default();
        for page in [0..10, 20..30, 12..20] {
            lines.add(page);
            assert!(!lines.covers(30));
        }
        assert_eq!(lines.0, [0..10, 12..30]);
        lines.add(9..13);
        assert!(lines.covers(30) && !lines.covers(31));
    }
}
