//! Runs every case of every topic.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::{card, documents, edits, files, media, patches, search, tools};

/// How one case went.
pub(crate) type Outcome = Result<(), Stop>;

/// Why a case was not passed: it came out differently.
#[derive(Debug)]
pub(crate) struct Stop(String);

impl From<String> for Stop {
    fn from(text: String) -> Self {
        Self(text)
    }
}

type Topic = (&'static str, fn(&Value) -> Outcome);

const TOPICS: &[Topic] = &[
    ("path_validation", files::path_validation),
    ("fs_ops", files::fs_ops),
    ("line_endings", files::line_endings),
    ("constants", files::constants),
    ("read_render", tools::read_render),
    ("list_render", tools::list_render),
    ("mutation_results", tools::mutation_results),
    ("tool_args", tools::tool_args),
    ("tool_schemas", tools::tool_schemas),
    ("edit_find", edits::edit_find),
    ("edit_strategies", edits::edit_strategies),
    ("edit_fuzzy_windows", edits::edit_fuzzy_windows),
    ("edit_similarity", edits::edit_similarity),
    ("edit_apply", edits::edit_apply),
    ("unified_diff", edits::unified_diff),
    ("patch_parse", patches::patch_parse),
    ("patch_apply", patches::patch_apply),
    ("glob", search::glob),
    ("glob_expand", search::glob_expand),
    ("grep", search::grep),
    ("card", card::card),
    ("resources", card::resources),
    ("document_extractor", documents::document_extractor),
    ("document_read", documents::document_read),
    ("media_refs", media::media_refs),
    #[cfg(feature = "vision")]
    ("view", crate::view::view),
];

/// Topics that need a feature of the crate which is not switched on.
const LEFT_OUT: &[&str] = &[
    #[cfg(not(feature = "vision"))]
    "view",
];

fn folder() -> PathBuf {
    let base = match std::env::var_os("AKGENTIC_VECTORS") {
        Some(base) => PathBuf::from(base),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors"),
    };
    base.join("workspace-files")
}

#[test]
fn every_case_of_every_topic() {
    let mut failures = Vec::new();
    let mut replayed = 0;
    let mut paths: Vec<PathBuf> = fs::read_dir(folder())
        .expect("the vectors")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "json"))
        .collect();
    paths.sort();
    for path in paths {
        let topic = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let text = fs::read_to_string(&path).expect("a topic");
        let file: Value = serde_json::from_str(&text).expect("JSON");
        let cases = file["cases"].as_array().expect("cases");
        if LEFT_OUT.contains(&topic) {
            println!("needs a feature: {topic} ({} cases)", cases.len());
            continue;
        }
        let Some((_, check)) = TOPICS.iter().find(|(name, _)| *name == topic) else {
            failures.push(format!("{topic}: nobody replays this topic"));
            continue;
        };
        for case in cases {
            match check(case) {
                Ok(()) => replayed += 1,
                Err(Stop(text)) => failures.push(format!("{topic}: {}: {text}", case["name"])),
            }
        }
    }
    println!("{replayed} cases replayed");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(replayed > 0, "no cases");
}
