//! Names of tools and ids of calls in the spelling that providers take.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// How long the name of a tool may be.
const NAME_LENGTH: usize = 64;

/// How long the ids of Mistral are.
const ID_LENGTH: usize = 9;

/// The names of an agent's tools as every provider takes them: letters, digits, `_` and `-`, at
/// most 64 of them, beginning with a letter or `_`.
///
/// Names that are fine stay. Others are mended; where that changes more than single characters, or
/// meets another name, a digest of the name keeps it apart.
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    to_wire: HashMap<String, String>,
    to_original: HashMap<String, String>,
}

impl ToolNames {
    /// The spelling of these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let (fine, odd): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| mended(name) == *name);
        let mut spelled = Self::default();
        for name in fine {
            spelled.add(name, name.to_owned());
        }
        for name in odd {
            let mut wire = mended(name);
            if wire.len() > NAME_LENGTH - 1 || spelled.to_original.contains_key(&wire) {
                wire.truncate(NAME_LENGTH - 1 - DIGEST);
                wire = format!("{wire}_{}", digest(name));
            }
            spelled.add(name, wire);
        }
        spelled
    }

    /// The name on the wire.
    pub fn wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_wire.get(name).map_or(name, String::as_str)
    }

    /// The name of the tool that a model calls by `wire`.
    pub fn original<'a>(&'a self, wire: &'a str) -> &'a str {
        self.to_original.get(wire).map_or(wire, String::as_str)
    }

    fn add(&mut self, name: &str, wire: String) {
        self.to_original.insert(wire.clone(), name.to_owned());
        self.to_wire.insert(name.to_owned(), wire);
    }
}

/// Hexadecimal digits that keep names apart.
const DIGEST: usize = 8;

fn digest(name: &str) -> String {
    let digest = Sha256::digest(name);
    digest.iter().take(DIGEST / 2).fold(String::with_capacity(DIGEST), |mut text, byte| {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The name with every odd character replaced, cut to one more than may be.
fn mended(name: &str) -> String {
    let fits = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '-');
    let mut mended: String = name
        .chars()
        .map(|next| if fits(next) { next } else { '_' })
        .take(NAME_LENGTH + 1)
        .collect();
    if !mended.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        mended.insert(0, '_');
    }
    if mended.len() > NAME_LENGTH {
        mended.truncate(NAME_LENGTH);
    }
    mended
}

/// Ids of calls as Mistral takes them: nine letters and digits.
///
/// Ask in the order of the history; calls, results and texts about them share one mapping.
#[derive(Clone, Debug, Default)]
pub struct CallIds {
    known: HashMap<String, String>,
    taken: HashSet<String>,
}

impl CallIds {
    /// The id on the wire.
    pub fn wire(&mut self, id: &str) -> String {
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let mut wire = if is_short(id) { id.to_owned() } else { short(id) };
        let mut round = 0_u32;
        while !self.taken.insert(wire.clone()) {
            round += 1;
            wire = short(&format!("{id}#{round}"));
        }
        self.known.insert(id.to_owned(), wire.clone());
        wire
    }
}

fn is_short(id: &str) -> bool {
    id.len() == ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The nine low-order digits of the digest as a number to the base of 62, the lowest first.
fn short(id: &str) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = Sha256::digest(id).to_vec();
    let digits = (0..ID_LENGTH).filter_map(|_| {
        let mut rest = 0_u32;
        for byte in &mut number {
            let part = rest << 8 | u32::from(*byte);
            *byte = u8::try_from(part / 62).ok()?;
            rest = part % 62;
        }
        ALPHABET.get(usize::try_from(rest).ok()?).copied().map(char::from)
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_b11_odd_names_are_mended_and_kept_apart() {
        let long = format!("{}.read", "a".repeat(70));
        let longer = format!("{}.read_file", "a".repeat(70));
        let all = ["read_file", "read.file", "read file", &long, &longer, "7up", "é", "a-b_C9"];
        let names = ToolNames::new(all);
        let wires: HashSet<&str> = all.iter().map(|name| names.wire(name)).collect();
        assert_eq!(wires.len(), all.len());
        for name in all {
            let wire = names.wire(name);
            assert!(wire.len() <= 64 && mended(wire) == wire, "{name} -> {wire}");
            assert_eq!(names.original(wire), name);
        }
        assert_eq!(names.wire("read_file"), "read_file");
        assert_eq!(names.wire("a-b_C9"), "a-b_C9");
        assert_eq!(names.wire("7up"), "_7up");
        // the same whatever else there is
        assert_eq!(ToolNames::new([long.as_str()]).wire(&long), names.wire(&long));
        assert_eq!(names.original("unknown"), "unknown");
    }

    #[test]
    fn a_name_of_full_length_stays() {
        let full = "a".repeat(64);
        assert_eq!(ToolNames::new([full.as_str()]).wire(&full), full);
        let over = "a".repeat(65);
        assert_eq!(ToolNames::new([over.as_str()]).wire(&over).len(), 64);
    }
}
