//! `docker`, where an engine answers: with an image made of this machine's own programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_sandbox::{Backend, Docker, Ended, Limits, Place, Session};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::parts::{bash, command, is_ci, processes_with, said, unlikely, within};

const IMAGE: &str = "akgentic-sandbox-test:local";

/// Programs of the image.
const PROGRAMS: [&str; 18] = [
    "sh", "bash", "sleep", "cat", "ls", "id", "echo", "head", "tee", "seq", "mkfifo", "env",
    "grep", "touch", "setsid", "mkdir", "yes", "kill",
];

struct Container {
    folder: TempDir,
    session: Arc<dyn Session>,
}

impl Container {
    /// Nothing where no engine answers, which is said; in CI it is said, too: not every runner has one.
    async fn start(workspace: &str, docker: Docker) -> Option<Self> {
        if let Err(error) = docker.probe().await {
            println!("skipped: no container engine: {error}");
            return None;
        }
        if let Err(reason) = import() {
            assert!(!is_ci(), "the test image was not made: {reason}");
            println!("skipped: the test image was not made: {reason}");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place {
            team_id: format!("test-{}", std::process::id()),
            workspace_id: Some(workspace.to_owned()),
            directory: folder.path().join("ws"),
        };
        let session = docker.start(place).await.expect("a container");
        Some(Self { folder, session })
    }

    async fn end(self) {
        self.session.stop().await.expect("stopped");
        let name = self.session.container_name().expect("a name").to_owned();
        let removed = Command::new("docker").args(["rm", "-f", &name]).output().expect("docker");
        assert!(removed.status.success());
    }
}

fn docker() -> Docker {
    Docker { image: Some(IMAGE.to_owned()), ..Docker::default() }
}

/// Makes the image from this machine's programs and what they are linked to.
fn import() -> Result<(), String> {
    let known = Command::new("docker").args(["image", "inspect", IMAGE]).output();
    if known.map_err(|error| error.to_string())?.status.success() {
        return Ok(());
    }
    let tree = tempfile::tempdir().map_err(|error| error.to_string())?;
    for folder in ["bin", "lib64", "tmp", "workspace", "dev", "proc", "etc"] {
        fs::create_dir_all(tree.path().join(folder)).map_err(|error| error.to_string())?;
    }
    for program in PROGRAMS {
        let path = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        let Some(path) = path.iter().find(|path| path.exists()) else { continue };
        put(tree.path(), path, &format!("bin/{program}"))?;
        let linked = Command::new("ldd").arg(path).output().map_err(|error| error.to_string())?;
        for word in String::from_utf8_lossy(&linked.stdout).split_ascii_whitespace() {
            if word.starts_with('/') {
                put(tree.path(), Path::new(word), word.trim_start_matches('/'))?;
            }
        }
    }
    let mut tar = Command::new("tar")
        .args(["-c", "-C"])
        .arg(tree.path())
        .arg(".")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let archive = tar.stdout.take().ok_or("no pipe")?;
    let imported = Command::new("docker")
        .args(["import", "-", IMAGE])
        .stdin(archive)
        .output()
        .map_err(|error| error.to_string())?;
    tar.wait().map_err(|error| error.to_string())?;
    if imported.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&imported.stderr).into_owned())
    }
}

fn put(tree: &Path, from: &Path, to: &str) -> Result<(), String> {
    let to = tree.join(to);
    fs::create_dir_all(to.parent().unwrap_or(tree)).map_err(|error| error.to_string())?;
    fs::copy(from, &to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_in_a_container_of_the_workspace() {
    let Some(container) = Container::start("a/b", docker()).await else { return };
    let session = &container.session;
    let run = |script: &str| session.run(bash(script));
    fs::create_dir(container.folder.path().join("ws/sub")).expect("a folder");

    let outcome = run("echo out; echo err >&2; touch made; exit 3").await.expect("a run");
    assert_eq!(said(&outcome), ("out\n".to_owned(), "err\n".to_owned(), 3));
    assert!(container.folder.path().join("ws/made").exists());
    let outcome = session.run(command(&["ls"]).in_folder("sub")).await.expect("a run");
    assert_eq!(said(&outcome).0, "");
    let outcome = session.run(command(&["no-such-program"])).await.expect("a run");
    let (_, err, code) = said(&outcome);
    assert!(code == 127 && err.contains("no-such-program"), "{code} {err}");
    let refused = session.run(command(&["ls"]).in_folder("..")).await.expect_err("refused");
    assert_eq!(refused.code(), "cwd_escapes_workspace");

    let script = "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; ls /sys/class/net; \
                  (exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo network; \
                  for i in $(seq 400); do sleep 5 & done 2>/dev/null; echo forked";
    let outcome = run(script).await.expect("a run");
    let (out, err, _) = said(&outcome);
    let zero = "0000000000000000";
    let wanted = format!("CapEff:\t{zero}\nCapBnd:\t{zero}\nNoNewPrivs:\t1\nlo\nforked\n");
    assert!(out == wanted || out.starts_with(wanted.trim_end_matches("forked\n")), "{out} {err}");
    let next = run("echo next").await.expect("a run");
    assert_eq!(said(&next).0, "next\n", "the next run has its whole allowance");
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_ends_everything_in_the_container() {
    let Some(container) = Container::start("time", docker()).await else { return };
    let mark = unlikely(6001);
    let script = format!(
        "(setsid sleep {mark} &); mkfifo p; (while true; do echo x; sleep 0.1; done) > p & cat p"
    );
    let limit = Duration::from_millis(1500);
    let started = Instant::now();
    let outcome = container.session.run(bash(&script).within(limit)).await.expect("a run");
    assert_eq!(outcome.ended, Ended::TimedOut(limit));
    assert!(outcome.stdout.text(100).starts_with("x\n"));
    within(Duration::from_secs(10), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());

    let started = Instant::now();
    let script = format!("sleep {mark} & echo started");
    let outcome = container.session.run(bash(&script)).await.expect("a run");
    assert_eq!(said(&outcome).0, "started\n");
    within(Duration::from_secs(5), started);
    assert_eq!(processes_with(&mark), Vec::<String>::new());

    let cancel = CancellationToken::new();
    let run = container.session.run(bash(&format!("sleep {mark}")).cancelled_by(cancel.clone()));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run, stop);
    assert_eq!(outcome.expect("a run").ended, Ended::Cancelled);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    container.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_with_other_settings_is_made_anew() {
    let Some(container) = Container::start("again", docker()).await else { return };
    let place = Place {
        team_id: format!("test-{}", std::process::id()),
        workspace_id: Some("again".to_owned()),
        directory: container.folder.path().join("ws"),
    };
    let other = Docker { limits: Limits { processes: Some(32), ..Limits::default() }, ..docker() };
    let session = other.start(place).await.expect("a container");
    let outcome =
        session.run(bash("cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null"));
    assert_eq!(said(&outcome.await.expect("a run")).0, "32\n");
    container.end().await;
}
