#![doc = include_str!("../README.md")]

mod card;
mod channel;
mod commands;
mod content;
pub mod context;
pub mod deferred;
mod error;
mod events;
mod factory;
pub mod host;
mod observer;
mod one_shot;
mod order;
mod params;
mod quote;
mod schema;
mod state;
mod tool;

pub use card::{
    AnyCard, BoundCard, CardObject, LoadCardError, Offers, SystemPrompt, ToolCard, Toolset,
    ToolsetError, load_card, load_cards,
};
pub use channel::{Channel, Exposure, UnknownChannel, normalize_system_prompt_to_llm_context};
pub use commands::{
    BoundArgs, BoundValue, Command, CommandArgs, CommandError, CommandFailure, CommandOutput,
    CommandRegistry, CommandShape, DispatchOutcome, DuplicateCommand, FailureReason, OWN_COMMANDS,
    QuotingError, SyntaxError, tokenize,
};
pub use content::{Content, ExpandMediaRefs, Media, Part};
pub use context::{AnyContextState, ContextProvider, ContextState, ContextUpdater, MarkerScan};
pub use error::{CallStopped, Panicked, ToolError};
pub use events::{
    CommandArg, CommandDescriptor, CommandsAnnouncedEvent, EmptyRecord, EventPayload, ToolEvents,
    ToolStateEvent,
};
pub use factory::{BindError, BoundTools, ToolFactory};
/// What a card's `bind` gives; the future of the `futures` crate.
pub use futures_util::future::BoxFuture;
pub use host::{ToolHost, ToolHostConfig, ToolHostRef};
pub use observer::{Capabilities, Observer, ObserverBuilder, ObserverError, WireError};
pub use one_shot::{OneShotError, OneShotLlm, OneShotRequest};
pub use order::{Dependency, OrderError, order_cards};
pub use params::{
    BaseToolParam, BindWarning, Capability, ToolParam, UnservedChannel, append_instructions,
    normalized_exposure,
};
pub use quote::quoted;
pub use schema::arguments_schema;
pub use state::{CarriedState, ToolState, ToolStateCarrier, ToolStateCell, ToolStateHandle};
pub use tool::{Tool, ToolCall, ToolDefinition, ToolShape, ValidArgs};

/// Registers the types of this crate; call it where nothing else of the crate is used.
pub fn register() {
    akgentic_core::register();
}

/// What the macros of this crate expand to; not for direct use.
#[doc(hidden)]
pub mod private {
    pub use akgentic_core;
}
