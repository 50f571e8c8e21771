//! Topics of searches: `glob`, `glob_expand`, `grep`.

use akgentic_workspace::glob::expand;
use serde_json::{Value, json};

use crate::files::is_informative;
use crate::folder::{Folder, content};
use crate::replay::Outcome;
use crate::tools::{call, tool};

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: got {got}, expected {want}")) }
}

pub(crate) fn glob_expand(case: &Value) -> Outcome {
    let patterns = expand(case["input"]["pattern"].as_str().expect("a pattern"));
    let patterns = patterns.map_err(|error| error.to_string())?;
    Ok(same("patterns", &json!(patterns), &case["expect"]["patterns"])?)
}

/// Runs a tool of a card with these limits.
fn run(case: &Value, name: &str, limits: &[&str], args: &[&str]) -> Result<String, (bool, String)> {
    let input = &case["input"];
    let folder = Folder::with_outside(&input["tree"], &input["outside"]);
    let pick = |names: &[&str]| -> Value {
        let given = names.iter().filter_map(|name| Some((*name, input.get(name)?.clone())));
        given
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let limits = pick(limits);
    // C2: limits below 1 are refused when a card loads; the case is informative.
    if limits.as_object().expect("limits").values().any(|limit| limit.as_i64() < Some(1)) {
        return Ok(String::new());
    }
    call(&tool(&json!({name: limits}), &folder, name), pick(args))
}

fn refused(case: &Value, retriable: bool, text: &str, begins: &[(&str, &str)]) -> Outcome {
    let Some(error) = case["expect"].get("error") else {
        // A fault of the reference that is refused here.
        return if retriable && is_informative(case) {
            Ok(())
        } else {
            Err(text.to_owned().into())
        };
    };
    let kind = error["kind"].as_str().expect("a kind");
    let begins = begins.iter().find(|(name, _)| *name == kind);
    let (_, begins) = begins.ok_or_else(|| format!("unknown kind {kind}"))?;
    if retriable && text.starts_with(begins) {
        Ok(())
    } else {
        Err(format!("not {kind}: {text}").into())
    }
}

pub(crate) fn glob(case: &Value) -> Outcome {
    let got = run(case, "workspace_glob", &["max_results"], &["pattern", "path"]);
    let begins = [("path_escape", "Path escapes workspace root"), ("bad_pattern", "The pattern `")];
    match got {
        Err((retriable, text)) => refused(case, retriable, &text, &begins),
        Ok(_) if is_informative(case) => Ok(()),
        Ok(text) => Ok(same("text", &json!(text), &case["expect"]["ok"])?),
    }
}

/// Lines of an answer that are no notices.
fn results(text: &str) -> Vec<&str> {
    text.split('\n').filter(|line| !line.starts_with("[... ")).collect()
}

pub(crate) fn grep(case: &Value) -> Outcome {
    let got = run(
        case,
        "workspace_grep",
        &["max_results", "max_line_length"],
        &["pattern", "path", "include"],
    );
    let begins =
        [("path_escape", "Path escapes workspace root"), ("bad_regex", "Invalid regex pattern: ")];
    let text = match got {
        Err((retriable, text)) => return refused(case, retriable, &text, &begins),
        Ok(_) if is_informative(case) => return Ok(()),
        Ok(text) => text,
    };
    // S3: binary files and `.git` are skipped; D6: a cut line may be followed by its match.
    let tree = case["input"]["tree"].as_array().expect("a tree");
    let is_skipped = |line: &str| {
        line.starts_with(".git/")
            || tree.iter().any(|entry| {
                let path = entry["path"].as_str().expect("a path");
                line.starts_with(&format!("{path}:"))
                    && (entry.get("content").is_some() || entry.get("content_b64").is_some())
                    && content(entry).contains(&0)
            })
    };
    let want = case["expect"]["ok"].as_str().expect("a text");
    let mut want: Vec<&str> = want.split('\n').filter(|line| !is_skipped(line)).collect();
    if want.is_empty() {
        want.push("No matches found.");
    }
    let got: Vec<&str> = results(&text)
        .into_iter()
        .map(|line| line.split(" [... around the match: ").next().unwrap_or_default())
        .collect();
    Ok(same("lines", &json!(got), &json!(want))?)
}
