//! Commands in a workspace, as the agents of a team run them.

use std::fs;
use std::time::{Duration, Instant};

use akgentic_tool_core::{AnyCard, CallStopped, ToolCall, ToolError};
use akgentic_workspace::params::WorkspaceExec;
use akgentic_workspace::{ExecTool, WorkspaceTool};
use serde_json::{Value, json};

use crate::team::{Member, Team, with_commands, with_exec};
use crate::tree::Tree;

fn bash(script: &str) -> Value {
    json!({"cmd": format!("bash -c '{script}'")})
}

/// A number of seconds that no other process sleeps.
fn unlikely(salt: u64) -> String {
    format!("{}.{salt}", 40_000 + u64::from(std::process::id()) % 20_000)
}

fn is_running(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("the processes");
    processes.flatten().any(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    })
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(15), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_and_tells_what_held_it() {
    let tree = Tree::new();
    tree.put("f", "1\n");
    let team = Team::new();
    let ann = team.member("@Ann", with_commands(&tree.root())).await;
    ann.ok("read", json!({"path": "f"})).await;
    let text = ann.ok("exec", bash("echo out; echo err >&2; echo 2 > f; exit 3")).await;
    assert!(text.starts_with("exit_code: 3 (FAILED)\nstdout:\nout\n"), "{text}");
    assert!(text.contains("on success):\nerr\n[... sandbox local; files: "), "{text}");
    // What a command changed is stale for everybody, its own agent included.
    let stale = ann.refused("write", json!({"path": "f", "content": "mine"})).await;
    assert!(stale.contains("came from outside"), "{stale}");
    let text = ann.ok("exec", json!({"cmd": "cat note", "cwd": "nowhere"})).await;
    assert!(text.contains("nowhere"), "{text}");
    team.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_cannot_be_run_are_refused_before_the_tree_is_held() {
    let tree = Tree::new();
    let team = Team::new();
    let ann = team.member("@Ann", with_commands(&tree.root())).await;
    for (cmd, says) in [
        ("", "the command is empty"),
        ("shutdown now", "is not an allowed program; allowed programs: awk, bash"),
        ("ls | wc", "without a shell"),
        ("echo 'x", "nothing was run"),
    ] {
        let refused = ann.refused("exec", json!({"cmd": cmd})).await;
        assert!(refused.contains(says), "{cmd:?}: {refused}");
    }
    ann.ok("write", json!({"path": "f", "content": "free"})).await;
    let own = WorkspaceExec {
        mode: "local".to_owned(),
        programs: Some(vec!["true".to_owned()]),
        ..WorkspaceExec::default()
    };
    let bob = team.member("@Bob", with_exec(&tree.root(), own)).await;
    assert!(bob.ok("exec", json!({"cmd": "true"})).await.starts_with("exit_code: 0 (OK)"));
    let refused = bob.refused("exec", json!({"cmd": "ls"})).await;
    assert!(refused.contains("allowed programs: true"), "{refused}");
    team.stop().await.expect("stopped");
}

/// A member that does not wait for its commands.
async fn impatient(team: &Team, name: &str, tree: &Tree, owner_only: bool) -> Member {
    let _registered = with_commands(&tree.root());
    let exec = WorkspaceExec {
        mode: "local".to_owned(),
        poll_attempts: 0,
        owner_only,
        ..WorkspaceExec::default()
    };
    team.member(name, with_exec(&tree.root(), exec)).await
}

fn run_id(text: &str) -> String {
    text.split_whitespace().nth(1).expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_holds_the_tree_until_it_has_ended() {
    let tree = Tree::new();
    let team = Team::new();
    let ann = impatient(&team, "@Ann", &tree, false).await;
    let bob = impatient(&team, "@Bob", &tree, true).await;
    tree.put("f", "1\n");
    let text = ann.ok("exec", bash("while [ ! -e go ]; do sleep 0.01; done; echo done")).await;
    let run = run_id(&text);
    bob.ok("read", json!({"path": "f"})).await;
    for (tool, args) in [
        ("write", json!({"path": "f", "content": "2\n"})),
        ("mkdir", json!({"path": "d"})),
        ("exec", json!({"cmd": "ls"})),
    ] {
        // L11: no agent did anything wrong, so nothing is counted against it.
        let busy = match bob.call(tool, args).await {
            Err(ToolError::Busy(text)) => text,
            other => panic!("{tool}: {other:?}"),
        };
        assert!(busy.starts_with(&format!("workspace busy: run {run} of agent '@Ann'")), "{busy}");
    }
    let text = ann.ok("exec_result", json!({"run_id": run})).await;
    assert!(text.contains("still going"), "{text}");
    tree.put("go", "");
    let result = loop {
        let text = ann.ok("exec_result", json!({"run_id": run})).await;
        if !text.contains("still going") && !text.contains("has not begun") {
            break text;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(result.starts_with("exit_code: 0 (OK)\nstdout:\ndone\n"), "{result}");
    bob.ok("write", json!({"path": "f", "content": "2\n"})).await;
    // L7: one who keeps to its own runs knows nothing of those of others.
    let unknown = bob.ok("exec_result", json!({"run_id": run})).await;
    assert!(unknown.contains(&format!("'{run}'")) && unknown.contains("none"), "{unknown}");
    team.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_ends_a_command_and_what_it_wrote_is_kept() {
    let tree = Tree::new();
    let team = Team::new();
    let _registered = with_commands(&tree.root());
    let exec =
        WorkspaceExec { mode: "local".to_owned(), timeout_s: 0.5, ..WorkspaceExec::default() };
    let ann = team.member("@Ann", with_exec(&tree.root(), exec)).await;
    let mark = unlikely(1);
    let text = ann.ok("exec", bash(&format!("echo begun; sleep {mark}"))).await;
    assert!(text.starts_with("exit_code: 124 (FAILED)\nstdout:\nbegun\n"), "{text}");
    assert!(text.contains("exceeded its budget of 0.5s and was killed"), "{text}");
    assert!(!is_running(&mark), "nothing outlives its run");
    ann.ok("write", json!({"path": "f", "content": "free"})).await;
    team.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_gives_up_and_a_team_that_stops_end_the_command() {
    let tree = Tree::new();
    let team = Team::new();
    let ann = team.member("@Ann", with_commands(&tree.root())).await;
    let (first, second) = (unlikely(2), unlikely(3));
    let call = ToolCall::default();
    let cancel = call.cancel.clone();
    let running = ann.call_with("exec", bash(&format!("sleep {first} & sleep {first}")), call);
    let stopping = async {
        until("it has begun", || is_running(&first)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, stopping);
    let error = outcome.expect_err("cancelled");
    assert_eq!(error.downcast_ref(), Some(&CallStopped::Cancelled), "{error}");
    until("it has ended", || !is_running(&first)).await;
    until("the tree is free", || fs::read_dir(tree.root()).is_ok()).await;

    let bob = impatient(&team, "@Bob", &tree, false).await;
    let begun = Instant::now();
    while let Err(error) =
        bob.call("exec", bash(&format!("setsid sleep {second} & sleep {second}"))).await
    {
        assert!(begun.elapsed() < Duration::from_secs(15), "{error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    until("it has begun", || is_running(&second)).await;
    team.stop().await.expect("stopped");
    assert!(!is_running(&second), "a team that stopped leaves nothing behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_output_is_cut_and_can_be_paged() {
    let tree = Tree::new();
    let team = Team::new();
    let ann = team.member("@Ann", with_commands(&tree.root())).await;
    let text = ann.ok("exec", bash("for i in $(seq 100000); do echo line $i; done")).await;
    assert!(text.len() < 80_000, "{}", text.len());
    assert!(text.contains("line 1\n") && text.contains("line 100000\n"), "both ends are shown");
    let place = text.split("all of it is in ").nth(1).expect("a place");
    let place = place.split_whitespace().next().expect("a path");
    assert!(place.starts_with(".akgentic/runs/") && place.ends_with(".stdout"), "{place}");
    let page = ann.ok("read", json!({"path": place, "offset": 50_000, "limit": 2})).await;
    assert!(page.starts_with("50000 line 50000\n50001 line 50001\n"), "{page}");
    let listed = ann.ok("list", json!({"depth": 0})).await;
    assert!(!listed.contains("akgentic"), "{listed}");
    assert!(fs::read_dir(tree.outside(".ws.runs")).expect("beside the tree").count() == 1);
    team.stop().await.expect("stopped");
    drop(ann);
    until("outputs go with their owner", || !tree.outside(".ws.runs").exists()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_has_the_work_of_a_command_and_no_secrets() {
    let tree = Tree::new();
    let team = Team::new();
    let card = WorkspaceTool { git_journal: true, ..with_commands(&tree.root()) };
    let ann = team.member("@Ann", card).await;
    let text = ann.ok("exec", bash("API_KEY=abcdef; echo 1 > a; echo 2 > b")).await;
    assert!(text.starts_with("exit_code: 0"), "{text}");
    team.stop().await.expect("stopped");
    let log = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(tree.outside("ws.git"))
        .args(["log", "-1", "--format=%an|%s|%b"])
        .output()
        .expect("git");
    let log = String::from_utf8(log.stdout).expect("text");
    assert!(log.starts_with("@Ann|exec: 2 files|bash -c 'API_KEY=[redacted]"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deprecated_card_runs_over_the_same_path() {
    let tree = Tree::new();
    let team = Team::new();
    let _registered = with_commands(&tree.root());
    // The card has no folder of its own: its workspace is the one a card with this name began.
    let named = WorkspaceTool {
        workspace_id: Some("shim".to_owned()),
        ..with_exec(
            &tree.root(),
            WorkspaceExec { mode: "local".to_owned(), ..WorkspaceExec::default() },
        )
    };
    let shim = ExecTool {
        mode: "local".to_owned(),
        root: Some(tree.root()),
        workspace_id: Some("shim".to_owned()),
        ..ExecTool::default()
    };
    let ann = team.try_member("@Ann", vec![AnyCard::from(named), AnyCard::from(shim)]).await;
    let ann = ann.expect("a member");
    let call = |cmd: &str| {
        let args = json!({"cmd": cmd});
        let host = ann.0.clone();
        async move {
            let content = host.call("exec_command", args).await.expect("an answer");
            content.as_text().expect("text").to_owned()
        }
    };
    let text = call("echo hello").await;
    assert!(text.starts_with("exit_code: 0 (OK)\nstdout:\nhello\n"), "{text}");
    let text = call("reboot").await;
    assert!(text.starts_with("CommandNotAllowedError: ") && text.contains("awk, bash"), "{text}");
    team.stop().await.expect("stopped");
}

/// What a command costs beside the process itself.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_poll() {
    let tree = Tree::new();
    let team = Team::new();
    let ann = team.member("@Ann", with_commands(&tree.root())).await;
    ann.ok("exec", json!({"cmd": "echo warm"})).await;
    let begun = Instant::now();
    for _ in 0..5 {
        ann.ok("exec", json!({"cmd": "echo hi"})).await;
    }
    // Half a second per run is what one poll would take.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    team.stop().await.expect("stopped");
}
