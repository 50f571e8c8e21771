//! Topic `exec_runs`: real commands.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use akgentic_sandbox::{
    Backend, Bwrap, CommandPolicy, Ended, Local, Outcome, Place, Run, RunError, Session,
};
use akgentic_testkit::{Case, known_keys, same};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
});

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.block_on(future)
}

/// Why bwrap cannot be used here, looked for once.
static NO_BWRAP: LazyLock<Option<String>> =
    LazyLock::new(|| block_on(Bwrap::default().probe()).err().map(|error| error.to_string()));

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

pub(crate) fn exec_runs(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    known_keys("input", input, &["mode", "files", "cmd", "cwd", "timeout"])?;
    let known = ["stdout", "stderr", "exit_code", "error", "new_files", "stderr_must_name", "note"];
    known_keys("expect", expect, &known)?;
    let backend: Box<dyn Backend> = match input["mode"].as_str().expect("mode") {
        "local" => Box::new(Local::default()),
        "bwrap" => match &*NO_BWRAP {
            None => Box::new(Bwrap::default()),
            Some(reason) if is_ci() => return Err(format!("bwrap does not work: {reason}")),
            Some(_) => return case.not_applicable("bwrap does not work on this machine"),
        },
        other => return Err(format!("unknown mode {other}")),
    };
    if let Some(reason) = missing(case) {
        return case.not_applicable(reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("ws");
    let inputs = lay_out(&root, &input["files"]);
    let place = Place { team_id: "t".to_owned(), workspace_id: None, directory: root.clone() };
    let ended = block_on(async {
        let session = backend.start(place).await.map_err(|error| format!("start: {error}"))?;
        Ok::<_, String>(run(session, input).await)
    })?;
    let found = match ended {
        Ok(outcome) if outcome.timed_out() => json!({"error": "timeout"}),
        Ok(outcome) => shown(&outcome, expect)?,
        Err(error) => json!({"error": error.code()}),
    };
    for key in ["error", "stdout", "stderr", "exit_code"] {
        if let Some(wanted) = expect.get(key) {
            same(key, &found[key], wanted)
                .map_err(|difference| format!("{difference}\n all {found}"))?;
        }
    }
    if let Some(error) = found.get("error").filter(|_| expect.get("error").is_none()) {
        return Err(format!("refused: {error}"));
    }
    if let Some(wanted) = expect.get("new_files") {
        let mut files = BTreeMap::new();
        collect(&root, &root, &mut files);
        files.retain(|name, _| !inputs.contains(name));
        same("new files", &json!(files), wanted)?;
    }
    Ok(())
}

async fn run(session: Arc<dyn Session>, input: &Value) -> Result<Outcome, RunError> {
    let command = CommandPolicy::default().check(input["cmd"].as_str().expect("cmd"))?;
    let mut run = Run::new(command).in_folder(input["cwd"].as_str().expect("cwd"));
    if let Some(seconds) = input["timeout"].as_f64() {
        run = run.within_seconds(seconds)?;
    }
    session.run(run).await
}

fn shown(outcome: &Outcome, expect: &Value) -> Result<Value, String> {
    same("ended", &outcome.ended, &Ended::Exited)?;
    let result = outcome.result(64 << 10);
    if expect["stderr_must_name"].is_string() && !result.stderr.contains("ruff") {
        return Err(format!("the missing program is not named: {result:?}"));
    }
    if outcome.stdout.dropped() > 0 {
        same("notice", &result.stdout.contains("bytes left out"), &true)?;
    }
    if result.stdout.len() + result.stderr.len() > 256 << 10 {
        return Err("the text is not bounded".to_owned());
    }
    Ok(json!(result))
}

/// Why a case with a condition does not apply here.
fn missing(case: &Case) -> Option<&'static str> {
    let program = case.input["cmd"].as_str()?.split(' ').next()?;
    let path = std::env::var_os("PATH")?;
    let local = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let inside = ["/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(program));
    let there = if case.input["mode"] == "local" {
        local
    } else {
        inside.iter().any(|path| path.is_file())
    };
    match case.expect["note"].as_str() {
        Some("only where node is installed and visible") if !there => Some("node is not here"),
        Some("only meaningful where that binary is not installed") if there => {
            Some("the program that should be missing is installed")
        }
        _ => None,
    }
}

fn lay_out(root: &Path, files: &Value) -> Vec<String> {
    fs::create_dir_all(root).expect("a folder");
    let files = files.as_object().expect("files");
    for (name, file) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        let text = file.as_str().or(file["text"].as_str()).expect("a text");
        fs::write(&path, text).expect("a file");
        if file["exec"] == true {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    files.keys().cloned().collect()
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below").to_str().expect("text").to_owned();
            files.insert(name, fs::read_to_string(&path).expect("text"));
        }
    }
}
