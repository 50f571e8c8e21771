//! Configuration records: model, limits, compaction, runtime, HTTP, and the agent they make up.

mod agent;
mod general;
mod limits;
mod model;
mod provider;
mod record;
mod runtime;

pub use agent::ReactAgentConfig;
pub(crate) use general::GeneralLanguage;
pub use general::GeneralProvider;
pub use limits::{AgentUsageLimits, RunUsageLimits, UsageLimits};
pub use model::{
    DataCollection, ModelConfig, ModelNameError, OpenRouterRouting, Quantization, ReasoningEffort,
    RoutingSort,
};
pub use provider::{EffortStyle, Provider};
pub use record::ConfigRecord;
pub use runtime::{CompactionConfig, EndStrategy, HttpClientConfig, RuntimeConfig};
