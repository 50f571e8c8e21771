//! Where agents get their models, their environment and the date from.

use std::sync::Arc;

use akgentic_core::{ActorAddress, ActorSystem};
use akgentic_llm::{HttpClientConfig, Model, ModelConfig};

/// Gives each agent its model; provided to the actor system by the host program.
///
/// ```
/// use std::sync::Arc;
/// use akgentic_agent::ModelSource;
/// use akgentic_core::{ActorAddress, ActorSystem};
/// use akgentic_llm::{FunctionModel, Model, ModelConfig};
///
/// /// Every agent says the same.
/// struct Polite;
///
/// impl ModelSource for Polite {
///     fn model(&self, _: &ModelConfig, _: &ActorAddress) -> Result<Arc<dyn Model>, String> {
///         Ok(Arc::new(FunctionModel::text(|_| "Thank you.".to_owned())))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let system = ActorSystem::new();
/// akgentic_agent::provide_models(&system, Polite);
/// # });
/// ```
pub trait ModelSource: Send + Sync {
    /// The model for an agent with this configuration, or why there is none.
    fn model(&self, config: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String>;

    /// The same, reached within these limits; sources that ask nobody need not know them.
    fn model_within(
        &self,
        config: &ModelConfig,
        http: &HttpClientConfig,
        agent: &ActorAddress,
    ) -> Result<Arc<dyn Model>, String> {
        let _ = http;
        self.model(config, agent)
    }
}

/// Real providers, with keys and addresses from variables.
#[cfg(feature = "providers")]
impl ModelSource for akgentic_llm::Providers {
    fn model(&self, config: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        self.model_within(config, &HttpClientConfig::default(), agent)
    }

    fn model_within(
        &self,
        config: &ModelConfig,
        http: &HttpClientConfig,
        _: &ActorAddress,
    ) -> Result<Arc<dyn Model>, String> {
        akgentic_llm::Providers::model(self, config, http).map_err(|error| error.to_string())
    }
}

/// Makes `source` the place where the agents of `system` get their models.
pub fn provide_models(system: &ActorSystem, source: impl ModelSource + 'static) {
    system.provide::<Arc<dyn ModelSource>>(Arc::new(source));
}

type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What agents read of their environment.
struct Environment(Box<Variable>);

/// Makes `variable` the environment of the agents of `system`, in place of that of the process.
///
/// An agent reads `AKGENTIC_MOCK_SCENARIO`: when it is set, agents play the load-test scenario in
/// that file, or in the file their model is named after, and call no model.
pub fn provide_environment(
    system: &ActorSystem,
    variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) {
    system.provide(Environment(Box::new(variable)));
}

/// A variable of the environment of the agents of `system`.
pub(crate) fn variable(system: &ActorSystem, name: &str) -> Option<String> {
    match system.capability::<Environment>() {
        Some(environment) => (environment.0)(name),
        None => std::env::var(name).ok(),
    }
}

/// Tells the local date; a capability of the actor system that tests replace.
pub struct Calendar(Box<dyn Fn() -> String + Send + Sync>);

impl Calendar {
    /// Dates come from `today`, as year, month and day: `2026-01-31`.
    pub fn new(today: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Box::new(today))
    }

    pub(crate) fn today(&self) -> String {
        (self.0)()
    }
}

impl std::fmt::Debug for Calendar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Calendar")
    }
}
