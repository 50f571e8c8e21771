//! Every tool a card offers against everything that stands at a path and is no ordinary file.

use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use akgentic_tool_core::{BoundTools, ExpandMediaRefs, Part, ToolCall, ToolError};
use akgentic_workspace::{Resource, ResourceType, WorkspaceTool, WriteEntry};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, makedev, mknodat, renameat_with};
use serde_json::{Value, json};

use crate::team::{Team, with_commands};
use crate::tools::{bind, call};
use crate::tree::{SECRET, Tree};

/// No answer about such things takes long or is long.
const SOON: Duration = Duration::from_secs(10);
const SHORT: usize = 4000;

/// A name that would write lines of its own, and draw.
const FORGED: &str = "a\nforged\r\u{1b}[2J\u{202E}x";

/// Calls of a tool with a path wherever it takes one; a tool that is new has to be added. Commands need
/// a team and are below.
fn calls(tool: &str, path: &str) -> Vec<Value> {
    let edit = json!({"path": path, "old_string": "x", "new_string": "y"});
    let patching = |text: String| json!({"patch_text": text});
    match tool {
        "workspace_read" | "workspace_list" | "workspace_view" => vec![json!({"path": path})],
        "workspace_glob" => vec![
            json!({"path": path, "pattern": "**"}),
            json!({"pattern": path}),
            json!({"pattern": format!("{path}/**")}),
        ],
        "workspace_grep" => {
            vec![json!({"path": path, "pattern": "."}), json!({"pattern": ".", "include": path})]
        }
        "workspace_write" => vec![
            json!({"path": path, "content": "x"}),
            json!({"path": format!("{path}/new"), "content": "x"}),
        ],
        "workspace_edit" => vec![edit],
        "workspace_multi_edit" => vec![json!({"edits": [edit.clone(), edit]})],
        "workspace_patch" => vec![
            patching(format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")),
            patching(format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+y\n")),
        ],
        "workspace_mkdir" => vec![json!({"path": path}), json!({"path": format!("{path}/new")})],
        // What stands at the path itself is removed, links and devices too: only below it is hostile.
        "workspace_delete" => vec![json!({"path": format!("{path}/x")})],
        other => panic!("{other} has no hostile calls"),
    }
}

/// Calls every tool; each gives an answer or an error the model can act on, and both are short.
async fn call_all(tools: &BoundTools, path: &str) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    for tool in tools.tools() {
        let name = tool.definition().name.clone();
        for args in calls(&name, path) {
            let shown = format!("{name} {:.80}", args.to_string());
            let answer = tokio::time::timeout(SOON, call(tools, &name, args)).await;
            let text = match answer.unwrap_or_else(|_| panic!("{shown} takes too long")) {
                Ok(text) => text,
                Err(error @ ToolError::Fatal(_)) => panic!("{shown}: {error}"),
                Err(error) => error.to_string(),
            };
            assert!(text.len() < SHORT + path.len(), "{shown}: {text}");
            assert!(!text.contains(SECRET.trim()), "{shown}: {text}");
            let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202E}';
            assert!(!text.contains(acts), "{shown}: {text:?}");
            assert!(!text.contains("\nforged"), "{shown}: {text:?}");
            answers.push((name.clone(), text));
        }
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_answers_about_what_is_no_ordinary_file() {
    let tree = Tree::new();
    let at = |name: &str| tree.root().join(name);
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, at("pipe"), FileType::Fifo, mode, 0).expect("a pipe");
    let _socket = UnixListener::bind(at("socket")).expect("a socket");
    let mut paths = vec!["pipe", "socket", "to_pipe", "endless", "dangling", "loop", "huge"];
    // The device that never ends, for whoever may make one.
    if mknodat(CWD, at("device"), FileType::CharacterDevice, mode, makedev(1, 5)).is_ok() {
        paths.push("device");
    }
    tree.link("pipe", "to_pipe");
    tree.link("/dev/zero", "endless");
    tree.link("nowhere/at/all", "dangling");
    tree.link("loop", "loop");
    tree.put("huge", "");
    let huge = std::fs::File::options().write(true).open(at("huge")).expect("a file");
    huge.set_len(1 << 40).expect("a length");
    let (long, deep) = ("n".repeat(300), "d/".repeat(4000));
    paths.extend([long.as_str(), deep.as_str(), "a\0b", "", ".", "./", " ", "-rf", "a\nb", FORGED]);
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    for path in paths {
        call_all(&tools, path).await;
        std::fs::remove_dir_all(at(" ")).ok();
    }
    tree.assert_outside_untouched();
}

/// Hooks and settings of a repository would be run by whoever uses git there next.
#[tokio::test(flavor = "multi_thread")]
async fn field_a11_no_tool_changes_what_git_keeps() {
    let tree = Tree::new();
    let kept = [".git/config", ".git/hooks/x", "vendor/a/.git/config", "b/.git", ".GIT/x"];
    for path in kept {
        tree.put(path, "x\n");
    }
    tree.link(".git/hooks", "hooks");
    tree.link("b/.git", "file");
    tree.put("elsewhere/config", "x\n");
    std::fs::create_dir(tree.root().join("c")).expect("a folder");
    tree.link("../elsewhere", "c/.git");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let paths = [
        ".git/hooks/new",
        ".git",
        ".git/new/deep",
        "new/.git",
        "new/.Git/config",
        "./vendor/a/.git/../.git/config",
        "hooks/x",
        "hooks/new",
        "file",
        "c/.git/config",
        "c/.git",
        ".g\u{200d}it/config",
    ];
    for path in kept.into_iter().chain(paths) {
        let root = tree.root();
        let absolute = root.join(path);
        for path in [path, absolute.to_str().expect("text")] {
            for name in [
                "workspace_write",
                "workspace_edit",
                "workspace_multi_edit",
                "workspace_patch",
                "workspace_mkdir",
                "workspace_delete",
            ] {
                let mut all = calls(name, path);
                if name == "workspace_delete" {
                    all.push(json!({"path": path}));
                }
                for args in all {
                    let said = match call(&tools, name, args.clone()).await {
                        Ok(text) => text,
                        Err(error @ ToolError::Fatal(_)) => panic!("{name} {args}: {error}"),
                        Err(error) => error.to_string(),
                    };
                    // The link itself is no part of a repository, and may go.
                    if path.ends_with("file") && said == format!("Deleted: {path}") {
                        tree.link("b/.git", "file");
                        continue;
                    }
                    assert!(said.contains("`.git`"), "{name} {args}: {said}");
                }
            }
            let files = tree.files();
            assert!(files.write(path, b"y").is_err(), "{path}");
            assert!(files.mkdir(path).is_err(), "{path}");
            let entry = |path: &str| WriteEntry { path: path.to_owned(), data: b"y".to_vec() };
            assert!(files.write_many(&[entry("ok"), entry(path)]).is_err(), "{path}");
            assert!(!root.join("ok").exists());
        }
    }
    for path in kept.into_iter().chain(["elsewhere/config"]) {
        assert_eq!(tree.bytes(path), b"x\n", "{path}");
        let read = call(&tools, "workspace_read", json!({"path": path})).await;
        assert_eq!(read.expect("reading is free"), "1     x");
    }
    assert!(!tree.root().join("new").exists());
    // Names that only begin like it are those of ordinary files.
    for path in [".gitignore", ".gitattributes", "a.git/x", ".github/x", "git"] {
        let write = json!({"path": path, "content": "1\n"});
        call(&tools, "workspace_write", write).await.expect(path);
    }
    // A seed is a write like any other.
    let resource = Resource {
        file_name: ".git/hooks/seed".to_owned(),
        file_type: ResourceType::Text,
        content: "y".to_owned(),
    };
    let card = WorkspaceTool { resources: vec![resource], ..WorkspaceTool::at(tree.root()) };
    let observer = akgentic_tool_core::Observer::unattached().build();
    let factory = akgentic_tool_core::ToolFactory::new(vec![card.into()]);
    assert!(factory.bind(&observer).await.is_err());
    assert!(!tree.root().join(".git/hooks/seed").exists());
}

/// Does `work` while the folder `spot` and the link `planted` swap their names without a pause.
fn while_swapped(tree: &Tree, work: impl FnOnce(&tokio::runtime::Handle)) {
    struct Done<'a>(&'a AtomicBool);

    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let done = AtomicBool::new(false);
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (spot, link) = (tree.root().join("spot"), tree.root().join("planted"));
                while !done.load(Ordering::Relaxed) {
                    let swapped = renameat_with(CWD, &spot, CWD, &link, RenameFlags::EXCHANGE);
                    swapped.expect("swapped");
                }
            });
            // A work that fails ends the swapping too.
            let _done = Done(&done);
            work(&handle);
        });
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_is_led_out_by_links_that_change_under_load() {
    let tree = Tree::new();
    tree.put("spot/secret", "mine x\n");
    tree.put("spot/f", "x\n");
    tree.link("../ws2", "planted");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let mut reached = 0;
    while_swapped(&tree, |handle| {
        for round in 0..150 {
            let path = ["spot/secret", "spot", "spot/f", "spot/new"][round % 4];
            for (name, text) in handle.block_on(call_all(&tools, path)) {
                reached += usize::from(name == "workspace_read" && text.contains("mine"));
            }
        }
    });
    assert!(reached > 0, "the tools never found the folder itself: nothing was tried");
    tree.assert_outside_untouched();
}

/// What a picture of this width looks like in a file.
fn picture(width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = png::Encoder::new(&mut bytes, width, 1);
    let row = vec![0; usize::try_from(width).expect("a width")];
    encoder.write_header().expect("a head").write_image_data(&row).expect("a picture");
    bytes
}

fn width(png: &[u8]) -> u32 {
    let width = png.get(16..20).and_then(|bytes| bytes.try_into().ok());
    u32::from_be_bytes(width.expect("a picture"))
}

/// The widths of all pictures that this path gives, viewed and referred to.
async fn pictures(tools: &BoundTools, path: &str) -> Vec<u32> {
    let prompt = ExpandMediaRefs { prompt: format!("!!{path} and !!spot/*.png") };
    let mut parts = tools.commands().call(prompt).await.expect("parts");
    if let Some(view) = tools.tool("workspace_view")
        && let Ok(content) = view.call(json!({"path": path}), ToolCall::default()).await
    {
        parts.extend(content.parts);
    }
    let media = parts.iter().filter_map(|part| match part {
        Part::Media(media) => Some(width(&media.data)),
        Part::Text(_) => None,
    });
    media.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_picture_is_taken_from_outside_by_links_that_change_under_load() {
    const INSIDE: u32 = 3;
    const OUTSIDE: u32 = 7;
    let tree = Tree::new();
    tree.put("spot/a.png", picture(INSIDE));
    let secret = tree.outside("ws2/a.png");
    std::fs::write(&secret, picture(OUTSIDE)).expect("a picture");
    tree.link("../ws2", "planted");
    let tools = bind(WorkspaceTool::at(tree.root())).await;
    let mut reached = 0;
    while_swapped(&tree, |handle| {
        for round in 0..300 {
            let path = ["spot/a.png", "planted/a.png"][round % 2];
            for width in handle.block_on(pictures(&tools, path)) {
                assert_eq!(width, INSIDE, "a picture of others, by {path}");
                reached += 1;
            }
        }
    });
    assert!(reached > 0, "no picture was ever found: nothing was tried");
    std::fs::remove_file(secret).expect("the picture");
    tree.assert_outside_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn serial_commands_start_in_no_folder_outside() {
    let tree = Tree::new();
    tree.link("../ws2", "folder");
    tree.link(tree.outside("etc"), "absolute");
    tree.link("loop", "loop");
    tree.put("file", "");
    tree.put("in/x", "");
    let team = Team::new();
    let ann = team.member("@Ann", with_commands(&tree.root())).await;
    let sibling = format!("{}2", tree.root().display());
    let (long, deep) = ("n".repeat(300), "d/".repeat(4000));
    for cwd in [
        "..",
        "../ws2",
        "in/../../ws2",
        "folder",
        "folder/.",
        "absolute",
        "/etc",
        "/",
        "//etc",
        "file",
        "in/x",
        "loop",
        "a\0b",
        "nowhere",
        &sibling,
        &long,
        &deep,
    ] {
        let args = json!({"cmd": "bash -c 'ls; cat secret'", "cwd": cwd});
        let answer = tokio::time::timeout(SOON, ann.call("exec", args)).await.expect("in time");
        let text = match answer {
            Ok(text) | Err(ToolError::Retriable(text)) => text,
            Err(error) => panic!("{cwd:.40}: {error}"),
        };
        assert!(
            !text.contains("exit_code: 0") && text.len() < SHORT + cwd.len(),
            "{cwd:.40}: {text}"
        );
        assert!(!text.contains("secret\n") && !text.contains("\nx\n"), "{cwd:.40}: {text}");
    }
    let text = ann.ok("exec", json!({"cmd": "ls", "cwd": "in"})).await;
    assert!(text.contains("x\n"), "the tree is free, and a folder of it is one: {text}");
    team.stop().await.expect("stopped");
    tree.assert_outside_untouched();
}
