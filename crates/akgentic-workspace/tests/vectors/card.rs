//! Topics of the card: `card`, `resources`.

use akgentic_core::coerce::{FieldError, from_value_coerced};
use akgentic_core::wire::{LoadError, Record as _, WireType, dump, load_record};
use akgentic_tool_core::{LoadCardError, Observer, ToolFactory, load_card};
use akgentic_workspace::params::{
    DocumentReader, ExpandMediaRefs, WorkspaceDelete, WorkspaceEdit, WorkspaceExec, WorkspaceGlob,
    WorkspaceGrep, WorkspaceList, WorkspaceMkdir, WorkspaceMultiEdit, WorkspacePatch,
    WorkspaceRead, WorkspaceView, WorkspaceWrite,
};
use akgentic_workspace::patch::{FilePatch, Hunk};
use akgentic_workspace::{EditItem, FileEntry, Resource, WorkspaceTool};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::files::is_informative;
use crate::folder::Folder;
use crate::replay::{Outcome, Stop};

/// The written form, or the fields at fault.
type Loaded = Result<Value, Vec<String>>;

fn record<T: WireType>(json: Value) -> Loaded {
    match load_record::<T>(json) {
        Ok(record) => Ok(record.to_json()),
        Err(error) => Err(places(&error)),
    }
}

/// For what is written without a marker.
fn plain<T: DeserializeOwned + JsonSchema + Serialize>(json: Value) -> Loaded {
    match from_value_coerced::<T>(json) {
        Ok(value) => Ok(dump(&value).expect("JSON")),
        Err(errors) => Err(errors.iter().map(place).collect()),
    }
}

/// The place of an error, dotted.
pub(crate) fn place(error: &FieldError) -> String {
    let steps: Vec<_> = error.loc.iter().map(ToString::to_string).collect();
    steps.join(".")
}

fn places(error: &LoadError) -> Vec<String> {
    match error {
        LoadError::Invalid { errors, .. } => errors.iter().map(place).collect(),
        _ => vec![String::new()],
    }
}

fn load(model: &str, json: Value) -> Result<Loaded, Stop> {
    Ok(match model {
        "WorkspaceTool" => record::<WorkspaceTool>(json),
        "WorkspaceRead" => record::<WorkspaceRead>(json),
        "WorkspaceView" => record::<WorkspaceView>(json),
        "WorkspaceList" => record::<WorkspaceList>(json),
        "WorkspaceGlob" => record::<WorkspaceGlob>(json),
        "WorkspaceGrep" => record::<WorkspaceGrep>(json),
        "WorkspaceExec" => record::<WorkspaceExec>(json),
        "ExpandMediaRefs" => record::<ExpandMediaRefs>(json),
        "WorkspaceWrite" => record::<WorkspaceWrite>(json),
        "WorkspaceDelete" => record::<WorkspaceDelete>(json),
        "WorkspaceEdit" => record::<WorkspaceEdit>(json),
        "WorkspaceMultiEdit" => record::<WorkspaceMultiEdit>(json),
        "WorkspacePatch" => record::<WorkspacePatch>(json),
        "WorkspaceMkdir" => record::<WorkspaceMkdir>(json),
        "Resource" => record::<Resource>(json),
        "DocumentReader" => plain::<DocumentReader>(json),
        "FileEntry" => plain::<FileEntry>(json),
        "EditItem" => plain::<EditItem>(json),
        "Hunk" => plain::<Hunk>(json),
        "FilePatch" => plain::<FilePatch>(json),
        other => return Err(format!("unknown model {other}").into()),
    })
}

pub(crate) fn card(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let model = input["model"].as_str().expect("a model");
    match (load(model, input["json"].clone())?, expect.get("dump")) {
        _ if is_informative(case) => Ok(()),
        (Ok(got), Some(want)) => {
            let (mut got, mut want) = (got, want.clone());
            sort_exposures(&mut got);
            sort_exposures(&mut want);
            if got == want { Ok(()) } else { Err(format!("got {got}, expected {want}").into()) }
        }
        (Err(mut got), None) => {
            let rejected = expect["rejected"].as_array().expect("fields").iter();
            let mut want: Vec<_> = rejected.map(|field| field.as_str().expect("text")).collect();
            want.sort_unstable();
            got.sort();
            got.dedup();
            // Branches of unions are named in our places too.
            let fits = got.len() >= want.len()
                && want.iter().all(|want| {
                    // S18: modes are looked up in the registry, behind the schema of the params.
                    let want = want.strip_suffix(".mode").unwrap_or(want);
                    got.iter().any(|got| got.starts_with(want))
                });
            if fits { Ok(()) } else { Err(format!("rejected {got:?}, expected {want:?}").into()) }
        }
        (Ok(got), None) => Err(format!("accepted: {got}").into()),
        (Err(places), Some(_)) => Err(format!("rejected at {places:?}").into()),
    }
}

fn sort_exposures(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::Array(channels) if key == "expose" => {
                        channels.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                    }
                    value => sort_exposures(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sort_exposures),
        _ => {}
    }
}

pub(crate) fn resources(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let folder = Folder::new(&input["tree"]);
    let card = load_card(json!({
        "__model__": "akgentic.tool.workspace.tool.WorkspaceTool",
        "root": folder.root(),
        "resources": input["resources"],
    }));
    let bound = match card {
        Ok(card) => {
            let observer = Observer::unattached().build();
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            let bound = runtime.block_on(ToolFactory::new(vec![card]).bind(&observer));
            bound.map(drop).map_err(|error| error.to_string())
        }
        Err(LoadCardError::Invalid(error)) => Err(error.to_string()),
        Err(error) => return Err(error.to_string().into()),
    };
    match (bound, expect.get("error")) {
        (Ok(()), None) | (Err(_), Some(_)) => {}
        // C3: what the reference repairs or skips is refused.
        (Err(_), None) if is_informative(case) => return Ok(()),
        (Err(error), None) => return Err(format!("refused: {error}").into()),
        (Ok(()), Some(error)) => return Err(format!("accepted, expected {error}").into()),
    }
    let got = folder.tree();
    if got == expect["tree"] {
        Ok(())
    } else {
        Err(format!("tree: got {got}, expected {}", expect["tree"]).into())
    }
}
