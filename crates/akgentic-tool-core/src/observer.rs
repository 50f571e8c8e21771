//! The observer: what a bound card knows of the agent it works for.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use akgentic_core::wire::AnyValue;
use akgentic_core::{
    Actor, ActorAddress, ActorHandle, ActorRef, Context, CreateError, Message, Orchestrator,
};
use uuid::Uuid;

use crate::state::{ToolState, ToolStateHandle};

/// Why the observer cannot do what a card asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObserverError {
    /// The agent has stopped, or there never was one.
    #[error("the agent this tool works for has stopped")]
    Gone,
    /// The agent does not offer what the card needs.
    #[error("{card} needs {needs}, which the agent it works for does not offer")]
    Unsupported {
        /// The card, empty outside of any.
        card: String,
        /// The capability.
        needs: &'static str,
    },
    /// The agent belongs to no team.
    #[error("{card} needs a team, and the agent it works for has no orchestrator")]
    NoOrchestrator {
        /// The card, empty outside of any.
        card: String,
    },
}

/// A weak, cloneable handle to the agent a card works for, and to what that agent offers.
///
/// Nothing an observer holds keeps the agent alive. Ask for the least: [`Observer::get`] gives a
/// typed capability such as [`OneShotLlm`](crate::OneShotLlm); domain crates define their own traits
/// beside their cards.
#[derive(Clone)]
pub struct Observer {
    agent: Option<Arc<Agent>>,
    capabilities: Arc<Capabilities>,
    card: &'static str,
}

struct Agent {
    handle: ActorHandle,
    address: ActorAddress,
    orchestrator: Option<ActorAddress>,
    tool_state: Option<ToolStateHandle>,
}

impl Observer {
    /// Starts the observer of the agent with this context.
    pub fn of(ctx: &Context) -> ObserverBuilder {
        ObserverBuilder {
            agent: Some(Agent {
                handle: ctx.handle(),
                address: ctx.address(),
                orchestrator: ctx.orchestrator().cloned(),
                tool_state: None,
            }),
            capabilities: Capabilities::default(),
        }
    }

    /// Starts an observer without an agent: what needs one answers [`ObserverError::Gone`].
    ///
    /// For looking at what cards offer, and for tests.
    pub fn unattached() -> ObserverBuilder {
        ObserverBuilder { agent: None, capabilities: Capabilities::default() }
    }

    /// The same observer, as `card` uses it: errors name the card.
    #[must_use]
    pub fn for_card(&self, card: &'static str) -> Self {
        Self { card, ..self.clone() }
    }

    /// The card it speaks for, empty outside of any.
    pub fn card(&self) -> &'static str {
        self.card
    }

    /// Whether the agent runs.
    pub fn is_alive(&self) -> bool {
        self.context().is_ok()
    }

    /// The agent's context. Do not keep it over an await.
    pub fn context(&self) -> Result<Context, ObserverError> {
        let agent = self.agent()?;
        agent.handle.get().map_err(|_| ObserverError::Gone)
    }

    /// The agent's address; readable after the agent has stopped.
    pub fn address(&self) -> Result<&ActorAddress, ObserverError> {
        Ok(&self.agent()?.address)
    }

    /// The agent's team.
    pub fn team_id(&self) -> Result<Uuid, ObserverError> {
        Ok(self.agent()?.address.team_id())
    }

    /// The address of the team's orchestrator.
    pub fn orchestrator(&self) -> Result<&ActorAddress, ObserverError> {
        let card = || self.card.to_owned();
        let orchestrator = self.agent()?.orchestrator.as_ref();
        orchestrator.ok_or_else(|| ObserverError::NoOrchestrator { card: card() })
    }

    /// The orchestrator, for typed requests.
    pub fn team(&self) -> Result<ActorRef<Orchestrator>, ObserverError> {
        ActorRef::new(self.orchestrator()?).map_err(|_| ObserverError::Gone)
    }

    /// The actor of the team with the name of `config`, created if there is none.
    ///
    /// This is how a card gets its tool actor: concurrent callers get one, the first creator's
    /// configuration wins.
    pub async fn team_actor<A: Actor>(&self, config: A::Config) -> Result<ActorRef<A>, WireError> {
        Ok(self.team()?.get_children_or_create::<A>(config).await?)
    }

    /// The same from a value made by `make`, for actors that hold more than data.
    pub async fn team_actor_with<A: Actor>(
        &self,
        config: A::Config,
        make: impl FnOnce(&A::Config) -> Result<A, akgentic_core::ActorError> + Send + 'static,
    ) -> Result<ActorRef<A>, WireError> {
        Ok(self.team()?.get_children_or_create_with::<A>(config, make).await?)
    }

    /// Announces something to those who watch the team.
    pub fn notify_event(&self, event: impl Into<AnyValue>) -> Result<(), ObserverError> {
        self.context()?.notify_event(event);
        Ok(())
    }

    /// Announces a message, such as a [`ToolStateEvent`](crate::ToolStateEvent), as an event.
    pub fn notify_message(&self, message: impl Into<Message>) -> Result<(), ObserverError> {
        self.notify_event(message.into())
    }

    /// A capability of the agent, or one that its actor system provides to everybody.
    ///
    /// ```no_run
    /// # use akgentic_tool_core::{Observer, ObserverError, OneShotLlm};
    /// # fn caption(observer: &Observer) -> Result<(), ObserverError> {
    /// let model = observer.get::<dyn OneShotLlm>()?;
    /// # Ok(()) }
    /// ```
    pub fn get<C: ?Sized + Send + Sync + 'static>(&self) -> Result<Arc<C>, ObserverError> {
        if let Some(capability) = self.capabilities.get::<C>() {
            return Ok(capability);
        }
        if self.agent.is_some()
            && let Some(provided) = self.context()?.system().capability::<Arc<C>>()
        {
            return Ok(Arc::clone(&provided));
        }
        Err(ObserverError::Unsupported { card: self.card.to_owned(), needs: short_name::<C>() })
    }

    /// Works on the agent's tool state under a short lock; never call it from inside itself.
    ///
    /// The state in force is looked up at every use: an agent replaces it when it is restored.
    pub fn with_tool_state<R>(
        &self,
        work: impl FnOnce(&mut ToolState) -> R,
    ) -> Result<R, ObserverError> {
        self.context()?;
        let state = self.agent()?.tool_state.as_ref();
        state.map(|state| state.with(work)).ok_or_else(|| self.no_tool_state())
    }

    /// Reads the agent's tool state under a short lock; see [`Observer::with_tool_state`].
    pub fn read_tool_state<R>(
        &self,
        read: impl FnOnce(&ToolState) -> R,
    ) -> Result<R, ObserverError> {
        self.context()?;
        let state = self.agent()?.tool_state.as_ref();
        state.map(|state| state.read(read)).ok_or_else(|| self.no_tool_state())
    }

    fn no_tool_state(&self) -> ObserverError {
        ObserverError::Unsupported { card: self.card.to_owned(), needs: "ToolState" }
    }

    fn agent(&self) -> Result<&Agent, ObserverError> {
        self.agent.as_deref().ok_or(ObserverError::Gone)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.agent.as_ref().map(|agent| &agent.address);
        f.debug_struct("Observer")
            .field("agent", &agent)
            .field("card", &self.card)
            .field("capabilities", &self.capabilities)
            .finish()
    }
}

/// An observer in the making.
pub struct ObserverBuilder {
    agent: Option<Agent>,
    capabilities: Capabilities,
}

impl ObserverBuilder {
    /// Adds the tool state that the agent's state carries.
    #[must_use]
    pub fn tool_state(mut self, state: ToolStateHandle) -> Self {
        if let Some(agent) = &mut self.agent {
            agent.tool_state = Some(state);
        }
        self
    }

    /// Adds a capability; name the trait: `with::<dyn OneShotLlm>(model)`.
    ///
    /// What implements it must not keep the agent alive either.
    #[must_use]
    pub fn with<C: ?Sized + Send + Sync + 'static>(mut self, capability: Arc<C>) -> Self {
        self.capabilities.insert(capability);
        self
    }

    /// Adds capabilities that were collected before.
    #[must_use]
    pub fn capabilities(mut self, more: &Capabilities) -> Self {
        self.capabilities.extend(more);
        self
    }

    /// The observer.
    pub fn build(self) -> Observer {
        Observer {
            agent: self.agent.map(Arc::new),
            capabilities: Arc::new(self.capabilities),
            card: "",
        }
    }
}

/// Capabilities by trait.
#[derive(Clone, Default)]
pub struct Capabilities {
    by_type: HashMap<TypeId, (&'static str, Arc<dyn Any + Send + Sync>)>,
}

impl Capabilities {
    /// Adds a capability; one of the same trait is replaced.
    pub fn insert<C: ?Sized + Send + Sync + 'static>(&mut self, capability: Arc<C>) {
        let entry = (short_name::<C>(), Arc::new(capability) as Arc<dyn Any + Send + Sync>);
        self.by_type.insert(TypeId::of::<C>(), entry);
    }

    /// The same with another capability.
    #[must_use]
    pub fn with<C: ?Sized + Send + Sync + 'static>(mut self, capability: Arc<C>) -> Self {
        self.insert(capability);
        self
    }

    /// The capability of this trait.
    pub fn get<C: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<C>> {
        let (_, found) = self.by_type.get(&TypeId::of::<C>())?;
        found.downcast_ref::<Arc<C>>().cloned()
    }

    fn extend(&mut self, more: &Self) {
        let entries = more.by_type.iter().map(|(id, entry)| (*id, entry.clone()));
        self.by_type.extend(entries);
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.by_type.values().map(|(name, _)| *name).collect();
        names.sort_unstable();
        f.debug_set().entries(names).finish()
    }
}

/// Why a card did not get its tool actor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The agent is gone or has no team.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The actor was not created.
    #[error(transparent)]
    Create(#[from] CreateError),
}

/// The last segment of a type's path, without `dyn` and parameters.
fn short_name<T: ?Sized>() -> &'static str {
    let full = type_name::<T>();
    let full = full.strip_prefix("dyn ").unwrap_or(full);
    let bare = full.split_once('<').map_or(full, |(bare, _)| bare);
    let bare = bare.split_once(" + ").map_or(bare, |(bare, _)| bare);
    bare.rsplit_once("::").map_or(bare, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    trait Clock: Send + Sync {
        fn now(&self) -> u8;
    }

    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> u8 {
            7
        }
    }

    #[test]
    fn capabilities_are_found_by_their_trait() {
        let observer =
            Observer::unattached().with::<dyn Clock>(Arc::new(Fixed)).build().for_card("AlarmTool");
        assert_eq!(observer.get::<dyn Clock>().map(|clock| clock.now()), Ok(7));
        let missing = observer.get::<dyn crate::OneShotLlm>().err();
        let card = "AlarmTool".to_owned();
        assert_eq!(missing, Some(ObserverError::Unsupported { card, needs: "OneShotLlm" }));
    }

    #[test]
    fn without_an_agent_it_is_gone() {
        let observer = Observer::unattached().build();
        assert_eq!(observer.address().err(), Some(ObserverError::Gone));
        assert_eq!(observer.with_tool_state(|_| ()).err(), Some(ObserverError::Gone));
        assert_eq!(observer.notify_event("x").err(), Some(ObserverError::Gone));
    }
}
