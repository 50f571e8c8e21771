//! Unified diffs: what the model sees of a change.

use std::fmt::Write as _;

use crate::lines::Text;
use crate::similarity::{Block, Comparison, Popular, intern};
use crate::spelling;

/// Lines that are shown around a change.
const CONTEXT: usize = 3;

/// Lines up to which the longest common block is looked for in the whole text.
const LINES_EXACT: usize = 1000;

/// Steps such a comparison may take; longer ones are aligned by lines that stand once in both.
const BUDGET: u64 = 3_000_000;

/// Lines of a gap between aligned lines up to which its longest common block is looked for.
const LINES_GAP: usize = 200;

/// Marks a last line without an ending.
const NO_NEWLINE: &str = "\n\\ No newline at end of file";

/// The difference of two texts as a unified diff with three lines of context, without a final
/// newline; empty when the lines are equal.
///
/// How lines end does not show.
///
/// ```
/// use akgentic_workspace::diff::unified;
///
/// assert_eq!(unified("f", "1\n2\n", "1\n3\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n 1\n-2\n+3");
/// ```
pub fn unified(path: &str, before: &str, after: &str) -> String {
    unified_between(path, before, after, ("a", "b"))
}

/// [`unified`] with other names for the two sides than `a` and `b`.
pub fn unified_between(path: &str, before: &str, after: &str, sides: (&str, &str)) -> String {
    render(path, &Text::new(before), &Text::new(after), sides, false)
}

/// [`unified`] that also tells whether the last line ends in a newline, as patch programs do.
///
/// Applied to `before`, it gives `after`, as long as all lines end alike.
pub fn unified_exact(path: &str, before: &str, after: &str) -> String {
    render(path, &Text::new(before), &Text::new(after), ("a", "b"), true)
}

/// What a change did, for the model: the diff, else a line on how lines end; empty for no change.
///
/// A diff of more than `most` bytes is cut at a line, with a notice.
pub(crate) fn describe(path: &str, before: &str, after: &str, most: usize) -> String {
    if before == after {
        return String::new();
    }
    let (one, other) = (Text::new(before), Text::new(after));
    let diff = render(path, &one, &other, ("a", "b"), false);
    if !diff.is_empty() {
        return cut(diff, most);
    }
    if one.ends_in_break() == other.ends_in_break() {
        return format!("(line endings changed) {}", spelling::told(path));
    }
    render(path, &one, &other, ("a", "b"), true)
}

fn cut(mut diff: String, most: usize) -> String {
    if diff.len() <= most {
        return diff;
    }
    let start = diff.as_bytes().get(..most).unwrap_or_default();
    let end = memchr::memrchr(b'\n', start).unwrap_or(0);
    let total = diff.lines().count();
    diff.truncate(end);
    let shown = diff.lines().count();
    _ = write!(diff, "\n[... truncated: diff of {total} lines, showing first {shown} ...]");
    diff
}

/// One side of a text as numbers and what it takes to print it.
struct Side<'t, 'l> {
    text: &'l Text<'t>,
    /// Where the last line stands when it has no ending that has to be told.
    open: Option<usize>,
}

fn render(
    path: &str,
    before: &Text<'_>,
    after: &Text<'_>,
    sides: (&str, &str),
    exact: bool,
) -> String {
    let open = |text: &Text<'_>| {
        (exact && !text.ends_in_break()).then(|| text.len().checked_sub(1)).flatten()
    };
    let (one, other) =
        (Side { text: before, open: open(before) }, Side { text: after, open: open(after) });
    let blocks = blocks(&one, &other);
    let mut out = String::new();
    for group in groups(&blocks, before.len(), after.len()) {
        if out.is_empty() {
            let (one, other) = (spelling::below(sides.0, path), spelling::below(sides.1, path));
            _ = write!(out, "--- {one}\n+++ {other}");
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old = range(first.a.0, last.a.1);
        let new = range(first.b.0, last.b.1);
        _ = write!(out, "\n@@ -{old} +{new} @@");
        for step in &group {
            if step.equal {
                body(&mut out, ' ', &one, step.a);
            } else {
                body(&mut out, '-', &one, step.a);
                body(&mut out, '+', &other, step.b);
            }
        }
    }
    out
}

fn body(out: &mut String, sign: char, side: &Side<'_, '_>, (from, to): (usize, usize)) {
    for index in from..to {
        out.push('\n');
        out.push(sign);
        out.push_str(side.text.line(index));
        if side.open == Some(index) {
            out.push_str(NO_NEWLINE);
        }
    }
}

fn range(from: usize, to: usize) -> String {
    match to - from {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        length => format!("{},{length}", from + 1),
    }
}

/// A line, and whether it is one whose missing ending is told.
type Key<'t> = (&'t str, bool);

/// The blocks of equal lines; a last line with an ending is none without.
///
/// Of long texts the common beginning and end are taken off first, and what is left is aligned by
/// lines that stand once in both.
fn blocks(one: &Side<'_, '_>, other: &Side<'_, '_>) -> Vec<Block> {
    let (a, b) = (one.keys(), other.keys());
    let room = a.len().min(b.len());
    let is_long = a.len().max(b.len()) > LINES_EXACT;
    let head = if is_long { same_from_start(&a, &b) } else { 0 };
    let tail = if is_long {
        let back = a.iter().rev().zip(b.iter().rev());
        back.take(room - head).take_while(|(one, other)| one == other).count()
    } else {
        0
    };
    let middle = |keys: &'_ [Key<'_>]| head..keys.len() - tail;
    let (inner_a, inner_b) =
        (a.get(middle(&a)).unwrap_or_default(), b.get(middle(&b)).unwrap_or_default());
    let (numbers_a, numbers_b) = intern(inner_a, inner_b);
    let mut budget = BUDGET;
    let is_long = numbers_a.len().max(numbers_b.len()) > LINES_EXACT;
    let exact = if is_long {
        None
    } else {
        Comparison::new(&numbers_b, Popular::Skipped).blocks(&numbers_a, &mut budget)
    };
    let inner = exact.unwrap_or_else(|| aligned(&numbers_a, &numbers_b));
    let mut blocks = Vec::with_capacity(inner.len() + 2);
    if head > 0 {
        blocks.push(Block { a: 0, b: 0, size: head });
    }
    for block in inner {
        push(&mut blocks, Block { a: block.a + head, b: block.b + head, size: block.size });
    }
    if tail > 0 {
        push(&mut blocks, Block { a: a.len() - tail, b: b.len() - tail, size: tail });
    }
    blocks
}

fn same_from_start(a: &[Key<'_>], b: &[Key<'_>]) -> usize {
    a.iter().zip(b).take_while(|(one, other)| one == other).count()
}

impl<'t> Side<'t, '_> {
    fn keys(&self) -> Vec<Key<'t>> {
        let numbered = self.text.contents().enumerate();
        numbered.map(|(index, line)| (line, self.open == Some(index))).collect()
    }
}

/// Blocks of two long texts in linear time: what stands once in both, in order, and what is equal
/// around it.
fn aligned(a: &[u32], b: &[u32]) -> Vec<Block> {
    let kinds = a.iter().chain(b).max().map_or(0, |most| widen(*most) + 1);
    // How often a line stands in each, and where in `b`.
    let mut seen = vec![(0u32, 0u32, 0usize); kinds];
    for line in a {
        if let Some(entry) = seen.get_mut(widen(*line)) {
            entry.0 += 1;
        }
    }
    for (position, line) in b.iter().enumerate() {
        if let Some(entry) = seen.get_mut(widen(*line)) {
            entry.1 += 1;
            entry.2 = position;
        }
    }
    let pairs: Vec<(usize, usize)> = a
        .iter()
        .enumerate()
        .filter_map(|(at, line)| match seen.get(widen(*line)) {
            Some((1, 1, position)) => Some((at, *position)),
            _ => None,
        })
        .collect();
    let mut anchors = ascending(&pairs);
    anchors.push((a.len(), b.len()));
    let (mut blocks, mut from) = (Vec::new(), (0, 0));
    for anchor in anchors {
        gap(a, b, from, anchor, &mut blocks);
        if anchor.0 < a.len() {
            push(&mut blocks, Block { a: anchor.0, b: anchor.1, size: 1 });
        }
        from = (anchor.0 + 1, anchor.1 + 1);
    }
    blocks
}

/// The equal lines at both ends of a gap between anchors.
fn gap(a: &[u32], b: &[u32], from: (usize, usize), to: (usize, usize), blocks: &mut Vec<Block>) {
    let room = to.0.saturating_sub(from.0).min(to.1.saturating_sub(from.1));
    let head = (0..room).take_while(|step| a.get(from.0 + step) == b.get(from.1 + step)).count();
    if head > 0 {
        push(blocks, Block { a: from.0, b: from.1, size: head });
    }
    let tail =
        (1..=room - head).take_while(|step| a.get(to.0 - step) == b.get(to.1 - step)).count();
    let part = |lines: &[u32], from: usize, to: usize| -> Vec<u32> {
        lines.get(from + head..to - tail).unwrap_or_default().to_vec()
    };
    let (left, right) = (part(a, from.0, to.0), part(b, from.1, to.1));
    let longest = left.len().max(right.len());
    if !left.is_empty() && !right.is_empty() && longest <= LINES_GAP {
        let (left, right) = intern(&left, &right);
        let mut budget = BUDGET;
        let inner = Comparison::new(&right, Popular::Kept).blocks(&left, &mut budget);
        for Block { a, b, size } in inner.unwrap_or_default() {
            push(blocks, Block { a: a + from.0 + head, b: b + from.1 + head, size });
        }
    }
    if tail > 0 {
        push(blocks, Block { a: to.0 - tail, b: to.1 - tail, size: tail });
    }
}

fn push(blocks: &mut Vec<Block>, block: Block) {
    match blocks.last_mut() {
        Some(last) if last.a + last.size == block.a && last.b + last.size == block.b => {
            last.size += block.size;
        }
        _ => blocks.push(block),
    }
}

/// The longest subsequence of pairs that ascends on both sides; the first side ascends already.
fn ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |index: &usize| pairs.get(*index).map_or(0, |pair| pair.1);
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(end) < pair.1);
        previous.push(length.checked_sub(1).and_then(|shorter| ends.get(shorter).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        chain.extend(pairs.get(index));
        at = previous.get(index).copied().flatten();
    }
    chain.reverse();
    chain
}

fn widen(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Lines that stay, or lines that make room for others.
#[derive(Clone, Copy, Debug)]
struct Step {
    equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

/// The steps from one text to the other, in groups with their context.
fn groups(blocks: &[Block], a_len: usize, b_len: usize) -> Vec<Vec<Step>> {
    let mut groups = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    let (mut a, mut b) = (0, 0);
    let end = Block { a: a_len, b: b_len, size: 0 };
    for block in blocks.iter().chain([&end]) {
        if a < block.a || b < block.b {
            group.push(Step { equal: false, a: (a, block.a), b: (b, block.b) });
        }
        (a, b) = (block.a + block.size, block.b + block.size);
        let equal = |from: usize, to: usize| Step {
            equal: true,
            a: (block.a + from, block.a + to),
            b: (block.b + from, block.b + to),
        };
        let size = block.size;
        if size == 0 {
            continue;
        }
        let is_last = a == a_len && b == b_len;
        if group.is_empty() {
            // Before the first change.
            if !is_last {
                group.push(equal(size.saturating_sub(CONTEXT), size));
            }
        } else if is_last {
            group.push(equal(0, size.min(CONTEXT)));
        } else if size > 2 * CONTEXT {
            group.push(equal(0, CONTEXT));
            groups.push(std::mem::take(&mut group));
            group.push(equal(size - CONTEXT, size));
        } else {
            group.push(equal(0, size));
        }
    }
    if group.iter().any(|step| !step.equal) {
        groups.push(group);
    }
    groups
}
