//! `docker`: commands in a container of the workspace's own.

#[cfg(feature = "docker")]
mod archive;
#[cfg(feature = "docker")]
mod client;
mod engine;
#[cfg(feature = "docker")]
mod session;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::backend::{Backend, Place, Session};
use crate::error::BackendError;
use crate::limits::Limits;
use crate::local::Network;

pub use engine::{
    ContainerSpec, DEFAULT_IMAGE, Engine, FoundContainer, IMAGE_VARIABLE, MOUNT, bring_up,
    container_name, image,
};

/// Runs commands in a container that is made for the workspace and kept.
///
/// It has no network, no capabilities, and the owner of the workspace as its user. Needs the feature
/// `docker`.
#[derive(Clone, Debug)]
pub struct Docker {
    /// The network; none unless it is asked for.
    pub network: Network,
    /// What a run may use.
    pub limits: Limits,
    /// The image, in place of the one [`IMAGE_VARIABLE`] names.
    pub image: Option<String>,
}

impl Default for Docker {
    fn default() -> Self {
        Self { network: Network::None, limits: Limits::default(), image: None }
    }
}

impl Backend for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn auto_rank(&self) -> Option<u8> {
        Some(30)
    }

    #[cfg(feature = "docker")]
    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async {
            client::Client::connect(&self.limits).await?;
            Ok("the container engine answers".to_owned())
        })
    }

    #[cfg(feature = "docker")]
    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        let options = self.clone();
        Box::pin(async move {
            let session = session::DockerSession::start(&options, place).await?;
            Ok(Arc::new(session) as Arc<dyn Session>)
        })
    }

    #[cfg(not(feature = "docker"))]
    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async { Err(not_built()) })
    }

    #[cfg(not(feature = "docker"))]
    fn start(&self, _: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        Box::pin(async { Err(not_built()) })
    }
}

#[cfg(not(feature = "docker"))]
fn not_built() -> BackendError {
    BackendError::Unsupported(
        "this program was built without the feature `docker`; add it: akgentic-sandbox = { features = [\"docker\"] }".to_owned(),
    )
}

pub(crate) fn standard() -> Arc<dyn Backend> {
    Arc::new(Docker::default())
}
