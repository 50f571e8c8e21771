//! The header lines of a patch: paths and hunk positions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::{Hunk, NO_FILE};
use crate::spelling;

/// A path as a header names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// No file.
    Nothing,
    /// This file: the prefix that it is written with, and its spelling.
    File(String),
}

impl Named {
    /// Reads what stands behind `--- ` or `+++ `; nothing for a quoted name that cannot be decoded.
    pub(super) fn read(rest: &str) -> Option<Self> {
        let rest = rest.trim();
        let path = if rest.starts_with('"') {
            quoted(rest)?
        } else {
            let path = rest.split('\t').next().unwrap_or_default().trim();
            let (prefix, path) = apart(path);
            format!("{prefix}{}", spelling::told(path))
        };
        Some(if apart(&path).1 == NO_FILE { Self::Nothing } else { Self::File(path) })
    }
}

/// A name in quotes, as its prefix and the spelling of the rest; behind it there may be a date.
fn quoted(name: &str) -> Option<String> {
    let (name, behind) = unquote_name(name)?;
    let ends = behind.trim_start_matches(' ').is_empty() || behind.starts_with('\t');
    ends.then_some(name)
}

/// [`quoted`], with what follows the closing quote.
fn unquote_name(name: &str) -> Option<(String, &str)> {
    let (decoded, behind) = spelling::unquote(name.strip_prefix('"')?)?;
    let bytes = decoded.as_bytes();
    let (prefix, path) = match bytes.split_at_checked(2) {
        Some((b"a/", path)) => ("a/", path),
        Some((b"b/", path)) => ("b/", path),
        _ => ("", bytes),
    };
    Some((format!("{prefix}{}", spelling::name(OsStr::from_bytes(path))), behind))
}

/// The prefix of a side, if there is one, and the rest.
fn apart(path: &str) -> (&str, &str) {
    match path.split_at_checked(2) {
        Some((prefix @ ("a/" | "b/"), rest)) => (prefix, rest),
        _ => ("", path),
    }
}

/// What `diff --git` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GitPath {
    /// One file on both sides.
    Same(String),
    /// Two, or it cannot be told where the first one ends.
    Differs,
    /// A quoted name that cannot be decoded.
    Undecodable,
}

/// Reads what stands behind `diff --git `; git quotes each name as it needs.
pub(super) fn git_path(rest: &str) -> GitPath {
    let rest = rest.trim();
    if let Some(path) = halves(rest) {
        return GitPath::Same(spelling::told(path).into_owned());
    }
    let pair = if rest.starts_with('"') {
        unquote_name(rest).and_then(|(one, behind)| {
            let other = behind.strip_prefix(' ')?;
            Some((one, if other.starts_with('"') { quoted(other)? } else { other.to_owned() }))
        })
    } else if let Some(at) = rest.find(" \"") {
        rest.split_at_checked(at)
            .and_then(|(one, other)| Some((one.to_owned(), quoted(other.trim_start())?)))
    } else {
        return GitPath::Differs;
    };
    let Some((one, other)) = pair else { return GitPath::Undecodable };
    match (one.strip_prefix("a/"), other.strip_prefix("b/")) {
        (Some(one), Some(other)) if one == other => GitPath::Same(one.to_owned()),
        _ => GitPath::Differs,
    }
}

/// `P` of `a/P b/P`: both halves are as long.
fn halves(rest: &str) -> Option<&str> {
    let half = rest.len().checked_sub(1)? / 2;
    let one = rest.get(..half)?.strip_prefix("a/")?;
    let other = rest.get(half + 1..)?.strip_prefix("b/")?;
    (one == other).then_some(one)
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
        let file = |path: &str| Some(Named::File(path.to_owned()));
        assert_eq!(Named::read("a/x\t2024-01-01"), file("a/x"));
        assert_eq!(Named::read("  b/a b  "), file("b/a b"));
        assert_eq!(Named::read(r#""a/\303\251 \"x""#), file("a/é \"x"));
        assert_eq!(Named::read("\"a/d/\\t.txt\"\t2024-01-01"), file(r#"a/"d/\t.txt""#));
        assert_eq!(Named::read("a/\u{1b}x"), file(r#"a/"\033x""#));
        assert_eq!(Named::read("/dev/null"), Some(Named::Nothing));
        assert_eq!(Named::read("b//dev/null"), Some(Named::Nothing));
        for bad in [r#""a/x"#, r#""a/\q""#, r#""a/\400""#, r#""a/\12""#, r#""a/x\""#, r#""a/x"y"#] {
            assert_eq!(Named::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn git_names_a_file_twice() {
        let same = |path: &str| GitPath::Same(path.to_owned());
        assert_eq!(git_path("a/x y b/x y"), same("x y"));
        assert_eq!(git_path(r#"a/x"y b/x"y"#), same("x\"y"));
        assert_eq!(git_path(r#""a/x\ny" "b/x\ny""#), same(r#""x\ny""#));
        assert_eq!(git_path("a/x b/y"), GitPath::Differs);
        assert_eq!(git_path(r#"a/x "b/\n""#), GitPath::Differs);
        assert_eq!(git_path(r#""a/x" "b/\q""#), GitPath::Undecodable);
        assert_eq!(git_path(r#""a/x b/x"#), GitPath::Undecodable);
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
