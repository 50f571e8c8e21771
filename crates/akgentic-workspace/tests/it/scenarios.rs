//! Folders that say what tools do: `tests/scenarios/KIND/NNN_NAME/` holds the workspace before
//! (`input/`), what is done (`request.json`), the answer (`result.txt`) and the workspace after
//! (`expected/`). A folder without files is left out.
//!
//! A request that is an object is the call of the tool that the kind is named after, by an agent that
//! has read every file. One that is a list is what several agents, and others, do one after the
//! other; `card.json` says what else their card has than the usual.
//!
//! With `AKGENTIC_WRITE_SCENARIOS=1` answer and workspace are written down as they come out, to be
//! read by whoever runs it so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use akgentic_tool_core::{AnyCard, Observer, ToolCall, ToolError, ToolFactory, load_card};
use akgentic_workspace::WorkspaceTool;
use serde_json::{Value, json};

use crate::team::{Member, Team, with_commands};
use crate::tree::Tree;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Kinds that start programs.
const WITH_PROGRAMS: [&str; 2] = ["exec", "journal"];

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

fn json_of(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// What came of a call, in words.
fn told(outcome: Result<String, ToolError>) -> String {
    match outcome {
        Ok(text) => text,
        Err(ToolError::Retriable(text)) => format!("retriable: {text}"),
        Err(ToolError::Busy(text)) => format!("busy: {text}"),
        Err(error) => panic!("{error}"),
    }
}

/// One call by an agent that knows all files.
async fn call(tool: &str, tree: &Tree, request: Value) -> String {
    let card = AnyCard::from(WorkspaceTool::at(tree.root()));
    let tools = ToolFactory::new(vec![card]).bind(&Observer::unattached().build()).await;
    let tools = tools.expect("bound");
    let known = files_below(&tree.root());
    let known: Vec<&str> = known.keys().map(|path| path.to_str().expect("text")).collect();
    tree.see(&known);
    let tool = tools.tool(&format!("workspace_{tool}")).expect(tool);
    let content = tool.call(request, ToolCall::default()).await;
    told(content.map(|content| content.as_text().expect("text").to_owned())) + "\n"
}

/// What is said about the machine is left out.
fn masked(text: &str) -> String {
    let mask =
        |line| if str::starts_with(line, "[... sandbox ") { "[... sandbox … ...]" } else { line };
    text.split('\n').map(mask).collect::<Vec<_>>().join("\n")
}

/// What agents and others do, step by step.
async fn steps(tree: &Tree, card: Value, steps: &[Value]) -> String {
    let team = Team::new();
    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    let _registered = with_commands(&tree.root());
    let mut out = String::new();
    for step in steps {
        if let Some(path) = step["outside"].as_str() {
            match step["content"].as_str() {
                Some(content) => tree.put(path, content),
                None => fs::remove_file(tree.root().join(path)).expect("removed"),
            }
            writeln!(out, "## from outside: {path}\n").expect("text");
            continue;
        }
        if step["log"] == true {
            writeln!(out, "## log\n{}", log(tree)).expect("text");
            continue;
        }
        let agent = step["agent"].as_str().expect("an agent");
        let tool = step["tool"].as_str().expect("a tool");
        if !members.contains_key(agent) {
            let card = load_card(card.clone()).expect("a card");
            let member = team.try_member(agent, vec![card]).await.expect("a member");
            members.insert(agent.to_owned(), member);
        }
        let text = told(members[agent].call(tool, step["arguments"].clone()).await);
        writeln!(out, "## {agent}: {tool}\n{}\n", masked(&text)).expect("text");
    }
    team.stop().await.expect("stopped");
    out
}

/// The journal's history, the oldest commit first.
fn log(tree: &Tree) -> String {
    assert!(tree.see(&[]).settle_journal(Duration::from_secs(20)), "recorded");
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(tree.outside("ws.git"))
        .args(["log", "--reverse", "--name-status", "--no-renames", "--format=%an: %s%n%b"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    String::from_utf8(output.stdout).expect("text")
}

async fn run(kind: &str, scenario: &Path) -> (String, Files) {
    let tree = Tree::new();
    for (path, bytes) in files_below(&scenario.join("input")) {
        tree.put(path.to_str().expect("text"), bytes);
    }
    let text = match json_of(&scenario.join("request.json")).expect("a request") {
        Value::Array(list) => {
            let mut card = json_of(&scenario.join("card.json")).unwrap_or_else(|| json!({}));
            card["__model__"] = json!("akgentic.tool.workspace.tool.WorkspaceTool");
            card["root"] = json!(tree.root());
            steps(&tree, card, &list).await
        }
        request => call(kind, &tree, request).await,
    };
    (text, files_below(&tree.root()))
}

async fn play(is_meant: impl Fn(&str) -> bool) {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let write = std::env::var_os("AKGENTIC_WRITE_SCENARIOS").is_some();
    let (mut failures, mut count) = (Vec::new(), 0);
    for folder in folders(&base) {
        let kind = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if !is_meant(&kind) {
            continue;
        }
        for scenario in folders(&folder) {
            let (text, files) = run(&kind, &scenario).await;
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

#[tokio::test]
async fn every_scenario_ends_as_it_says() {
    play(|kind| !WITH_PROGRAMS.contains(&kind)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn serial_every_scenario_with_programs_ends_as_it_says() {
    play(|kind| WITH_PROGRAMS.contains(&kind)).await;
}
