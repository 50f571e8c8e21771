//! The header lines of a patch: paths and hunk positions.

use super::{Hunk, NO_FILE};

/// A path as a header names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// No file.
    Nothing,
    /// This file, with the prefix that it is written with.
    File(String),
}

impl Named {
    /// Reads what stands behind `--- ` or `+++ `.
    pub(super) fn read(rest: &str) -> Self {
        let rest = rest.trim();
        let path = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted).unwrap_or_else(|| rest.to_owned()),
            None => rest.split('\t').next().unwrap_or_default().trim().to_owned(),
        };
        let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(&path);
        if bare == NO_FILE { Self::Nothing } else { Self::File(path) }
    }
}

/// Undoes the quoting that git gives to unusual names; `rest` follows the opening quote.
pub(super) fn unquote(rest: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut source = rest.bytes().peekable();
    loop {
        match source.next()? {
            b'"' => return String::from_utf8(bytes).ok(),
            b'\\' => match source.next()? {
                b'n' => bytes.push(b'\n'),
                b't' => bytes.push(b'\t'),
                b'r' => bytes.push(b'\r'),
                b'a' => bytes.push(7),
                b'b' => bytes.push(8),
                b'f' => bytes.push(12),
                b'v' => bytes.push(11),
                first @ b'0'..=b'7' => {
                    let mut value = u32::from(first - b'0');
                    for _ in 0..2 {
                        let digit = source.next_if(|byte| (b'0'..=b'7').contains(byte))?;
                        value = value * 8 + u32::from(digit - b'0');
                    }
                    bytes.push(u8::try_from(value).ok()?);
                }
                other => bytes.push(other),
            },
            byte => bytes.push(byte),
        }
    }
}

/// The path of both sides in `diff --git a/P b/P`; nothing when they differ.
pub(super) fn git_path(rest: &str) -> Option<String> {
    let rest = rest.trim();
    if let Some(quoted) = rest.strip_prefix('"') {
        return unquote(quoted)?.strip_prefix("a/").map(str::to_owned);
    }
    // `a/P b/P`: both halves are as long.
    let half = rest.len().checked_sub(1)? / 2;
    let one = rest.get(..half)?.strip_prefix("a/")?;
    let other = rest.get(half + 1..)?.strip_prefix("b/")?;
    (one == other).then(|| one.to_owned())
}

/// Reads `@@ -a,b +c,d @@`; what follows does not matter.
pub(super) fn hunk_header(line: &str) -> Option<Hunk> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let (old_start, old_count) = position(old)?;
    let (new_start, new_count) = position(new)?;
    Some(Hunk { old_start, old_count, new_start, new_count, ..Hunk::default() })
}

fn position(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| -> Option<u64> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let file = |path: &str| Named::File(path.to_owned());
        assert_eq!(Named::read("a/x\t2024-01-01"), file("a/x"));
        assert_eq!(Named::read("  b/a b  "), file("b/a b"));
        assert_eq!(Named::read(r#""a/\303\251\t.txt""#), file("a/é\t.txt"));
        assert_eq!(Named::read("/dev/null"), Named::Nothing);
        assert_eq!(Named::read("b//dev/null"), Named::Nothing);
        assert_eq!(git_path("a/x y b/x y").as_deref(), Some("x y"));
        assert_eq!(git_path("a/x b/y"), None);
    }

    #[test]
    fn positions() {
        let header = |line: &str| hunk_header(line).map(|hunk| hunk.header());
        assert_eq!(header("@@ -1 +2,0 @@ fn x").as_deref(), Some("@@ -1,1 +2,0 @@"));
        for bad in ["@@ -x,2 +1 @@", "@@-1 +1@@", "@@ -٢ +٢ @@", "@@ -1 +1", "@@ -, +1 @@"] {
            assert!(header(bad).is_none(), "{bad}");
        }
    }
}
