//! What models can do, by their names.

/// OpenAI models that think before they answer.
pub(super) fn reasons(model: &str) -> bool {
    let o_series = model.strip_prefix('o').is_some_and(starts_with_digit);
    o_series || model.starts_with("gpt-5")
}

/// Whether an OpenAI model takes a temperature.
pub(super) fn takes_temperature(model: &str, has_effort: bool) -> bool {
    match gpt5_minor(model) {
        // those that do not think unless they are told to
        Some(1..=5) => !has_effort,
        _ => !reasons(model),
    }
}

/// Whether an OpenAI model is to see its thoughts of all earlier turns.
pub(super) fn keeps_all_turns(model: &str) -> bool {
    gpt5_minor(model).is_some_and(|minor| minor >= 6)
}

/// The `2` of `gpt-5.2`.
fn gpt5_minor(model: &str) -> Option<u32> {
    leading_number(model.strip_prefix("gpt-5.")?)
}

/// What a Claude model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claude {
    /// The cap on output when nobody set one.
    pub max_tokens: u64,
    /// Whether its output can be held to a schema.
    pub native_output: bool,
    /// Whether it takes a temperature.
    pub temperature: bool,
    /// Whether the system may speak in the middle of the conversation.
    pub late_system: bool,
}

const LONGEST: [&str; 9] = [
    "opus-4-6",
    "opus-4-7",
    "opus-4-8",
    "opus-5",
    "sonnet-4-6",
    "sonnet-5",
    "haiku-5-5",
    "fable-5",
    "mythos-5",
];
const LONG: [&str; 3] = ["opus-4-5", "sonnet-4-5", "haiku-4-5"];

impl Claude {
    pub(super) fn of(model: &str) -> Self {
        let name = model.strip_prefix("claude-").unwrap_or_default();
        let (family, major, minor) = version(name).unwrap_or_default();
        let opus = family == "opus";
        let newest = major >= 5;
        Self {
            max_tokens: max_tokens(name),
            native_output: (major, minor) >= (4, 5) || (opus && (major, minor) == (4, 1)),
            temperature: !(newest || (opus && (major, minor) >= (4, 7))),
            late_system: newest || (opus && (major, minor) >= (4, 8)),
        }
    }
}

fn max_tokens(name: &str) -> u64 {
    let is_one_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let first_of_four = ["opus-4", "sonnet-4"].iter().any(|family| {
        name.strip_prefix(family).is_some_and(|rest| {
            rest.is_empty() || ["-0", "-2", "@"].iter().any(|next| rest.starts_with(next))
        })
    });
    if is_one_of(&LONGEST) {
        128_000
    } else if is_one_of(&LONG) {
        64_000
    } else if first_of_four || is_one_of(&["3", "4-", "opus-4-1"]) {
        4096
    } else {
        16_384
    }
}

/// Family and version of `opus-4-8` or `sonnet-4-20250514`.
fn version(name: &str) -> Option<(&str, u32, u32)> {
    const FAMILIES: [&str; 5] = ["opus", "sonnet", "haiku", "fable", "mythos"];
    let (family, rest) = name.split_once('-')?;
    if !FAMILIES.contains(&family) {
        return None;
    }
    let mut numbers = rest.split(['-', '@']);
    let major = leading_number(numbers.next()?)?;
    // a date is no version
    let minor = numbers.next().and_then(leading_number).filter(|minor| *minor < 100);
    Some((family, major, minor.unwrap_or_default()))
}

/// Gemini models that show images inside of results.
pub(super) fn shows_images_in_results(model: &str) -> bool {
    gemini_major(model).is_some_and(|major| major >= 3)
}

/// Gemini models that check calls against their schemas: 2.5 and later.
pub(super) fn validates_calls(model: &str) -> bool {
    !["gemini-1", "gemini-2.0"].iter().any(|older| model.starts_with(older))
}

fn gemini_major(model: &str) -> Option<u32> {
    leading_number(model.strip_prefix("gemini-")?)
}

fn leading_number(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_models_are_told_apart() {
        let of = |model: &str| {
            let claude = Claude::of(model);
            (claude.max_tokens, claude.native_output, claude.temperature, claude.late_system)
        };
        assert_eq!(of("claude-3-5-haiku-latest"), (4096, false, true, false));
        assert_eq!(of("claude-sonnet-4-20250514"), (4096, false, true, false));
        assert_eq!(of("claude-opus-4"), (4096, false, true, false));
        assert_eq!(of("claude-opus-4-1-20250805"), (4096, true, true, false));
        assert_eq!(of("claude-sonnet-4-5-20250929"), (64_000, true, true, false));
        assert_eq!(of("claude-opus-4-7"), (128_000, true, false, false));
        assert_eq!(of("claude-opus-4-8"), (128_000, true, false, true));
        assert_eq!(of("claude-sonnet-5"), (128_000, true, false, true));
        assert_eq!(of("something-else"), (16_384, false, true, false));
    }

    #[test]
    fn openai_models_are_told_apart() {
        assert!(reasons("o3-mini") && reasons("gpt-5.2") && !reasons("gpt-4o") && !reasons("oak"));
        assert!(takes_temperature("gpt-4o", true) && takes_temperature("gpt-5.2", false));
        assert!(!takes_temperature("gpt-5.2", true) && !takes_temperature("gpt-5", false));
        assert!(!takes_temperature("gpt-5.6-luna", false) && keeps_all_turns("gpt-5.6-luna"));
    }
}
