//! Where agents get their models from.

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
