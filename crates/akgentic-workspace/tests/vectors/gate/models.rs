//! Wire models: what is written, and what is turned away and where.

use akgentic_core::wire::{LoadError, Record as _, WireType, load_record};
use akgentic_testkit::{Case, same};
use akgentic_workspace::gate::{LastWrite, Observation};
use akgentic_workspace::lease::{
    ExecConfig, ExecLease, ExecOutcome, ExecPayload, ExecStart, ExecStatus,
};
use akgentic_workspace::params::{
    WorkspaceDelete, WorkspaceEdit, WorkspaceExec, WorkspaceMkdir, WorkspaceMultiEdit,
    WorkspacePatch, WorkspaceWrite,
};
use akgentic_workspace::{
    MutationOutcome, Resource, WorkspaceConfig, WorkspaceState, WorkspaceTool,
};
use serde_json::{Value, json};

/// The written form, or the first steps of the places at fault.
type Loaded = Result<Value, Vec<String>>;

fn record<T: WireType>(json: Value) -> Loaded {
    match load_record::<T>(json) {
        Ok(record) => Ok(record.to_json()),
        Err(LoadError::Invalid { errors, .. }) => Err(errors
            .iter()
            .map(|error| error.loc.first().map(ToString::to_string).unwrap_or_default())
            .collect()),
        Err(_) => Err(vec![String::new()]),
    }
}

fn load(model: &str, json: Value) -> Option<Loaded> {
    Some(match model {
        "WorkspaceConfig" => record::<WorkspaceConfig>(json),
        "WorkspaceState" => record::<WorkspaceState>(json),
        "Observation" => record::<Observation>(json),
        "LastWrite" => record::<LastWrite>(json),
        "MutationOutcome" => record::<MutationOutcome>(json),
        "ExecConfig" => record::<ExecConfig>(json),
        "ExecPayload" => record::<ExecPayload>(json),
        "ExecOutcome" => record::<ExecOutcome>(json),
        "ExecLease" => record::<ExecLease>(json),
        "ExecStart" => record::<ExecStart>(json),
        "ExecStatus" => record::<ExecStatus>(json),
        "WorkspaceExec" => record::<WorkspaceExec>(json),
        "WorkspaceWrite" => record::<WorkspaceWrite>(json),
        "WorkspaceDelete" => record::<WorkspaceDelete>(json),
        "WorkspaceEdit" => record::<WorkspaceEdit>(json),
        "WorkspaceMultiEdit" => record::<WorkspaceMultiEdit>(json),
        "WorkspacePatch" => record::<WorkspacePatch>(json),
        "WorkspaceMkdir" => record::<WorkspaceMkdir>(json),
        "WorkspaceTool" => record::<WorkspaceTool>(json),
        "Resource" => record::<Resource>(json),
        _ => return None,
    })
}

fn sort_exposures(value: &mut Value) {
    for (key, value) in value.as_object_mut().into_iter().flatten() {
        match value {
            Value::Array(channels) if key == "expose" => {
                channels.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            }
            value => sort_exposures(value),
        }
    }
}

pub(super) fn models(case: &Case) -> Result<(), String> {
    let model = case.input["model"].as_str().expect("a model");
    if model == "EditItem" {
        return case.not_applicable("the items of an edit belong to the edit tools");
    }
    let Some(loaded) = load(model, case.input["json"].clone()) else {
        return Err(format!("unknown model {model}"));
    };
    match (loaded, case.expect["ok"] == true) {
        (Ok(mut got), true) => {
            let mut wanted = case.expect["dump"].clone();
            sort_exposures(&mut got);
            sort_exposures(&mut wanted);
            same("dump", &got, &wanted)
        }
        (Err(got), false) => {
            let errors = case.expect["errors"].as_array().expect("errors");
            let wanted = errors.iter().map(|error| match &error["loc"][0] {
                Value::String(step) => step.clone(),
                Value::Null => String::new(),
                step => json!(step).to_string(),
            });
            let missing: Vec<_> = wanted.filter(|step| !got.contains(step)).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} not in {got:?}")) }
        }
        (Ok(got), false) => Err(format!("accepted: {got}")),
        (Err(places), true) => Err(format!("turned away at {places:?}")),
    }
}
