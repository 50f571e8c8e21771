//! Words bound to parameters.

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::failure::FailureReason;
use super::parameter::Parameter;

/// One value a word was read as.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundValue {
    /// Anything JSON can say.
    Json(Value),
    /// An infinite number, or none.
    Float(f64),
}

/// The arguments that were given, in the order they were read; defaults are not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundArgs(pub Vec<(String, BoundValue)>);

impl BoundArgs {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&BoundValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Builds the argument struct; without arguments `()` and unit structs are built too.
    pub fn parse<A: DeserializeOwned>(self) -> serde_json::Result<A> {
        let empty = self.0.is_empty();
        let pairs = self.0.into_iter();
        let parsed = A::deserialize(MapDeserializer::<_, serde_json::Error>::new(pairs));
        parsed.or_else(|error| crate::schema::no_arguments(empty, error))
    }
}

impl IntoDeserializer<'_, serde_json::Error> for BoundValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for BoundValue {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        match self {
            Self::Json(value) => value.deserialize_any(visitor),
            Self::Float(float) => visitor.visit_f64(float),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        match self {
            Self::Json(value) => value.deserialize_option(visitor),
            Self::Float(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> serde_json::Result<V::Value> {
        match self {
            Self::Json(value) => value.deserialize_enum(name, variants, visitor),
            Self::Float(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> serde_json::Result<V::Value> {
        match self {
            Self::Json(value) => value.deserialize_newtype_struct(name, visitor),
            Self::Float(_) => visitor.visit_newtype_struct(self),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Reads the words after a command's name.
pub(super) fn bind(parameters: &[Parameter], words: &[String]) -> Result<BoundArgs, FailureReason> {
    let Classified { positional, keywords } = classify(parameters, words)?;
    if positional.len() > parameters.len() {
        return Err(FailureReason::TooMany { max: parameters.len(), got: positional.len() });
    }
    let taken = positional.len();
    if let Some((index, _)) = keywords.iter().find(|(index, _)| *index < taken) {
        let param = parameters.get(*index).map(|parameter| parameter.name.clone());
        return Err(FailureReason::Duplicate { param: param.unwrap_or_default() });
    }
    let is_given = |index: usize| index < taken || keywords.iter().any(|(key, _)| *key == index);
    let missing: Vec<String> = parameters
        .iter()
        .enumerate()
        .filter(|(index, parameter)| parameter.required && !is_given(*index))
        .map(|(_, parameter)| parameter.name.clone())
        .collect();
    if !missing.is_empty() {
        return Err(FailureReason::Missing { params: missing });
    }
    let mut bound = Vec::with_capacity(taken + keywords.len());
    for (index, word) in positional.into_iter().enumerate().chain(keywords) {
        let Some(parameter) = parameters.get(index) else { continue };
        let Some(value) = parameter.read(word) else {
            return Err(FailureReason::Coercion {
                param: parameter.name.clone(),
                value: word.to_owned(),
                takes: parameter.takes.clone(),
            });
        };
        bound.push((parameter.name.clone(), value));
    }
    Ok(BoundArgs(bound))
}

struct Classified<'w> {
    positional: Vec<&'w str>,
    /// Parameter and word, in the order in which the parameters were first named.
    keywords: Vec<(usize, &'w str)>,
}

fn classify<'w>(
    parameters: &[Parameter],
    words: &'w [String],
) -> Result<Classified<'w>, FailureReason> {
    let mut classified =
        Classified { positional: Vec::with_capacity(words.len()), keywords: Vec::new() };
    for word in words {
        match keyword(parameters, word) {
            Some((index, value)) => {
                match classified.keywords.iter_mut().find(|(known, _)| *known == index) {
                    Some((_, known)) => {
                        tracing::warn!(
                            word,
                            "a named argument is given twice; the last one counts"
                        );
                        *known = value;
                    }
                    None => classified.keywords.push((index, value)),
                }
            }
            None if classified.keywords.is_empty() => classified.positional.push(word),
            None => return Err(FailureReason::PositionalAfterKeyword { token: word.clone() }),
        }
    }
    Ok(classified)
}

/// The parameter that `name=value` names, and the value.
fn keyword<'w>(parameters: &[Parameter], word: &'w str) -> Option<(usize, &'w str)> {
    let (name, value) = word.split_once('=')?;
    let index = parameters.iter().position(|parameter| parameter.name == name)?;
    Some((index, value))
}

/// A word that was read as a value although it looks like a mistyped `name=value`.
pub(super) fn near_miss(parameters: &[Parameter], words: &[String]) -> Option<(String, String)> {
    words.iter().find_map(|word| {
        let (name, _) = word.split_once('=')?;
        if name.is_empty() || parameters.iter().any(|parameter| parameter.name == name) {
            return None;
        }
        let near = parameters.iter().find(|parameter| is_near(name, &parameter.name))?;
        Some((word.clone(), near.name.clone()))
    })
}

/// Whether one word may be a mistyped form of the other.
fn is_near(typed: &str, meant: &str) -> bool {
    let fold = |text: &str| -> Vec<char> {
        text.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
    };
    let (typed, meant) = (fold(typed), fold(meant));
    let allowed = (meant.len() / 3).clamp(1, 3);
    typed.len().abs_diff(meant.len()) <= allowed && edits(&typed, &meant) <= allowed
}

/// Insertions, removals and replacements from one word to the other.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, b) in to.iter().enumerate() {
            let above = row[j + 1];
            let replaced = diagonal + usize::from(a != b);
            row[j + 1] = replaced.min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_near() {
        for (typed, meant) in [("rol", "role"), ("topk", "top_k"), ("Status", "status")] {
            assert!(is_near(typed, meant), "{typed} {meant}");
        }
        for (typed, meant) in [("x", "role"), ("a", "content"), ("owner", "mode")] {
            assert!(!is_near(typed, meant), "{typed} {meant}");
        }
    }
}
