//! The families of registered types.

use std::fmt;

/// What a registered type is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Body of a message.
    Message,
    /// Configuration of an actor.
    Config,
    /// Published state of an actor.
    State,
    /// State that is put before a model.
    ContextState,
    /// Tool card.
    Card,
    /// Actor type.
    Agent,
    /// Any other record.
    Payload,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Message,
        Self::Config,
        Self::State,
        Self::ContextState,
        Self::Card,
        Self::Agent,
        Self::Payload,
    ];

    /// Its name in schemas and texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Config => "config",
            Self::State => "state",
            Self::ContextState => "context state",
            Self::Card => "card",
            Self::Agent => "agent",
            Self::Payload => "payload",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
