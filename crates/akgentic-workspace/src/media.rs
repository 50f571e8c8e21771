//! References in a prompt to images of the workspace: `!!name.png`, `!!"with blanks.png"`.

use std::fmt;

use crate::text::is_blank;

/// Punctuation that may stand behind a reference without belonging to it.
const PUNCTUATION: [char; 11] = ['.', ',', ';', ':', ')', ']', '}', '\'', '"', '!', '?'];

/// A part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPart<'p> {
    /// Text as it stands.
    Text(&'p str),
    /// A reference.
    Reference(Reference<'p>),
}

/// A reference to files by a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'p> {
    /// The pattern, without quotes.
    pub pattern: &'p str,
    /// Whether it stands in quotes.
    pub quoted: bool,
}

/// The reference as it stands in the prompt.
impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.quoted { "\"" } else { "" };
        write!(f, "!!{quote}{}{quote}", self.pattern)
    }
}

impl<'p> Reference<'p> {
    /// The pattern without punctuation at its end, to be tried when the whole matches nothing, and
    /// that punctuation.
    ///
    /// ```
    /// use akgentic_workspace::media::Reference;
    ///
    /// let reference = Reference { pattern: "a.png).", quoted: false };
    /// assert_eq!(reference.without_punctuation(), Some(("a.png", ").")));
    /// ```
    pub fn without_punctuation(&self) -> Option<(&'p str, &'p str)> {
        if self.quoted {
            return None;
        }
        let pattern = self.pattern.trim_end_matches(PUNCTUATION);
        let rest = self.pattern.strip_prefix(pattern)?;
        (!pattern.is_empty() && !rest.is_empty()).then_some((pattern, rest))
    }
}

/// The parts of a prompt: texts between references where there are any, and always the text behind
/// the last reference, empty or not.
///
/// ```
/// use akgentic_workspace::media::{PromptPart, Reference, prompt_parts};
///
/// let parts = prompt_parts("see !!a.png");
/// let reference = Reference { pattern: "a.png", quoted: false };
/// assert_eq!(
///     parts,
///     [PromptPart::Text("see "), PromptPart::Reference(reference), PromptPart::Text("")],
/// );
/// ```
pub fn prompt_parts(prompt: &str) -> Vec<PromptPart<'_>> {
    let mut parts = Vec::new();
    let (mut rest, mut from) = (prompt, 0);
    while let Some(at) = rest.get(from..).and_then(|ahead| ahead.find("!!")).map(|at| at + from) {
        let Some((before, token)) = rest.split_at_checked(at) else { break };
        let Some((reference, behind)) = reference(token) else {
            from = at + 1;
            continue;
        };
        if !before.is_empty() {
            parts.push(PromptPart::Text(before));
        }
        parts.push(PromptPart::Reference(reference));
        (rest, from) = (behind, 0);
    }
    parts.push(PromptPart::Text(rest));
    parts
}

/// The reference that a text begins with, and what follows it.
fn reference(token: &str) -> Option<(Reference<'_>, &str)> {
    let body = token.strip_prefix("!!")?;
    if let Some((pattern, behind)) = body.strip_prefix('"').and_then(|body| body.split_once('"'))
        && !pattern.is_empty()
    {
        return Some((Reference { pattern, quoted: true }, behind));
    }
    let end = body.find(is_blank).unwrap_or(body.len());
    let (pattern, behind) = body.split_at_checked(end)?;
    (!pattern.is_empty()).then_some((Reference { pattern, quoted: false }, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(prompt: &str) -> Vec<&str> {
        let parts = prompt_parts(prompt).into_iter();
        parts
            .filter_map(|part| match part {
                PromptPart::Reference(reference) => Some(reference.pattern),
                PromptPart::Text(_) => None,
            })
            .collect()
    }

    #[test]
    fn references() {
        for (prompt, expected) in [
            ("", &[][..]),
            ("no !! reference!! ", &[]),
            ("!!a.png !!b c", &["a.png", "b"]),
            (r#"!!"a b.png"!!c"#, &["a b.png", "c"]),
            (r#"!!"" x"#, &["\"\""]),
            (r#"!!"open"#, &["\"open"]),
            ("!!!x", &["!x"]),
            ("wow!!x", &["x"]),
            ("é!!─\u{2028}x", &["─"]),
        ] {
            assert_eq!(patterns(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn the_parts_are_the_prompt() {
        for prompt in ["a !!b c", "!!a!!b", "!! !!", "x !!\"a\" y !!z"] {
            let whole: String = prompt_parts(prompt)
                .into_iter()
                .map(|part| match part {
                    PromptPart::Text(text) => text.to_owned(),
                    PromptPart::Reference(reference) => reference.to_string(),
                })
                .collect();
            assert_eq!(whole, prompt);
        }
    }
}
