//! The deprecated card for commands: its cases among those of the sandbox.

use akgentic_core::wire::{LoadError, Record as _, WireType, load_record};
use akgentic_testkit::{Case, Suite, same};
use akgentic_tool_core::{Observer, ToolCall, ToolCard as _};
use akgentic_workspace::{ExecCommand, ExecTool};
use serde_json::{Value, json};

use crate::tools::undescribed;

const ELSEWHERE: &str = "replayed by the sandbox crate";

#[test]
fn sandbox() {
    Suite {
        part: "sandbox",
        claimed: &[("models", models)],
        elsewhere: &[
            ("allowlist", ELSEWHERE),
            ("argv", ELSEWHERE),
            ("auto_mode", ELSEWHERE),
            ("docker_lifecycle", ELSEWHERE),
            ("exec_runs", ELSEWHERE),
            ("local_env", ELSEWHERE),
            ("naming", ELSEWHERE),
            ("seatbelt_policy", ELSEWHERE),
        ],
        skipped: &[],
    }
    .replay();
}

fn models(case: &Case) -> Result<(), String> {
    let json = case.input["json"].clone();
    let loaded = match case.input["model"].as_str() {
        Some("ExecTool") => dumped::<ExecTool>(json),
        Some("ExecCommand") => dumped::<ExecCommand>(json),
        None if case.input["fn"] == "exec_tool" => return shim(case),
        _ => return case.not_applicable(ELSEWHERE),
    };
    match (loaded, case.expect["ok"] == true) {
        (Ok(dump), true) => same("dump", &dump, &case.expect["dump"]),
        (Err(places), false) => {
            let errors = case.expect["errors"].as_array().expect("errors").iter();
            let wanted: Vec<&str> =
                errors.map(|error| error["loc"][0].as_str().expect("a field")).collect();
            if wanted.iter().all(|field| places.iter().any(|place| place == field)) {
                return Ok(());
            }
            Err(format!("turned away at {places:?}, wanted {wanted:?}"))
        }
        (loaded, wanted) => Err(format!("{loaded:?}, accepted should be {wanted}")),
    }
}

fn dumped<T: WireType>(json: Value) -> Result<Value, Vec<String>> {
    match load_record::<T>(json) {
        Ok(record) => Ok(record.to_json()),
        Err(LoadError::Invalid { errors, .. }) => Err(errors
            .iter()
            .map(|error| error.loc.first().map(ToString::to_string).unwrap_or_default())
            .collect()),
        Err(error) => Err(vec![error.to_string()]),
    }
}

/// What the card offers, and what it answers where there is nothing to run commands in.
fn shim(case: &Case) -> Result<(), String> {
    let card = load_record::<ExecTool>(case.input["card"].clone()).expect("a card");
    let observer = Observer::unattached().build();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let bound = runtime.block_on(card.bind(&observer)).map_err(|error| error.to_string())?;
    let names: Vec<Value> = bound.tools.iter().map(|tool| json!(tool.name())).collect();
    same("tools", &json!(names), &case.expect["tools"])?;
    let Some(tool) = bound.tools.first() else { return Ok(()) };
    let mut schema = tool.definition().parameters.clone();
    undescribed(&mut schema);
    same("schema", &schema, &case.expect["schema"])?;
    let description = tool.definition().description.as_str();
    let allowed = case.expect["allowed_line"].as_str().expect("a line");
    if !description.lines().any(|line| line == allowed) {
        return Err(format!("{allowed:?} is missing in {description:?}"));
    }
    if let Some(suffix) = case.expect["instructions_suffix"].as_str()
        && !description.ends_with(suffix)
    {
        return Err(format!("{description:?} does not end with {suffix:?}"));
    }
    let call = tool.call(json!({"cmd": "ls"}), ToolCall::default());
    let answer = runtime.block_on(call).map_err(|error| error.to_string())?;
    let answer = answer.as_text().unwrap_or_default();
    let parts: Vec<Value> = answer.split(':').take(2).map(|part| json!(part)).collect();
    same("unwired call", &json!(parts), &case.expect["unwired_call"])
}
