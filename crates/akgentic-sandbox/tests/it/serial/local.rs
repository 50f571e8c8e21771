//! `local`: the tree is gone, the fence holds.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use akgentic_sandbox::{Backend as _, BackendError, Ended, Fence, Level, Local, Network, Place};
use tokio_util::sync::CancellationToken;

use crate::parts::{Stage, bash, command, names, processes_with, said, unlikely, within};

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
    let script =
        "trap 'echo cleaned; exit 3' TERM; echo up; touch up; while true; do sleep 0.05; done";
    let run = bash(script).cancelled_by(cancel.clone());
    let up = stage.root().join("up");
    let stop = async {
        let end = Instant::now() + Duration::from_secs(30);
        while !up.exists() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
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
    let next = stage.bash("ls -A $HOME | wc -l").await;
    assert_eq!(said(&next).0.trim(), "0", "each run has an empty home");
}

/// Landlock lets modes and times of files outside be changed, so the report does not promise more.
#[tokio::test(flavor = "multi_thread")]
async fn what_landlock_cannot_hold_is_said() {
    let stage = Stage::local().await;
    let outside = stage.folder.path().join("outside");
    fs::write(&outside, "before").expect("a file");
    let outcome = stage.bash(&format!("chmod 700 {}", outside.display())).await;
    let mode = fs::metadata(&outside).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "what the report says is true");
    let files = outcome.enforcement.files;
    assert!(files.by.contains("modes, owners, times and attributes"), "{files}");
    assert_eq!(files.level, Level::Partial, "{files}");
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

/// Each line is an attempt; whatever succeeds says so.
const ESCAPES: &str = r#"
mount -o remount,bind,rw /usr && echo remounted
mount -t tmpfs none . && echo mounted
umount /proc && echo unmounted
touch /usr/x && echo wrote usr
touch /etc/x && echo wrote etc
tr '\0' '\n' </proc/1/environ | grep . && echo read environ
head -c 1 /proc/1/mem && echo read memory
cat /etc/shadow && echo read shadow
mknod n b 8 0 && echo block device
mknod n c 1 3 && echo device
chroot . /bin/true && echo chroot
unshare -m true && echo mounts
unshare -r mount -t tmpfs none /usr && echo namespace
nsenter -t 1 -m true && echo joined
hostname "$(hostname)" && echo hostname
kill -0 1 && echo signal
head -c 10 /proc/kmsg /proc/kcore /dev/mem | grep -a . | grep -v -e /proc -e /dev && echo kernel
for f in sys/kernel/core_pattern sys/kernel/hostname sysrq-trigger irq/default_smp_affinity; do (: >>/proc/$f) && echo wrote $f; done
(: >>/sys/kernel/mm/transparent_hugepage/enabled) && echo wrote sys
perl -e 'exit !socket(my $s, 2, 3, 1)' && echo raw socket
true
"#;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_the_network_leads_out() {
    let stage = Stage::local().await;
    let outcome = stage.bash(ESCAPES).await;
    let (out, err, code) = said(&outcome);
    assert_eq!((out.as_str(), code), ("", 0), "{err}");
    assert!(!fs::exists("/usr/x").expect("a look") && !fs::exists("/etc/x").expect("a look"));
    // What is open is said to be.
    assert_eq!(outcome.enforcement.network.level, Level::None);
    let script = "grep -h -E '^(Cap(Eff|Prm|Amb)|NoNewPrivs):' /proc/self/status | tr -d '\\t'";
    let zero = "0000000000000000";
    let wanted = format!("CapPrm:{zero}\nCapEff:{zero}\nCapAmb:{zero}\nNoNewPrivs:1\n");
    assert_eq!(said(&stage.bash(script).await).0, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_are_bounded_or_said_not_to_be_and_gone() {
    let stage = Stage::local().await;
    let mark = unlikely(3005);
    // Never a real bomb: where there is no control group, nothing would bound it.
    let script = format!("for i in $(seq 600); do sleep {mark} & done; echo all");
    let outcome = stage.run(bash(&script).within(Duration::from_secs(3))).await;
    let refused = outcome.stderr.text(1 << 16).contains("fork");
    let level = outcome.enforcement.processes.level;
    assert_eq!(refused, level == Level::Full, "{}", outcome.enforcement);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    if level == Level::Full {
        let bomb = format!("f() {{ f | f & sleep {mark}; }}; f; wait");
        let outcome = stage.run(bash(&bomb).within(Duration::from_secs(2))).await;
        assert!(outcome.stderr.text(1 << 16).contains("fork"), "{outcome:?}");
        assert_eq!(processes_with(&mark), Vec::<String>::new());
    }
    assert_eq!(said(&stage.bash("echo next").await).0, "next\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_that_listens_to_no_signal_is_gone() {
    let stage = Stage::local().await;
    let mark = unlikely(3006);
    let script =
        format!("(trap '' TERM HUP INT; (setsid sleep {mark} >/dev/null 2>&1 &) &); echo left");
    assert_eq!(said(&stage.bash(&script).await).0, "left\n");
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    // One that forgets where it came from is found by its control group, or nobody promised that.
    let mark = unlikely(21);
    let script = format!("setsid env -i /bin/sleep {mark} >/dev/null 2>&1 & echo left");
    let outcome = stage.bash(&script).await;
    assert_eq!(said(&outcome).0, "left\n");
    let left = processes_with(&mark);
    if outcome.enforcement.lifetime.level == Level::Full {
        assert_eq!(left, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_planted_for_the_host_leads_nowhere() {
    let stage = Stage::local().await;
    let outside = stage.folder.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("f"), "before").expect("a file");
    let script =
        "ln -s ../outside a; echo after >a/f; touch a/new; ln a/f hard; ln -s a b; cd a && pwd -P";
    let (out, err, _) = said(&stage.bash(script).await);
    assert!(!out.contains("hard"), "{out} {err}");
    assert_eq!(fs::read_to_string(outside.join("f")).expect("a file"), "before");
    assert!(!outside.join("new").exists());
    for folder in ["a", "b"] {
        let refused = stage.session.run(command(&["ls"]).in_folder(folder)).await;
        assert_eq!(refused.expect_err("refused").code(), "cwd_escapes_workspace");
    }
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
    assert!(found.starts_with("files: partial (Landlock"), "{found}");
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

/// A command that closes its private folders to their owner, or digs deep, spoils nothing later.
#[tokio::test(flavor = "multi_thread")]
async fn private_folders_are_gone_whatever_a_command_made_of_them() {
    let stage = Stage::local().await;
    let deep = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')";
    let script = format!(
        "mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && cd $TMPDIR && echo $TMPDIR && \
         python3 -c \"{deep}\" && chmod 0 $TMPDIR/a/b $TMPDIR/a && chmod 0 $TMPDIR/../.. $TMPDIR"
    );
    let (out, _, _) = said(&stage.bash(&script).await);
    let home = std::path::Path::new(out.trim()).parent().expect("a home").to_owned();
    assert!(out.starts_with('/') && !home.exists(), "{}", home.display());
    for _ in 0..3 {
        let next = stage.bash("echo x >$TMPDIR/x && chmod 0 $TMPDIR/../.. && echo done").await;
        assert_eq!(said(&next), ("done\n".to_owned(), String::new(), 0));
    }
    drop(stage);
    let private = home.parent().expect("a folder");
    for _ in 0..100 {
        if !private.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} is left", private.display());
}

/// Tell this program to be a host: the folder of its workspace, and what to run there.
#[cfg(target_os = "linux")]
const HOST_FOLDER: &str = "AKGENTIC_TEST_HOST_FOLDER";
#[cfg(target_os = "linux")]
const HOST_SCRIPT: &str = "AKGENTIC_TEST_HOST_SCRIPT";

/// The host of the test below, in a process of its own; alone it does nothing.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn acts_as_a_host() {
    let (Some(folder), Ok(script)) = (std::env::var_os(HOST_FOLDER), std::env::var(HOST_SCRIPT))
    else {
        return;
    };
    let place = Place { team_id: "t".to_owned(), workspace_id: None, directory: folder.into() };
    let session = Local::default().start(place).await.expect("a session");
    session.run(bash(&script)).await.expect("a run");
}

/// Nobody is there to end them any more, and nobody has to come by.
#[cfg(target_os = "linux")]
#[test]
fn commands_of_a_killed_host_are_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("a folder");
    let host = |script: &str| {
        std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "serial::local::acts_as_a_host", "--nocapture"])
            .env(HOST_FOLDER, folder.path().join("ws"))
            .env(HOST_SCRIPT, script)
            .env("TMPDIR", &temporary)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("a host")
    };
    let mark = unlikely(3099);
    let sleeps = |count: usize| {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let found = processes_with(&format!("sleep {mark}"));
            let found = found.iter().filter(|line| line.starts_with("sleep")).count();
            if found == count || Instant::now() > end {
                return found;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    };
    // One in a session of its own, one that lost its parents, one that is waited for.
    let script = format!(
        "setsid sleep {mark} & (setsid sh -c 'sleep {mark} & exit' &) ; trap '' TERM HUP; sleep {mark}"
    );
    let mut killed = host(&script);
    assert_eq!(sleeps(3), 3, "all are up");
    killed.kill().expect("killed");
    killed.wait().expect("it ended");
    let started = Instant::now();
    assert_eq!(sleeps(0), 0);
    within(Duration::from_secs(10), started);
    // What it left beside them goes with the next one.
    assert_eq!(names(&temporary).len(), 1);
    assert!(host("true").wait().expect("it ended").success());
    assert_eq!(names(&temporary), Vec::<String>::new());
}
