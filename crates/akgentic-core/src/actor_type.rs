//! What the type registry knows about an actor type.

use crate::spawn::Spawner;

/// The part of a registry entry that only actor types have.
#[derive(Clone, Copy, Debug)]
pub struct AgentType {
    /// Path of the configuration type it declares.
    pub config: &'static str,
    /// How to start one; `None` for a type that is only named in data.
    pub spawn: Option<Spawner>,
}
