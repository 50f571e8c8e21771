#![doc = include_str!("../README.md")]

mod base_agent;
mod config;
mod engine;
mod errors;
mod human_proxy;
mod message;
mod model_source;
mod output;
mod routing;

pub use base_agent::BaseAgent;
pub use config::{AgentConfig, AgentState};
pub use engine::{Engine, notify_human};
pub use human_proxy::{HumanProxy, HumanSays};
pub use message::{AgentMessage, Intent, LlmRenderable};
pub use model_source::{ModelSource, provide_models};
pub use output::{Request, StructuredOutput};
pub use routing::{resolve_recipient, route};

/// Registers the types of this crate and of those it builds on; see
/// [`akgentic_core::register`].
pub fn register() {
    akgentic_core::register();
    akgentic_team::register();
    akgentic_llm::register();
    std::hint::black_box(<BaseAgent as akgentic_core::actor::ActorType>::CLASS);
}
