//! The strategy that takes as many lines as the text has when nearly all of them are equal.

use std::collections::HashMap;
use std::ops::Range;

use crate::lines::Text;
use crate::similarity::{Comparison, Popular};

/// The share of equal lines from which on a window is accepted.
pub const FUZZY_THRESHOLD: f64 = 0.85;

/// Steps one search may take; a text that repeats itself so much is not looked for any longer.
const BUDGET: u64 = 20_000_000;

/// A line of the file that is none of the text.
const OTHER: u32 = u32::MAX;

/// Every window of a file against a text of as many lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Lines of the text.
    pub lines: usize,
    /// Equal lines of each window, in order.
    pub matched: Vec<usize>,
    /// The first of the best windows.
    pub best: Option<usize>,
    /// Whether the best window is good enough.
    pub accepted: bool,
}

/// Compares every window; what the fuzzy strategy decides on, in full.
pub fn windows(content: &str, anchor: &str) -> Windows {
    let (content, anchor) = (Text::new(content), Text::new(anchor));
    let lines = anchor.len();
    let mut search = Search::new(&content, &anchor);
    let count = if lines == 0 { 0 } else { (content.len() + 1).saturating_sub(lines) };
    let mut budget = u64::MAX;
    let matched: Vec<usize> =
        (0..count).map(|at| search.matched(at, &mut budget).unwrap_or(0)).collect();
    let most = matched.iter().copied().max().unwrap_or(0);
    let best = matched.iter().position(|matched| *matched == most && most > 0);
    Windows { lines, accepted: best.is_some() && is_enough(most, lines), matched, best }
}

/// Whether so many of so many lines are 85 of 100, without rounding.
fn is_enough(matched: usize, lines: usize) -> bool {
    20 * matched >= 17 * lines
}

struct Search {
    /// The text's lines by number.
    anchor: Vec<u32>,
    /// The file's lines by the same numbers.
    content: Vec<u32>,
}

impl Search {
    fn new(content: &Text<'_>, anchor: &Text<'_>) -> Self {
        let mut numbers: HashMap<&str, u32> = HashMap::with_capacity(anchor.len());
        // Most lines of a file have a length that no line of the text has: they need no hashing.
        let longest = anchor.lines.iter().map(|line| line.end - line.start).max().unwrap_or(0);
        let mut lengths = vec![false; longest + 1];
        let wanted = anchor
            .contents()
            .map(|line| {
                if let Some(length) = lengths.get_mut(line.len()) {
                    *length = true;
                }
                let next = u32::try_from(numbers.len()).unwrap_or(OTHER);
                *numbers.entry(line).or_insert(next)
            })
            .collect();
        let own = content
            .contents()
            .map(|line| {
                if lengths.get(line.len()) == Some(&true) {
                    numbers.get(line).copied().unwrap_or(OTHER)
                } else {
                    OTHER
                }
            })
            .collect();
        Self { anchor: wanted, content: own }
    }

    fn window(&self, at: usize) -> &[u32] {
        self.content.get(at..at + self.anchor.len()).unwrap_or_default()
    }

    /// Equal lines of the window at `at`, by blocks.
    fn matched(&mut self, at: usize, budget: &mut u64) -> Option<usize> {
        // What it takes to get ready counts too.
        let lines = u64::try_from(self.anchor.len()).unwrap_or(u64::MAX);
        *budget = budget.checked_sub(8 * lines)?;
        // Lines that are none of the text match nothing: any number beyond will do.
        let most = self.anchor.iter().max().map_or(0, |most| most + 1);
        let window: Vec<u32> = self.window(at).iter().map(|line| (*line).min(most)).collect();
        let mut comparison = Comparison::new(&window, Popular::Kept);
        let blocks = comparison.blocks(&self.anchor, budget)?;
        Some(blocks.iter().map(|block| block.size).sum())
    }
}

/// The best window first, then the others that are good enough and apart from it, or as good.
pub(super) fn fuzzy(content: &Text<'_>, anchor: &Text<'_>) -> Vec<Range<usize>> {
    let lines = anchor.len();
    if lines == 0 || content.len() < lines || anchor.text.trim().is_empty() {
        return Vec::new();
    }
    let mut search = Search::new(content, anchor);
    let needed = (17 * lines).div_ceil(20);
    // How often each line of the text is still to be found, and how many are found, if order did
    // not matter: never less than what blocks give.
    let kinds = search.anchor.iter().max().map_or(0, |most| index(*most) + 1);
    let mut wanted = vec![0i64; kinds];
    for line in &search.anchor {
        if let Some(count) = wanted.get_mut(index(*line)) {
            *count += 1;
        }
    }
    let mut bound = 0;
    let mut good: Vec<(usize, usize)> = Vec::new();
    let mut budget = BUDGET;
    for next in 0..content.len() {
        if let Some(count) = search.content.get(next).and_then(|line| wanted.get_mut(index(*line)))
        {
            bound += usize::from(*count > 0);
            *count -= 1;
        }
        let Some(at) = (next + 1).checked_sub(lines) else { continue };
        if bound >= needed {
            match search.matched(at, &mut budget) {
                Some(matched) if matched >= needed => good.push((at, matched)),
                Some(_) => {}
                None => return Vec::new(),
            }
        }
        if let Some(count) = search.content.get(at).and_then(|line| wanted.get_mut(index(*line))) {
            *count += 1;
            bound -= usize::from(*count > 0);
        }
    }
    let most = good.iter().map(|window| window.1).max().unwrap_or(0);
    let Some(best) = good.iter().find(|window| window.1 == most).copied() else {
        return Vec::new();
    };
    let others = good.into_iter().filter(|(at, matched)| {
        *at != best.0 && (*matched == most || at.abs_diff(best.0) >= lines)
    });
    [best.0]
        .into_iter()
        .chain(others.map(|window| window.0))
        .map(|at| content.span(at, lines, anchor.ends_in_break()))
        .collect()
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
