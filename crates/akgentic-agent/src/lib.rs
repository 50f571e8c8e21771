#![doc = include_str!("../README.md")]

mod agent;
mod base_agent;
mod cancel;
mod config;
mod config_check;
mod custom_agent;
mod engine;
mod errors;
mod hops;
mod human;
mod human_proxy;
mod live;
mod mailbox_capability;
mod message;
mod model_source;
mod one_shot;
mod options;
mod output;
mod requests;
mod resume;
mod routing;
mod setup;
mod usage_guard;

pub use agent::LlmAgent;
/// What cancels a run, and what may be taken on in one; from the mailbox crate.
pub use akgentic_mailbox::{
    CancelPolicy, MailboxMessage, MailboxRender, RunInterrupted, is_cancel, render_arrival_notice,
};
pub use base_agent::BaseAgent;
pub use cancel::CancelGranularity;
pub use config::{AgentConfig, AgentState};
pub use config_check::ConfigFault;
pub use custom_agent::{CustomAgent, Handoff, Severity, TriageMessage, TriageOutput};
pub use engine::{Clear, Compact, Engine, ModelDesk, ModelEntry};
pub use human::notify_human;
pub use human_proxy::{HumanProxy, HumanSays};
pub use live::{LiveObserver, ToolFinished, watch_live};
pub use message::{AgentMessage, Intent, LlmRenderable};
pub use model_source::{Calendar, ModelSource, provide_environment, provide_models};
pub use options::AgentOptions;
pub use output::{AgentOutput, Request, StructuredOutput};
pub use requests::{ListModels, SummarizeUsage, SwitchModel};
pub use routing::{Membership, TeamResolver, resolve_recipient, route};
pub use setup::AgentSetup;
pub use usage_guard::{AgentLike, escalate_usage_limit, guard_usage_limits};

/// Version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Registers the types of this crate and of those it builds on; see
/// [`akgentic_core::register`].
pub fn register() {
    akgentic_core::register();
    akgentic_team::register();
    akgentic_llm::register();
    akgentic_mailbox::register();
    std::hint::black_box(<BaseAgent as akgentic_core::actor::ActorType>::CLASS);
}
