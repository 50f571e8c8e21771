//! One name against one part of a pattern, letters of either case.

/// A part of a pattern between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePattern {
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `*`
    Any,
    /// `?`
    One,
    Literal(char),
    /// `[…]`: characters from the first to the second of each pair.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl NamePattern {
    pub(super) fn new(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(character) = characters.get(at) {
            at += 1;
            match character {
                '*' if tokens.last() == Some(&Token::Any) => {}
                '*' => tokens.push(Token::Any),
                '?' => tokens.push(Token::One),
                '[' => match class(&characters, at) {
                    Some((token, end)) => {
                        tokens.push(token);
                        at = end;
                    }
                    None => tokens.push(Token::Literal('[')),
                },
                other => tokens.push(Token::Literal(folded(*other))),
            }
        }
        Self { tokens }
    }

    /// Whether a name fits. The last `*` alone is ever tried again, so the time is bounded by the
    /// product of both lengths.
    pub(super) fn matches(&self, name: &str) -> bool {
        if let [Token::Any] = self.tokens.as_slice() {
            return true;
        }
        if name.is_ascii() {
            self.fits(name.len(), |at| name.as_bytes().get(at).map(|byte| char::from(*byte)))
        } else {
            let name: Vec<char> = name.chars().collect();
            self.fits(name.len(), |at| name.get(at).copied())
        }
    }

    fn fits(&self, length: usize, character: impl Fn(usize) -> Option<char>) -> bool {
        let (mut token, mut at) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while at < length {
            match self.tokens.get(token) {
                Some(Token::Any) => {
                    token += 1;
                    retry = Some((token, at));
                    continue;
                }
                Some(other) if character(at).is_some_and(|character| other.fits(character)) => {
                    token += 1;
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let Some((behind, from)) = retry else { return false };
            retry = Some((behind, from + 1));
            (token, at) = (behind, from + 1);
        }
        self.tokens.iter().skip(token).all(|token| *token == Token::Any)
    }
}

impl Token {
    fn fits(&self, character: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Literal(own) => *own == character || *own == folded(character),
            Self::Class { negated, ranges } => {
                let holds = |character: char| {
                    ranges.iter().any(|(from, to)| (*from..=*to).contains(&character))
                };
                let upper = character.to_uppercase().next().unwrap_or(character);
                (holds(character) || holds(folded(character)) || holds(upper)) != *negated
            }
        }
    }
}

fn folded(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

/// The class whose `[` stands before `from`, and where it ends; nothing when it is not closed.
fn class(characters: &[char], from: usize) -> Option<(Token, usize)> {
    let negated = characters.get(from) == Some(&'!');
    let start = from + usize::from(negated);
    // A `]` that stands first belongs to the class.
    let search = start + usize::from(characters.get(start) == Some(&']'));
    let length = characters.iter().skip(search).position(|character| *character == ']')?;
    let end = search + length;
    let inside = characters.get(start..end)?;
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(first) = inside.get(at) {
        if let (Some('-'), Some(last)) = (inside.get(at + 1), inside.get(at + 2)) {
            ranges.push((*first, *last));
            at += 3;
        } else {
            ranges.push((*first, *first));
            at += 1;
        }
    }
    Some((Token::Class { negated, ranges }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns() {
        for (pattern, name, fits) in [
            ("*", ".env", true),
            ("*.PY", "a.py", true),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbYb", false),
            ("?", "é", true),
            ("É*", "été", true),
            ("[!a-c]x", "dx", true),
            ("[!a-c]x", "Bx", false),
            ("[]x]", "]", true),
            ("[z-a]", "m", false),
            ("[!z-a]", "m", true),
            ("[a", "[a", true),
            ("", "", true),
            ("a", "", false),
        ] {
            assert_eq!(NamePattern::new(pattern).matches(name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = NamePattern::new(&"*a".repeat(2000));
        assert!(!pattern.matches(&"a".repeat(255)));
    }
}
