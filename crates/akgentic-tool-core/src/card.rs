//! Cards: inert configuration of a tool, and what it becomes when it is bound.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use akgentic_core::wire::{Dyn, Family, Kind, LoadError, MODEL_KEY, Record, TypeEntry, registry};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::commands::Command;
use crate::context::ContextProvider;
use crate::factory::BindError;
use crate::observer::Observer;
use crate::order::Dependency;
use crate::params::UnservedChannel;
use crate::quote::quoted;
use crate::tool::Tool;

/// Serializable configuration of one tool: no handles, no locks, no I/O.
///
/// Binding it to an [`Observer`] makes it live; one card value may be bound any number of times.
pub trait ToolCard: CardObject {
    /// Its name, by which other cards depend on it: the last segment of its path.
    fn name(&self) -> &'static str {
        self.class_name()
    }

    /// Cards that have to be bound first; may follow from field values.
    fn depends_on(&self) -> Vec<Dependency> {
        Vec::new()
    }

    /// Makes it live: runtime setup, then what it offers on each channel.
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>>;
}

/// The part of a card that [`tool_card!`](crate::tool_card) writes.
pub trait CardObject: Record {
    /// A copy behind a new pointer.
    fn clone_card(&self) -> AnyCard;

    /// Channels its capabilities ask for and cannot be served on.
    fn unserved(&self) -> Vec<UnservedChannel>;
}

/// Any card, loaded by its marker; cheap to clone.
pub type AnyCard = Dyn<dyn ToolCard>;

impl Family for dyn ToolCard {
    const KIND: Kind = Kind::Card;
    const DEFAULT: Option<&'static str> = None;

    fn as_record(&self) -> &dyn Record {
        self
    }
}

/// What a bound card offers, one list per channel.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BoundCard {
    /// For the model to call.
    pub tools: Vec<Tool>,
    /// For the frozen start of the prompt.
    pub system_prompts: Vec<SystemPrompt>,
    /// State that is told as it changes.
    pub context_states: Vec<ContextProvider>,
    /// For people and code to call.
    pub commands: Vec<Command>,
    /// Tools that come and go at run time.
    pub toolsets: Vec<Arc<dyn Toolset>>,
}

impl BoundCard {
    /// Offers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names it offers, for wiring tests to compare as a whole.
    pub fn offers(&self) -> Offers {
        Offers {
            tools: names(&self.tools, Tool::name),
            system_prompts: names(&self.system_prompts, SystemPrompt::name),
            context_states: names(&self.context_states, ContextProvider::name),
            commands: names(&self.commands, Command::name),
            toolsets: names(&self.toolsets, |toolset| toolset.name()),
        }
    }
}

/// The names offered on each channel.
///
/// The wiring test of a card compares what the bound card really yields, never what its params ask
/// for:
///
/// ```
/// # use akgentic_tool_core::{BoundCard, Offers};
/// # let bound = BoundCard::new();
/// assert_eq!(bound.offers(), Offers { tools: vec![], ..Offers::default() });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Tools.
    pub tools: Vec<String>,
    /// System prompts.
    pub system_prompts: Vec<String>,
    /// Context providers.
    pub context_states: Vec<String>,
    /// Commands.
    pub commands: Vec<String>,
    /// Toolsets.
    pub toolsets: Vec<String>,
}

/// The names of things.
pub(crate) fn names<T>(things: &[T], name: impl Fn(&T) -> &str) -> Vec<String> {
    things.iter().map(|thing| name(thing).to_owned()).collect()
}

type Render = dyn Fn() -> BoxFuture<'static, String> + Send + Sync;

/// A named text for the frozen start of the prompt; cheap to clone.
///
/// It is rendered once: volatile text here would break the cached prefix on every turn and belongs
/// into a [`ContextProvider`].
#[derive(Clone)]
pub struct SystemPrompt {
    name: Arc<str>,
    render: Arc<Render>,
}

impl SystemPrompt {
    /// A prompt that is put together when it is asked for.
    pub fn new<F, Fut>(name: impl Into<Arc<str>>, render: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = String> + Send + 'static,
    {
        Self { name: name.into(), render: Arc::new(move || Box::pin(render())) }
    }

    /// A prompt of fixed text.
    pub fn text(name: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(name, move || std::future::ready(text.clone()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn render(&self) -> BoxFuture<'static, String> {
        (self.render)()
    }
}

impl fmt::Debug for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SystemPrompt").field(&self.name).finish()
    }
}

/// Tools that are known only once something is connected, such as an MCP server.
pub trait Toolset: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Connects if needed and gives the tools offered now; cheap when connected.
    fn connect(&self) -> BoxFuture<'_, Result<Vec<Tool>, ToolsetError>>;

    /// Disconnects; nothing happens when it is not connected.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A toolset cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the toolset {toolset} is not available: {reason}")]
pub struct ToolsetError {
    /// The toolset.
    pub toolset: String,
    /// Why.
    pub reason: String,
}

/// Why a card does not load.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadCardError {
    /// No linked crate knows this kind of card.
    #[error("no card is registered as {}{}", quoted(path), Hint { missing: *hint, known })]
    UnknownCard {
        /// The marker.
        path: String,
        /// The crate that has it and is not linked, as far as this one can tell.
        hint: Option<&'static str>,
        /// The cards there are, in order.
        known: Vec<&'static str>,
    },
    /// The map names no kind of card.
    #[error("a card names its kind under {MODEL_KEY}, and this map has no such key")]
    Unmarked,
    /// It is a card whose fields do not fit.
    #[error(transparent)]
    Invalid(#[from] LoadError),
    /// Cards come as a list.
    #[error("cards come as a list, and this is none")]
    NotAList,
}

struct Hint<'a> {
    missing: Option<&'static str>,
    known: &'a [&'static str],
}

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.missing, self.known) {
            (Some(name), _) => write!(f, "; it comes with the crate {name}, which is not linked"),
            (None, []) => f.write_str("; there is none at all, so no crate with cards is linked"),
            (None, known) => write!(f, "; there are {}", known.join(", ")),
        }
    }
}

/// Loads a card by its marker.
pub fn load_card(value: Value) -> Result<AnyCard, LoadCardError> {
    let Some(marker) = value.get(MODEL_KEY) else { return Err(LoadCardError::Unmarked) };
    let path = marker.as_str().map_or_else(|| marker.to_string(), str::to_owned);
    if registry().get(&path).is_none() {
        let known = known_cards();
        let hint = crate_of_card(&path).filter(|_| {
            let domain = domain_of_card(&path);
            !known.iter().any(|card| domain_of_card(card) == domain)
        });
        return Err(LoadCardError::UnknownCard { path, hint, known });
    }
    Ok(AnyCard::load(value)?)
}

/// Loads a list of cards; unlike inside a stored record, one that is unknown is an error.
pub fn load_cards(value: Value) -> Result<Vec<AnyCard>, LoadCardError> {
    match value {
        Value::Array(cards) => cards.into_iter().map(load_card).collect(),
        _ => Err(LoadCardError::NotAList),
    }
}

/// The paths of all cards of the linked crates.
fn known_cards() -> Vec<&'static str> {
    let cards = registry().entries().filter(|entry| entry.kind() == Kind::Card);
    let mut paths: Vec<&str> = cards.map(TypeEntry::path).collect();
    paths.sort_unstable();
    paths
}

/// The part of a path that says what its card is about.
fn domain_of_card(path: &str) -> Option<&str> {
    path.strip_prefix("akgentic.tool.")?.split_once('.').map(|(domain, _)| domain)
}

/// The crate that has the cards below a path.
fn crate_of_card(path: &str) -> Option<&'static str> {
    const CRATES: [(&str, &str); 14] = [
        ("workspace", "akgentic-workspace"),
        ("sandbox", "akgentic-workspace"),
        ("planning", "akgentic-planning"),
        ("knowledge_graph", "akgentic-knowledge-graph"),
        ("vector_store", "akgentic-vector-store"),
        ("vector", "akgentic-vector-store"),
        ("search", "akgentic-search"),
        ("team", "akgentic-team"),
        ("metadata", "akgentic-metadata"),
        ("notification", "akgentic-notification"),
        ("skill", "akgentic-skill"),
        ("mailbox", "akgentic-mailbox"),
        ("model", "akgentic-model"),
        ("mcp", "akgentic-mcp"),
    ];
    let domain = domain_of_card(path)?;
    CRATES.iter().find(|(name, _)| *name == domain).map(|(_, name)| *name)
}

/// Makes a struct a card and registers it.
///
/// `tool_card!(CounterTool = "path", aliases: ["…"], deprecated: ["…"], capabilities: [read,
/// write])`. `capabilities` lists the fields of type [`Capability`](crate::Capability), so that a
/// channel that cannot be served is reported. What the card does is its own `impl ToolCard`.
#[macro_export]
macro_rules! tool_card {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(, capabilities: [$($field:ident),* $(,)?])?
        $(,)?
    ) => {
        $crate::private::akgentic_core::wire_type!($ty = $path,
            aliases: [$($($alias),*)?], deprecated: [$($($former),*)?],
            snapshot: $crate::private::akgentic_core::wire::no_addresses);
        $crate::private::akgentic_core::family_member!(
            $ty: dyn $crate::ToolCard, $crate::private::akgentic_core::wire::Kind::Card);

        impl $crate::CardObject for $ty {
            fn clone_card(&self) -> $crate::AnyCard {
                ::std::convert::From::from(::std::clone::Clone::clone(self))
            }

            fn unserved(&self) -> ::std::vec::Vec<$crate::UnservedChannel> {
                let unserved = ::std::iter::empty();
                $($(let unserved = unserved
                    .chain($crate::Capability::unserved(&self.$field, stringify!($field)));)*)?
                unserved.collect()
            }
        }

        impl ::std::convert::From<$ty> for $crate::AnyCard {
            fn from(card: $ty) -> Self {
                Self(::std::sync::Arc::new(card))
            }
        }
    };
}
