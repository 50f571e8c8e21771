//! From cards to what an agent works with.

use std::collections::HashMap;
use std::sync::Arc;

use akgentic_core::wire::AnyValue;
use akgentic_core::{CallError, CreateError};

use crate::card::{AnyCard, BoundCard, Offers, SystemPrompt, Toolset, names};
use crate::commands::{Command, CommandRegistry, DuplicateCommand, OWN_COMMANDS};
use crate::context::{ContextProvider, ContextUpdater};
use crate::error::ToolError;
use crate::observer::{Observer, ObserverError, WireError};
use crate::order::{OrderError, order_cards};
use crate::params::BindWarning;
use crate::tool::Tool;

/// Why cards cannot be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The cards cannot be put in order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// Two tools have one name.
    #[error("the tool {tool:?} of {first} has the name of one of {second}")]
    DuplicateTool {
        /// The name.
        tool: String,
        /// The card that has it.
        first: &'static str,
        /// The card that wants it too.
        second: &'static str,
    },
    /// Two context providers have one name.
    #[error("the context provider {provider:?} of {first} has the name of one of {second}")]
    DuplicateProvider {
        /// The name.
        provider: String,
        /// The card that has it.
        first: &'static str,
        /// The card that wants it too.
        second: &'static str,
    },
    /// Two commands have one name.
    #[error(transparent)]
    DuplicateCommand(#[from] DuplicateCommand),
    /// A card needs something of the agent that it does not have.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// A tool actor was not created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A tool actor did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A card refuses its own configuration, or met something else while it was bound.
    #[error("{card} cannot be bound: {reason}")]
    Card {
        /// The card.
        card: &'static str,
        /// Why.
        reason: String,
    },
}

impl BindError {
    /// A failure in a card's own words.
    pub fn card(card: &'static str, reason: impl Into<String>) -> Self {
        Self::Card { card, reason: reason.into() }
    }
}

impl From<WireError> for BindError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Observer(error) => Self::Observer(error),
            WireError::Create(error) => Self::Create(error),
        }
    }
}

/// Binds cards and collects what they offer.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use akgentic_tool_core::{Observer, ToolFactory};
///
/// let observer = Observer::unattached().build();
/// let bound = ToolFactory::new(vec![]).bind(&observer).await?;
/// assert!(bound.tools().is_empty());
/// # Ok::<_, akgentic_tool_core::BindError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct ToolFactory {
    cards: Vec<AnyCard>,
    own_commands: Vec<Command>,
    owner: Arc<str>,
}

impl ToolFactory {
    /// A factory for these cards.
    pub fn new(cards: Vec<AnyCard>) -> Self {
        Self { cards, own_commands: Vec::new(), owner: Arc::from(OWN_COMMANDS) }
    }

    /// Adds commands of the agent's own, which come after those of the cards.
    #[must_use]
    pub fn commands(mut self, own: impl IntoIterator<Item = Command>) -> Self {
        self.own_commands.extend(own);
        self
    }

    /// Sets the owner shown for commands of the agent's own; [`OWN_COMMANDS`] by default.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<Arc<str>>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Binds the cards, prerequisites first, and collects what they offer in that order.
    pub async fn bind(&self, observer: &Observer) -> Result<BoundTools, BindError> {
        let bound = self.bind_cards(observer).await?;
        self.collect(bound, observer)
    }

    /// Binds the cards, prerequisites first, each apart.
    ///
    /// Nothing is bound when the cards cannot be ordered.
    pub async fn bind_cards(
        &self,
        observer: &Observer,
    ) -> Result<Vec<(&'static str, BoundCard)>, BindError> {
        let nodes: Vec<_> =
            self.cards.iter().map(|card| (card.name(), card.depends_on())).collect();
        let mut bound = Vec::with_capacity(nodes.len());
        for position in order_cards(&nodes)? {
            let Some(card) = self.cards.get(position) else { continue };
            let own = observer.for_card(card.name());
            bound.push((card.name(), card.bind(&own).await?));
        }
        Ok(bound)
    }

    /// Collects what bound cards offer; names that collide are errors.
    ///
    /// What the model was told by providers that are gone is forgotten.
    pub fn collect(
        &self,
        bound: Vec<(&'static str, BoundCard)>,
        observer: &Observer,
    ) -> Result<BoundTools, BindError> {
        let mut cards = Vec::with_capacity(bound.len());
        let mut tools = Owned::default();
        let mut providers = Owned::default();
        let mut system_prompts = Vec::new();
        let mut toolsets = Vec::new();
        let mut commands: Vec<(Arc<str>, Command)> = Vec::new();
        for (card, bound) in bound {
            cards.push(card);
            for tool in bound.tools {
                let name = tool.name().to_owned();
                tools.add(name, tool, card).map_err(|(tool, first)| BindError::DuplicateTool {
                    tool,
                    first,
                    second: card,
                })?;
            }
            for provider in bound.context_states {
                let name = provider.name().to_owned();
                providers.add(name, provider, card).map_err(|(provider, first)| {
                    BindError::DuplicateProvider { provider, first, second: card }
                })?;
            }
            system_prompts.extend(bound.system_prompts);
            toolsets.extend(bound.toolsets);
            commands.extend(bound.commands.into_iter().map(|command| (card.into(), command)));
        }
        let own = self.own_commands.iter().cloned();
        commands.extend(own.map(|command| (Arc::clone(&self.owner), command)));
        let updater = ContextUpdater::new(observer.clone(), providers.things);
        updater.prune();
        Ok(BoundTools {
            cards,
            tools: tools.things,
            tool_index: tools.index,
            system_prompts,
            toolsets,
            commands: CommandRegistry::new(commands)?,
            updater,
            warnings: unserved(&self.cards),
        })
    }
}

/// Things with the card each comes from; names are unique.
struct Owned<T> {
    things: Vec<T>,
    owners: Vec<&'static str>,
    index: HashMap<String, usize>,
}

impl<T> Default for Owned<T> {
    fn default() -> Self {
        Self { things: Vec::new(), owners: Vec::new(), index: HashMap::new() }
    }
}

impl<T> Owned<T> {
    /// Adds a thing; a name that is taken is given back with its owner.
    fn add(
        &mut self,
        name: String,
        thing: T,
        owner: &'static str,
    ) -> Result<(), (String, &'static str)> {
        if let Some(known) = self.index.get(&name) {
            let first = self.owners.get(*known).copied().unwrap_or_default();
            return Err((name, first));
        }
        self.index.insert(name, self.things.len());
        self.things.push(thing);
        self.owners.push(owner);
        Ok(())
    }
}

fn unserved(cards: &[AnyCard]) -> Vec<BindWarning> {
    let mut warnings = Vec::new();
    for card in cards {
        for unserved in card.unserved() {
            let (capability, channel) = (unserved.capability, unserved.channel);
            let warning = BindWarning { card: card.name(), capability, channel };
            tracing::warn!("{warning}");
            warnings.push(warning);
        }
    }
    warnings
}

/// What the cards of an agent offer.
#[derive(Clone, Debug)]
pub struct BoundTools {
    cards: Vec<&'static str>,
    tools: Vec<Tool>,
    tool_index: HashMap<String, usize>,
    system_prompts: Vec<SystemPrompt>,
    toolsets: Vec<Arc<dyn Toolset>>,
    commands: CommandRegistry,
    updater: ContextUpdater,
    warnings: Vec<BindWarning>,
}

impl BoundTools {
    /// Names of the cards in binding order.
    pub fn cards(&self) -> &[&'static str] {
        &self.cards
    }

    /// Tools for the model; those of toolsets are not among them.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tool of this name; those of toolsets are not among them.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.tool_index.get(name)?)
    }

    /// Texts for the frozen start of the prompt.
    pub fn system_prompts(&self) -> &[SystemPrompt] {
        &self.system_prompts
    }

    /// Tools that come and go at run time.
    pub fn toolsets(&self) -> &[Arc<dyn Toolset>] {
        &self.toolsets
    }

    /// Commands for people and code.
    pub fn commands(&self) -> &CommandRegistry {
        &self.commands
    }

    /// Composes what the model is told at the start of a turn.
    pub fn updater(&self) -> &ContextUpdater {
        &self.updater
    }

    /// Channels that cards ask for in vain.
    pub fn warnings(&self) -> &[BindWarning] {
        &self.warnings
    }

    /// The names offered on each channel, hidden commands included.
    pub fn offers(&self) -> Offers {
        Offers {
            tools: names(&self.tools, Tool::name),
            system_prompts: names(&self.system_prompts, SystemPrompt::name),
            context_states: names(self.updater.providers(), ContextProvider::name),
            commands: self.commands.owners().map(|(name, _)| name.to_owned()).collect(),
            toolsets: names(&self.toolsets, |toolset| toolset.name()),
        }
    }

    /// Announces the commands, as an agent does once while it starts.
    pub fn announce(&self, observer: &Observer) -> Result<(), ObserverError> {
        let event = self.commands.announcement(observer.address()?.clone());
        observer.notify_event(AnyValue::record(event))
    }

    /// The system prompts in order, rendered.
    pub async fn render_system_prompts(&self) -> Vec<String> {
        let mut texts = Vec::with_capacity(self.system_prompts.len());
        for prompt in &self.system_prompts {
            texts.push(prompt.render().await);
        }
        texts
    }

    /// All tools: those of cards, then those of toolsets, which are connected where needed.
    ///
    /// A name that is taken already is an error.
    pub async fn connect(&self) -> Result<Vec<Tool>, ToolError> {
        let mut tools = self.tools.clone();
        let mut known: HashMap<String, &str> = HashMap::new();
        for toolset in &self.toolsets {
            for tool in toolset.connect().await.map_err(ToolError::fatal)? {
                let name = tool.name();
                let of_card = self.tool_index.contains_key(name).then_some("a card");
                if let Some(first) = of_card.or_else(|| known.get(name).copied()) {
                    let second = toolset.name();
                    return Err(ToolError::fatal(format!(
                        "the tool {name:?} of {second} has the name of one of {first}; give one a prefix"
                    )));
                }
                known.insert(name.to_owned(), toolset.name());
                tools.push(tool);
            }
        }
        Ok(tools)
    }

    /// Disconnects the toolsets.
    pub async fn close(&self) {
        for toolset in &self.toolsets {
            toolset.close().await;
        }
    }
}
