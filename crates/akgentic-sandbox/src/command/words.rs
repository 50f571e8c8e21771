//! POSIX word splitting, and the shell operators a line holds.

use std::collections::BTreeSet;
use std::fmt;

/// A command line in words, and what a shell would do beyond that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The words, quotes and escapes removed.
    pub words: Vec<String>,
    /// Operators outside of quotes, in the order they stand in the line.
    pub operators: Vec<Operator>,
}

impl Words {
    /// Each operator once, by its spelling.
    pub fn operator_set(&self) -> BTreeSet<&'static str> {
        self.operators.iter().map(|operator| operator.name()).collect()
    }
}

/// What a shell would act on; nothing here does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operator {
    /// `|`
    Pipe,
    /// `||`
    Or,
    /// `&`
    Background,
    /// `&&`
    And,
    /// `;`
    Sequence,
    /// `<`
    Input,
    /// `<<`
    HereDocument,
    /// `>`
    Output,
    /// `>>`
    Append,
    /// `$(…)` or a backtick, also inside double quotes.
    Substitution,
    /// A line end between two words.
    Newline,
}

impl Operator {
    /// Its spelling, or its name where it has none.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipe => "|",
            Self::Or => "||",
            Self::Background => "&",
            Self::And => "&&",
            Self::Sequence => ";",
            Self::Input => "<",
            Self::HereDocument => "<<",
            Self::Output => ">",
            Self::Append => ">>",
            Self::Substitution => "substitution",
            Self::Newline => "newline",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Substitution => f.write_str("a command substitution"),
            Self::Newline => f.write_str("a line end between words"),
            other => write!(f, "`{}`", other.name()),
        }
    }
}

/// A line that ends in the middle of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A quote is never closed.
    #[error("the quote {0} is never closed")]
    UnterminatedQuote(char),
    /// The last character is a backslash that escapes nothing.
    #[error("the line ends with a backslash that escapes nothing")]
    TrailingEscape,
}

/// Splits a line as a POSIX shell would, expanding nothing.
///
/// Words are separated by spaces, tabs and line ends. Single quotes are literal; inside double quotes
/// a backslash escapes `"`, `\`, `$`, a backtick and a line end; outside it escapes the next
/// character, whatever that is. Adjacent pieces join, empty quoted words stay. Variables, globs,
/// tildes, braces and `#` are ordinary characters.
///
/// ```
/// let line = akgentic_sandbox::split(r#"grep -r "a b" 'c'd"#).unwrap();
/// assert_eq!(line.words, ["grep", "-r", "a b", "cd"]);
/// assert!(line.operators.is_empty());
/// ```
pub fn split(line: &str) -> Result<Words, SplitError> {
    let mut found = Words::default();
    let mut word: Option<String> = None;
    let mut line_ended = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        if matches!(c, ' ' | '\t' | '\r' | '\n') {
            found.words.extend(word.take());
            line_ended |= c == '\n';
            continue;
        }
        if line_ended && !found.words.is_empty() {
            found.operators.push(Operator::Newline);
        }
        line_ended = false;
        let word = word.get_or_insert_default();
        match c {
            '\\' => word.push(rest.next().ok_or(SplitError::TrailingEscape)?),
            '\'' => loop {
                match rest.next() {
                    None => return Err(SplitError::UnterminatedQuote('\'')),
                    Some('\'') => break,
                    Some(c) => word.push(c),
                }
            },
            '"' => double_quoted(&mut rest, word, &mut found.operators)?,
            _ => {
                if let Some((operator, twice)) = operator(c, rest.peek().copied()) {
                    found.operators.push(operator);
                    if twice {
                        word.push(c);
                        rest.next();
                    }
                }
                word.push(c);
            }
        }
    }
    found.words.extend(word);
    Ok(found)
}

fn double_quoted(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    word: &mut String,
    operators: &mut Vec<Operator>,
) -> Result<(), SplitError> {
    let open = SplitError::UnterminatedQuote('"');
    loop {
        match rest.next().ok_or(open)? {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(open)? {
                '\n' => {}
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => {
                if c == '`' || (c == '$' && rest.peek() == Some(&'(')) {
                    operators.push(Operator::Substitution);
                }
                word.push(c);
            }
        }
    }
}

/// The operator that starts with `c`, and whether it is written with two of it.
fn operator(c: char, next: Option<char>) -> Option<(Operator, bool)> {
    let twice = next == Some(c);
    Some(match c {
        '|' => (if twice { Operator::Or } else { Operator::Pipe }, twice),
        '&' => (if twice { Operator::And } else { Operator::Background }, twice),
        '<' => (if twice { Operator::HereDocument } else { Operator::Input }, twice),
        '>' => (if twice { Operator::Append } else { Operator::Output }, twice),
        ';' => (Operator::Sequence, false),
        '`' => (Operator::Substitution, false),
        '$' if next == Some('(') => (Operator::Substitution, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split(line).expect("a line").words
    }

    #[test]
    fn quotes_join_and_empty_words_stay() {
        assert_eq!(words(r#"a"b"'c' '' "" d\ e"#), ["abc", "", "", "d e"]);
        assert_eq!(words(r#""a\"b\\c\$d\`e\f""#), [r#"a"b\c$d`e\f"#]);
        assert_eq!(words("'a\\b'"), ["a\\b"]);
        assert_eq!(words("\"a\\\nb\""), ["ab"]);
    }

    #[test]
    fn unfinished_lines() {
        assert_eq!(split("a 'b"), Err(SplitError::UnterminatedQuote('\'')));
        assert_eq!(split("a \"b\\"), Err(SplitError::UnterminatedQuote('"')));
        assert_eq!(split("a \\"), Err(SplitError::TrailingEscape));
    }

    #[test]
    fn operators_outside_of_quotes() {
        let names = |line: &str| split(line).expect("a line").operator_set();
        assert_eq!(names("a 2>&1 >>b <<E || c"), BTreeSet::from(["&", "<<", ">", ">>", "||"]));
        assert_eq!(names("'a|b' \"c;d\" e\\&f"), BTreeSet::new());
        assert_eq!(names("a \"$(b)\" '`c`'"), BTreeSet::from(["substitution"]));
        assert_eq!(names("\n a \n"), BTreeSet::new());
        assert_eq!(names("a\n\nb"), BTreeSet::from(["newline"]));
    }

    proptest::proptest! {
        #[test]
        fn a_quoted_word_comes_back(word in "\\PC*") {
            let quoted = format!("'{}'", word.replace('\'', "'\\''"));
            proptest::prop_assert_eq!(split(&quoted), Ok(Words { words: vec![word], operators: vec![] }));
        }

        #[test]
        fn any_line_is_answered(line in "[ -~\\n\\t]*") {
            let _answer = split(&line);
        }
    }
}
