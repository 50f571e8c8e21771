//! `local`: commands as processes of the host, fenced in where the system can.

mod env;
#[cfg(target_os = "linux")]
mod fence;
mod session;
mod tree;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::backend::{Backend, Place, Session};
use crate::error::BackendError;
use crate::limits::Limits;

pub(crate) use session::LocalSession;

pub use env::{DEFAULT_PATH, filtered_env};

/// Environment variable that names the [`Fence`] of `local`: `full`, `partial` or `none`.
pub const LOCAL_FENCE: &str = "AKGENTIC_SANDBOX_LOCAL_FENCE";

/// How much has to hold before `local` runs anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fence {
    /// All that Landlock can hold, or the backend does not start: writes only in the workspace and a
    /// private directory, credentials of the home directory out of sight.
    #[default]
    Full,
    /// What the system offers; the report tells what that is.
    Partial,
    /// Nothing.
    None,
}

impl Fence {
    /// The fence of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "full" => Some(Self::Full),
            "partial" => Some(Self::Partial),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Whether commands may use the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// None at all.
    None,
    /// The host's.
    Host,
}

/// Runs commands as processes of this host, with its user and its network.
///
/// This is no isolation: it is for deployments that have another boundary around them, and is used
/// only when it is asked for by name. On Linux a Landlock fence is required unless a weaker
/// [`Fence`] is named.
#[derive(Clone, Debug)]
pub struct Local {
    /// What has to hold.
    pub fence: Fence,
    /// The network. [`Network::None`] cannot be fully enforced here, so it needs a weaker fence.
    pub network: Network,
    /// What a run may use.
    pub limits: Limits,
    /// Paths below which nothing can be read, beside the credential places of the home directory.
    pub hidden: Vec<PathBuf>,
}

impl Default for Local {
    fn default() -> Self {
        Self {
            fence: Fence::default(),
            network: Network::Host,
            limits: Limits::default(),
            hidden: Vec::new(),
        }
    }
}

impl Local {
    /// With the fence that [`LOCAL_FENCE`] names; a name that is none means a full fence.
    pub fn from_env() -> Self {
        let named = std::env::var(LOCAL_FENCE).ok();
        let fence = named.as_deref().and_then(Fence::named).unwrap_or_default();
        Self { fence, ..Self::default() }
    }
}

impl Backend for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn isolates(&self) -> bool {
        false
    }

    fn auto_rank(&self) -> Option<u8> {
        Some(40)
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async move { session::trial(self).await })
    }

    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        let options = self.clone();
        Box::pin(async move {
            let session = session::LocalSession::start(options, &place.directory).await?;
            Ok(Arc::new(session) as Arc<dyn Session>)
        })
    }
}
