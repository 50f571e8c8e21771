//! What a refusal shows of the file: a bounded diff, or its digest.

use std::fmt;
use std::sync::Arc;

use super::digest::Digest;
use crate::diff::unified_between;
use crate::lines::Text;
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
}

impl Default for EvidenceLimits {
    /// 200 lines, 16 KiB, 500 characters per line.
    fn default() -> Self {
        Self { lines: 200, bytes: 16 * 1024, line_chars: 500 }
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
    pub live: Arc<[u8]>,
    /// The content the agent proposed, before line endings were adapted.
    pub proposed: Option<String>,
}

impl Material {
    /// The evidence for a refusal that names the file `path`.
    pub fn evidence(&self, path: &str, limits: EvidenceLimits) -> Option<Evidence> {
        let live = String::from_utf8_lossy(&self.live);
        let Some(proposed) = &self.proposed else {
            let lines = Text::new(&live).len();
            return Some(Evidence::Digest { lines, sha: Digest::of(&self.live) });
        };
        let diff = unified_between(path, &live, proposed, ("live", "proposed"));
        if diff.is_empty() {
            let same = *live == **proposed;
            return (!same).then_some(Evidence::EndingsOnly);
        }
        let mut out = Capped::new(limits);
        for line in diff.split('\n') {
            out.line(line);
        }
        Some(Evidence::Diff(out.finish()))
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

    /// Takes a line, or counts it.
    pub fn line(&mut self, line: &str) {
        self.total += 1;
        if self.full || self.shown == self.limits.lines {
            self.full = true;
            return;
        }
        let kept = clip(line, self.limits.line_chars);
        let more = if kept.len() < line.len() { " […]" } else { "" };
        if self.shown > 0 && self.text.len() + 1 + kept.len() + more.len() > self.limits.bytes {
            self.full = true;
            return;
        }
        if self.shown > 0 {
            self.text.push('\n');
        }
        self.text.push_str(kept);
        self.text.push_str(more);
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
            Material { live: live.as_bytes().into(), proposed: Some(proposed.to_owned()) };
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
