//! Where agents get their models from.

use std::sync::Arc;

use akgentic_core::{ActorAddress, ActorSystem};
use akgentic_llm::{Model, ModelConfig};

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
}

/// Makes `source` the place where the agents of `system` get their models.
pub fn provide_models(system: &ActorSystem, source: impl ModelSource + 'static) {
    system.provide::<Arc<dyn ModelSource>>(Arc::new(source));
}
