//! The backends by name, and what `auto` makes of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::backend::Backend;
use crate::error::BackendError;

/// The mode that stands for the first backend that works; never a backend itself.
pub const AUTO: &str = "auto";

/// Environment variable: `1` lets `auto` end at a backend that isolates nothing.
pub const ALLOW_LOCAL: &str = "AKGENTIC_SANDBOX_ALLOW_LOCAL";

/// Backends by the mode that selects them; a handle, cheap to clone.
///
/// The one of the process is [`Registry::global`]: stored configurations are checked against it, and
/// a deployment adds its own backends there before cards are wired. Code that needs another one
/// makes it with [`Registry::standard`] or [`Registry::empty`].
#[derive(Clone, Default)]
pub struct Registry {
    backends: Arc<RwLock<BTreeMap<String, Arc<dyn Backend>>>>,
}

static GLOBAL: LazyLock<Registry> = LazyLock::new(Registry::standard);

impl Registry {
    /// The registry of the process.
    pub fn global() -> &'static Self {
        &GLOBAL
    }

    /// One with `local`, `bwrap`, `seatbelt` and `docker`, each with its defaults.
    pub fn standard() -> Self {
        let registry = Self::empty();
        registry.register(Arc::new(crate::local::Local::from_env()));
        registry.register(Arc::new(crate::bwrap::Bwrap::default()));
        registry.register(Arc::new(crate::seatbelt::Seatbelt::default()));
        registry.register(crate::docker::standard());
        registry
    }

    /// One without backends.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a backend under its name; one of the same name is replaced and returned.
    pub fn register(&self, backend: Arc<dyn Backend>) -> Option<Arc<dyn Backend>> {
        let name = backend.name().to_owned();
        self.backends.write().unwrap_or_else(PoisonError::into_inner).insert(name, backend)
    }

    /// The backend of this name.
    pub fn get(&self, mode: &str) -> Option<Arc<dyn Backend>> {
        self.backends.read().unwrap_or_else(PoisonError::into_inner).get(mode).cloned()
    }

    /// Names of all backends, sorted.
    pub fn names(&self) -> Vec<String> {
        self.backends.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Whether a configuration may name this mode.
    pub fn accepts(&self, mode: &str) -> bool {
        mode == AUTO || self.get(mode).is_some()
    }

    /// Refuses a mode that nobody registered.
    pub fn check_mode(&self, mode: &str) -> Result<(), ResolveError> {
        if self.accepts(mode) {
            return Ok(());
        }
        Err(ResolveError::Unregistered { mode: mode.to_owned(), known: self.names() })
    }

    /// The backend that `mode` stands for.
    ///
    /// A named backend is taken as it is. `auto` probes the candidates in their order and takes the
    /// first that works; one that isolates nothing only with `allow_unisolated`.
    pub async fn resolve(
        &self,
        mode: &str,
        allow_unisolated: bool,
    ) -> Result<Resolution, ResolveError> {
        self.check_mode(mode)?;
        if mode != AUTO {
            let found = "asked for by name".to_owned();
            let warning = None;
            return Ok(Resolution { mode: mode.to_owned(), found, refused: Vec::new(), warning });
        }
        let mut candidates: Vec<Arc<dyn Backend>> = {
            let backends = self.backends.read().unwrap_or_else(PoisonError::into_inner);
            backends.values().filter(|backend| backend.auto_rank().is_some()).cloned().collect()
        };
        candidates.sort_by_key(|backend| backend.auto_rank());
        let mut refused = Vec::new();
        for backend in candidates {
            let name = backend.name().to_owned();
            if !backend.isolates() && !allow_unisolated {
                let reason = format!("it isolates nothing and {ALLOW_LOCAL}=1 is not set");
                refused.push(Refused { mode: name, reason });
                continue;
            }
            match backend.probe().await {
                Ok(found) => {
                    let warning = (!backend.isolates()).then(|| warning(&name, &refused));
                    if let Some(warning) = &warning {
                        tracing::warn!("{warning}");
                    }
                    tracing::info!(mode = %name, %found, "sandbox backend chosen");
                    return Ok(Resolution { mode: name, found, refused, warning });
                }
                Err(error) => refused.push(Refused { mode: name, reason: error.to_string() }),
            }
        }
        Err(ResolveError::NothingWorks { refused: Refusals(refused) })
    }
}

fn warning(mode: &str, refused: &[Refused]) -> String {
    format!(
        "commands run in mode {mode:?} without isolation from the host, since no other backend works: {}",
        Refusals(refused.to_vec())
    )
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.names()).finish()
    }
}

/// Whether the environment lets `auto` end at a backend that isolates nothing.
pub fn unisolated_allowed_by_env() -> bool {
    std::env::var_os(ALLOW_LOCAL).is_some_and(|value| value == "1")
}

/// What a mode was resolved to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The backend.
    pub mode: String,
    /// What its probe found.
    pub found: String,
    /// The candidates before it, each with the reason it was not taken.
    pub refused: Vec<Refused>,
    /// Set when nothing is isolated.
    pub warning: Option<String>,
}

/// A candidate that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The backend.
    pub mode: String,
    /// Why.
    pub reason: String,
}

/// Candidates that were not taken; shown one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals(pub Vec<Refused>);

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Refused { mode, reason }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{mode}: {reason}")?;
        }
        Ok(())
    }
}

/// Why a mode stands for no backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Nobody registered it.
    #[error("there is no sandbox backend {mode:?}; registered: {}", .known.join(", "))]
    Unregistered {
        /// What was asked for.
        mode: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No candidate works.
    #[error("no sandbox backend works here: {refused}")]
    NothingWorks {
        /// Every candidate with its reason.
        refused: Refusals,
    },
}

impl ResolveError {
    /// The same failure for whoever starts a backend.
    pub fn into_backend_error(self) -> BackendError {
        BackendError::Unsupported(self.to_string())
    }
}
