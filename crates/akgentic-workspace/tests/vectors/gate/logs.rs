//! The journal's history, as git tells it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use akgentic_testkit::{Case, same};
use serde_json::{Value, json};

use super::script::{self, Script};

fn git(root: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(root.with_extension("git"))
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// All commits, the oldest first.
fn log(root: &Path) -> Vec<Value> {
    let format = "--format=%x01%an%x02%ae%x02%cn%x02%ce%x02%s%x02%b%x02";
    let text = git(root, &["log", "--reverse", "--name-status", "--no-renames", format]);
    let text = String::from_utf8(text).expect("text");
    text.split('\u{1}')
        .skip(1)
        .map(|commit| {
            let fields: Vec<&str> = commit.split('\u{2}').collect();
            let [author, email, committer, address, subject, body, changes] = fields.as_slice()
            else {
                panic!("odd commit {commit:?}")
            };
            assert_eq!((author, email), (committer, address), "author and committer differ");
            let mut changes: Vec<&str> = changes.lines().filter(|line| !line.is_empty()).collect();
            changes.sort_unstable();
            json!({
                "author": author, "email": email, "subject": subject,
                "body": body.trim_end_matches('\n'), "changes": changes,
            })
        })
        .collect()
}

/// Files at the head of the branch.
fn head(root: &Path) -> BTreeMap<String, Value> {
    let names = String::from_utf8(git(root, &["ls-tree", "-r", "-z", "--name-only", "HEAD"]));
    let names = names.expect("text");
    let files = names.split('\0').filter(|name| !name.is_empty() && *name != ".gitignore");
    files
        .map(|name| {
            let content = git(root, &["cat-file", "blob", &format!("HEAD:{name}")]);
            let content = String::from_utf8(content).map_or(Value::Null, Value::String);
            (name.to_owned(), content)
        })
        .collect()
}

pub(super) fn journal_logs(case: &Case) -> Result<(), String> {
    let script = script::play(case, super::no_faults)?;
    compare(case, &script)
}

pub(super) fn compare(case: &Case, script: &Script) -> Result<(), String> {
    let log = log(&script.root());
    if let Some(subjects) = case.expect["log_subjects"].as_array() {
        let found: Vec<Value> = log.iter().map(|commit| commit["subject"].clone()).collect();
        return same("subjects", &found, subjects);
    }
    if let Some(wanted) = case.expect["log"].as_array() {
        same("log", &log, wanted)?;
    }
    let head = head(&script.root());
    if let Some(wanted) = case.expect["head"].as_object() {
        let wanted: BTreeMap<_, _> =
            wanted.iter().map(|(path, data)| (path.clone(), data.clone())).collect();
        same("head", &head, &wanted)?;
    }
    for entry in case.expect["dirty"].as_array().into_iter().flatten() {
        let path = entry.as_str().and_then(|entry| entry.get(3..)).expect("a path");
        if head.contains_key(path) {
            return Err(format!("{path} was recorded"));
        }
    }
    Ok(())
}
