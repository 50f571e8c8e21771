//! Patterns of paths.

use akgentic_workspace::glob::{Pattern, expand};

use crate::parts::texts;

/// Most letters of a path, which keeps the plain matcher below quick.
const PATH_MAX: usize = 200;

/// A pattern is the sum of its alternatives, a path written literally is found by itself, `**/*` finds
/// everything, and stars and question marks mean what a plain matcher says.
pub fn glob(data: &[u8]) {
    let [pattern, path] = texts(data);
    let path: String = path.chars().take(PATH_MAX).collect();
    let path = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    let path = path.collect::<Vec<_>>().join("/");

    if !path.is_empty() {
        assert!(read("**/*").matches(&path), "everything is {path:?}");
        assert!(read(&literal(&path)).matches(&path), "{:?} is {path:?}", literal(&path));
    }
    let Ok(compiled) = Pattern::new(&pattern) else { return };
    let alternatives = expand(&pattern).unwrap_or_default();
    let found = compiled.matches(&path);
    let by_parts = alternatives.iter().any(|alternative| read(alternative).matches(&path));
    assert_eq!(found, by_parts, "{pattern:?} and {alternatives:?} on {path:?}");
    if let Ok(anywhere) = Pattern::anywhere(&pattern) {
        assert!(anywhere.matches(&path) || !found, "{pattern:?} on {path:?}, at any depth");
    }

    let is_plain = |text: &str| text.is_ascii() && !text.contains(['[', '{', '/']);
    let is_one_name = !pattern.contains("**") && !matches!(pattern.as_str(), "." | "..");
    if is_plain(&pattern) && is_one_name && is_plain(&path) && !path.is_empty() {
        let (pattern, path) = (pattern.to_ascii_lowercase(), path.to_ascii_lowercase());
        assert_eq!(found, fits(pattern.as_bytes(), path.as_bytes()), "{pattern:?} on {path:?}");
    }
}

fn read(pattern: &str) -> Pattern {
    Pattern::new(pattern).unwrap_or_else(|error| unreachable!("{pattern:?} is refused: {error}"))
}

/// The path as a pattern that means it. Braces are alternatives wherever they stand, so any letter
/// stands for one.
fn literal(path: &str) -> String {
    let written = |letter: char| match letter {
        '*' | '?' | '[' => format!("[{letter}]"),
        '{' | '}' => "?".to_owned(),
        other => other.to_string(),
    };
    path.chars().map(written).collect()
}

/// Whether a name fits a pattern of stars, question marks and letters: one row of a table per letter.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let mut row = vec![false; pattern.len() + 1];
    row[0] = true;
    for (at, sign) in pattern.iter().enumerate() {
        row[at + 1] = row[at] && *sign == b'*';
    }
    for letter in name {
        let mut next = vec![false; pattern.len() + 1];
        for (at, sign) in pattern.iter().enumerate() {
            next[at + 1] = match sign {
                b'*' => next[at] || row[at + 1],
                b'?' => row[at],
                own => row[at] && own == letter,
            };
        }
        row = next;
    }
    row[pattern.len()]
}
