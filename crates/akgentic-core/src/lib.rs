#![doc = include_str!("../README.md")]

pub mod actor;
mod actor_type;
mod address;
pub mod card;
mod cell;
pub mod coerce;
pub mod config;
mod context;
pub mod dispatch;
mod error;
mod inbox;
pub mod log;
mod macros;
pub mod message;
pub mod orchestrator;
mod outside;
mod runner;
pub mod spawn;
pub mod state;
mod system;
mod timer;
mod typed;
mod user_proxy;
pub mod wire;

pub use actor::{Actor, Handle};
pub use actor_type::AgentType;
pub use address::{ActorAddress, AddressInfo};
pub use card::AgentCard;
pub use config::{AnyConfig, BaseConfig, Config};
pub use context::{ActorHandle, Context};
pub use dispatch::{Handlers, Outcome, Typed};
pub use error::{ActorError, CallError, Severity};
pub use inbox::{DEFAULT_INBOX_CAPACITY, PendingMail};
pub use message::{Message, MessageBody};
pub use orchestrator::{DEFAULT_GRACE, Orchestrator, Subscriber};
pub use outside::{Outside, Private, Received};
pub use spawn::CreateError;
pub use state::{AnyState, BaseState, State, Tracked};
pub use system::{ActorSystem, Origin, SystemOptions, SystemStat};
pub use timer::{Timer, TimerState};
pub use typed::ActorRef;
pub use user_proxy::{HumanInput, UserProxy};

/// Registers the types of this crate; call it where nothing else of the crate is used.
///
/// Types register themselves when the crate is linked. A crate of which a program uses nothing may
/// be dropped by the linker, and its types with it; calling this function, any number of times,
/// keeps them.
pub fn register() {
    std::hint::black_box(wire::registry());
}

/// What an actor needs.
pub mod prelude {
    pub use crate::actor::{Actor, Handle};
    pub use crate::message::{
        CancelMessage, EventMessage, Message, MessageBody, ResultMessage, UserMessage,
    };
    pub use crate::{
        ActorAddress, ActorError, ActorHandle, ActorRef, ActorSystem, AgentCard, BaseConfig,
        CallError, Config, Context, CreateError, Handlers, Orchestrator, Origin, Outcome, State,
        Subscriber, Tracked, Typed, UserProxy,
    };
    pub use crate::{agent_type, config, message, payload, state};
}
