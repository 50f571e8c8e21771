//! What a refusal shows of the file: a bounded diff, or its digest.

use std::fmt;
use std::time::{Duration, Instant};

use similar::{Algorithm, ChangeTag, DiffOp, group_diff_ops};

use super::digest::Digest;
use crate::text::clip;

/// Bounds on what a refusal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceLimits {
    /// Lines of the diff, its two headers included.
    pub lines: usize,
    /// Bytes of the diff.
    pub bytes: usize,
    /// Characters of one line.
    pub line_chars: usize,
    /// How long lines are compared; what is not compared by then counts as replaced.
    pub time: Duration,
}

impl Default for EvidenceLimits {
    /// 200 lines, 16 KiB, 500 characters per line, 8 ms.
    fn default() -> Self {
        Self { lines: 200, bytes: 16 * 1024, line_chars: 500, time: Duration::from_millis(8) }
    }
}

/// What a refusal shows of the file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The way from the live file to the proposed content, as a unified diff.
    Diff(String),
    /// Live and proposed content differ in how lines end, nothing else.
    EndingsOnly,
    /// There is nothing to compare it with.
    Digest {
        /// Lines of the file.
        lines: usize,
        /// Its digest.
        sha: Digest,
    },
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diff(diff) => {
                write!(f, "From the live file to what you proposed, you would undo:\n{diff}")
            }
            Self::EndingsOnly => f.write_str(
                "The live file and what you proposed differ only in line endings or the final newline.",
            ),
            Self::Digest { lines, sha } => {
                write!(f, "The live file has {lines} line(s) and digest {sha}.")
            }
        }
    }
}

/// What is known of a refused change; turning it into evidence takes time, so that is done last.
#[derive(Clone, Debug)]
pub struct Material {
    /// The live bytes.
    pub live: Vec<u8>,
    /// The content the agent proposed, before line endings were adapted.
    pub proposed: Option<String>,
}

impl Material {
    /// The evidence for a refusal that names the file `path`.
    pub fn evidence(&self, path: &str, limits: EvidenceLimits) -> Option<Evidence> {
        let live = String::from_utf8_lossy(&self.live);
        let Some(proposed) = &self.proposed else {
            let lines = lines(&live).len();
            return Some(Evidence::Digest { lines, sha: Digest::of(&self.live) });
        };
        let (old, new) = (lines(&live), lines(proposed));
        if old == new {
            let same = *live == **proposed;
            return (!same).then_some(Evidence::EndingsOnly);
        }
        Some(Evidence::Diff(diff(path, &old, &new, limits)))
    }
}

/// The lines of a text, without their endings.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let count = lines.len();
    for line in lines.iter_mut().take(count - 1) {
        *line = line.strip_suffix('\r').unwrap_or(line);
    }
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

fn diff(path: &str, old: &[&str], new: &[&str], limits: EvidenceLimits) -> String {
    let deadline = Instant::now() + limits.time;
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    let mut out = Capped::new(limits);
    out.line(|| format!("--- live/{path}"));
    out.line(|| format!("+++ proposed/{path}"));
    for group in group_diff_ops(ops, 3) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        out.line(|| {
            let old = span(first.old_range().start, last.old_range().end);
            let new = span(first.new_range().start, last.new_range().end);
            format!("@@ -{old} +{new} @@")
        });
        for op in &group {
            changes(op, old, new, &mut out);
        }
    }
    out.finish()
}

fn changes(op: &DiffOp, old: &[&str], new: &[&str], out: &mut Capped) {
    if op.tag() == similar::DiffTag::Equal {
        for line in old.get(op.old_range()).unwrap_or(&[]) {
            out.change(ChangeTag::Equal, line);
        }
        return;
    }
    for line in old.get(op.old_range()).unwrap_or(&[]) {
        out.change(ChangeTag::Delete, line);
    }
    for line in new.get(op.new_range()).unwrap_or(&[]) {
        out.change(ChangeTag::Insert, line);
    }
}

/// A range as it stands in the header of a hunk.
fn span(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Lines up to a bound; the rest is counted.
pub struct Capped {
    limits: EvidenceLimits,
    text: String,
    shown: usize,
    total: usize,
    full: bool,
}

impl Capped {
    /// Nothing yet.
    pub fn new(limits: EvidenceLimits) -> Self {
        Self { limits, text: String::new(), shown: 0, total: 0, full: false }
    }

    fn change(&mut self, tag: ChangeTag, line: &str) {
        let sign = match tag {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let most = self.limits.line_chars;
        self.line(|| {
            let kept = clip(line, most);
            let more = if kept.len() < line.len() { " […]" } else { "" };
            format!("{sign}{kept}{more}")
        });
    }

    /// Takes a line, or counts it.
    pub fn line(&mut self, line: impl FnOnce() -> String) {
        self.total += 1;
        if self.full || self.shown == self.limits.lines {
            self.full = true;
            return;
        }
        let line = line();
        if self.shown > 0 && self.text.len() + 1 + line.len() > self.limits.bytes {
            self.full = true;
            return;
        }
        if self.shown > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&line);
        self.shown += 1;
    }

    /// The lines, and how many are missing.
    pub fn finish(mut self) -> String {
        let rest = self.total - self.shown;
        if rest > 0 {
            let notice = format!(
                "\n... {rest} more diff line(s) not shown — read the file to see the rest."
            );
            self.text.push_str(&notice);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(live: &str, proposed: &str) -> Option<Evidence> {
        let material =
            Material { live: live.as_bytes().to_vec(), proposed: Some(proposed.to_owned()) };
        material.evidence("f", EvidenceLimits::default())
    }

    #[test]
    fn two_huge_lines_stay_small() {
        let (one, other) = ("a".repeat(5_000_000), "b".repeat(5_000_000));
        let Some(Evidence::Diff(diff)) = evidence(&one, &other) else { panic!("a diff") };
        assert!(diff.len() < 2_000, "{}", diff.len());
    }

    #[test]
    fn many_wide_lines_stay_below_the_byte_bound() {
        let wide = "é".repeat(400) + "\n";
        let Some(Evidence::Diff(diff)) = evidence(&wide.repeat(190), "") else { panic!("a diff") };
        assert!(diff.len() < 17 * 1024, "{}", diff.len());
        assert!(diff.contains("more diff line(s) not shown"), "{diff}");
    }

    #[test]
    fn endings_alone_are_told_in_one_line() {
        assert_eq!(evidence("a\r\nb\r\n", "a\nb"), Some(Evidence::EndingsOnly));
        assert_eq!(evidence("a\n", "a\n"), None);
    }
}
