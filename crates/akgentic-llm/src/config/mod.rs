//! Configuration records: model, limits, compaction, runtime, HTTP, and the agent they make up.

mod agent;
mod limits;
mod model;
mod record;
mod runtime;

pub use agent::ReactAgentConfig;
pub use limits::{AgentUsageLimits, RunUsageLimits, UsageLimits};
pub use model::{
    DataCollection, EffortStyle, ModelConfig, ModelNameError, OpenRouterRouting, Provider,
    Quantization, ReasoningEffort, RoutingSort,
};
pub use record::ConfigRecord;
pub use runtime::{CompactionConfig, EndStrategy, HttpClientConfig, RuntimeConfig};
