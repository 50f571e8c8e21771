//! `bwrap`: commands in namespaces of their own, with only the workspace to write to.

#[cfg(target_os = "linux")]
mod mask;
mod plan;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod survey;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::backend::{Backend, Place, Session};
use crate::error::BackendError;
use crate::limits::Limits;
use crate::local::Network;

#[cfg(target_os = "linux")]
pub use plan::{PATH, WORKSPACE, command_line};

/// Whether commands may change repositories that lie in the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repositories {
    /// Every `.git` is read-only: what a hook or a setting in it says would be run on the host.
    #[default]
    ReadOnly,
    /// They are files like any other.
    Writable,
}

/// Runs commands through bubblewrap.
///
/// They have a user, processes, a network, mounts and names of their own, no privileges and no way to
/// get any; they see the system read-only, the workspace at `/workspace`, and nothing else of the
/// host.
#[derive(Clone, Debug)]
pub struct Bwrap {
    /// The network; none unless it is asked for.
    pub network: Network,
    /// What a run may use.
    pub limits: Limits,
    /// What may be done to repositories.
    pub repositories: Repositories,
    /// More directories that are visible, read-only, at their own paths.
    pub visible: Vec<PathBuf>,
    /// The program.
    pub program: PathBuf,
}

impl Default for Bwrap {
    fn default() -> Self {
        Self {
            network: Network::None,
            limits: Limits::default(),
            repositories: Repositories::default(),
            visible: Vec::new(),
            program: PathBuf::from("bwrap"),
        }
    }
}

impl Backend for Bwrap {
    fn name(&self) -> &'static str {
        "bwrap"
    }

    fn auto_rank(&self) -> Option<u8> {
        Some(10)
    }

    #[cfg(target_os = "linux")]
    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(session::trial(self))
    }

    #[cfg(target_os = "linux")]
    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        let options = self.clone();
        Box::pin(async move {
            let session = session::BwrapSession::start(options, &place.directory).await?;
            session.try_out().await?;
            Ok(Arc::new(session) as Arc<dyn Session>)
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async { Err(elsewhere()) })
    }

    #[cfg(not(target_os = "linux"))]
    fn start(&self, _: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        Box::pin(async { Err(elsewhere()) })
    }
}

#[cfg(not(target_os = "linux"))]
fn elsewhere() -> BackendError {
    BackendError::Unsupported("bwrap needs Linux".to_owned())
}
