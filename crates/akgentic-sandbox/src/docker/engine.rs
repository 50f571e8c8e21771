//! What is asked of a container engine, and how a container is brought up.

use std::fmt::Write as _;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256};

use crate::error::BackendError;

/// The image that is built when there is none.
pub const DEFAULT_IMAGE: &str = "akgentic-sandbox:latest";

/// Environment variable that names another image.
pub const IMAGE_VARIABLE: &str = "AKGENTIC_SANDBOX_IMAGE";

/// Where the workspace is mounted.
pub const MOUNT: &str = "/workspace";

/// What a container is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSpec {
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// What is mounted at [`MOUNT`].
    pub directory: PathBuf,
    /// User and group of commands: the owner of the workspace, so that files stay theirs.
    pub user: (u32, u32),
    /// Whether there is a network.
    pub network: bool,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Processes.
    pub processes: Option<u64>,
}

impl ContainerSpec {
    /// User of what keeps the container up; never that of the commands, so that these can be ended
    /// together without it.
    pub fn idle_user(&self) -> u32 {
        if self.user.0 == 65534 { 65533 } else { 65534 }
    }

    /// A text that differs when a container made before does not fit any more.
    pub fn fingerprint(&self) -> String {
        hex(&Sha256::digest(format!("{self:?}")), 16)
    }
}

/// A container the engine knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundContainer {
    /// What it was made with; nothing when it is not ours.
    pub fingerprint: Option<String>,
}

/// The actions of a container engine; each ends by itself within its own time limit.
pub trait Engine: Send + Sync {
    /// Whether there is an image of this name; a failure is no answer.
    fn has_image<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<bool, BackendError>>;

    /// Builds the bundled image under this name.
    fn build<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), BackendError>>;

    /// The container with exactly this name.
    fn find<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<FoundContainer>, BackendError>>;

    /// Starts a container; one that runs already is fine.
    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>>;

    /// Makes and starts a container.
    fn create<'a>(&'a self, spec: &'a ContainerSpec) -> BoxFuture<'a, Result<(), BackendError>>;

    /// Removes a container, running or not.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>>;

    /// Stops a container.
    fn stop<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>>;
}

/// The image to use, and whether it is looked for and built when missing.
///
/// `named` is the value of [`IMAGE_VARIABLE`]: an image somebody names is theirs to provide.
pub fn image(named: Option<&str>) -> (String, bool) {
    match named {
        Some(name) => (name.to_owned(), name.is_empty()),
        None => (DEFAULT_IMAGE.to_owned(), true),
    }
}

/// Name of the container of a workspace: the team's while no workspace is named.
///
/// ```
/// use akgentic_sandbox::container_name;
///
/// assert_eq!(container_name("t1", None), "sandbox-t1");
/// assert_eq!(container_name("t1", Some("shared")), "sandbox-t1-shared");
/// assert_ne!(container_name("t1", Some("a/b")), container_name("t1", Some("a-b")));
/// ```
pub fn container_name(team_id: &str, workspace_id: Option<&str>) -> String {
    let wanted = match workspace_id.filter(|id| !id.is_empty()) {
        None => format!("sandbox-{team_id}"),
        Some(workspace) => format!("sandbox-{team_id}-{workspace}"),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if wanted.chars().all(fits) {
        return wanted;
    }
    let plain: String = wanted.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    format!("{plain}-{}", hex(&Sha256::digest(&wanted), 8))
}

/// Brings up the container: the image looked for and built, the container found, made anew when it
/// does not fit, and started.
pub async fn bring_up(
    engine: &dyn Engine,
    spec: &ContainerSpec,
    look_for_image: bool,
) -> Result<(), BackendError> {
    if look_for_image && !engine.has_image(DEFAULT_IMAGE).await? {
        engine.build(DEFAULT_IMAGE).await?;
    }
    match engine.find(&spec.name).await? {
        None => engine.create(spec).await,
        Some(FoundContainer { fingerprint: Some(found) }) if found == spec.fingerprint() => {
            engine.start(&spec.name).await
        }
        Some(FoundContainer { fingerprint: Some(_) }) => {
            tracing::info!(container = %spec.name, "made with other settings, made anew");
            engine.remove(&spec.name).await?;
            engine.create(spec).await
        }
        Some(FoundContainer { fingerprint: None }) => Err(BackendError::Engine(format!(
            "a container {} is there that was not made by this version of the sandbox; remove it (docker rm -f {0}) and try again",
            spec.name
        ))),
    }
}

fn hex(bytes: &[u8], digits: usize) -> String {
    let mut all = String::new();
    for byte in bytes {
        let _infallible = write!(all, "{byte:02x}");
    }
    all.truncate(digits);
    all
}

#[cfg(feature = "docker")]
/// A specification for `directory`, owned by `user`.
pub(crate) fn spec(
    name: String,
    image: String,
    directory: &std::path::Path,
    user: (u32, u32),
    options: &super::Docker,
) -> ContainerSpec {
    ContainerSpec {
        name,
        image,
        directory: directory.to_owned(),
        user,
        network: options.network == crate::local::Network::Host,
        memory: options.limits.memory,
        processes: options.limits.processes,
    }
}
