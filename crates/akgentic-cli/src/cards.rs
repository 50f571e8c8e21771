//! Reading cards from a file.

use std::io::Read as _;
use std::path::Path;

use akgentic::core::wire::left_out;
use akgentic::tool::{AnyCard, load_card};
use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

/// Cards, and what should be said about them.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The cards in their order.
    pub(crate) cards: Vec<AnyCard>,
    /// What is written in them and has no effect.
    pub(crate) notes: Vec<String>,
}

impl Loaded {
    /// The cards; what should be said about them goes to standard error.
    pub(crate) fn told(self) -> Vec<AnyCard> {
        for note in &self.notes {
            eprintln!("note: {note}");
        }
        self.cards
    }
}

/// Loads the list of cards in a file; the error names the card that does not load.
pub(crate) fn load(path: &Path) -> anyhow::Result<Loaded> {
    akgentic::register();
    let (name, text) = read(path)?;
    let Value::Array(written) =
        parse(path, &text).with_context(|| format!("cannot read {name}"))?
    else {
        bail!("{name} holds no list of cards");
    };
    let (mut cards, mut notes) = (Vec::new(), Vec::new());
    for (index, card) in written.into_iter().enumerate() {
        let place = format!("card {} of {name}", index + 1);
        let loaded = load_card(card.clone()).map_err(|error| anyhow!("{place}: {error}"))?;
        let passed_over = left_out(loaded.type_path(), &card).unwrap_or_default();
        notes.extend(passed_over.into_iter().map(|what| format!("{place}: {what}")));
        cards.push(loaded);
    }
    Ok(Loaded { cards, notes })
}

fn read(path: &Path) -> anyhow::Result<(String, String)> {
    let name = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut text = String::new();
    let outcome = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    outcome.with_context(|| format!("cannot read {name}"))?;
    if text.trim().is_empty() {
        bail!("{name} is empty: write a list of cards");
    }
    Ok((name, text))
}

/// JSON for files that say so, YAML for those that say that; else JSON when it begins like a list or a
/// map of JSON.
fn parse(path: &Path, text: &str) -> anyhow::Result<Value> {
    let is_yaml = match path.extension().and_then(|end| end.to_str()) {
        Some("yaml" | "yml") => true,
        Some("json") => false,
        _ => !text.trim_start().starts_with(['[', '{']),
    };
    if is_yaml { Ok(serde_saphyr::from_str(text)?) } else { Ok(serde_json::from_str(text)?) }
}
