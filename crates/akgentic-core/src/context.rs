//! What a handler can do: send, create, announce, look into its inbox, stop.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::actor::Actor;
use crate::address::ActorAddress;
use crate::card::AgentCard;
use crate::cell::{ActorCell, Entry, Lineage, Reply};
use crate::config::{AnyConfig, Config};
use crate::error::{ActorError, CallError};
use crate::inbox::PendingMail;
use crate::message::{EventMessage, HandledMessage, Message, SentMessage, StateChangedMessage};
use crate::orchestrator::{Orchestrator, TeamView};
use crate::spawn::{CreateError, Newborn, Spawner};
use crate::state::{AnyState, State, StateSlot, Tracked};
use crate::system::ActorSystem;
use crate::typed::ActorRef;
use crate::wire::{AddressResolver, AnyValue, WireType};

/// The actor as its own code sees it.
#[derive(Clone)]
pub struct Context {
    cell: Arc<ActorCell>,
}

impl Context {
    pub(crate) fn new(cell: Arc<ActorCell>) -> Self {
        Self { cell }
    }

    pub(crate) fn cell(&self) -> &Arc<ActorCell> {
        &self.cell
    }

    /// This actor's address.
    pub fn address(&self) -> ActorAddress {
        self.cell.address()
    }

    /// Identity of this actor.
    pub fn agent_id(&self) -> Uuid {
        self.cell.info().agent_id
    }

    /// Name of this actor.
    pub fn name(&self) -> &str {
        &self.cell.info().name
    }

    /// Role of this actor.
    pub fn role(&self) -> &str {
        &self.cell.info().role
    }

    /// The team it belongs to.
    pub fn team_id(&self) -> Uuid {
        self.cell.info().team_id
    }

    /// The configuration it was created with, name and role filled in.
    pub fn config(&self) -> &Arc<dyn Config> {
        &self.cell.config
    }

    /// The configuration as `C`.
    pub fn config_as<C: Config>(&self) -> Option<&C> {
        self.cell.config.as_any().downcast_ref()
    }

    /// The person or principal it works for; opaque.
    pub fn user_id(&self) -> Option<&str> {
        self.cell.lineage.user_id.as_deref()
    }

    /// The mail address that goes with [`Context::user_id`].
    pub fn user_email(&self) -> Option<&str> {
        self.cell.lineage.user_email.as_deref()
    }

    /// Who created it.
    pub fn parent(&self) -> Option<&ActorAddress> {
        self.cell.lineage.parent.as_ref()
    }

    /// Who created it, who created that one, and so on, as far as they run.
    pub fn ancestors(&self) -> Vec<ActorAddress> {
        let mut ancestors = Vec::new();
        let mut next = self.parent().cloned();
        while let Some(parent) = next {
            next = parent.cell().and_then(|cell| cell.lineage.parent.clone());
            ancestors.push(parent);
        }
        ancestors
    }

    /// Its team's orchestrator.
    pub fn orchestrator(&self) -> Option<&ActorAddress> {
        self.cell.lineage.orchestrator.as_ref()
    }

    /// The orchestrator, for typed requests.
    ///
    /// Fails with a warning without orchestrator, as `get_team` does.
    pub fn team(&self) -> Result<ActorRef<Orchestrator>, ActorError> {
        let Some(orchestrator) = self.orchestrator() else {
            return Err(ActorError::warning(format!("{} has no orchestrator", self.name())));
        };
        Ok(ActorRef::new(orchestrator)?)
    }

    /// Members of the team; a warning without orchestrator.
    pub async fn get_team(&self) -> Result<Arc<[ActorAddress]>, ActorError> {
        Ok(self.team()?.get_team().await?)
    }

    /// The first member with exactly this name; a warning without orchestrator.
    pub async fn get_team_member(&self, name: &str) -> Result<Option<ActorAddress>, ActorError> {
        Ok(self.team()?.get_team_member(name).await?)
    }

    /// Agent cards of the team; none without orchestrator.
    pub async fn discover_catalog(&self) -> Result<Vec<Arc<AgentCard>>, CallError> {
        match self.team() {
            Ok(team) => team.get_agent_catalog().await,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Agent cards with a skill; none without orchestrator.
    pub async fn find_agents_with_skill(
        &self,
        skill: &str,
    ) -> Result<Vec<Arc<AgentCard>>, CallError> {
        match self.team() {
            Ok(team) => team.get_profiles_by_skill(skill).await,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Roles of the team's agent cards; none without orchestrator.
    pub async fn get_available_roles(&self) -> Result<Vec<String>, CallError> {
        match self.team() {
            Ok(team) => team.get_available_roles().await,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// The agent card of a role; none without orchestrator.
    pub async fn get_agent_card(&self, role: &str) -> Result<Option<Arc<AgentCard>>, CallError> {
        match self.team() {
            Ok(team) => team.get_agent_profile(role).await,
            Err(_) => Ok(None),
        }
    }

    /// What the orchestrator last published, read without asking it.
    pub fn team_view(&self) -> Option<Arc<TeamView>> {
        let cell = self.orchestrator()?.cell()?;
        cell.team_view()
    }

    /// Whether it is created again from a log.
    pub fn is_restoring(&self) -> bool {
        self.cell.lineage.restoring
    }

    /// The system it runs in.
    pub fn system(&self) -> ActorSystem {
        ActorSystem::of(&self.cell)
    }

    /// A handle for code that must not keep the actor alive.
    pub fn handle(&self) -> ActorHandle {
        ActorHandle { name: Arc::from(self.name()), cell: Arc::downgrade(&self.cell) }
    }

    /// Fires when the actor goes down or is abandoned; long work watches it.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cell.cancel
    }

    /// The message being handled.
    pub fn current_message(&self) -> Option<Arc<Message>> {
        self.cell.current()
    }

    /// Acts as if `message` were being handled; `None` ends that.
    pub fn set_current_message(&self, message: Option<Arc<Message>>) {
        self.cell.set_current(message);
    }

    /// A deliverable address of the same member: itself when it is live, else the running member of
    /// the own team with its identity.
    ///
    /// Addresses that were loaded or handed to subscribers are snapshots.
    pub fn resolve(&self, address: &ActorAddress) -> Option<ActorAddress> {
        if address.is_live() {
            return Some(address.clone());
        }
        let team = match self.as_orchestrator() {
            Some(_) => self.cell.team_view(),
            None => self.team_view(),
        };
        team?.member_by_id(address.agent_id())
    }

    /// Stamps, records and delivers a message; does not wait for it to be handled.
    ///
    /// A recipient that cannot take it is an error and leaves no open entry in the ledger.
    pub fn send(
        &self,
        recipient: &ActorAddress,
        message: impl Into<Message>,
    ) -> Result<Arc<Message>, CallError> {
        let target = recipient.reach()?;
        if target.inbox.lock().is_full() {
            return Err(CallError::Overloaded(recipient.name().to_owned()));
        }
        let mut message = message.into();
        let current = self.cell.current().map(|message| message.id);
        message.stamp(self.address(), self.team_id(), current);
        let message = Arc::new(message);
        let sent = SentMessage { message: Arc::clone(&message), recipient: recipient.clone() };
        self.cell.telemetry(sent);
        if let Err(error) = target.deliver(Entry::Message(Arc::clone(&message), None)) {
            self.cell.telemetry(HandledMessage { message_id: message.id });
            return Err(error);
        }
        Ok(message)
    }

    /// Takes back messages this actor has sent and `recipient` has not looked at, each closed in the
    /// ledger; gives those that were still waiting.
    pub fn withdraw(
        &self,
        recipient: &ActorAddress,
        ids: &[Uuid],
    ) -> Result<Vec<Arc<Message>>, CallError> {
        let target = recipient.reach()?;
        let taken = target.inbox.lock().withdraw(self.agent_id(), ids);
        for message in &taken {
            self.cell.telemetry(HandledMessage { message_id: message.id });
        }
        Ok(taken)
    }

    /// Announces something to those who watch the team.
    pub fn notify_event(&self, event: impl Into<AnyValue>) {
        self.cell.telemetry(EventMessage { event: event.into() });
    }

    /// Tells the orchestrator a message about this actor.
    pub fn notify(&self, message: impl Into<Message>) {
        self.cell.telemetry(message);
    }

    /// Publishes a state, as obtained from a [`Tracked`] state.
    pub fn publish(&self, state: Option<AnyState>) {
        if let Some(state) = state.filter(|_| !self.cell.is_quiet()) {
            self.cell.telemetry(StateChangedMessage { state });
        }
    }

    /// Observes a state from now on and publishes it.
    pub fn observe<S: State + WireType>(&self, state: &mut Tracked<S>) {
        self.publish(state.observe());
    }

    /// Publishes a state if it changed.
    pub fn notify_if_changed<S: State + WireType>(&self, state: &mut Tracked<S>) {
        self.publish(state.notify_if_changed());
    }

    /// Merges `changes` into a state; a failure is logged and recorded, the state stays.
    pub fn update_state(
        &self,
        state: &mut dyn StateSlot,
        changes: serde_json::Map<String, serde_json::Value>,
    ) {
        let own = self.clone();
        let resolver: AddressResolver = Arc::new(move |address| {
            let live = own.resolve(address);
            Ok(live.unwrap_or_else(|| ActorAddress::stopped(address.info().clone())))
        });
        let merged = state.merge(changes);
        match merged.and_then(|merged| state.resolve_addresses(resolver).map(|()| merged)) {
            Ok(state) => self.publish(state),
            Err(error) => {
                tracing::error!(agent = %self.name(), ?error, "the state was not updated");
                self.notify(crate::message::ErrorMessage {
                    notification: crate::message::NotificationMessage {
                        content_type: Some(error.content_type().to_owned()),
                        content: error.message().to_owned(),
                        current_message: self.current_message(),
                    },
                    traceback: error.trace(),
                });
            }
        }
    }

    /// Creates a child actor.
    ///
    /// The child inherits user, team and orchestrator; its squad falls back to this actor's.
    pub fn create_actor<A: Actor>(&self, config: A::Config) -> Result<ActorRef<A>, CreateError> {
        let newborn = Newborn::of::<A>(config, A::create);
        ActorRef::new(&self.adopt(newborn)?).map_err(CreateError::Call)
    }

    /// Creates a child actor with an identity chosen in advance.
    pub fn create_actor_as<A: Actor>(
        &self,
        agent_id: Uuid,
        config: A::Config,
    ) -> Result<ActorRef<A>, CreateError> {
        let newborn = Newborn::of::<A>(config, A::create).with_agent_id(Some(agent_id));
        ActorRef::new(&self.adopt(newborn)?).map_err(CreateError::Call)
    }

    /// Creates a child actor from a value made by `make`, for actors that hold more than data.
    pub fn create_actor_with<A: Actor>(
        &self,
        config: A::Config,
        make: impl FnOnce(&A::Config) -> Result<A, ActorError> + Send + 'static,
    ) -> Result<ActorRef<A>, CreateError> {
        let newborn = Newborn::of::<A>(config, make);
        ActorRef::new(&self.adopt(newborn)?).map_err(CreateError::Call)
    }

    /// Creates a child actor of the registered class at `class`.
    pub fn create_actor_of(
        &self,
        class: &str,
        config: &AnyConfig,
    ) -> Result<ActorAddress, CreateError> {
        self.adopt(Spawner::of_class(class)?.newborn(config)?)
    }

    pub(crate) fn adopt(&self, newborn: Newborn) -> Result<ActorAddress, CreateError> {
        let own = &self.cell.lineage;
        let lineage = Lineage {
            user_id: own.user_id.clone(),
            user_email: own.user_email.clone(),
            parent: Some(self.address()),
            orchestrator: self.as_orchestrator().or_else(|| own.orchestrator.clone()),
            restoring: newborn.is_restored(),
        };
        let squad = self.cell.info().squad_id;
        let child = newborn.spawn(&self.system(), lineage, Some(self.team_id()), squad)?;
        self.cell.add_child(&child);
        // An orchestrator knows in which order its children stop; see `Orchestrator::joined`.
        if self.cell.is_stopping() && !self.cell.is_orchestrator() {
            child.request_stop();
        }
        Ok(child)
    }

    fn as_orchestrator(&self) -> Option<ActorAddress> {
        self.cell.is_orchestrator().then(|| self.address())
    }

    /// Live children in creation order.
    pub fn children(&self) -> Vec<ActorAddress> {
        self.cell.children()
    }

    /// Messages that wait in the own inbox, in arrival order; nothing is removed.
    pub fn get_mailbox(&self) -> Vec<Arc<Message>> {
        self.cell.inbox.lock().pending()
    }

    /// The same with what is known of each message's sender.
    pub fn pending_mail(&self) -> Vec<PendingMail> {
        self.cell.inbox.lock().pending_mail()
    }

    /// Messages that wait in the own inbox and came after the first `seen`, newest first; perhaps with
    /// older ones, when newer ones were taken out.
    pub fn mail_since(&self, seen: u64) -> Vec<PendingMail> {
        self.cell.inbox.lock().mail_since(seen)
    }

    /// How many messages ever came into the own inbox: the same number twice means that none came
    /// between.
    pub fn mail_arrivals(&self) -> u64 {
        self.cell.inbox.lock().arrivals()
    }

    /// Waits, during a turn, until more than `seen` messages have ever come into the own inbox, and
    /// gives their number. Cancel-safe.
    pub async fn mail_after(&self, seen: u64) -> u64 {
        self.cell.mail_after(seen).await
    }

    /// Takes waiting messages out of the own inbox and closes them in the ledger.
    ///
    /// Messages somebody waits on stay. Meant for the actor's own turn.
    pub fn consume_mailbox(&self, ids: &[Uuid]) -> Vec<Arc<Message>> {
        let taken = self.cell.inbox.lock().consume(ids);
        for message in &taken {
            self.cell.telemetry(HandledMessage { message_id: message.id });
        }
        taken
    }

    /// Stops the children in creation order, each at most the system's stop timeout.
    ///
    /// One that does not stop in time is logged and left running without anybody waiting for it.
    pub async fn stop_children(&self) {
        let timeout = self.system().options().stop_timeout;
        for child in self.children() {
            if let Err(error) = child.stop(timeout).await {
                tracing::warn!(parent = %self.name(), child = %child, %error, "child abandoned");
            }
        }
    }

    /// Asks the children to stop without waiting.
    pub fn tell_children_to_stop(&self) {
        for child in self.children() {
            child.request_stop();
        }
    }

    /// Ends this actor when everything queued so far is done; children are not touched.
    pub fn stop_now(&self) {
        // An actor that is already down has nothing left to stop.
        let _queued = self.cell.push(Entry::Stop, true).is_ok();
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Context").field(&self.address()).finish()
    }
}

/// A weak handle to an actor: everything [`Context`] can do, as long as the actor runs.
#[derive(Clone)]
pub struct ActorHandle {
    name: Arc<str>,
    cell: Weak<ActorCell>,
}

impl ActorHandle {
    /// The actor's context, unless it has stopped. Do not keep it over an await.
    pub fn get(&self) -> Result<Context, CallError> {
        match self.cell.upgrade() {
            Some(cell) if cell.is_alive() => Ok(Context::new(cell)),
            _ => Err(CallError::Dead(self.name.to_string())),
        }
    }

    /// The name of the actor.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Debug for ActorHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ActorHandle({})", self.name)
    }
}

impl ActorAddress {
    pub(crate) fn reach(&self) -> Result<Arc<ActorCell>, CallError> {
        if !self.is_live() {
            return Err(CallError::NotDeliverable(self.name().to_owned()));
        }
        match self.cell() {
            Some(cell) if cell.is_alive() => Ok(cell),
            _ => Err(CallError::Dead(self.name().to_owned())),
        }
    }

    /// Delivers a message as it stands, without recording or stamping it; see [`Context::send`].
    pub fn tell(&self, message: impl Into<Message>) -> Result<(), CallError> {
        self.reach()?.deliver(Entry::Message(Arc::new(message.into()), None))
    }

    /// Delivers a value that is no message.
    pub fn tell_value(&self, value: impl Into<AnyValue>) -> Result<(), CallError> {
        self.reach()?.deliver(Entry::Value(value.into(), None))
    }

    /// Makes this actor send a message, as its own code would; see [`Context::send`].
    pub fn send(
        &self,
        recipient: &ActorAddress,
        message: impl Into<Message>,
    ) -> Result<Arc<Message>, CallError> {
        Context::new(self.reach()?).send(recipient, message)
    }

    /// Delivers a message and waits for what its handler answers.
    pub async fn ask(
        &self,
        message: impl Into<Message>,
        timeout: Duration,
    ) -> Result<AnyValue, CallError> {
        let message = Arc::new(message.into());
        self.ask_entry(|reply| Entry::Message(message, Some(reply)), timeout).await
    }

    /// Delivers a value that is no message and waits for what its handler answers.
    pub async fn ask_value(
        &self,
        value: impl Into<AnyValue>,
        timeout: Duration,
    ) -> Result<AnyValue, CallError> {
        let value = value.into();
        self.ask_entry(|reply| Entry::Value(value, Some(reply)), timeout).await
    }

    async fn ask_entry(
        &self,
        entry: impl FnOnce(Reply) -> Entry,
        timeout: Duration,
    ) -> Result<AnyValue, CallError> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.reach()?.deliver(entry(reply))?;
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(result)) => result.map_err(CallError::Failed),
            Ok(Err(_)) => Err(CallError::Dead(self.name().to_owned())),
            Err(_) => Err(CallError::Timeout(timeout)),
        }
    }

    /// Asks the actor to stop, without waiting; `false` when it is not running.
    pub fn request_stop(&self) -> bool {
        self.reach().is_ok_and(|cell| cell.push(Entry::StopRequest, true).is_ok())
    }

    /// Stops the actor and its children and waits until it is completely down.
    ///
    /// What is queued is handled first. `Ok(false)` when it was already down. On timeout the stop
    /// request stays queued and the actor's cancellation token fires.
    pub async fn stop(&self, timeout: Duration) -> Result<bool, CallError> {
        let Some(cell) = self.cell() else { return Ok(false) };
        let asked = cell.is_alive() && cell.push(Entry::StopRequest, true).is_ok();
        if tokio::time::timeout(timeout, cell.wait_down()).await.is_err() {
            cell.cancel.cancel();
            return Err(CallError::Timeout(timeout));
        }
        Ok(asked)
    }

    /// Ends the actor without handling what is queued: its turn is cancelled, its waiting mail is
    /// closed in the ledger, its children stop, and it goes.
    ///
    /// Waits until it is down, at most `timeout`; it goes on stopping when that is not enough.
    /// `Ok(false)` when it was already down.
    pub async fn dismiss(&self, timeout: Duration) -> Result<bool, CallError> {
        let Some(cell) = self.cell().filter(|cell| cell.is_alive()) else { return Ok(false) };
        cell.cancel.cancel();
        let waiting = cell.inbox.lock().consume_all();
        for message in waiting {
            cell.telemetry(HandledMessage { message_id: message.id });
        }
        self.stop(timeout).await
    }

    /// Waits until `on_start` has ended; its error, when it failed.
    pub async fn wait_started(&self, timeout: Duration) -> Result<(), CallError> {
        let cell = self.reach()?;
        match tokio::time::timeout(timeout, cell.wait_started()).await {
            Ok(()) => cell.start_error().map_or(Ok(()), |error| Err(CallError::Failed(error))),
            Err(_) => Err(CallError::Timeout(timeout)),
        }
    }
}
