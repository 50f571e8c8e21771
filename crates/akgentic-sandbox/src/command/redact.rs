//! Secrets in command lines, made unreadable before a line is kept anywhere.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// What takes the place of a secret.
const REDACTED: &str = "[redacted]";

/// Each pattern keeps its first group and hides the second.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // name=value and "name": value, where the name tells of a secret
        r#"(?i)([A-Za-z0-9_.-]*(?:api[_-]?key|access[_-]?key|secret|token|passwd|password|credential)[A-Za-z0-9_-]*["']?\s*[=:]\s*["']?)([^\s"'&;]+)"#,
        // --password value
        r#"(?i)(--?(?:api[_-]?key|secret|token|passwd|password)\s+["']?)([^\s"'-][^\s"']*)"#,
        // Authorization: Bearer value
        r#"(?i)(authorization["']?\s*:\s*(?:bearer|basic|token)\s+)([^\s"']+)"#,
        // curl -u user:password
        r#"(\s-u\s+["']?[^\s:"']+:)([^\s"']+)"#,
        // scheme://user:password@host
        r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:)([^\s/@]+)@",
        // keys that are known by their shape
        r"()\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
    ]
    .into_iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// The text with what looks like a secret hidden, for logs and journals.
///
/// ```
/// use akgentic_sandbox::redact;
///
/// assert_eq!(redact("curl -H 'Authorization: Bearer abc'"), "curl -H 'Authorization: Bearer [redacted]'");
/// assert_eq!(redact("API_KEY=abc make"), "API_KEY=[redacted] make");
/// assert_eq!(redact("ls -la"), "ls -la");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for pattern in PATTERNS.iter() {
        if pattern.is_match(&text) {
            let hidden = pattern.replace_all(&text, |found: &regex::Captures<'_>| {
                let end = if found[0].ends_with('@') { "@" } else { "" };
                format!("{}{REDACTED}{end}", &found[1])
            });
            text = Cow::Owned(hidden.into_owned());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), 6);
    }

    #[test]
    fn secrets_are_hidden() {
        for (line, shown) in [
            ("git clone https://me:hunter2@host/r", "git clone https://me:[redacted]@host/r"),
            ("curl -u me:hunter2 http://h", "curl -u me:[redacted] http://h"),
            ("tool --password hunter2 -v", "tool --password [redacted] -v"),
            ("OPENAI_API_KEY='abc' x", "OPENAI_API_KEY='[redacted]' x"),
            ("echo sk-abcdefghijklmnopqrst", "echo [redacted]"),
            ("echo AKIAABCDEFGHIJKLMNOP", "echo [redacted]"),
            ("grep token src", "grep token src"),
            ("curl http://h:80/p", "curl http://h:80/p"),
        ] {
            assert_eq!(redact(line), shown);
        }
    }
}
