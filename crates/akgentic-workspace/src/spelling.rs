//! How a path is shown on one line, and how what is shown is read as a path again.
//!
//! Most paths are shown as they are. One that would do something to the line it stands on is shown in
//! quotes with escapes, as git shows it: `"a\nb"`. So is one that could be taken for such a spelling,
//! which makes it unambiguous: every path has one spelling, and that spelling means this path alone.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use serde::{Deserialize, Deserializer};

/// The spelling of a path, or of a name.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if is_plain(text) => Cow::Borrowed(text),
        _ => Cow::Owned(quote(path.as_os_str().as_bytes())),
    }
}

/// The path that a text means: quoted parts are decoded, anything else stands for itself.
///
/// A quoted part goes from one `/` or end to another, so that a name from a listing may be put behind
/// its directory. In quotes that need not be there, the quotes belong to the name.
pub(crate) fn read(text: &str) -> Cow<'_, Path> {
    if !may_be_quoted(text) {
        return Cow::Borrowed(Path::new(text));
    }
    let mut path = OsString::new();
    let mut rest = text;
    loop {
        if let Some((part, behind)) = quoted_part(rest) {
            path.push(part);
            rest = behind;
        }
        // What follows a quoted part begins with a slash, if it is there.
        let end = rest.find('/').map_or(rest.len(), |slash| slash + 1);
        let Some((plain, behind)) = rest.split_at_checked(end) else { break };
        path.push(plain);
        if behind.is_empty() {
            break;
        }
        rest = behind;
    }
    Cow::Owned(path.into())
}

/// A path as somebody wrote it, safe to be shown: nothing changes unless it has to.
pub(crate) fn told(given: &str) -> Cow<'_, str> {
    if given.contains(acts) {
        Cow::Owned(shown(&read(given)).into_owned())
    } else {
        Cow::Borrowed(given)
    }
}

/// A path as somebody wrote it, behind a prefix that is quoted along with it where need be, as git does.
pub(crate) fn below(prefix: &str, given: &str) -> String {
    let meant = read(given);
    if meant.to_str().is_some_and(|meant| meant == given && is_plain(meant)) {
        return format!("{prefix}/{given}");
    }
    let mut whole = OsString::from(prefix);
    whole.push("/");
    whole.push(meant.as_os_str());
    shown(Path::new(&whole)).into_owned()
}

/// [`told`] of a text that is kept.
pub(crate) fn tell(given: String) -> String {
    let told = match told(&given) {
        Cow::Borrowed(_) => None,
        Cow::Owned(told) => Some(told),
    };
    told.unwrap_or(given)
}

/// For `deserialize_with`: a path as [`told`] has it.
pub(crate) fn given<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    String::deserialize(source).map(tell)
}

/// A text that is no path, such as a pattern, with what acts on a line made visible.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(acts) {
        Cow::Owned(text.replace(acts, "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Undoes the quoting; `rest` follows the opening quote. Gives the bytes and what follows the closing
/// quote; nothing for what no quoting comes to.
pub(crate) fn unquote(rest: &str) -> Option<(OsString, &str)> {
    let mut bytes = Vec::new();
    let mut source = rest.bytes().enumerate();
    loop {
        match source.next()? {
            (at, b'"') => return Some((OsString::from_vec(bytes), rest.get(at + 1..)?)),
            (_, b'\\') => bytes.push(match source.next()?.1 {
                plain @ (b'"' | b'\\') => plain,
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                first @ b'0'..=b'3' => {
                    let mut value = first - b'0';
                    for _ in 0..2 {
                        let (_, digit @ b'0'..=b'7') = source.next()? else { return None };
                        value = value * 8 + (digit - b'0');
                    }
                    value
                }
                _ => return None,
            }),
            (_, byte) => bytes.push(byte),
        }
    }
}

/// The quoted part that a text begins with, decoded, if its quotes have to be there.
fn quoted_part(text: &str) -> Option<(OsString, &str)> {
    let (part, behind) = unquote(text.strip_prefix('"')?)?;
    let ends = behind.is_empty() || behind.starts_with('/');
    (ends && !part.to_str().is_some_and(is_plain)).then_some((part, behind))
}

fn is_plain(text: &str) -> bool {
    !may_be_quoted(text) && !text.contains(acts)
}

fn may_be_quoted(text: &str) -> bool {
    text.starts_with('"') || text.contains("/\"")
}

/// Whether a character acts on the line, or the screen, that it is written to: it controls, separates
/// lines, or turns the direction of writing.
fn acts(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
        )
}

fn quote(bytes: &[u8]) -> String {
    let mut out = String::from('"');
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '"' | '\\' => out.extend(['\\', char]),
                '\u{7}' => out.push_str("\\a"),
                '\u{8}' => out.push_str("\\b"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\u{b}' => out.push_str("\\v"),
                '\u{c}' => out.push_str("\\f"),
                '\r' => out.push_str("\\r"),
                char if acts(char) => octal(&mut out, char.encode_utf8(&mut [0; 4]).as_bytes()),
                char => out.push(char),
            }
        }
        octal(&mut out, chunk.invalid());
    }
    out.push('"');
    out
}

fn octal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        _ = write!(out, "\\{byte:03o}");
    }
}

/// `NAME` of a file as [`shown`].
pub(crate) fn name(name: &OsStr) -> Cow<'_, str> {
    shown(Path::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: &[u8]) -> &Path {
        Path::new(OsStr::from_bytes(bytes))
    }

    #[test]
    fn spellings() {
        for (bytes, spelled) in [
            (&b""[..], ""),
            (b"a b/c.txt", "a b/c.txt"),
            ("é/日本".as_bytes(), "é/日本"),
            (br#"say "hi""#, r#"say "hi""#),
            (b"a\\nb", "a\\nb"),
            (b"a\nb", r#""a\nb""#),
            (b"d/\x1b[31m", r#""d/\033[31m""#),
            (b"\x7f\t\r\"\\", r#""\177\t\r\"\\""#),
            ("\u{85}\u{202E}".as_bytes(), r#""\302\205\342\200\256""#),
            (b"caf\xE9", r#""caf\351""#),
            (br#""a\nb""#, r#""\"a\\nb\"""#),
            (br#"d/"x"#, r#""d/\"x""#),
        ] {
            assert_eq!(shown(path(bytes)), spelled);
            assert_eq!(&*read(spelled), path(bytes));
        }
    }

    #[test]
    fn what_is_not_quoted_stands_for_itself() {
        for text in [r#""plain""#, r#""open\n"#, r#""a\nb".txt"#, r#""\q""#, r#""\12""#, "a\nb"] {
            assert_eq!(&*read(text), Path::new(text));
        }
    }

    #[test]
    fn names_go_behind_their_directory() {
        for (text, expected) in [
            (r#"sub/"a\nb""#, "sub/a\nb"),
            (r#""d\n/e"/"a\nb"/x"#, "d\n/e/a\nb/x"),
            (r#"./"a\nb"/"#, "./a\nb/"),
            (r#"x/"y"/"a\nb""#, "x/\"y\"/a\nb"),
        ] {
            assert_eq!(&*read(text), Path::new(expected), "{text}");
        }
    }

    #[test]
    fn prefixes_go_into_the_quotes() {
        for (given, expected) in [
            ("d/x y", "a/d/x y"),
            ("", "a/"),
            (r#"d/"x\n""#, r#""a/d/x\n""#),
            ("x\ny", r#""a/x\ny""#),
            (r#""\"x""#, r#""a/\"x""#),
        ] {
            assert_eq!(below("a", given), expected);
        }
    }

    /// Every path of some length over what matters here.
    #[test]
    fn every_spelling_means_one_path() {
        const PARTS: [&[u8]; 9] =
            [b"\"", b"\\", b"n", b"/", b"\n", b"a", b"\xE9", "\u{2028}".as_bytes(), b"0"];
        for mut number in 0..PARTS.len().pow(5) {
            let mut bytes = Vec::new();
            while number > 0 {
                bytes.extend_from_slice(PARTS[number % PARTS.len()]);
                number /= PARTS.len();
            }
            let spelled = shown(path(&bytes));
            assert!(!spelled.contains(acts), "{spelled}");
            let meant = read(&spelled);
            assert_eq!(meant.as_os_str(), OsStr::from_bytes(&bytes), "{spelled}");
            assert_eq!(told(&spelled), spelled);
        }
    }
}
