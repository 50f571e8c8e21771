//! Topics of the tools: `read_render`, `list_render`, `mutation_results`, `tool_args`,
//! `tool_schemas`.

use std::fs::File;

use akgentic_tool_core::{
    AnyCard, BoundTools, Observer, Tool, ToolCall, ToolError, ToolFactory, load_card,
};
use akgentic_workspace::read::{PageLimits, Window, read_page};
use serde_json::{Value, json};

use crate::card::place;
use crate::files::{has_quirk, is_informative};
use crate::folder::{Folder, content};
use crate::replay::Outcome;

/// Tools of this version; those of the vectors that are not built yet come with their cards.
pub(crate) const BUILT: [&str; 13] = [
    "workspace_read",
    "workspace_list",
    "workspace_glob",
    "workspace_grep",
    "workspace_view",
    "workspace_write",
    "workspace_delete",
    "workspace_edit",
    "workspace_multi_edit",
    "workspace_patch",
    "workspace_mkdir",
    "workspace_exec",
    "workspace_exec_result",
];

pub(crate) fn card(json: &Value, folder: &Folder) -> AnyCard {
    let mut json = if json.is_object() { json.clone() } else { json!({}) };
    json["__model__"] = json!("akgentic.tool.workspace.tool.WorkspaceTool");
    json["root"] = json!(folder.root());
    load_card(json).expect("a card")
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

pub(crate) fn bind(json: &Value, folder: &Folder) -> BoundTools {
    let observer = Observer::unattached().build();
    run(ToolFactory::new(vec![card(json, folder)]).bind(&observer)).expect("bound")
}

pub(crate) fn tool(json: &Value, folder: &Folder, name: &str) -> Tool {
    bind(json, folder).tool(name).expect(name).clone()
}

pub(crate) fn call_result(tool: &Tool, args: Value) -> Result<String, ToolError> {
    let content = run(tool.call(args, ToolCall::default()))?;
    Ok(content.as_text().expect("text").to_owned())
}

pub(crate) fn call(tool: &Tool, args: Value) -> Result<String, (bool, String)> {
    call_result(tool, args).map_err(|error| (error.is_retriable(), error.to_string()))
}

/// How the text of a refusal says what is wrong, by the label in the vectors.
pub(crate) fn says(kind: &str, text: &str) -> bool {
    match kind {
        "path_escape" => text.starts_with("Path escapes workspace root"),
        "not_found" => text.starts_with("File not found: "),
        "dir_not_found" => text.starts_with("Directory not found: "),
        "not_utf8" => text.contains("is not UTF-8 text"),
        "is_a_directory" => text.contains("is a directory"),
        "not_a_directory" => text.contains("lies below a file"),
        "exists_as_file" => {
            text.contains("lies below a file") || text.contains("exists and is a file")
        }
        "unsupported_image" => text.starts_with("Unsupported image format '"),
        "bad_image" => text.contains("cannot be looked at"),
        "anchor_not_found" => text.starts_with("[ERROR] old_string not found in "),
        _ => true,
    }
}

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: got {got}, expected {want}")) }
}

/// Compares the result of a tool; where the reference lets an exception out, we never do.
fn compare(got: Result<String, (bool, String)>, case: &Value) -> Outcome {
    let expect = &case["expect"];
    let want = expect.get("improved").unwrap_or(expect);
    if let Some(error) = want.get("error") {
        let kind = error["kind"].as_str().unwrap_or_default();
        return match got {
            Err((retriable, text)) => {
                if retriable == (kind == "config") {
                    return Err(format!("retriable is {retriable}: {text}").into());
                }
                if says(kind, &text) { Ok(()) } else { Err(format!("not {kind}: {text}").into()) }
            }
            // A fault of the reference that is none here.
            Ok(_) if is_informative(case) => Ok(()),
            Ok(text) => Err(format!("expected {kind}, got {text}").into()),
        };
    }
    match got {
        _ if is_informative(case) => Ok(()),
        Ok(text) => Ok(same("text", &json!(text), want.get("ok").unwrap_or(want))?),
        Err((_, text)) => Err(format!("refused: {text}").into()),
    }
}

pub(crate) fn read_render(case: &Value) -> Outcome {
    let input = &case["input"];
    let folder = Folder::new(&json!([]));
    let path = input["path"].as_str().unwrap_or("notes.txt");
    if !input["content"].is_null() || input.get("content_b64").is_some() {
        let file = folder.root().join(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("parents");
        std::fs::write(file, content(input)).expect("a file");
    }
    let mut args = json!({"path": path});
    for name in ["offset", "limit"] {
        if let Some(value) = input.get(name) {
            args[name] = value.clone();
        }
    }
    let read = tool(&input["card"], &folder, "workspace_read");
    let got = call(&read, args.clone());
    if has_quirk(case, "E10") {
        // A line ends in `\n` or `\r\n` only.
        let lines = String::from_utf8(content(input)).expect("text").lines().count();
        let got = got.map_err(|(_, text)| text)?;
        return Ok(same("lines", &json!(got.split('\n').count()), &json!(lines))?);
    }
    if let (Some(full), false) = (case["expect"]["full"].as_bool(), is_informative(case)) {
        let limit = args["limit"].as_u64();
        let usual = input["card"]["workspace_read"]["default_limit"].as_u64().unwrap_or(2000);
        let offset = args["offset"].as_u64().unwrap_or(1);
        let window = Window { offset, limit: limit.unwrap_or(usual) };
        let mut file = File::open(folder.root().join(path)).expect("the file");
        let page = read_page(&mut file, window, PageLimits::default(), &|| false);
        same("full", &json!(page.map_err(|fault| fault.to_string())?.full), &json!(full))?;
    }
    compare(got, case)
}

pub(crate) fn list_render(case: &Value) -> Outcome {
    let input = &case["input"];
    let folder = Folder::new(&input["tree"]);
    let mut args = json!({});
    for name in ["path", "depth"] {
        if let Some(value) = input.get(name) {
            args[name] = value.clone();
        }
    }
    compare(call(&tool(&input["card"], &folder, "workspace_list"), args), case)
}

pub(crate) fn mutation_results(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let folder = Folder::new(&input["tree"]);
    let name = format!("workspace_{}", input["op"].as_str().expect("an op"));
    let _owner = folder.see_all();
    let got = call(&tool(&json!({}), &folder, &name), input["args"].clone());
    if has_quirk(case, "E12") || has_quirk(case, "F10") {
        // What changed is told though no line did, and one file is one file: see our own tests.
        got.map_err(|(_, text)| text)?;
        return Ok(());
    }
    let says_so = |kind: &Value, text: &str| {
        let kind = kind.as_str().unwrap_or_default();
        if says(kind, text) { Ok(()) } else { Err(format!("not {kind}: {text}")) }
    };
    match (got, expect["status"].as_str()) {
        (Ok(text), Some("accepted")) => {
            // Trailer lines tell how and where, and are no part of the result.
            let mut lines: Vec<&str> = text.split('\n').collect();
            while lines.last().is_some_and(|line| line.starts_with("[... ")) {
                lines.pop();
            }
            same("text", &json!(lines.join("\n")), &expect["text"])?;
        }
        // E6: a tolerant match in several places is refused.
        (Err((true, text)), Some("accepted")) if text.starts_with("ambiguous_match") => {
            return Ok(same("tree", &folder.tree(), &input["tree"])?);
        }
        (Ok(text), Some("failed")) | (Err((true, text)), Some("rejected")) => {
            says_so(&expect["kind"], &text)?;
        }
        (Err((true, text)), None) => says_so(&expect["error"]["kind"], &text)?,
        (got, status) => return Err(format!("got {got:?}, expected {status:?}").into()),
    }
    Ok(same("tree", &folder.tree(), &expect["tree"])?)
}

pub(crate) fn tool_args(case: &Value) -> Outcome {
    let (input, expect) = (&case["input"], &case["expect"]);
    let name = input["tool"].as_str().expect("a tool");
    assert!(BUILT.contains(&name), "{name} is built");
    let folder = Folder::new(&json!([]));
    let tool = tool(&json!({"workspace_exec": true}), &folder, name);
    match tool.validate(input["args"].clone()) {
        Ok(_) if expect.get("rejected").is_some() => Err("accepted".to_owned().into()),
        Ok(args) => {
            let mut got = args.as_json().clone();
            // Defaults are filled in behind validation.
            let parameters = &tool.definition().parameters;
            fill_defaults(&mut got, &parameters["properties"]);
            for item in got.get_mut("edits").and_then(Value::as_array_mut).into_iter().flatten() {
                fill_defaults(item, &parameters["$defs"]["EditItem"]["properties"]);
                // What a parameter does not name is left out when it is read.
                let known = &parameters["$defs"]["EditItem"]["properties"];
                item.as_object_mut().expect("an item").retain(|name, _| known.get(name).is_some());
            }
            Ok(same("arguments", &got, &expect["accepted"])?)
        }
        Err(_) if is_informative(case) => Ok(()),
        Err(errors) => {
            let first = |place: &str| place.split('.').next().unwrap_or_default().to_owned();
            let mut got: Vec<String> = errors.iter().map(|error| first(&place(error))).collect();
            let rejected = expect["rejected"].as_array().ok_or_else(|| format!("{errors:?}"))?;
            let mut want: Vec<String> = rejected
                .iter()
                .map(|rejected| first(rejected[0].as_str().unwrap_or_default()))
                .collect();
            got.sort();
            want.sort();
            Ok(same("rejected", &json!(got), &json!(want))?)
        }
    }
}

fn fill_defaults(value: &mut Value, properties: &Value) {
    for (name, schema) in properties.as_object().into_iter().flatten() {
        if value.get(name).is_none()
            && let Some(default) = schema.get("default")
        {
            value[name] = default.clone();
        }
    }
}

pub(crate) fn tool_schemas(case: &Value) -> Outcome {
    let folder = Folder::new(&json!([]));
    let bound = bind(&case["input"]["card"], &folder);
    let tools = case["expect"]["tools"].as_array().expect("tools");
    let mut want: Vec<Value> = tools.clone();
    let name = |tool: &Value| tool["name"].as_str().or(tool.as_str()).map(str::to_owned);
    want.retain(|tool| name(tool).is_some_and(|name| BUILT.contains(&name.as_str())));
    let got: Vec<Value> = bound
        .tools()
        .iter()
        .zip(want.iter().map(Value::is_string).chain(std::iter::repeat(false)))
        .map(|(tool, by_name)| {
            if by_name {
                return json!(tool.name());
            }
            let mut schema = tool.definition().parameters.clone();
            undescribed(&mut schema);
            json!({"name": tool.name(), "schema": schema})
        })
        .collect();
    Ok(same("tools", &json!(got), &json!(want))?)
}

pub(crate) fn undescribed(schema: &mut Value) {
    for (_, inner) in schema.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flatten() {
        inner.as_object_mut().expect("a schema").shift_remove("description");
        undescribed(inner);
    }
    for (_, property) in schema["properties"].as_object_mut().into_iter().flatten() {
        let property = property.as_object_mut().expect("a schema");
        assert!(property.shift_remove("description").is_some(), "a parameter is described");
    }
}
