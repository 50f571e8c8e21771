//! A command line cut into words.

/// Why a command line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuotingError {
    /// A quote is opened and not closed.
    #[error("no closing quotation")]
    NoClosingQuotation,
    /// A backslash at the end has nothing to escape.
    #[error("no escaped character")]
    NoEscapedCharacter,
}

/// Cuts a command line into words, as a shell does; one leading `/` is left out.
///
/// Blanks, tabs and line ends separate. `'…'` is literal; in `"…"` a backslash escapes `"` and `\`;
/// outside of quotes it escapes any character. Nothing is expanded and nothing is a comment.
///
/// ```
/// use akgentic_tool_core::tokenize;
///
/// assert_eq!(tokenize(r#"/note "two words" it\'s"#)?, ["note", "two words", "it's"]);
/// # Ok::<_, akgentic_tool_core::QuotingError>(())
/// ```
pub fn tokenize(line: &str) -> Result<Vec<String>, QuotingError> {
    let (tokens, error) = scan(line);
    error.map_or(Ok(tokens), Err)
}

/// The first word of a command line, when it is complete before anything goes wrong.
pub(super) fn first_word(line: &str) -> Option<String> {
    let (tokens, _) = scan(line);
    tokens.into_iter().next()
}

/// The words read before the end or an error; a word cut off by the error is left out.
fn scan(line: &str) -> (Vec<String>, Option<QuotingError>) {
    let line = line.strip_prefix('/').unwrap_or(line);
    let mut tokens = Vec::with_capacity(4);
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => tokens.extend(word.take()),
            '\\' => match chars.next() {
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => return (tokens, Some(QuotingError::NoEscapedCharacter)),
            },
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(literal) => word.push(literal),
                        None => return (tokens, Some(QuotingError::NoClosingQuotation)),
                    }
                }
            }
            '"' => {
                if let Err(error) = double_quoted(&mut chars, word.get_or_insert_default()) {
                    return (tokens, Some(error));
                }
            }
            plain => word.get_or_insert_default().push(plain),
        }
    }
    tokens.extend(word);
    (tokens, None)
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), QuotingError> {
    loop {
        match chars.next() {
            Some('"') => return Ok(()),
            Some('\\') => match chars.next() {
                Some(escaped @ ('"' | '\\')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => return Err(QuotingError::NoEscapedCharacter),
            },
            Some(literal) => word.push(literal),
            None => return Err(QuotingError::NoClosingQuotation),
        }
    }
}
