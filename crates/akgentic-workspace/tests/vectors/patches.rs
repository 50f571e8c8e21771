//! Topics of patches: `patch_parse`, `patch_apply`.

use akgentic_tool_core::ToolError;
use akgentic_workspace::patch::{Patch, SectionKind, parse_patch};
use serde_json::{Value, json};

use crate::files::{has_quirk, is_informative};
use crate::folder::Folder;
use crate::replay::Outcome;
use crate::tools::{call_result, says, tool};

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: got {got}, expected {want}")) }
}

/// The sections as the reference names them.
fn sections(patch: &Patch) -> Value {
    let sections = patch.sections.iter().map(|section| {
        let mut record = serde_json::to_value(section.file_patch()).expect("JSON");
        let adds = section.hunks.iter().all(akgentic_workspace::patch::Hunk::is_pure_add);
        record["pure_add"] = json!(adds && !section.hunks.is_empty());
        record["label"] = match section.kind {
            // The reference labels the section, and names the file when it is applied.
            SectionKind::Delete => json!("updated: /dev/null"),
            _ => json!(section.label()),
        };
        record
    });
    sections.collect()
}

pub(crate) fn patch_parse(case: &Value) -> Outcome {
    let expect = &case["expect"];
    let patch = parse_patch(case["input"]["patch"].as_str().expect("a text"));
    if is_informative(case) {
        return Ok(());
    }
    let patch = patch.map_err(|error| error.to_string())?;
    same("files", &sections(&patch), &expect["files"])?;
    let mut deleted: Vec<&str> = patch
        .sections
        .iter()
        .filter(|section| section.kind == SectionKind::Delete)
        .map(|section| section.path.as_str())
        .collect();
    deleted.sort_unstable();
    Ok(same("deleted", &json!(deleted), &expect["deleted"])?)
}

pub(crate) fn patch_apply(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let folder = Folder::new(&input["files"]);
    let _owner = folder.see_all();
    let patch = tool(&json!({}), &folder, "workspace_patch");
    let got = call_result(&patch, json!({"patch_text": input["patch"]}));
    let text = match got {
        Ok(text) => text,
        // P10: a text of another dialect is refused.
        Err(ToolError::Retriable(text)) if expect["kind"] == "nothing_to_apply" => {
            return if has_quirk(case, "P10") { Ok(()) } else { Err(text.into()) };
        }
        Err(error) => return Err(format!("refused: {error}").into()),
    };
    if is_informative(case) {
        // What is refused leaves everything as it was.
        return if text.starts_with("[ERROR]") && expect.get("failed").is_some() {
            Ok(same("files", &folder.tree(), &expect["files"])?)
        } else {
            Ok(())
        };
    }
    if let Some(failed) = expect.get("failed") {
        let file = failed["path"].as_str().expect("a path");
        let kind = failed["kind"].as_str().expect("a kind");
        let Some(reason) = text.strip_prefix(&format!("[ERROR] {file}: ")) else {
            return Err(format!("no failure of {file}: {text}").into());
        };
        let fits = match kind {
            "hunk_context" => {
                let hunk = failed["hunk"].as_str().expect("a header");
                let count = failed["occurrences"].as_u64().expect("a number");
                let found = match count {
                    0 => reason.contains("its lines are absent"),
                    count => reason.contains(&format!("its lines stand in {count} places")),
                };
                reason.contains(hunk) && found
            }
            "missing_file" => says("not_found", reason),
            kind => says(kind, reason),
        };
        if !fits {
            return Err(format!("not {kind}: {text}").into());
        }
    } else {
        let labels: Vec<&str> = text.lines().filter(|line| !line.starts_with("[...")).collect();
        let want = match expect.get("accepted") {
            Some(accepted) => accepted.clone(),
            None => json!(["(no patches applied)"]),
        };
        same("labels", &json!(labels), &want)?;
    }
    Ok(same("files", &folder.tree(), &expect["files"])?)
}
