//! The vectors of gate, journal and lease.

mod logs;
mod models;
mod runs;
mod schemas;
mod script;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use akgentic_testkit::{Case, Suite, same};
use akgentic_workspace::gate::{Capped, Code, Evidence, EvidenceLimits};
use akgentic_workspace::journal::ignores::{Rules, SEED};
use akgentic_workspace::journal::{Identity, text};
use akgentic_workspace::tree::{Stop, Tree, TreeOptions};
use akgentic_workspace::{Filesystem, Root, is_staging_name, staging_name_with};
use serde_json::{Value, json};

#[test]
fn workspace_gate() {
    Suite {
        part: "workspace-gate",
        claimed: &[
            ("gate_sequences", gate_script),
            ("gate_fuzz", gate_script),
            ("observation_caps", gate_script),
            ("lease_sequences", gate_script),
            ("defects", defects),
            ("refusal_diff_cap", refusal_diff_cap),
            ("staging", staging),
            ("journal_text", journal_text),
            ("journal_logs", logs::journal_logs),
            ("result_cache", runs::result_cache),
            ("poll_budget", runs::poll_budget),
            ("exec_format", runs::exec_format),
            ("worker_run", runs::worker_run),
            ("models", models::models),
            ("tool_schemas", schemas::tool_schemas),
        ],
        elsewhere: &[("gate_faults", "replayed by the unit tests, which can let a step fail")],
        skipped: &[],
    }
    .replay();
}

fn no_faults(kind: &str, _: usize) {
    panic!("{kind}: faults are for the unit tests");
}

fn gate_script(case: &Case) -> Result<(), String> {
    script::replay(case, no_faults)
}

fn defects(case: &Case) -> Result<(), String> {
    let script = script::play(case, no_faults)?;
    if case.expect["log_subjects"].is_array() {
        return logs::compare(case, &script);
    }
    Ok(())
}

fn refusal_diff_cap(case: &Case) -> Result<(), String> {
    if let Some(lines) = case.input["diff_lines"].as_u64() {
        let mut capped = Capped::new(EvidenceLimits::default());
        for line in 0..lines {
            capped.line(&format!("line {line}"));
        }
        let text = capped.finish();
        let shown = text.lines().filter(|line| line.starts_with("line ")).count();
        same("shown", &json!(shown), &case.expect["shown"])?;
        return same("elided", &json!(elided(&text)), &case.expect["elided"]);
    }
    let lines = |word: &str, count: &Value| -> String {
        let lines = (0..count.as_u64().expect("a count")).map(|i| format!("{word} {i}\n"));
        lines.collect::<Vec<_>>().concat()
    };
    let outer = tempfile::tempdir().expect("a folder");
    fs::write(outer.path().join("big.txt"), lines("old", &case.input["live_lines"]))
        .expect("a file");
    let files = Filesystem::new(Root::open(outer.path()).expect("the root"));
    let tree = Tree::open(files, TreeOptions::default()).expect("an owner");
    let Err(Stop::Refused(refusal)) =
        tree.write("a", "big.txt", &lines("new", &case.input["proposed_lines"]))
    else {
        return Err("it was accepted".to_owned());
    };
    same("reason", &refusal.code, &Code::UnreadWrite)?;
    let Some(Evidence::Diff(diff)) = &refusal.evidence else { return Err("no diff".to_owned()) };
    let shown: Vec<&str> = diff.lines().filter(|line| !line.starts_with("... ")).collect();
    same("elided", &json!(elided(diff)), &case.expect["elided"])?;
    same("shown", &json!(shown.len()), &case.expect["shown"])?;
    let first = case.expect["first"].as_array().expect("lines");
    let start: Vec<Value> = shown.iter().take(first.len()).map(|line| json!(line)).collect();
    same("first", &start, first)?;
    same("last", &json!(shown.last()), &case.expect["last_shown"])?;
    let digest = akgentic_workspace::gate::Digest::of(shown.join("\n").as_bytes());
    same("digest", &json!(digest.as_str()), &case.expect["shown_sha256"])
}

fn elided(text: &str) -> u64 {
    let notice = text.lines().last().and_then(|line| line.strip_prefix("... "));
    notice.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn open(root: &Path) {
    let files = Filesystem::new(Root::open(root).expect("the root"));
    drop(Tree::open(files, TreeOptions::default()).expect("an owner"));
}

fn staging(case: &Case) -> Result<(), String> {
    let input = &case.input;
    let string = |key: &str| input[key].as_str().unwrap_or_default();
    match string("fn") {
        "is_staging_name" => {
            let name = string("name");
            if name.contains('\n') && case.expect == json!(true) {
                // F7: the whole name is matched, a newline included.
                return same("is_staging", &is_staging_name(name), &false);
            }
            same("is_staging", &json!(is_staging_name(name)), &case.expect)
        }
        "staging_name" => {
            let name = staging_name_with(string("target"), string("token"));
            same("name", &json!(name), &case.expect["name"])
        }
        "sweep_at_start" => {
            let outer = tempfile::tempdir().expect("a folder");
            let path = outer.path().join(string("path"));
            fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
            let age = input["age_s"].as_f64().unwrap_or(0.0);
            let by = Duration::from_secs_f64(age.abs());
            let now = SystemTime::now();
            let time = if age < 0.0 { now + by } else { now - by };
            let aged = |path: &Path| {
                fs::File::open(path).expect("a file").set_modified(time).expect("a time");
            };
            match input["kind"].as_str().unwrap_or("file") {
                "file" => {
                    fs::write(&path, "x").expect("a file");
                    aged(&path);
                }
                "dir" => {
                    fs::create_dir(&path).expect("a directory");
                    aged(&path);
                }
                "symlink_to_old_file" => {
                    let target = outer.path().join("target");
                    fs::write(&target, "x").expect("a file");
                    aged(&target);
                    std::os::unix::fs::symlink(&target, &path).expect("a link");
                }
                "dangling_symlink" => {
                    std::os::unix::fs::symlink("nothing", &path).expect("a link");
                }
                other => return Err(format!("unknown kind {other}")),
            }
            open(outer.path());
            let removed = path.symlink_metadata().is_err();
            same("removed", &json!(removed), &case.expect["removed"])
        }
        "sweep_dir_symlink" => {
            let outer = tempfile::tempdir().expect("a folder");
            let (root, elsewhere) = (outer.path().join("tree"), outer.path().join("elsewhere"));
            fs::create_dir(&root).expect("the root");
            fs::create_dir(&elsewhere).expect("a directory");
            let old = elsewhere.join(staging_name_with("a", &"0".repeat(32)));
            fs::write(&old, "x").expect("a file");
            let file = fs::File::open(&old).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(100)).expect("a time");
            std::os::unix::fs::symlink(&elsewhere, root.join("link")).expect("a link");
            open(&root);
            same("removed", &json!(!old.exists()), &case.expect["removed"])
        }
        other => Err(format!("unknown function {other}")),
    }
}

fn journal_text(case: &Case) -> Result<(), String> {
    let input = &case.input;
    let string = |key: &str| input[key].as_str().unwrap_or_default();
    let identity = |who: Identity| json!({"name": who.name, "email": who.email});
    let got = match string("fn") {
        "sanitise_name" => json!(text::clean_name(string("value"))),
        "sanitise_email_local" => json!(text::clean_local_part(string("value"))),
        "sanitise_command" => json!(text::clean_command(string("value"))),
        "subject" => {
            let outer = tempfile::tempdir().expect("a folder");
            let root = Root::open(outer.path()).expect("the root");
            let paths = input["paths"].as_array().expect("paths");
            let paths: Vec<_> = paths
                .iter()
                .map(|path| root.resolve(path.as_str().expect("a path")).expect("a path"))
                .collect();
            json!(text::subject(string("capability"), &paths))
        }
        "git_dir_for" => json!(text::git_directory(Path::new(string("root")))),
        "identity" => identity(Identity::agent(string("name"), string("id"))),
        "identity_out_of_band" => identity(Identity::out_of_band()),
        "seed_ignores" => {
            let mut rules = Rules::default();
            rules.add(Path::new(""), SEED);
            json!(rules.is_ignored(Path::new(string("path"))))
        }
        "porcelain_path" => {
            return case.not_applicable("no status text of git is read");
        }
        other => return Err(format!("unknown function {other}")),
    };
    same("value", &got, &case.expect)
}
