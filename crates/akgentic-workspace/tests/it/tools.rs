//! The tools as a model meets them.

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::wire::Record as _;
use akgentic_tool_core::{
    AnyCard, BoundTools, CallStopped, Capability, Channel, Exposure, Observer, Offers, ToolCall,
    ToolCard as _, ToolError, ToolFactory, load_card,
};
use akgentic_workspace::documents::{BuiltInConverters, ConvertFault, DocumentConverter};
use akgentic_workspace::params::{DocumentReading, WorkspaceList, WorkspaceRead};
use akgentic_workspace::{Resource, ResourceType, WorkspaceTool, refusal};
use serde_json::{Value, json};

use crate::tree::{SECRET, Tree};

pub(crate) async fn bind(card: WorkspaceTool) -> BoundTools {
    let factory = ToolFactory::new(vec![AnyCard::from(card)]);
    factory.bind(&Observer::unattached().build()).await.expect("bound")
}

pub(crate) async fn call(tools: &BoundTools, name: &str, args: Value) -> Result<String, ToolError> {
    let content = tools.tool(name).expect(name).call(args, ToolCall::default()).await?;
    Ok(content.as_text().expect("text").to_owned())
}

/// The call of every tool that takes a path.
fn calls(path: &str) -> [(&'static str, Value); 10] {
    let edit = json!({"path": path, "old_string": "x", "new_string": "y"});
    [
        ("workspace_read", json!({"path": path})),
        ("workspace_list", json!({"path": path, "depth": 0})),
        ("workspace_glob", json!({"path": path, "pattern": "**"})),
        ("workspace_grep", json!({"path": path, "pattern": "."})),
        ("workspace_view", json!({"path": path})),
        ("workspace_write", json!({"path": path, "content": "x"})),
        ("workspace_delete", json!({"path": format!("{path}/x")})),
        ("workspace_edit", edit.clone()),
        ("workspace_multi_edit", json!({"edits": [edit]})),
        ("workspace_mkdir", json!({"path": path})),
    ]
}

/// Patches that would create, change and delete the file at a path.
fn patches(path: &str) -> [String; 3] {
    [
        format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x\n"),
        format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-x\n+y\n"),
        format!("--- {path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"),
    ]
}

#[tokio::test]
async fn a_card_yields_what_this_version_has() {
    let tree = Tree::new();
    let observer = Observer::unattached().build();
    let bound = WorkspaceTool::at(tree.root()).bind(&observer).await.expect("bound");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let commands: Vec<String> = names(&["_expand_media_refs"]);
    let tools = names(&[
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
    ]);
    assert_eq!(bound.offers(), Offers { tools, commands: commands.clone(), ..Offers::default() });
    let read_only = WorkspaceTool { read_only: true, ..WorkspaceTool::at(tree.root()) };
    let tools = names(&[
        "workspace_read",
        "workspace_list",
        "workspace_glob",
        "workspace_grep",
        "workspace_view",
    ]);
    let bound = read_only.bind(&observer).await.expect("bound");
    assert_eq!(bound.offers(), Offers { tools, commands, ..Offers::default() });
}

#[tokio::test]
async fn what_is_not_in_this_version_is_reported_once() {
    let tree = Tree::new();
    let card = WorkspaceTool {
        workspace_glob: Capability::Off,
        workspace_list: WorkspaceList {
            expose: Exposure::of(&[Channel::ToolCall, Channel::LlmContext]),
            ..WorkspaceList::default()
        }
        .into(),
        ..WorkspaceTool::at(tree.root())
    };
    let tools = bind(card).await;
    let warnings: Vec<_> =
        tools.warnings().iter().map(|warning| (warning.capability, warning.channel)).collect();
    assert_eq!(warnings, [("workspace_list", Channel::LlmContext)]);
}

#[tokio::test]
async fn field_a05_every_tool_refuses_every_escape() {
    let tree = Tree::new();
    tree.link("../ws2/secret", "file");
    tree.link("../ws2", "folder");
    tree.link(tree.outside("etc"), "absolute");
    tree.put("in/x", "");
    let sibling = format!("{}2/secret", tree.root().display());
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    for path in [
        "..",
        "../ws2/secret",
        "in/../../ws2/secret",
        "file",
        "folder/secret",
        "folder/new/deep",
        "absolute/secret",
        "/etc/passwd",
        sibling.as_str(),
    ] {
        for (name, args) in calls(path) {
            let error = call(&tools, name, args).await.expect_err(path);
            assert!(error.is_retriable(), "{name} {path}: {error}");
            let text = error.to_string();
            assert!(text.starts_with(refusal::PATH_ESCAPE), "{name} {path}: {text}");
            assert!(text.contains(path) && !text.contains(SECRET.trim()), "{name} {path}: {text}");
        }
        for (patch, may_delete) in patches(path).into_iter().zip([false, false, true]) {
            // Of a link that is the last name, the link itself is deleted; it is not tried here.
            if may_delete && matches!(path, "file") {
                continue;
            }
            let text = call(&tools, "workspace_patch", json!({"patch_text": patch})).await;
            let text = text.expect("an answer");
            assert!(text.starts_with("[ERROR] ") && text.contains(refusal::PATH_ESCAPE), "{text}");
        }
    }
    // Neither a pattern nor what it finds leads out.
    for pattern in ["../**", "folder/../../ws2/*", "/etc/*", "{..,x}/*"] {
        for (name, args) in [
            ("workspace_glob", json!({"pattern": pattern})),
            ("workspace_grep", json!({"pattern": ".", "include": pattern})),
        ] {
            let error = call(&tools, name, args).await.expect_err(pattern);
            assert!(error.is_retriable(), "{name} {pattern}: {error}");
        }
    }
    for (name, args) in [
        ("workspace_glob", json!({"pattern": "*/*"})),
        ("workspace_grep", json!({"pattern": "secret"})),
    ] {
        let text = call(&tools, name, args).await.expect(name);
        assert!(!text.contains("secret"), "{name}: {text}");
    }
    tree.assert_outside_untouched();
}

#[tokio::test]
async fn every_tool_answers_impossible_paths_retriably() {
    let tree = Tree::new();
    tree.put("file", "");
    tree.link("loop", "loop");
    tree.link("/dev/zero", "zero");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let (long, deep) = ("n".repeat(300), "d/".repeat(4000));
    for path in ["a\0b", long.as_str(), deep.as_str(), "loop", "loop/x", "file/x", "zero"] {
        for (name, args) in calls(path) {
            // Nothing is found where no directory is; that is an answer.
            let searches = matches!(name, "workspace_glob" | "workspace_grep");
            if searches && path == "file/x" {
                continue;
            }
            let error = call(&tools, name, args).await.expect_err(name);
            assert!(error.is_retriable(), "{name} {path:?}: {error}");
            assert!(error.to_string().len() < 500, "a refusal stays short: {error}");
        }
        for patch in patches(path) {
            if patch.contains("/dev/null\n@@") && matches!(path, "loop" | "zero") {
                continue;
            }
            let text = call(&tools, "workspace_patch", json!({"patch_text": patch})).await;
            assert!(text.expect("an answer").starts_with("[ERROR] "), "{path:?}");
        }
    }
}

#[tokio::test]
async fn texts_say_what_happened_and_what_to_do() {
    let tree = Tree::new();
    tree.put("latin", b"caf\xE9\n");
    tree.put("d/x", "1");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let mut texts = Vec::new();
    for (name, args) in [
        ("workspace_read", json!({"path": "nope"})),
        ("workspace_read", json!({"path": "d"})),
        ("workspace_read", json!({"path": "latin"})),
        ("workspace_read", json!({"path": "d/x", "limit": 0})),
        ("workspace_list", json!({"path": "nope"})),
        ("workspace_write", json!({"path": "d", "content": ""})),
        ("workspace_write", json!({"path": "d/x/y", "content": ""})),
    ] {
        let error = call(&tools, name, args).await.expect_err(name);
        assert!(error.is_retriable(), "{error}");
        texts.push(error.to_string());
    }
    assert_eq!(
        texts,
        [
            "File not found: nope",
            "d is a directory, not a file. List it with workspace_list, or name a file in it.",
            "latin is not UTF-8 text (5 bytes, the first bad one at 3): it looks like text in another \
             encoding, such as Latin-1. It was left as it is.",
            "`limit` is 0, and at least one line has to be shown. Leave it out for 2000 lines.",
            "Directory not found: nope",
            "d is a directory, not a file. List it with workspace_list, or name a file in it.",
            "d/x/y lies below a file: a part of the path is no directory. Check it with workspace_list.",
        ]
    );
}

/// What a program has that is built without the feature `docs`.
#[derive(Debug)]
struct NoConverters;

impl DocumentConverter for NoConverters {
    fn name(&self) -> &'static str {
        "none"
    }

    fn is_there(&self) -> bool {
        false
    }

    fn convert(&self, _: &[u8], suffix: &str) -> Result<String, ConvertFault> {
        Err(ConvertFault::NotBuilt(suffix.to_owned()))
    }
}

#[tokio::test]
async fn without_the_feature_the_answer_names_it() {
    let tree = Tree::new();
    tree.put("a.PDF", "%PDF");
    let observer = Observer::unattached();
    // With the feature on, its absence is brought along.
    let observer = if BuiltInConverters.is_there() {
        observer.with::<dyn DocumentConverter>(Arc::new(NoConverters))
    } else {
        observer
    };
    let factory = ToolFactory::new(vec![AnyCard::from(WorkspaceTool::at(tree.root()))]);
    let tools = factory.bind(&observer.build()).await.expect("bound");
    let error =
        call(&tools, "workspace_read", json!({"path": "a.PDF"})).await.expect_err("no reader");
    assert!(error.is_retriable(), "{error}");
    assert_eq!(
        error.to_string(),
        "a.PDF (4 bytes) cannot be read: this program is built without the feature `docs`, which reads .pdf \
         files: add `features = [\"docs\"]` to `akgentic-workspace`. Look for the same content as text, or go \
         on without it."
    );
    let description = &tools.tool("workspace_read").expect("offered").definition().description;
    assert!(description.contains("without the feature `docs`"), "{description}");
}

#[tokio::test]
async fn a_document_ends_the_run_when_documents_are_switched_off() {
    let tree = Tree::new();
    let read = WorkspaceRead {
        document_reader: DocumentReading::Switch(false),
        instructions: Some("Read the plan first.".to_owned()),
        ..WorkspaceRead::default()
    };
    let card = WorkspaceTool { workspace_read: read.into(), ..WorkspaceTool::at(tree.root()) };
    let tools = bind(card).await;
    let description = &tools.tool("workspace_read").expect("offered").definition().description;
    assert!(description.contains("do not try, it ends the run"), "{description}");
    assert!(description.ends_with("\n\nAdditional Instructions:\nRead the plan first."));
    let error = call(&tools, "workspace_read", json!({"path": "missing.pdf"})).await;
    assert!(matches!(error, Err(ToolError::Fatal(_))), "{error:?}");
}

#[tokio::test]
async fn a_cancelled_call_changes_nothing() {
    let tree = Tree::new();
    tree.put("a", "old");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let takes_files = |name: &str| !matches!(name, "workspace_list" | "workspace_mkdir");
    for (name, args) in calls("a").into_iter().filter(|(name, _)| takes_files(name)) {
        let cancelled = ToolCall::default();
        cancelled.cancel.cancel();
        let error = tools.tool(name).expect(name).call(args, cancelled).await.expect_err(name);
        assert_eq!(error.downcast_ref(), Some(&CallStopped::Cancelled), "{name}: {error}");
    }
    assert_eq!(tree.bytes("a"), b"old");
}

#[tokio::test]
async fn a_dropped_call_stops_its_work() {
    let tree = Tree::new();
    for folder in 0..20 {
        for file in 0..100 {
            tree.put(&format!("d{folder}/{file}"), "");
        }
    }
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let list = tools.tool("workspace_list").expect("offered");
    let call = list.call(json!({"depth": 0}), ToolCall::default());
    drop(tokio::time::timeout(Duration::ZERO, call).await);
    // The runtime waits for its blocking threads when it goes: a test that ends is the proof.
}

#[tokio::test]
async fn resources_are_written_where_nothing_is() {
    let tree = Tree::new();
    tree.put("kept", "old");
    let resource = |name: &str, content: &str, file_type| Resource {
        file_name: name.to_owned(),
        file_type,
        content: content.to_owned(),
    };
    let mut card = WorkspaceTool::at(tree.root());
    card.resources = vec![
        resource("kept", "new", ResourceType::Text),
        resource("d/logo.png", "QUJD\n", ResourceType::Image),
    ];
    bind(card.clone()).await;
    assert_eq!((tree.bytes("kept"), tree.bytes("d/logo.png")), (b"old".to_vec(), b"ABC".to_vec()));
    for bad in [
        resource("../x", "", ResourceType::Text),
        resource("", "", ResourceType::Text),
        resource("x", "@@@", ResourceType::Image),
    ] {
        card.resources = vec![resource("first", "1", ResourceType::Text), bad];
        assert!(card.bind(&Observer::unattached().build()).await.is_err());
        assert!(!tree.root().join("first").exists(), "nothing is written when one is wrong");
    }
}

#[test]
fn a_card_is_written_back_as_it_was() {
    let stored = json!({
        "workspace_id": "team/shared",
        "workspace_read": {
            "instructions": null, "expose": ["tool_call"], "default_limit": 50,
            "force_document_regeneration": false,
            "document_reader": {"llm_client": null, "llm_model": "gpt-5.4-mini"},
            "__model__": "akgentic.tool.workspace.tool.WorkspaceRead",
        },
        "workspace_view": false,
        "workspace_list": true,
        "workspace_glob": true,
        "workspace_grep": {
            "instructions": "Search first.", "expose": ["tool_call"], "max_results": 7,
            "max_line_length": 80, "__model__": "akgentic.tool.workspace.tool.WorkspaceGrep",
        },
        "expand_media_refs": true,
        "read_only": false,
        "workspace_write": true,
        "workspace_delete": false,
        "workspace_edit": true,
        "workspace_multi_edit": true,
        "workspace_patch": true,
        "workspace_mkdir": true,
        "git_journal": true,
        "workspace_exec": {
            "instructions": null, "expose": ["tool_call"], "mode": "bwrap", "timeout_s": 15.0,
            "poll_attempts": -1, "poll_delay_seconds": 0.5,
            "__model__": "akgentic.tool.workspace.tool.WorkspaceExec",
        },
        "resources": [{
            "file_name": "a", "file_type": "text", "content": "b",
            "__model__": "akgentic.tool.workspace.tool.Resource",
        }],
        "__model__": "akgentic.tool.workspace.tool.WorkspaceTool",
    });
    let card = load_card(stored.clone()).expect("a card");
    assert_eq!(card.name(), "WorkspaceTool");
    assert_eq!(card.to_json().to_string(), stored.to_string(), "key order included");
}

#[test]
fn a_root_given_in_code_survives_being_stored() {
    let stored = WorkspaceTool::at("/srv/docs").to_json();
    assert_eq!(stored["root"], "/srv/docs");
    let card = load_card(stored.clone()).expect("a card");
    assert_eq!(card.to_json(), stored);
    assert!(WorkspaceTool::default().to_json().get("root").is_none());
}

#[test]
fn names_and_bounds_are_checked_when_a_card_loads() {
    for (field, value) in [
        ("workspace_id", json!("..")),
        ("workspace_id", json!("a/../b")),
        ("workspace_id", json!("/etc")),
        ("workspace_read", json!({"default_limit": 0})),
        ("workspace_list", json!({"max_depth": -1})),
        ("workspace_glob", json!({"max_results": 0})),
        ("workspace_view", json!({"max_dimension": -1})),
        ("workspace_exec", json!({"timeout_s": -1})),
        ("resources", json!([{"file_name": "../x", "content": ""}])),
    ] {
        let mut card = json!({"__model__": "akgentic.tool.workspace.tool.WorkspaceTool"});
        card[field] = value.clone();
        assert!(load_card(card).is_err(), "{field} = {value}");
    }
}

#[tokio::test]
async fn without_a_place_and_a_team_a_card_is_not_bound() {
    let error = WorkspaceTool::default().bind(&Observer::unattached().build()).await;
    assert!(error.expect_err("no team").to_string().contains("has stopped"));
    for name in ["team.git", "Team.Cache", "x/.team.runs/y", "a:b"] {
        let named =
            WorkspaceTool { workspace_id: Some(name.to_owned()), ..WorkspaceTool::default() };
        let error = named.bind(&Observer::unattached().build()).await.expect_err(name);
        assert!(error.to_string().contains("is no workspace name"), "{error}");
    }
}

#[test]
fn the_lints_of_the_workspace_hold_here_too() {
    let (shared, own) =
        (include_str!("../../../../clippy.toml"), include_str!("../../clippy.toml"));
    assert!(own.starts_with(shared), "copy the workspace's clippy.toml to the start of this one");
}
