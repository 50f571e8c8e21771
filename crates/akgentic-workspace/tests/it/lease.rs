//! The lease: who holds the tree, and who waits for it.

use std::sync::Arc;
use std::time::Duration;

use akgentic_testkit::block_on;
use akgentic_workspace::gate::Code;
use akgentic_workspace::lease::{ExecOutcome, ExecState, Patience, text};
use akgentic_workspace::tree::{RunSettings, Stop, Tree, TreeOptions};
use akgentic_workspace::{Filesystem, Root};

fn tree() -> (tempfile::TempDir, Arc<Tree>) {
    let outer = tempfile::tempdir().expect("a folder");
    let files = Filesystem::new(Root::open(outer.path()).expect("the root"));
    let tree = Tree::open(files, TreeOptions::default()).expect("an owner");
    tree.configure_runs(RunSettings { timeout_s: 15.0, check: None });
    (outer, tree)
}

#[test]
fn a_waiting_caller_wakes_when_the_run_reports() {
    let (_outer, tree) = tree();
    block_on(async {
        let run = tree.begin_run("a", "make").expect("a run");
        let id = run.id().to_owned();
        let begun = tokio::time::Instant::now();
        let report = async {
            tokio::time::sleep(Duration::from_millis(7)).await;
            run.report(Ok(ExecOutcome::default()));
        };
        let patience = Patience::of(15.0, -1, 0.5);
        let (status, ()) = tokio::join!(tree.wait_for_run("a", &id, &patience), report);
        assert_eq!(status.expect("a status").state, ExecState::Done);
        assert!(begun.elapsed() < Duration::from_millis(10), "{:?}", begun.elapsed());
    });
    assert_eq!(tree.lease(), None);
}

#[test]
fn a_worker_that_dies_reports() {
    let (_outer, tree) = tree();
    let run = tree.begin_run("a", "make").expect("a run");
    let id = run.id().to_owned();
    let dies = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _run = run;
        panic!("the worker dies");
    }));
    assert!(dies.is_err());
    let status = tree.run_status("a", &id);
    assert_eq!(status.state, ExecState::Failed);
    assert!(status.reason.contains("without a report"), "{}", status.reason);
    tree.write("b", "f", "free again").expect("a write");
}

#[test]
fn a_busy_tree_is_nobodys_fault() {
    let (_outer, tree) = tree();
    tree.register("a", "Ann");
    let run = tree.begin_run("a", "make").expect("a run");
    let Err(Stop::Refused(refusal)) = tree.write("b", "f", "x") else { panic!("it was written") };
    assert_eq!(refusal.code, Code::Busy);
    assert!(refusal.code.is_nobodys_fault());
    assert!(refusal.to_string().contains("'Ann'"), "{refusal}");
    drop(run);
}

/// L3: the time a sandbox takes to start is not the command's.
#[test]
fn a_slow_start_is_waited_for_and_told() {
    let (_outer, tree) = tree();
    block_on(async {
        let run = tree.begin_run("a", "make").expect("a run");
        let id = run.id().to_owned();
        let work = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert!(!tree.has_begun(&id));
            assert!(text::starting(&id).contains("still starting"));
            run.started();
            tokio::time::sleep(Duration::from_secs(14)).await;
            assert!(tree.has_begun(&id));
            run.report(Ok(ExecOutcome::default()));
        };
        // 16 s of patience, counted from the start of the command.
        let patience = Patience::of(15.0, -1, 0.5);
        let (status, ()) = tokio::join!(tree.wait_for_run("a", &id, &patience), work);
        assert_eq!(status.expect("a status").state, ExecState::Done);
    });
}

#[test]
fn a_caller_that_waits_for_a_start_that_never_comes_gives_up() {
    let (_outer, tree) = tree();
    block_on(async {
        let run = tree.begin_run("a", "make").expect("a run");
        let begun = tokio::time::Instant::now();
        let patience = Patience::of(15.0, -1, 0.5);
        assert_eq!(tree.wait_for_run("a", run.id(), &patience).await, None);
        assert_eq!(begun.elapsed().as_secs(), 21);
        let short = Patience::of(15.0, 3, 0.5);
        let begun = tokio::time::Instant::now();
        assert_eq!(tree.wait_for_run("a", run.id(), &short).await, None);
        assert_eq!(begun.elapsed().as_secs(), 1);
    });
}
