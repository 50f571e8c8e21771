//! `seatbelt`: commands under a policy of macOS.

mod policy;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::backend::{Backend, PROBE_TIMEOUT, Place, Session};
use crate::enforcement::Measure;
use crate::error::BackendError;
use crate::limits::Limits;
use crate::local::{Fence, Local, LocalSession, Network};

pub use policy::seatbelt_policy;

/// The program that applies a policy.
const PROGRAM: &str = "sandbox-exec";

/// What is run to see whether it works.
pub const SEATBELT_PROBE: [&str; 4] =
    [PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"];

/// Credential places below the home directory.
const CREDENTIALS: [&str; 12] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".config/gcloud",
    "Library/Keychains",
];

/// What the backend asks of the host; replaced in tests.
pub trait SeatbeltHost: Send + Sync {
    /// Whether this is macOS.
    fn is_macos(&self) -> bool;

    /// Whether the program is on the path.
    fn has_program(&self) -> bool;

    /// Runs a command within `timeout`; why it did not end well.
    fn try_run<'a>(
        &'a self,
        argv: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// Runs commands under `sandbox-exec`: everything but credentials can be read, the workspace and a
/// private directory can be written.
#[derive(Clone)]
pub struct Seatbelt {
    /// The network; none unless it is asked for.
    pub network: Network,
    /// What a run may use.
    pub limits: Limits,
    host: Arc<dyn SeatbeltHost>,
}

impl Default for Seatbelt {
    fn default() -> Self {
        Self::on(Arc::new(ThisHost))
    }
}

impl Seatbelt {
    /// The backend on a host of which `host` tells.
    pub fn on(host: Arc<dyn SeatbeltHost>) -> Self {
        Self { network: Network::None, limits: Limits::default(), host }
    }

    async fn check(&self) -> Result<String, BackendError> {
        if !self.host.is_macos() {
            return Err(BackendError::Unsupported("seatbelt needs macOS".to_owned()));
        }
        if !self.host.has_program() {
            return Err(BackendError::MissingProgram {
                program: PROGRAM.to_owned(),
                advice: "it belongs to macOS; choose another mode".to_owned(),
            });
        }
        let tried = self.host.try_run(&SEATBELT_PROBE, PROBE_TIMEOUT).await;
        tried.map_err(BackendError::ProbeFailed)?;
        Ok(format!("{PROGRAM} runs confined commands"))
    }

    async fn open(&self, place: Place) -> Result<Arc<dyn Session>, BackendError> {
        self.check().await?;
        tracing::warn!("{PROGRAM} is deprecated by the maker of the system");
        let local = Local {
            fence: Fence::None,
            network: self.network,
            limits: self.limits.clone(),
            hidden: Vec::new(),
        };
        let session = LocalSession::start(local, &place.directory).await?;
        let network = self.network == Network::Host;
        let home = std::env::home_dir();
        let hidden: Vec<PathBuf> =
            home.iter().flat_map(|home| CREDENTIALS.iter().map(|name| home.join(name))).collect();
        let policy = seatbelt_policy(session.root_path(), session.private_path(), network, &hidden);
        let file = session.private_path().join("policy.sb");
        std::fs::write(&file, policy)
            .map_err(|error| BackendError::system("the policy was not written", &error))?;
        let prefix: Vec<OsString> = vec![PROGRAM.into(), "-f".into(), file.into()];
        let session = session.wrapped(prefix, |enforcement| {
            "seatbelt".clone_into(&mut enforcement.backend);
            enforcement.files = Measure::full(
                "policy: writes only in the workspace and a private directory; everything but credential places can be read",
            );
            enforcement.network = if network {
                Measure::none("the host's network, by the operator's choice")
            } else {
                Measure::full("policy: none")
            };
            enforcement.kernel = Measure::partial("policy: only the operations it names");
        });
        Ok(Arc::new(session))
    }
}

impl std::fmt::Debug for Seatbelt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seatbelt").field("network", &self.network).finish_non_exhaustive()
    }
}

impl Backend for Seatbelt {
    fn name(&self) -> &'static str {
        "seatbelt"
    }

    fn auto_rank(&self) -> Option<u8> {
        Some(20)
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(self.check())
    }

    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        let own = self.clone();
        Box::pin(async move { own.open(place).await })
    }
}

struct ThisHost;

impl SeatbeltHost for ThisHost {
    fn is_macos(&self) -> bool {
        cfg!(target_os = "macos")
    }

    fn has_program(&self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(PROGRAM).is_file())
    }

    fn try_run<'a>(
        &'a self,
        argv: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let Some((program, arguments)) = argv.split_first() else { return Ok(()) };
            let mut command = tokio::process::Command::new(program);
            command.args(arguments).kill_on_drop(true);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let ended = tokio::time::timeout(timeout, command.status()).await;
            match ended {
                Ok(Ok(status)) if status.success() => Ok(()),
                Ok(Ok(status)) => Err(status.to_string()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {timeout:?}")),
            }
        })
    }
}
