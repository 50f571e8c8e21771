//! References to images in a prompt.

use akgentic_workspace::media::{PromptPart, Reference, prompt_parts};

use crate::parts::texts;

/// The parts of a prompt are that prompt, none of it twice, none of it left out.
pub fn media_reference(data: &[u8]) {
    let [prompt] = texts(data);
    let parts = prompt_parts(&prompt);
    let whole: String = parts.iter().map(written).collect();
    assert_eq!(whole, prompt, "{parts:?}");
    assert!(matches!(parts.last(), Some(PromptPart::Text(_))), "text stands last: {parts:?}");
    let adjacent =
        |pair: &[PromptPart<'_>]| matches!(pair, [PromptPart::Text(_), PromptPart::Text(_)]);
    assert!(!parts.windows(2).any(adjacent), "texts are not cut: {parts:?}");
    for part in &parts {
        let PromptPart::Reference(reference) = part else { continue };
        let Reference { pattern, quoted } = reference;
        assert!(!pattern.is_empty(), "a reference names something: {parts:?}");
        assert!(*quoted || !pattern.contains(char::is_whitespace), "{pattern:?}");
        if let Some((shorter, rest)) = reference.without_punctuation() {
            assert_eq!(format!("{shorter}{rest}"), *pattern);
            assert!(!shorter.is_empty() && !rest.is_empty());
        }
    }
}

fn written(part: &PromptPart<'_>) -> String {
    match part {
        PromptPart::Text(text) => (*text).to_owned(),
        PromptPart::Reference(Reference { pattern, quoted: true }) => format!("!!\"{pattern}\""),
        PromptPart::Reference(Reference { pattern, quoted: false }) => format!("!!{pattern}"),
    }
}
