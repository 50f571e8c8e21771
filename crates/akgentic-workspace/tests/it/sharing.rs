//! Agents of one team, and of two, on one tree.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use akgentic_tool_core::AnyCard;
use akgentic_workspace::gate::Code;
use akgentic_workspace::tree::Stop;
use akgentic_workspace::{WorkspaceState, WorkspaceTool};
use serde_json::json;

use crate::team::Team;
use crate::tree::Tree;

#[tokio::test]
async fn two_cards_on_one_tree_share_one_owner() {
    let tree = Tree::new();
    tree.put("f", "old\n");
    let team = Team::new();
    let ann = team.member("@Ann", WorkspaceTool::at(tree.root())).await;
    let bob = team.member("@Bob", WorkspaceTool::at(tree.root())).await;
    let members = team.team.get_team().await.expect("members");
    let of_workspace = |name: &str| name.starts_with("#Workspace-");
    assert_eq!(members.iter().filter(|member| of_workspace(member.name())).count(), 1);

    let unread = ann.refused("write", json!({"path": "f", "content": "new\n"})).await;
    assert!(unread.contains("you have not read it") && unread.contains("-old\n+new"), "{unread}");
    ann.ok("read", json!({"path": "f"})).await;
    bob.ok("read", json!({"path": "./f"})).await;
    bob.ok("write", json!({"path": "f", "content": "by Bob\n"})).await;
    let stale = ann.refused("write", json!({"path": "f", "content": "by Ann\n"})).await;
    assert!(stale.contains("It was last written by agent '@Bob'."), "{stale}");
    let gone = ann.refused("delete", json!({"path": "f"})).await;
    assert!(gone.contains("it has changed since you read it"), "{gone}");
    assert_eq!(tree.bytes("f"), b"by Bob\n");

    // Another team reaches the same tree by another path.
    tree.link(tree.root(), "../other");
    let other = Team::new();
    let eve = other.member("@Eve", WorkspaceTool::at(tree.outside("other"))).await;
    eve.ok("read", json!({"path": "f"})).await;
    ann.ok("read", json!({"path": "f"})).await;
    ann.ok("write", json!({"path": "f", "content": "by Ann\n"})).await;
    let stale = eve.refused("write", json!({"path": "f", "content": "by Eve\n"})).await;
    assert!(stale.contains("agent '@Ann'"), "{stale}");
    team.stop().await.expect("stopped");
    other.stop().await.expect("stopped");
}

#[tokio::test]
async fn one_name_for_two_folders_is_no_workspace() {
    let tree = Tree::new();
    let team = Team::new();
    let named = |folder| WorkspaceTool {
        workspace_id: Some("shared".to_owned()),
        ..WorkspaceTool::at(tree.outside(folder))
    };
    let _ann = team.member("@Ann", named("ws")).await;
    let cards = vec![AnyCard::from(named("ws2"))];
    let error = team.try_member("@Bob", cards).await.err().expect("refused");
    assert!(error.contains("#Workspace-shared") && error.contains("different names"), "{error}");
    team.stop().await.expect("stopped");
}

#[tokio::test]
async fn field_a13_a_change_between_read_and_edit_is_not_overwritten() {
    let tree = Tree::new();
    tree.put("a.txt", "one\ntwo\nthree\n");
    let team = Team::new();
    let ann = team.member("@Ann", WorkspaceTool::at(tree.root())).await;
    ann.ok("read", json!({"path": "a.txt"})).await;
    tree.put("a.txt", "one\nTWO\nthree\nfour\n");
    let edit =
        |old: &str, new: &str| json!({"path": "a.txt", "old_string": old, "new_string": new});
    let refused = ann.refused("edit", edit("two", "2")).await;
    assert!(refused.contains("it came from outside the workspace tools"), "{refused}");
    let refused = ann.refused("write", json!({"path": "a.txt", "content": "mine\n"})).await;
    assert!(refused.contains("-TWO"), "what would be lost is shown: {refused}");
    // Where the exact text still stands, the edit survives the change around it.
    ann.ok("edit", edit("three", "3")).await;
    assert_eq!(tree.bytes("a.txt"), b"one\nTWO\n3\nfour\n");
    let partial = ann.refused("write", json!({"path": "a.txt", "content": "mine\n"})).await;
    assert!(partial.contains("you have read a part of it only"), "{partial}");
    team.stop().await.expect("stopped");
}

#[tokio::test]
async fn field_a15_a_touched_file_that_is_the_same_is_fresh() {
    let tree = Tree::new();
    tree.put("a.txt", "one\n");
    let team = Team::new();
    let ann = team.member("@Ann", WorkspaceTool::at(tree.root())).await;
    ann.ok("read", json!({"path": "a.txt"})).await;
    let file = fs::File::options().write(true).open(tree.root().join("a.txt")).expect("a file");
    file.set_modified(SystemTime::now() + Duration::from_mins(1)).expect("a time");
    // The same bytes in another file count as the same, too.
    fs::remove_file(tree.root().join("a.txt")).expect("removed");
    tree.put("a.txt", "one\n");
    ann.ok("write", json!({"path": "a.txt", "content": "two\n"})).await;
    assert_eq!(tree.bytes("a.txt"), b"two\n");
    team.stop().await.expect("stopped");
}

#[tokio::test]
async fn a_page_does_not_license_replacing_the_whole() {
    let tree = Tree::new();
    tree.put("f", "1\n2\n3\n");
    let team = Team::new();
    let ann = team.member("@Ann", WorkspaceTool::at(tree.root())).await;
    ann.ok("read", json!({"path": "f", "limit": 2})).await;
    let partial = ann.refused("write", json!({"path": "f", "content": "x"})).await;
    assert!(partial.contains("a part does not license"), "{partial}");
    ann.ok("edit", json!({"path": "f", "old_string": "3", "new_string": "4"})).await;
    assert_eq!(tree.bytes("f"), b"1\n2\n4\n");
    team.stop().await.expect("stopped");
}

fn git(tree: &Tree, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(tree.outside("ws.git"))
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn serial_a_card_with_a_journal_records_who_did_what() {
    let tree = Tree::new();
    // A12, A17, C18: what a repository in the tree says, and holds, is nothing to the journal.
    let marker = tree.outside("ran");
    tree.put(".git/config", format!("[filter \"x\"]\n\tclean = touch {}\n", marker.display()));
    tree.put(".gitattributes", "* filter=x\n");
    tree.put(".git/index.lock", "");
    let team = Team::new();
    let card = || WorkspaceTool { git_journal: true, ..WorkspaceTool::at(tree.root()) };
    let ann = team.member("@Ann", card()).await;
    let bob = team.member("@Bob", card()).await;
    ann.ok("write", json!({"path": "a.txt", "content": "1\n"})).await;
    assert!(tree.see(&[]).settle_journal(Duration::from_secs(10)), "recorded");
    tree.put("outside.txt", "by hand\n");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+x\n";
    bob.ok("read", json!({"path": "a.txt"})).await;
    bob.ok("patch", json!({"patch_text": patch})).await;
    let states = team.team.get_states().await.expect("states");
    let state = states.iter().find_map(|(_, state)| state.0.as_any().downcast_ref().cloned());
    assert_eq!(state, Some(WorkspaceState { journal: Some("on".to_owned()) }));
    // The journal is written to its end when its owner goes.
    team.stop().await.expect("stopped");
    let log = git(&tree, &["log", "--reverse", "--format=%an|%s"]);
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        [
            "out-of-band|out-of-band: changes from outside the tools",
            "@Ann|write: a.txt",
            "out-of-band|out-of-band: changes from outside the tools",
            "@Bob|patch: 2 files",
        ]
    );
    assert!(!marker.exists(), "a program named in the tree was run");
}

#[tokio::test]
async fn a_path_below_the_runs_is_nobodys_to_change() {
    let tree = Tree::new();
    let team = Team::new();
    let ann = team.member("@Ann", WorkspaceTool::at(tree.root())).await;
    for (tool, args) in [
        ("write", json!({"path": ".akgentic/runs/x", "content": ""})),
        ("mkdir", json!({"path": ".akgentic/runs/x"})),
    ] {
        let refused = ann.refused(tool, args).await;
        assert!(refused.contains("can be read, not changed"), "{refused}");
    }
    assert!(!tree.root().join(".akgentic").exists());
    team.stop().await.expect("stopped");
}

/// Holds the lock of the folder given in the environment until its input ends: the other process of
/// the test below.
#[test]
fn serial_lock_holder() {
    let Some(folder) = std::env::var_os("AKGENTIC_TEST_LOCK") else { return };
    let folder = fs::File::open(folder).expect("the folder");
    folder.lock().expect("the lock");
    println!("held");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("the end of the input");
}

#[test]
fn serial_the_lock_of_another_process_keeps_writers_out() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let tree = Tree::new();
    let owner = tree.see(&[]);
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "sharing::serial_lock_holder", "--nocapture"])
        .env("AKGENTIC_TEST_LOCK", tree.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("another process");
    let mut lines = BufReader::new(other.stdout.take().expect("its output")).lines();
    assert!(lines.any(|line| line.expect("a line").contains("held")), "it holds the lock");
    let Err(Stop::Refused(refusal)) = owner.write("a", "f", "x") else { panic!("it was written") };
    assert_eq!(refusal.code, Code::Locked);
    assert!(refusal.code.is_nobodys_fault() && refusal.to_string().contains("another program"));
    drop(other.stdin.take());
    assert!(other.wait().expect("its end").success());
    owner.write("a", "f", "x").expect("free again");
}
