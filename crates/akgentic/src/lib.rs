#![doc = include_str!("../README.md")]

pub use akgentic_core as core;
pub use akgentic_tool_core as tool;

#[cfg(feature = "agent")]
pub use akgentic_agent as agent;
#[cfg(feature = "llm")]
pub use akgentic_llm as llm;
#[cfg(feature = "mailbox")]
pub use akgentic_mailbox as mailbox;
#[cfg(feature = "sandbox")]
pub use akgentic_sandbox as sandbox;
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
    #[cfg(feature = "mailbox")]
    mailbox::register();
    #[cfg(feature = "sandbox")]
    sandbox::register();
    #[cfg(feature = "team")]
    team::register();
    #[cfg(feature = "workspace")]
    workspace::register();
}

/// What programs with agents use most.
pub mod prelude {
    pub use akgentic_core::ActorRef;
    pub use akgentic_core::log::{EventLog, Fsync, LogContents, restore_team};
    pub use akgentic_core::message::{ErrorMessage, SentMessage, WarningMessage};
    pub use akgentic_core::prelude::*;
    pub use akgentic_tool_core::{
        AnyCard, BindError, BoundCard, Capabilities, Capability, Channel, Command, Content,
        ContextProvider, ContextState, Exposure, Observer, Tool, ToolCall, ToolCard, ToolError,
        ToolHost, ToolHostConfig, context_state, tool_card, tool_param,
    };

    #[cfg(feature = "agent")]
    pub use akgentic_agent::{
        AgentConfig, AgentMessage, AgentOptions, AgentOutput, AgentSetup, BaseAgent, HumanProxy,
        HumanSays, Intent, LlmAgent, ModelSource, StructuredOutput, provide_models,
    };
    #[cfg(feature = "providers")]
    pub use akgentic_llm::Providers;
    #[cfg(feature = "llm")]
    pub use akgentic_llm::{FunctionModel, Model, ModelConfig, Scenario};
    #[cfg(feature = "mailbox")]
    pub use akgentic_mailbox::{MailboxMessage, MailboxTool};
    #[cfg(feature = "team")]
    pub use akgentic_team::TeamTool;
    #[cfg(feature = "workspace")]
    pub use akgentic_workspace::WorkspaceTool;
}

/// The first page of the repository, so that its example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
