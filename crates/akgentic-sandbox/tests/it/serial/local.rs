//! `local`: the tree is gone, the fence holds.

use std::fs;
use std::time::{Duration, Instant};

use akgentic_sandbox::{Backend as _, BackendError, Ended, Fence, Level, Local, Network};
use tokio_util::sync::CancellationToken;

use crate::parts::{Stage, bash, command, processes_with, said, unlikely, within};

/// The child of the shell keeps the pipe open and goes on writing; the whole group has to go.
#[tokio::test(flavor = "multi_thread")]
async fn field_a20_a_time_limit_ends_the_whole_tree() {
    let stage = Stage::local().await;
    let mark = unlikely(3001);
    let script =
        format!("mkfifo p; (while true; do echo x; sleep 0.1; done) > p & sleep {mark} & cat p");
    let started = Instant::now();
    let limit = Duration::from_millis(700);
    let outcome = stage.run(bash(&script).within(limit)).await;
    assert_eq!(outcome.ended, Ended::TimedOut(limit));
    assert_eq!(outcome.exit_code, 124);
    assert!(outcome.stdout.text(1000).starts_with("x\n"), "what was said stays");
    within(Duration::from_secs(3), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn field_a21_a_background_child_does_not_hold_the_run() {
    let stage = Stage::local().await;
    let mark = unlikely(3002);
    let started = Instant::now();
    let outcome = stage.bash(&format!("sleep {mark} & echo started; exit 0")).await;
    assert_eq!(said(&outcome), ("started\n".to_owned(), String::new(), 0));
    within(Duration::from_secs(2), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn field_a21_output_of_a_child_that_ends_soon_is_kept() {
    let stage = Stage::local().await;
    let outcome = stage.bash("exec > >(tee log) && echo kept").await;
    assert_eq!(said(&outcome).0, "kept\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_with_a_session_of_its_own_is_found() {
    let stage = Stage::local().await;
    let mark = unlikely(3003);
    let script = format!("(setsid sleep {mark} >/dev/null 2>&1 &) ; echo gone");
    let outcome = stage.bash(&script).await;
    assert_eq!(said(&outcome).0, "gone\n");
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_has_a_grace_and_is_gone() {
    let stage = Stage::local().await;
    let cancel = CancellationToken::new();
    let script = "trap 'echo cleaned; exit 3' TERM; echo up; while true; do sleep 0.05; done";
    let run = bash(script).cancelled_by(cancel.clone());
    let stop = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.run(run), stop);
    assert_eq!(outcome.ended, Ended::Cancelled);
    assert_eq!(outcome.stdout.text(100), "up\ncleaned\n");
    let told = outcome.result(100).stderr;
    assert!(told.contains("stopped on request"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_run_is_gone() {
    let stage = Stage::local().await;
    let mark = unlikely(3004);
    let run = command(&["sleep", &mark]);
    let given_up = tokio::time::timeout(Duration::from_millis(300), stage.session.run(run)).await;
    assert!(given_up.is_err());
    for _ in 0..100 {
        if processes_with(&mark).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?} is left", processes_with(&mark));
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_stay_in_the_workspace_and_a_private_folder() {
    let stage = Stage::local().await;
    let outside = stage.folder.path().join("outside");
    fs::write(&outside, "before").expect("a file");
    let path = outside.display();
    let script = format!(
        "echo a >{path}; : >{path}; truncate -s 0 {path}; rm -f {path}; mv {path} x; ln {path} y; \
         echo b >in; echo c >$HOME/h && echo d >$TMPDIR/t && ls -A $HOME"
    );
    let outcome = stage.bash(&script).await;
    let (out, err, code) = said(&outcome);
    assert_eq!((out.as_str(), code), ("h\n", 0), "{err}");
    assert_eq!(fs::read_to_string(&outside).expect("still there"), "before");
    assert_eq!(fs::read_to_string(stage.root().join("in")).expect("written"), "b\n");
    assert_eq!(outcome.enforcement.files.level, Level::Full);
    let next = stage.bash("ls -A $HOME | wc -l").await;
    assert_eq!(said(&next).0.trim(), "0", "each run has an empty home");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_not_looked_into_and_not_signalled() {
    let stage = Stage::local().await;
    let host = std::process::id();
    let outcome =
        stage.bash(&format!("cat /proc/{host}/environ; kill -0 {host} && echo reached")).await;
    let (out, err, _) = said(&outcome);
    assert_eq!(out, "", "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_places_cannot_be_read() {
    let secret = tempfile::tempdir().expect("a folder");
    fs::write(secret.path().join("key"), "secret").expect("a file");
    let local = Local { hidden: vec![secret.path().to_owned()], ..Local::default() };
    let stage = Stage::start(&local).await.expect("a fence");
    let path = secret.path().display();
    let outcome = stage.bash(&format!("cat {path}/key; cat {path}/../*/key")).await;
    assert!(!said(&outcome).0.contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn field_a23_what_cannot_be_enforced_is_not_promised() {
    let refused = Local { network: Network::None, ..Local::default() };
    let error = Stage::start(&refused).await.err().expect("refused");
    assert!(matches!(error, BackendError::NotEnforced(_)), "{error}");
    let accepted = Local { network: Network::None, fence: Fence::Partial, ..Local::default() };
    let stage = Stage::start(&accepted).await.expect("started");
    let outcome = stage.bash("exec 3<>/dev/tcp/127.0.0.1/1").await;
    assert!(said(&outcome).1.contains("Permission denied"));
    assert_eq!(outcome.enforcement.network.level, Level::Partial);
    let none = Local { fence: Fence::None, ..Local::default() };
    let stage = Stage::start(&none).await.expect("started");
    assert_eq!(stage.session.enforcement().files.level, Level::None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_tells_what_holds() {
    let found = Local::default().probe().await.expect("a fence");
    assert!(found.contains("full"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_are_missing_or_not_programs() {
    let stage = Stage::local().await;
    stage.write("plain", "no program\n");
    for (argv, code) in [(["no-such-program"], 127), (["./plain"], 126)] {
        let outcome = stage.run(command(&argv)).await;
        let (out, err, found) = said(&outcome);
        assert_eq!((out.as_str(), found), ("", code), "{err}");
        assert!(err.contains(argv[0].trim_start_matches('.')), "{err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_is_the_one_that_was_opened() {
    let stage = Stage::local().await;
    stage.write("a/file", "");
    std::os::unix::fs::symlink("/etc", stage.root().join("out")).expect("a link");
    let outcome = stage.run(command(&["ls"]).in_folder("a")).await;
    assert_eq!(said(&outcome).0, "file\n");
    let refused = stage.session.run(command(&["ls"]).in_folder("out")).await;
    assert_eq!(refused.expect_err("refused").code(), "cwd_escapes_workspace");
    let refused = stage.session.run(command(&["ls"]).in_folder("a/file")).await;
    assert_eq!(refused.expect_err("refused").code(), "cwd_not_a_directory");
}
