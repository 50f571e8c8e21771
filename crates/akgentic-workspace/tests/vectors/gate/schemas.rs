//! Which tools a card gives, and what their arguments look like.

use akgentic_testkit::{Case, same};
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::tools::{BUILT, bind, undescribed};

pub(super) fn tool_schemas(case: &Case) -> Result<(), String> {
    let folder = Folder::new(&json!([]));
    match case.input["fn"].as_str() {
        Some("tool_names") => {
            let bound = bind(&case.input["card"], &folder);
            let names: Vec<Value> = bound.tools().iter().map(|tool| json!(tool.name())).collect();
            let wanted = case.expect.as_array().expect("names").iter();
            let built = |name: &&Value| BUILT.contains(&name.as_str().expect("a name"));
            let wanted: Vec<Value> = wanted.filter(built).cloned().collect();
            same("tools", &names, &wanted)
        }
        Some("tool_schema") => {
            let bound = bind(&json!({"workspace_exec": true}), &folder);
            let name = case.input["tool"].as_str().expect("a tool");
            let mut schema = bound.tool(name).expect(name).definition().parameters.clone();
            undescribed(&mut schema);
            same("schema", &schema, &case.expect)
        }
        Some("instructions_suffix") => {
            let bound = bind(&case.input["card"], &folder);
            for (name, suffix) in case.expect.as_object().expect("tools") {
                let description = &bound.tool(name).expect(name).definition().description;
                let told = description.split_once("\n\nAdditional Instructions:\n");
                same(name, &json!(told.map(|(_, told)| told)), suffix)?;
            }
            Ok(())
        }
        other => Err(format!("unknown function {other:?}")),
    }
}
