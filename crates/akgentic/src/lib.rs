#![doc = include_str!("../README.md")]

pub use akgentic_core as core;
pub use akgentic_tool_core as tool;

#[cfg(feature = "agent")]
pub use akgentic_agent as agent;
#[cfg(feature = "llm")]
pub use akgentic_llm as llm;
#[cfg(feature = "team")]
pub use akgentic_team as team;
#[cfg(feature = "workspace")]
pub use akgentic_workspace as workspace;

/// Registers every type of the enabled crates, so that stored data naming them loads.
///
/// Needed only by a program that reads such data and uses nothing else of a crate.
pub fn register() {
    core::register();
    tool::register();
    #[cfg(feature = "agent")]
    agent::register();
    #[cfg(feature = "llm")]
    llm::register();
    #[cfg(feature = "team")]
    team::register();
    #[cfg(feature = "workspace")]
    workspace::register();
}

/// What programs with agents use most.
pub mod prelude {
    pub use akgentic_core::ActorRef;
    pub use akgentic_core::prelude::*;
    pub use akgentic_tool_core::{
        AnyCard, BoundCard, Content, Observer, Tool, ToolCall, ToolCard, ToolError, ToolHost,
    };

    #[cfg(feature = "agent")]
    pub use akgentic_agent::{
        AgentConfig, AgentMessage, BaseAgent, HumanProxy, HumanSays, Intent, ModelSource,
        StructuredOutput, provide_models,
    };
    #[cfg(feature = "llm")]
    pub use akgentic_llm::{FunctionModel, Model, ModelConfig, Scenario};
    #[cfg(feature = "team")]
    pub use akgentic_team::TeamTool;
    #[cfg(feature = "workspace")]
    pub use akgentic_workspace::WorkspaceTool;
}
