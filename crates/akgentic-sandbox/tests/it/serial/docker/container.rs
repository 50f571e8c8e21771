//! A container to test in, with an image made of one static program and nothing from outside.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use akgentic_sandbox::{Backend as _, Docker, Outcome, Place, Run, Session};
use tempfile::TempDir;

use crate::parts::{command, is_ci};

const IMAGE: &str = "akgentic-sandbox-test:busybox";

/// The static shell and its tools; Debian's package `busybox-static`.
const BUSYBOX: &str = "/bin/busybox";

/// A workspace with a container.
pub(super) struct Container {
    pub folder: TempDir,
    pub session: Arc<dyn Session>,
    workspace: String,
}

impl Container {
    /// Nothing where no engine answers, which is said.
    pub(super) async fn start(workspace: &str, docker: Docker) -> Option<Self> {
        Self::owned(workspace, docker, None).await
    }

    /// The same, with a workspace that belongs to somebody.
    pub(super) async fn owned(workspace: &str, docker: Docker, owner: Option<u32>) -> Option<Self> {
        if !engine_answers(&docker).await {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        fs::create_dir(folder.path().join("ws")).expect("a folder");
        std::os::unix::fs::chown(folder.path().join("ws"), owner, owner).expect("an owner");
        let place = place(workspace, &folder.path().join("ws"));
        let session = docker.start(place).await.expect("a container");
        Some(Self { folder, session, workspace: workspace.to_owned() })
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// Where this workspace would be, were it somewhere else.
    pub(super) fn place_at(&self, directory: &Path) -> Place {
        place(&self.workspace, directory)
    }

    pub(super) fn name(&self) -> String {
        self.session.container_name().expect("a name").to_owned()
    }

    /// What the engine says about the container.
    pub(super) fn inspect(&self, format: &str) -> String {
        let output = Command::new("docker").args(["inspect", "-f", format, &self.name()]).output();
        let output = output.expect("the docker program");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(super) async fn sh(&self, script: &str) -> Outcome {
        self.session.run(sh(script)).await.expect("a run")
    }

    pub(super) async fn end(self) {
        self.session.stop().await.expect("stopped");
    }
}

/// A test that fails leaves no container either.
impl Drop for Container {
    fn drop(&mut self) {
        let removed = Command::new("docker").args(["rm", "-f", &self.name()]).output();
        assert!(removed.is_ok_and(|output| output.status.success()), "the container is left");
    }
}

pub(super) fn docker() -> Docker {
    Docker { image: Some(IMAGE.to_owned()), ..Docker::default() }
}

pub(super) fn sh(script: &str) -> Run {
    command(&["sh", "-c", script])
}

fn place(workspace: &str, directory: &Path) -> Place {
    Place {
        team_id: format!("test-{}", std::process::id()),
        workspace_id: Some(workspace.to_owned()),
        directory: directory.to_owned(),
    }
}

/// Whether there is an engine with the test image.
///
/// In CI an engine whose socket is there has to answer. A runner without one cannot have it: a
/// daemon is nothing that a test installs.
async fn engine_answers(docker: &Docker) -> bool {
    if let Err(error) = docker.probe().await {
        let named = std::env::var_os("DOCKER_HOST").is_some();
        let socket = Path::new("/var/run/docker.sock").exists();
        assert!(!(is_ci() && (named || socket)), "there is a container engine, and: {error}");
        println!("skipped: no container engine is on this machine: {error}");
        return false;
    }
    if let Err(reason) = image() {
        assert!(!is_ci(), "the test image was not made: {reason}");
        println!("skipped: the test image was not made: {reason}");
        return false;
    }
    true
}

/// Makes the image of the one program, without any registry.
fn image() -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let known = Command::new("docker").args(["image", "inspect", IMAGE]).output().map_err(said)?;
    if known.status.success() {
        return Ok(());
    }
    let listed = Command::new(BUSYBOX).arg("--list").output();
    let listed = listed.map_err(|error| {
        format!("{BUSYBOX}: {error}; install the package busybox-static to have these tests")
    })?;
    let tree = tempfile::tempdir().map_err(said)?;
    let bin = tree.path().join("bin");
    for folder in ["bin", "etc", "tmp", "workspace"] {
        fs::create_dir(tree.path().join(folder)).map_err(said)?;
    }
    fs::copy(BUSYBOX, bin.join("busybox")).map_err(said)?;
    fs::write(tree.path().join("etc/shadow"), "root:secret\n").map_err(said)?;
    fs::set_permissions(tree.path().join("etc/shadow"), fs::Permissions::from_mode(0o600))
        .map_err(said)?;
    for tool in String::from_utf8_lossy(&listed.stdout).lines().filter(|tool| *tool != "busybox") {
        symlink("busybox", bin.join(tool)).map_err(said)?;
    }
    let mut tar = Command::new("tar");
    tar.args(["-c", "--owner=0", "--group=0", "-C"]).arg(tree.path()).arg(".");
    let archive = tar.output().map_err(said)?;
    let mut import = Command::new("docker")
        .args(["import", "-", IMAGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(said)?;
    let mut input = import.stdin.take().ok_or("no pipe")?;
    input.write_all(&archive.stdout).map_err(said)?;
    drop(input);
    let imported = import.wait_with_output().map_err(said)?;
    if imported.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&imported.stderr).into_owned())
    }
}
