//! Topics `models` and `naming`.

use std::ffi::OsStr;
use std::path::Path;

use akgentic_core::coerce;
use akgentic_core::wire::{Record as _, WireType, load_record};
use akgentic_sandbox::{
    ExecResult, SandboxConfig, SandboxState, actor_name, workspace_dir, workspace_name,
};
use akgentic_testkit::{Case, known_keys, same};
use serde_json::{Value, json};

const CARD: &str = "the card is built, and its cases replayed, by the workspace crate";

pub(crate) fn models(case: &Case) -> Result<(), String> {
    let json = case.input["json"].clone();
    let loaded = match case.input["model"].as_str() {
        Some("SandboxConfig") => dumped::<SandboxConfig>(json),
        Some("SandboxState") => dumped::<SandboxState>(json),
        Some("ExecResult") => coerce::from_value_coerced::<ExecResult>(json)
            .map(|result| json!(result))
            .map_err(|errors| errors.iter().map(|error| location(&error.loc)).collect()),
        Some("ExecTool" | "ExecCommand") => return case.not_applicable(CARD),
        None if case.input["fn"] == "exec_tool" => return case.not_applicable(CARD),
        other => return Err(format!("unknown model {other:?}")),
    };
    match (loaded, case.expect["ok"].as_bool()) {
        (Ok(dump), Some(true)) => same("dump", &dump, &case.expect["dump"]),
        (Err(places), Some(false)) => {
            let errors = case.expect["errors"].as_array().expect("errors");
            let wanted: Vec<String> = errors
                .iter()
                .map(|error| error["loc"][0].as_str().expect("a field").to_owned())
                .collect();
            same("fields", &places, &wanted)
        }
        (loaded, wanted) => Err(format!("{loaded:?}, accepted should be {wanted:?}")),
    }
}

fn dumped<T: WireType>(json: Value) -> Result<Value, Vec<String>> {
    let loaded = load_record::<T>(json).map_err(|error| {
        error.errors().iter().map(|error| location(&error.loc)).collect::<Vec<_>>()
    })?;
    let dump = loaded.to_json();
    let again = load_record::<T>(dump.clone()).expect("a dump loads").to_json();
    assert_eq!(again, dump, "a dump loads as itself");
    Ok(dump)
}

fn location<T: ToString>(loc: &[T]) -> String {
    loc.first().map_or_else(String::new, ToString::to_string)
}

pub(crate) fn naming(case: &Case) -> Result<(), String> {
    let Case { input, expect, .. } = case;
    let text = |key: &str| input[key].as_str();
    match text("fn").expect("fn") {
        "actor_names" => {
            known_keys("input", input, &["fn", "workspace"])?;
            let workspace = text("workspace").expect("a workspace");
            same("sandbox", &json!(actor_name(workspace)), &expect["sandbox"])
        }
        "sandbox_config" => {
            known_keys("input", input, &["fn", "mode", "team_id", "workspace_id"])?;
            let (mode, team) = (text("mode").expect("mode"), text("team_id").expect("team"));
            let config = SandboxConfig::of(mode, team, text("workspace_id"));
            same("config", &config.to_json(), expect)
        }
        "workspace_dir" => {
            known_keys("input", input, &["fn", "env", "workspace_id", "team_id", "cwd"])?;
            let name = workspace_name(text("workspace_id"), text("team_id").expect("team"));
            let current = Path::new(text("cwd").expect("cwd"));
            // The vectors stand for an absolute path; ours has to be one, too.
            let real = |path: &str| path.replace("<TMP>", "/TMP");
            let base = text("env").map(real);
            let found = workspace_dir(
                base.as_deref().map(OsStr::new),
                &real(name),
                Path::new(&real(current.to_str().expect("text"))),
            );
            match (found, expect["escapes_root"].as_bool()) {
                (Err(_), Some(true)) => Ok(()),
                (Ok(path), None | Some(false)) => {
                    let wanted = real(expect["path"].as_str().expect("a path"));
                    same("path", &path.as_path(), &Path::new(&wanted))
                }
                (found, escapes) => Err(format!("{found:?}, escapes: {escapes:?}")),
            }
        }
        other => Err(format!("unknown fn {other}")),
    }
}
