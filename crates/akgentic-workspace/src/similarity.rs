//! How two sequences of lines correspond: the longest common block first, then left and right of
//! it (Ratcliff and Obershelp).

use std::collections::HashMap;
use std::hash::Hash;

/// A run of equal lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it starts in the first sequence.
    pub a: usize,
    /// Where it starts in the second one.
    pub b: usize,
    /// Lines.
    pub size: usize,
}

/// Lines of the second sequence from which on very frequent ones anchor no block.
const POPULAR_FROM: usize = 200;

/// The blocks of two sequences of lines, in order, adjacent ones merged.
///
/// In a second sequence of 200 lines or more, a line that makes up over a hundredth of it belongs
/// to blocks but begins none.
///
/// ```
/// use akgentic_workspace::similarity::{Block, matching_blocks};
///
/// let blocks = matching_blocks(&["a", "b", "x", "c"], &["a", "b", "c"]);
/// assert_eq!(blocks, [Block { a: 0, b: 0, size: 2 }, Block { a: 3, b: 2, size: 1 }]);
/// ```
pub fn matching_blocks(a: &[&str], b: &[&str]) -> Vec<Block> {
    let (a, b) = intern(a, b);
    let mut budget = u64::MAX;
    Comparison::new(&b, Popular::Skipped).blocks(&a, &mut budget).unwrap_or_default()
}

/// Both sequences with every line replaced by a number, the same for equal lines.
pub(crate) fn intern<T: Copy + Eq + Hash>(a: &[T], b: &[T]) -> (Vec<u32>, Vec<u32>) {
    let mut known = HashMap::with_capacity(a.len().max(b.len()));
    let mut number = |line: &T| {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(*line).or_insert(next)
    };
    let first = a.iter().map(&mut number).collect();
    let second = b.iter().map(&mut number).collect();
    (first, second)
}

/// What becomes of very frequent lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Popular {
    /// They begin no block in a long sequence.
    Skipped,
    /// They are lines like others.
    Kept,
}

/// The second of two sequences, ready to be compared with others.
pub(crate) struct Comparison<'b> {
    b: &'b [u32],
    /// Positions by line number, ascending: those of line `n` are `positions[starts[n]..starts[n + 1]]`.
    positions: Vec<usize>,
    starts: Vec<usize>,
    /// Run lengths that end at a position of `b`, shifted by one; zero where none ends.
    now: Vec<usize>,
    before: Vec<usize>,
}

impl<'b> Comparison<'b> {
    pub(crate) fn new(b: &'b [u32], popular: Popular) -> Self {
        let kinds = b.iter().max().map_or(0, |most| index(*most) + 1);
        let mut counts = vec![0usize; kinds];
        for line in b {
            if let Some(count) = counts.get_mut(index(*line)) {
                *count += 1;
            }
        }
        if popular == Popular::Skipped && b.len() >= POPULAR_FROM {
            let most = b.len() / 100 + 1;
            for count in counts.iter_mut().filter(|count| **count > most) {
                *count = 0;
            }
        }
        let mut starts = Vec::with_capacity(kinds + 1);
        let mut total = 0;
        starts.push(0);
        for count in &counts {
            total += count;
            starts.push(total);
        }
        let mut positions = vec![0; total];
        let mut filled = starts.clone();
        for (position, line) in b.iter().enumerate() {
            let line = index(*line);
            if counts.get(line).is_some_and(|count| *count > 0)
                && let Some(slot) = filled.get_mut(line)
                && let Some(place) = positions.get_mut(*slot)
            {
                *place = position;
                *slot += 1;
            }
        }
        Self { b, positions, starts, now: vec![0; b.len() + 1], before: vec![0; b.len() + 1] }
    }

    /// Where a line stands in the second sequence.
    fn positions_of(&self, line: u32) -> &[usize] {
        let line = index(line);
        match (self.starts.get(line), self.starts.get(line + 1)) {
            (Some(from), Some(to)) => self.positions.get(*from..*to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The blocks shared with `a`; none when that takes more than `budget` steps.
    pub(crate) fn blocks(&mut self, a: &[u32], budget: &mut u64) -> Option<Vec<Block>> {
        let mut found = Vec::new();
        let mut ahead = vec![(0, a.len(), 0, self.b.len())];
        while let Some((a_from, a_to, b_from, b_to)) = ahead.pop() {
            let block = self.longest(a, (a_from, a_to), (b_from, b_to), budget)?;
            if block.size == 0 {
                continue;
            }
            let (a_end, b_end) = (block.a + block.size, block.b + block.size);
            found.push(block);
            if a_from < block.a && b_from < block.b {
                ahead.push((a_from, block.a, b_from, block.b));
            }
            if a_end < a_to && b_end < b_to {
                ahead.push((a_end, a_to, b_end, b_to));
            }
        }
        found.sort_unstable_by_key(|block| (block.a, block.b));
        let mut merged: Vec<Block> = Vec::with_capacity(found.len());
        for block in found {
            match merged.last_mut() {
                Some(last) if last.a + last.size == block.a && last.b + last.size == block.b => {
                    last.size += block.size;
                }
                _ => merged.push(block),
            }
        }
        Some(merged)
    }

    /// The longest block within a part of both; of equal ones the first in `a`, then in `b`.
    fn longest(
        &mut self,
        a: &[u32],
        (a_from, a_to): (usize, usize),
        (b_from, b_to): (usize, usize),
        budget: &mut u64,
    ) -> Option<Block> {
        let mut best = Block { a: a_from, b: b_from, size: 0 };
        let mut now = std::mem::take(&mut self.now);
        let mut before = std::mem::take(&mut self.before);
        let mut previous: Option<u32> = None;
        let mut within_budget = true;
        for (at, line) in a.iter().enumerate().take(a_to).skip(a_from) {
            let positions = self.positions_of(*line);
            let first = positions.partition_point(|position| *position < b_from);
            let spent = u64::try_from(positions.len() - first).unwrap_or(u64::MAX) + 1;
            let Some(rest) = budget.checked_sub(spent) else {
                within_budget = false;
                break;
            };
            *budget = rest;
            for position in positions.iter().skip(first).take_while(|position| **position < b_to) {
                let run = before.get(*position).copied().unwrap_or(0) + 1;
                if let Some(slot) = now.get_mut(position + 1) {
                    *slot = run;
                }
                if run > best.size {
                    best = Block { a: at + 1 - run, b: position + 1 - run, size: run };
                }
            }
            self.forget(previous, &mut before, (b_from, b_to));
            std::mem::swap(&mut now, &mut before);
            previous = Some(*line);
        }
        self.forget(previous, &mut before, (b_from, b_to));
        self.now = now;
        self.before = before;
        if !within_budget {
            return None;
        }
        Some(self.grown(a, best, (a_from, a_to), (b_from, b_to)))
    }

    /// Clears the run lengths that a line left behind.
    fn forget(&self, line: Option<u32>, runs: &mut [usize], (from, to): (usize, usize)) {
        let Some(line) = line else { return };
        let positions = self.positions_of(line);
        let first = positions.partition_point(|position| *position < from);
        for position in positions.iter().skip(first).take_while(|position| **position < to) {
            if let Some(slot) = runs.get_mut(position + 1) {
                *slot = 0;
            }
        }
    }

    /// The block with the equal lines around it, which were too frequent to be looked up.
    fn grown(
        &self,
        a: &[u32],
        mut block: Block,
        (a_from, a_to): (usize, usize),
        (b_from, b_to): (usize, usize),
    ) -> Block {
        while block.a > a_from && block.b > b_from && a.get(block.a - 1) == self.b.get(block.b - 1)
        {
            block = Block { a: block.a - 1, b: block.b - 1, size: block.size + 1 };
        }
        while block.a + block.size < a_to
            && block.b + block.size < b_to
            && a.get(block.a + block.size) == self.b.get(block.b + block.size)
        {
            block.size += 1;
        }
        block
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
