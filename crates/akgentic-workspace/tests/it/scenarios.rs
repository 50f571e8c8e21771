//! Folders that say what a tool does: `tests/scenarios/TOOL/NNN_NAME/` holds the workspace before
//! (`input/`), the call (`request.json`), the answer (`result.txt`) and the workspace after
//! (`expected/`). A folder without files is left out.
//!
//! With `AKGENTIC_WRITE_SCENARIOS=1` answer and workspace are written down as they come out, to be
//! read by whoever runs it so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use akgentic_tool_core::{AnyCard, Observer, ToolCall, ToolError, ToolFactory};
use akgentic_workspace::WorkspaceTool;
use serde_json::Value;

use crate::tree::Tree;

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files_below(folder: &Path) -> Files {
    let mut files = Files::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(next) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                ahead.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_owned();
                files.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).expect("a folder");
    let mut folders: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    folders
}

async fn run(tool: &str, scenario: &Path) -> (String, Files) {
    let tree = Tree::new();
    for (path, bytes) in files_below(&scenario.join("input")) {
        tree.put(path.to_str().expect("text"), bytes);
    }
    let request = fs::read_to_string(scenario.join("request.json")).expect("a request");
    let request: Value = serde_json::from_str(&request).expect("JSON");
    let card = AnyCard::from(WorkspaceTool::at(tree.root()));
    let tools = ToolFactory::new(vec![card]).bind(&Observer::unattached().build()).await;
    let tools = tools.expect("bound");
    let known = files_below(&tree.root());
    let known: Vec<&str> = known.keys().map(|path| path.to_str().expect("text")).collect();
    tree.see(&known);
    let outcome = tools.tool(tool).expect(tool).call(request, ToolCall::default()).await;
    let text = match outcome {
        Ok(content) => content.as_text().expect("text").to_owned(),
        Err(ToolError::Retriable(text)) => format!("retriable: {text}"),
        Err(error) => panic!("{}: {error}", scenario.display()),
    };
    (text + "\n", files_below(&tree.root()))
}

#[tokio::test]
async fn every_scenario_ends_as_it_says() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let write = std::env::var_os("AKGENTIC_WRITE_SCENARIOS").is_some();
    let (mut failures, mut count) = (Vec::new(), 0);
    for tool in folders(&base) {
        let name = format!("workspace_{}", tool.file_name().expect("a name").to_string_lossy());
        for scenario in folders(&tool) {
            let (text, files) = run(&name, &scenario).await;
            let (result, expected) = (scenario.join("result.txt"), scenario.join("expected"));
            count += 1;
            if write {
                fs::write(&result, &text).expect("written");
                if expected.exists() {
                    fs::remove_dir_all(&expected).expect("removed");
                }
                for (path, bytes) in files {
                    let path = expected.join(path);
                    fs::create_dir_all(path.parent().expect("a parent")).expect("parents");
                    fs::write(path, bytes).expect("written");
                }
                continue;
            }
            let at = scenario.strip_prefix(&base).expect("below").display();
            let want = fs::read_to_string(&result).expect("a result");
            if text != want {
                failures.push(format!("{at}: got\n{text}\nexpected\n{want}"));
            }
            if files != files_below(&expected) {
                failures.push(format!("{at}: the workspace is another one: {files:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 0, "no scenarios");
}
