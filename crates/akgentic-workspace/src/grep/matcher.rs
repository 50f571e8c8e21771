//! Regular expressions in the dialect that models write, matched line by line in bounded time.

use std::sync::atomic::{AtomicBool, Ordering};

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Most bytes of a regular expression.
const LENGTH_MAX: usize = 8 * 1024;

/// Most bytes of a compiled regular expression.
const SIZE_MAX: usize = 8 << 20;

/// Most steps back on one line, for expressions that need such steps.
const STEPS_MAX: usize = 100_000;

/// A regular expression that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadRegex {
    /// It cannot be read.
    #[error("Invalid regex pattern: {0}")]
    Syntax(String),
    /// It takes too many steps.
    #[error(
        "Invalid regex pattern: it takes too many steps on a line. Use it without look-around and back \
         references, or with fewer repetitions inside of one another"
    )]
    TooCostly,
}

/// A regular expression for lines.
pub(super) struct LineMatcher {
    engine: Engine,
    gave_up: AtomicBool,
}

enum Engine {
    /// Time linear in the text.
    Linear(RegexMatcher),
    /// With look-around and back references, and a limit on the steps of one line.
    Stepping(Box<fancy_regex::Regex>),
}

impl LineMatcher {
    pub(super) fn new(pattern: &str) -> Result<Self, BadRegex> {
        if pattern.len() > LENGTH_MAX {
            let text = format!("it has {} bytes, at most {LENGTH_MAX} are read", pattern.len());
            return Err(BadRegex::Syntax(text));
        }
        let translated = translate(pattern);
        let linear = RegexMatcherBuilder::new()
            .multi_line(true)
            .crlf(true)
            .size_limit(SIZE_MAX)
            .dfa_size_limit(SIZE_MAX)
            .build(&translated);
        let engine = match linear {
            Ok(matcher) => Engine::Linear(matcher),
            Err(_) if needs_steps(pattern) => {
                let stepping = fancy_regex::RegexBuilder::new(&translated)
                    .backtrack_limit(STEPS_MAX)
                    .delegate_size_limit(SIZE_MAX)
                    .delegate_dfa_size_limit(SIZE_MAX)
                    .build();
                match stepping {
                    Ok(regex) => Engine::Stepping(Box::new(regex)),
                    Err(error) => return Err(BadRegex::Syntax(detail(&error.to_string()))),
                }
            }
            Err(error) => return Err(BadRegex::Syntax(detail(&error.to_string()))),
        };
        Ok(Self { engine, gave_up: AtomicBool::new(false) })
    }

    /// The linear engine, if this expression has one.
    pub(super) fn linear(&self) -> Option<&RegexMatcher> {
        match &self.engine {
            Engine::Linear(matcher) => Some(matcher),
            Engine::Stepping(_) => None,
        }
    }

    /// Where a line, without its ending, matches first.
    pub(super) fn position(&self, line: &str) -> Option<usize> {
        match &self.engine {
            Engine::Linear(matcher) => {
                matcher.find(line.as_bytes()).ok().flatten().map(|found| found.start())
            }
            Engine::Stepping(regex) => {
                let found = regex.find(line);
                if found.is_err() {
                    self.gave_up.store(true, Ordering::Relaxed);
                }
                found.ok().flatten().map(|found| found.start())
            }
        }
    }

    /// Whether a line took too many steps.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }
}

/// Whether an expression holds what takes steps back.
fn needs_steps(pattern: &str) -> bool {
    const SIGNS: &[&str] = &[
        "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P=", "(?(", "++", "*+", "?+", "}+", "\\1", "\\2",
        "\\3", "\\4", "\\5", "\\6", "\\7", "\\8", "\\9",
    ];
    SIGNS.iter().any(|sign| pattern.contains(sign))
}

/// The line of an error that says what is wrong.
fn detail(error: &str) -> String {
    let last = error.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let text = last.or_else(|| error.lines().next()).unwrap_or(error);
    crate::text::clip(text, 300).to_owned()
}

/// Spells an expression for our engines: as every line is a text of its own, `\A` and `\Z` are its
/// ends, and in a class `[`, `&` and `~` are characters like others.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut source = pattern.chars().peekable();
    // Characters since the `[` of the class that is open.
    let mut class: Option<usize> = None;
    while let Some(character) = source.next() {
        if character == '\\' {
            let Some(escaped) = source.next() else {
                out.push('\\');
                break;
            };
            match (escaped, class) {
                ('A', None) => out.push('^'),
                ('Z', None) => out.push('$'),
                ('<' | '>', _) => out.push(escaped),
                _ => out.extend(['\\', escaped]),
            }
            class = class.map(|count| count + 1);
            continue;
        }
        match (class, character) {
            (None, '[') => {
                class = Some(0);
                out.push('[');
                if source.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // A `]` that stands first belongs to the class.
                if source.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                    class = Some(1);
                }
                continue;
            }
            (Some(_), ']') => {
                class = None;
                out.push(']');
                continue;
            }
            (Some(_), '[' | '&' | '~') => out.push('\\'),
            // `{,n}` is `{0,n}`.
            (None, '{') if source.peek() == Some(&',') => {
                out.push_str("{0");
                continue;
            }
            _ => {}
        }
        class = class.map(|count| count + 1);
        out.push(character);
    }
    // A comment at the end must not reach what is put around the expression.
    if is_verbose(pattern) {
        out.push('\n');
    }
    out
}

/// Whether blanks and comments in an expression mean nothing.
fn is_verbose(pattern: &str) -> bool {
    let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    flags.is_some_and(|(flags, _)| {
        flags.contains('x') && flags.bytes().all(|flag| flag.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, line: &str) -> bool {
        LineMatcher::new(pattern).expect(pattern).position(line).is_some()
    }

    #[test]
    fn the_dialect() {
        for (pattern, line) in [
            (r"\Afoo\Z", "foo"),
            (r"[]x]", "]"),
            (r"[[]a", "[a"),
            (r"[a&&b]", "&"),
            (r"(?P<n>a)(?P=n)", "aa"),
            (r"(foo) \1", "foo foo"),
            (r"(?<!x)y", "ay"),
            (r"a++b", "aab"),
            (r"(?>a+)b", "aab"),
            (r"\d{,2}x", "12x"),
            (r"\w+é", "né"),
            (r"a\/b\-\<", "a/b-<"),
            ("(?x) a b # c", "ab"),
        ] {
            assert!(finds(pattern, line), "{pattern}");
        }
        assert!(!finds(r"foo\Z", "foo bar"));
    }

    #[test]
    fn an_expression_that_steps_for_ever_is_given_up() {
        let matcher = LineMatcher::new(r"(?=a)(a|aa)+(?!b)\1c$").expect("an expression");
        assert_eq!(matcher.position(&"a".repeat(60)), None);
        assert!(matcher.gave_up());
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for pattern in ["(", "[a", "a{2,1}", "(?P<1>a)", "(?z)", "(?<=a", r"\p{Nope}", "a\nb"] {
            let Err(BadRegex::Syntax(text)) = LineMatcher::new(pattern) else {
                panic!("{pattern} was read")
            };
            assert!(!text.contains('\n') && !text.is_empty(), "{text}");
        }
        assert!(LineMatcher::new("((a{1000}){1000}){1000}").is_err());
        assert!(LineMatcher::new(&"(".repeat(5000)).is_err());
    }
}
