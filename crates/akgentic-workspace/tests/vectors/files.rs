//! Topics of the file layer: `path_validation`, `fs_ops`, `line_endings`, `constants`.

use std::ffi::OsStr;

use std::collections::BTreeMap;

use akgentic_workspace::documents::NO_TEXT;
use akgentic_workspace::edit::FUZZY_THRESHOLD;
use akgentic_workspace::image::IMAGE_FORMATS;
use akgentic_workspace::text::{LineEnding, keep_ending};
use akgentic_workspace::{
    DEFAULT_BASE, DOCUMENT_EXTENSIONS, FileError, FileFault, STEM_BYTES, TEXT_EXTENSIONS,
    WriteEntry, is_staging_name, refusal, workspace_path,
};
use serde_json::{Value, json};

use crate::folder::{Folder, content};
use crate::replay::Outcome;

/// The label a fault has in the vectors.
pub(crate) fn kind(fault: &FileFault) -> &'static str {
    match fault {
        FileFault::Escape(_) => "path_escape",
        FileFault::Nul => "nul_in_path",
        FileFault::NameTooLong { .. } | FileFault::PathTooLong { .. } => "name_too_long",
        FileFault::LinkLoop => "symlink_loop",
        FileFault::NotFound => "not_found",
        FileFault::IsDirectory => "is_a_directory",
        FileFault::NotADirectory => "not_a_directory",
        FileFault::ExistsAsFile => "exists_as_file",
        FileFault::NotUtf8 { .. } => "not_utf8",
        _ => "other",
    }
}

fn failed(error: &FileError) -> Value {
    json!({"error": {"kind": kind(&error.fault)}})
}

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: got {got}, expected {want}")) }
}

/// Whether a case shows this numbered fault of the reference.
pub(crate) fn has_quirk(case: &Value, tag: &str) -> bool {
    case["quirk"].as_array().into_iter().flatten().any(|quirk| quirk == tag)
}

/// Whether a case shows a fault of the reference and not what is wanted: tests of our own do.
pub(crate) fn is_informative(case: &Value) -> bool {
    case["quirk"].is_array() && case["expect"].get("improved").is_none()
}

pub(crate) fn path_validation(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    match input["op"].as_str().expect("an op") {
        "resolve" => {
            let folder = Folder::new(&input["tree"]);
            let path = folder.fill(input["path"].as_str().expect("a path"));
            let got = match folder.files().root().resolve(&path) {
                Ok(rel) => json!({"ok": rel.as_path().to_string_lossy()}),
                Err(error) => failed(&error),
            };
            if !is_informative(case) {
                same("resolve", &got, expect)?;
            }
        }
        "staging" => {
            let staging = is_staging_name(input["name"].as_str().expect("a name"));
            if has_quirk(case, "F7") {
                // The whole name is matched, a newline included.
                same("staging", &json!(staging), &json!(false))?;
            } else {
                same("staging", &json!({"staging": staging}), expect)?;
            }
        }
        "root" => root(case)?,
        other => return Err(format!("unknown op {other}").into()),
    }
    Ok(())
}

fn root(case: &Value) -> Result<(), String> {
    let outer = tempfile::tempdir().expect("a folder");
    let (base, parent) = (outer.path().join("parent/base"), outer.path().join("parent"));
    let fill = |text: &str| {
        text.replace("<BASE>", base.to_str().expect("text"))
            .replace("<PARENT>", parent.to_str().expect("text"))
    };
    let base = case["input"]["env"].as_str().map(fill);
    let name = fill(case["input"]["name"].as_str().expect("a name"));
    let path = workspace_path(base.as_deref().map(OsStr::new), &name);
    if has_quirk(case, "F5") && (name.starts_with('/') || name.contains("..")) {
        // F5: a name that moves the root is refused.
        return if path.is_err() { Ok(()) } else { Err(format!("{name} was accepted")) };
    }
    let path = path.map_err(|error| error.to_string())?;
    let cwd = std::env::current_dir().expect("a directory");
    let path = std::path::absolute(cwd.join(path)).expect("absolute");
    let want = fill(case["expect"]["root"].as_str().expect("a root"))
        .replace("<CWD>", cwd.to_str().expect("text"));
    same("root", &json!(path), &json!(want))
}

pub(crate) fn fs_ops(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let ops = input["ops"].as_array().expect("ops");
    let folder = Folder::new(&input["tree"]);
    let results: Vec<Value> = ops.iter().map(|op| run(&folder, op)).collect();
    let mut want = expect.clone();
    if has_quirk(case, "F9") {
        // Special bits are not carried over.
        for (_, mode) in want["modes"].as_object_mut().into_iter().flatten() {
            let bits = u32::from_str_radix(mode.as_str().expect("a mode"), 8).expect("a mode");
            *mode = json!(format!("{:o}", bits & 0o777));
        }
    } else if is_informative(case) {
        return same("staging", &json!(folder.staging_left()), &json!(0)).map_err(Into::into);
    }
    same("results", &json!(results), &want["results"])?;
    same("tree", &folder.tree(), &want["tree"])?;
    same("staging", &json!(folder.staging_left()), &want["staging_left"])?;
    for (path, mode) in want["modes"].as_object().into_iter().flatten() {
        same(path, &json!(folder.mode(path)), mode)?;
    }
    Ok(())
}

fn run(folder: &Folder, op: &Value) -> Value {
    let files = folder.files();
    if op["op"] == "write_many" {
        let entries = op["entries"].as_array().expect("entries").iter().map(|entry| WriteEntry {
            path: folder.fill(entry["path"].as_str().expect("a path")),
            data: content(entry),
        });
        return match files.write_many(&entries.collect::<Vec<_>>()) {
            Ok(_) => json!({"ok": null}),
            Err(error) => failed(&error),
        };
    }
    let path = folder.fill(op["path"].as_str().expect("a path"));
    let outcome = match op["op"].as_str().expect("an op") {
        "write" => files.write(&path, &content(op)).map(|_| Value::Null),
        "delete" => files.delete(&path).map(|_| Value::Null),
        "mkdir" => files.mkdir(&path).map(|_| Value::Null),
        "exists" => files.exists(&path).map(Value::Bool),
        "read" => files.read(&path).map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(bad) => json!(bad.into_bytes()),
        }),
        "list" => files.list(&path).map(|entries| {
            entries.iter().map(|entry| json!([entry.name, entry.is_dir, entry.size])).collect()
        }),
        other => panic!("unknown op {other}"),
    };
    match outcome {
        Ok(value) => json!({"ok": value}),
        Err(error) => failed(&error),
    }
}

pub(crate) fn line_endings(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    match input["op"].as_str().expect("an op") {
        "detect" => {
            let ending = LineEnding::detect(input["content"].as_str().expect("a text"));
            same("ending", &json!(ending.as_str()), &expect["ending"])?;
        }
        "normalise" => {
            let to = if input["to"] == "crlf" { LineEnding::Crlf } else { LineEnding::Lf };
            let text = to.apply(input["content"].as_str().expect("a text"));
            same("text", &json!(text), &expect["text"])?;
        }
        "preserve" => {
            let live = match &input["live"] {
                Value::Null => None,
                Value::String(text) => Some(text.as_bytes().to_vec()),
                coded => Some(content(coded)),
            };
            let text = keep_ending(input["proposed"].as_str().expect("a text"), live.as_deref());
            same("text", &json!(text), &expect["text"])?;
        }
        other => return Err(format!("unknown op {other}").into()),
    }
    Ok(())
}

pub(crate) fn constants(case: &Value) -> Outcome {
    let sorted = |texts: &[&str]| {
        let mut texts = texts.to_vec();
        texts.sort_unstable();
        json!(texts)
    };
    let got = match case["input"]["what"].as_str().expect("a name") {
        "document_extensions" => sorted(&DOCUMENT_EXTENSIONS),
        "text_extensions" => sorted(&TEXT_EXTENSIONS),
        "staging_stem_budget_bytes" => json!(STEM_BYTES),
        "default_workspaces_root" => json!(DEFAULT_BASE),
        "path_escape_message" => json!(refusal::PATH_ESCAPE),
        "image_save_formats" => IMAGE_FORMATS
            .iter()
            .map(|(suffix, format)| (*suffix, format.name()))
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect::<Value>(),
        "fuzzy_threshold" => json!(FUZZY_THRESHOLD),
        "no_text_placeholder" => json!(NO_TEXT),
        other => return Err(format!("unknown constant {other}").into()),
    };
    same("value", &got, &case["expect"]["value"])?;
    Ok(())
}
