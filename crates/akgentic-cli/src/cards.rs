//! Reading cards from a file.

use std::io::Read as _;
use std::path::Path;

use akgentic::tool::{AnyCard, load_card};
use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

/// Loads the list of cards in a file; the error names the card that does not load.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<AnyCard>> {
    akgentic::register();
    let (name, text) = read(path)?;
    let Value::Array(cards) = parse(path, &text).with_context(|| format!("cannot read {name}"))?
    else {
        bail!("{name} holds no list of cards");
    };
    let numbered = cards.into_iter().enumerate();
    let loaded = numbered.map(|(index, card)| {
        load_card(card).map_err(|error| anyhow!("card {} of {name}: {error}", index + 1))
    });
    loaded.collect()
}

fn read(path: &Path) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(("standard input".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok((name, text))
}

/// YAML for files that say so, JSON otherwise.
fn parse(path: &Path, text: &str) -> anyhow::Result<Value> {
    let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    if is_yaml { Ok(serde_saphyr::from_str(text)?) } else { Ok(serde_json::from_str(text)?) }
}
