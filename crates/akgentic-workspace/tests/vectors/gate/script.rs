//! Scripts: agents, changes behind their back, verdicts, and the tree that comes out.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_testkit::Case;
use akgentic_workspace::gate::{Author, Code, Digest, Evidence, FileCode, Observation, Refusal};
use akgentic_workspace::journal::ScanLimits;
use akgentic_workspace::lease::{ExecOutcome, ExecState};
use akgentic_workspace::read::{PageLimits, Window, read_page};
use akgentic_workspace::tree::{
    Cause, CheckCommand, RunSettings, Stop, Tree, TreeOptions, file_refusal,
};
use akgentic_workspace::{EditItem, Filesystem, Root};
use base64::Engine as _;
use serde_json::{Value, json};

/// Lets the nth step of a kind fail.
pub(super) type Arm = fn(&str, usize);

/// A tree with a script's set-up.
pub(super) struct Script {
    outer: tempfile::TempDir,
    pub tree: Arc<Tree>,
    now: Arc<Mutex<Duration>>,
    spawn_fails: bool,
    arm: Arm,
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn bytes(data: &Value) -> Vec<u8> {
    match data {
        Value::String(text) => text.as_bytes().to_vec(),
        coded => {
            let coded = text(coded, "b64");
            base64::engine::general_purpose::STANDARD.decode(coded).expect("base64")
        }
    }
}

impl Script {
    pub(super) fn new(setup: &Value, arm: Arm) -> Self {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().join("tree");
        fs::create_dir(&root).expect("the root");
        for (path, data) in setup["files"].as_object().into_iter().flatten() {
            put(&root.join(path), &bytes(data));
        }
        let now = Arc::new(Mutex::new(Duration::from_secs(1000)));
        let clock = Arc::clone(&now);
        let ids = AtomicU32::new(1);
        let mut options = TreeOptions {
            clock: Arc::new(move || *clock.lock().expect("the clock")),
            run_ids: Arc::new(move || format!("a{:07x}", ids.fetch_add(1, Ordering::Relaxed))),
            ..TreeOptions::default()
        };
        let config = &setup["config"];
        let cap = |key: &str| config[key].as_u64().map(|cap| usize::try_from(cap).expect("a cap"));
        if let Some(cap) = cap("max_observations_per_agent") {
            options.gate.observations_per_agent = cap;
        }
        if let Some(cap) = cap("max_tracked_writers") {
            options.gate.writers = cap;
        }
        if config["git_journal"] == true {
            options.journal = Some(ScanLimits::default());
        }
        let files = Filesystem::new(Root::open(&root).expect("the root"));
        let tree = Tree::open(files, options).expect("an owner");
        tree.settle_journal(Duration::from_secs(10));
        for (agent, name) in setup["names"].as_object().into_iter().flatten() {
            tree.register(agent, name.as_str().expect("a name"));
        }
        let script = Self { outer, tree, now, spawn_fails: false, arm };
        if setup["exec"].is_object() {
            script.configure(&setup["exec"]);
        }
        script
    }

    pub(super) fn root(&self) -> PathBuf {
        self.outer.path().join("tree")
    }

    fn configure(&self, exec: &Value) {
        let check = CheckCommand(Arc::new(|cmd: &str| {
            if cmd.starts_with("psql") { Err("psql is not allowed".to_owned()) } else { Ok(()) }
        }));
        let timeout_s = exec["timeout_s"].as_f64().unwrap_or(15.0);
        self.tree.configure_runs(RunSettings { timeout_s, check: Some(check) });
    }

    fn path(&self, op: &Value) -> String {
        text(op, "path").replace("<ROOT>", self.root().to_str().expect("text"))
    }

    /// Plays one step; gives what came of it.
    pub(super) fn step(&mut self, op: &Value) -> Value {
        let result = self.play(op);
        assert!(self.tree.settle_journal(Duration::from_secs(20)), "the journal is stuck");
        result
    }

    fn play(&mut self, op: &Value) -> Value {
        let tree = Arc::clone(&self.tree);
        match text(op, "op") {
            "put" => put(&self.root().join(text(op, "path")), &bytes(&op["data"])),
            "rm" => fs::remove_file(self.root().join(text(op, "path"))).expect("a file"),
            "mkdir_oob" => {
                fs::create_dir_all(self.root().join(text(op, "path"))).expect("a directory");
            }
            "symlink" => {
                let target =
                    text(op, "target").replace("<ROOT>", self.root().to_str().expect("text"));
                symlink(target, self.root().join(text(op, "path"))).expect("a link");
            }
            "mkfifo" => {
                let status = std::process::Command::new("mkfifo")
                    .arg(self.root().join(text(op, "path")))
                    .status();
                assert!(status.expect("mkfifo").success());
            }
            "read" => return self.read(op),
            "observe" => {
                let seen = Observation {
                    sha: Digest::from_hex(text(op, "sha")),
                    full: op["full"] == true,
                };
                tree.observe(text(op, "agent"), &self.path(op), seen, tree.moment());
            }
            "observation" => {
                let seen = tree.observation(text(op, "agent"), &self.path(op));
                return json!({"observation": seen});
            }
            "name" => tree.register(text(op, "agent"), text(op, "name")),
            "write" => {
                let path = self.path(op);
                let outcome = tree.write(text(op, "agent"), &path, text(op, "content"));
                return verdict(outcome.map(|()| format!("Written: {}", text(op, "path"))));
            }
            "delete" => {
                let outcome = tree.delete(text(op, "agent"), &self.path(op));
                return verdict(outcome.map(|()| format!("Deleted: {}", text(op, "path"))));
            }
            "mkdir" => {
                let outcome = tree.mkdir(&self.path(op));
                return verdict(outcome.map(|()| format!("Created: {}", text(op, "path"))));
            }
            "edit" | "multi_edit" => return self.edit(op),
            "patch" => return self.patch(op),
            "exec" => return self.exec(op),
            "deliver" => {
                let mut outcome =
                    json!({"stdout": "", "stderr": "", "exit_code": 0, "timed_out": false});
                for (key, value) in op["outcome"].as_object().into_iter().flatten() {
                    outcome[key] = value.clone();
                }
                let outcome: ExecOutcome = serde_json::from_value(outcome).expect("an outcome");
                tree.deliver(text(op, "run"), outcome);
            }
            "fail" => tree.fail(text(op, "run"), text(op, "error")),
            "run_started" => tree.run_started(text(op, "run")),
            "worker_gone" => tree.worker_gone(text(op, "run")),
            "advance" => {
                let by = Duration::from_secs_f64(op["s"].as_f64().expect("seconds"));
                *self.now.lock().expect("the clock") += by;
            }
            "status" => return self.status(op),
            "lease" => return self.lease(),
            "spawn_fails_next" => self.spawn_fails = true,
            "configure_exec" => self.configure(&op["exec"]),
            "fault" => {
                let nth = op["nth"].as_u64().expect("a number");
                (self.arm)(text(op, "kind"), usize::try_from(nth).expect("a number"));
            }
            other => panic!("unknown op {other}"),
        }
        Value::Null
    }

    fn read(&self, op: &Value) -> Value {
        let path = self.path(op);
        let moment = self.tree.moment();
        let content = match self.tree.files().read(&path) {
            Ok(content) => content,
            Err(error) => return refused("rejected", &file_refusal(&error)),
        };
        let number = |key: &str, usual| op[key].as_i64().unwrap_or(usual);
        let window = Window {
            offset: u64::try_from(number("offset", 1)).unwrap_or(0).max(1),
            limit: u64::try_from(number("limit", 2000)).unwrap_or(0),
        };
        let page = read_page(&mut &content[..], window, PageLimits::default(), &|| false);
        let Ok(page) = page else { return json!({"v": "failed"}) };
        let seen = Observation { sha: Digest::of(&content), full: page.full };
        self.tree.observe(text(op, "agent"), &path, seen, moment);
        json!({"v": "read", "full": page.full})
    }

    fn edit(&self, op: &Value) -> Value {
        let item = |edit: &Value| EditItem {
            path: self.path(edit),
            old_string: text(edit, "old").to_owned(),
            new_string: text(edit, "new").to_owned(),
            replace_all: edit["all"] == true,
        };
        let agent = text(op, "agent");
        verdict(match op["edits"].as_array() {
            Some(edits) => {
                let items: Vec<EditItem> = edits.iter().map(item).collect();
                self.tree.multi_edit(agent, &items)
            }
            None => self.tree.edit(agent, &item(op)),
        })
    }

    fn patch(&self, op: &Value) -> Value {
        let patch = text(op, "patch").replace("<ROOT>", self.root().to_str().expect("text"));
        verdict(self.tree.patch(text(op, "agent"), &patch))
    }

    fn exec(&mut self, op: &Value) -> Value {
        match self.tree.request_run(text(op, "agent"), text(op, "cmd")) {
            Ok(run) => {
                if std::mem::take(&mut self.spawn_fails) {
                    self.tree.fail(&run, "worker spawn failed: no thread");
                }
                json!({"v": "started", "run": run})
            }
            Err(refusal) => refused("refused", &refusal),
        }
    }

    fn status(&self, op: &Value) -> Value {
        let status = self.tree.run_status(text(op, "agent"), text(op, "run"));
        match status.state {
            ExecState::Done => json!({"state": "done", "outcome": status.outcome}),
            ExecState::Failed => json!({"state": "failed", "reason": status.reason}),
            ExecState::Running => json!({"state": "running"}),
            ExecState::Unknown => json!({"state": "unknown", "recent": status.recent_run_ids}),
        }
    }

    fn lease(&self) -> Value {
        let now = *self.now.lock().expect("the clock");
        let lease = self.tree.lease().map(|lease| {
            let remaining = lease.deadline.saturating_sub(now).as_secs_f64();
            json!({
                "run": lease.run_id, "agent": lease.agent, "cmd": lease.cmd,
                "budget": lease.budget.as_secs_f64(),
                "remaining": (remaining * 1e6).round() / 1e6,
            })
        });
        json!({"lease": lease})
    }

    /// Regular files and empty directories, and links, by path.
    pub(super) fn contents(&self) -> (BTreeMap<String, Value>, BTreeMap<String, String>) {
        let (mut files, mut links) = (BTreeMap::new(), BTreeMap::new());
        collect(&self.root(), Path::new(""), &mut files, &mut links);
        (files, links)
    }
}

fn put(path: &Path, data: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
    fs::write(path, data).expect("a file");
}

fn collect(
    folder: &Path,
    below: &Path,
    files: &mut BTreeMap<String, Value>,
    links: &mut BTreeMap<String, String>,
) {
    for entry in fs::read_dir(folder).expect("a directory") {
        let entry = entry.expect("an entry");
        let path = below.join(entry.file_name());
        let name = path.to_str().expect("text").to_owned();
        let kind = entry.file_type().expect("a kind");
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).expect("a target");
            links.insert(name, target.to_str().expect("text").to_owned());
        } else if kind.is_dir() {
            if fs::read_dir(entry.path()).expect("a directory").next().is_none() {
                files.insert(format!("{name}/"), Value::Null);
            }
            collect(&entry.path(), &path, files, links);
        } else if kind.is_file() {
            let content = fs::read(entry.path()).expect("a file");
            let content = String::from_utf8(content).map_or_else(
                |bad| json!({"b64": base64::engine::general_purpose::STANDARD.encode(bad.as_bytes())}),
                Value::String,
            );
            files.insert(name, content);
        }
    }
}

fn verdict(outcome: Result<String, Stop>) -> Value {
    match outcome {
        Ok(message) => {
            // Lines behind it tell how and where.
            let mut lines: Vec<&str> = message.split('\n').collect();
            while lines.last().is_some_and(|line| line.starts_with("[... ")) {
                lines.pop();
            }
            json!({"v": "accepted", "msg": lines.join("\n")})
        }
        Err(Stop::Refused(refusal)) => refused("rejected", &refusal),
        Err(Stop::Failed(failure)) if failure.cause == Cause::AnchorNotFound => {
            json!({"v": "failed", "reason": failure.cause.as_str(), "path": failure.path})
        }
        Err(Stop::Failed(failure)) => {
            let cause = failure.cause.as_str();
            let mut told = json!({"v": "failed", "reason": "patch_error", "path": failure.path, "cause": cause});
            if let Some(target) = failure.target {
                told["target"] = json!(target);
            }
            told
        }
        Err(Stop::Cancelled) => json!({"v": "cancelled"}),
    }
}

fn refused(v: &str, refusal: &Refusal) -> Value {
    let text = refusal.to_string();
    let mut told = json!({"v": v, "reason": refusal.code.as_str(), "path": refusal.path});
    match refusal.code {
        Code::Busy | Code::BusyOverdue => {
            assert!(text.starts_with("workspace busy"), "{text}");
            let quoted = |mark: char| text.split(mark).nth(1).unwrap_or_default().to_owned();
            let run = text.split("run ").nth(1).and_then(|rest| rest.split(' ').next());
            told["run"] = json!(run);
            told["holder"] = json!(quoted('\''));
        }
        Code::NotFound => assert!(text.starts_with("File not found: "), "{text}"),
        Code::File(FileCode::PathEscape) => assert!(text.contains("escapes"), "{text}"),
        _ => {
            let by = match &refusal.author {
                Author::Agent(name) => {
                    assert!(text.contains(&format!("'{name}'")), "{text}");
                    json!(name)
                }
                Author::Unsaid | Author::Outside => Value::Null,
            };
            told["by"] = by;
            told["oob"] = json!(refusal.author == Author::Outside);
            told["evidence"] = match &refusal.evidence {
                Some(Evidence::Diff(diff)) => json!({"type": "diff", "text": diff}),
                Some(Evidence::Digest { lines, sha }) => {
                    json!({"type": "digest", "lines": lines, "sha": sha})
                }
                // Told in a line of its own, where the reference shows nothing.
                Some(Evidence::EndingsOnly) | None => Value::Null,
            };
        }
    }
    told
}

/// Compares what was to come of a step with what came of it.
fn compare(op: &Value, want: &Value, got: &Value) -> Result<(), String> {
    let fail = || Err(format!("step {op}\n   got {got}\nwanted {want}"));
    if want["v"] == "raised" {
        return if got["v"] == want["wanted"] { Ok(()) } else { fail() };
    }
    // P3: lines added to a file that is there are an insertion, not a creation.
    if op["op"] == "patch" && want["reason"] == "unread_write" && got["reason"] == "unread_edit" {
        return Ok(());
    }
    for (key, wanted) in want.as_object().into_iter().flatten() {
        let known = got.get(key);
        // The details of a hunk are in the text.
        let ours = !matches!(key.as_str(), "hunk" | "count");
        match known {
            None if ours => return fail(),
            Some(found) if found != wanted => return fail(),
            _ => {}
        }
    }
    Ok(())
}

/// Plays a case and compares everything.
pub(super) fn play(case: &Case, arm: Arm) -> Result<Script, String> {
    let mut script = Script::new(&case.input["setup"], arm);
    let steps = case.input["steps"].as_array().expect("steps");
    for (at, op) in steps.iter().enumerate() {
        let got = script.step(op);
        let want = &case.expect["steps"][at];
        if !want.is_null() {
            compare(op, want, &got).map_err(|text| format!("step {at}: {text}"))?;
        }
    }
    let (files, links) = script.contents();
    let journalled = case.input["setup"]["config"]["git_journal"] == true;
    let files: BTreeMap<_, _> =
        files.into_iter().filter(|(path, _)| !journalled || path != ".gitignore").collect();
    if let Some(wanted) = case.expect["files"].as_object() {
        let wanted: BTreeMap<_, _> =
            wanted.iter().map(|(path, data)| (path.clone(), data.clone())).collect();
        akgentic_testkit::same("files", &files, &wanted)?;
    }
    if let Some(wanted) = case.expect["symlinks"].as_object() {
        let wanted: BTreeMap<_, _> = wanted
            .iter()
            .map(|(path, target)| (path.clone(), target.as_str().expect("text").to_owned()))
            .collect();
        akgentic_testkit::same("links", &links, &wanted)?;
    }
    Ok(script)
}

/// Plays a case.
pub(super) fn replay(case: &Case, arm: Arm) -> Result<(), String> {
    play(case, arm).map(drop)
}
