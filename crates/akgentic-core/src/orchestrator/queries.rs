//! What can be asked of an orchestrator.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use uuid::Uuid;

use super::subscriber::{Subscriber, TeamData, tell_all};
use super::{HistoryFilter, Orchestrator, TeamView};
use crate::actor::{Actor, Handle};
use crate::address::ActorAddress;
use crate::card::AgentCard;
use crate::config::AnyConfig;
use crate::context::Context;
use crate::error::{ActorError, CallError};
use crate::message::{EventMessage, Message, TeamStoppingEvent};
use crate::spawn::{CreateError, Newborn, Spawner};
use crate::state::AnyState;
use crate::typed::ActorRef;
use crate::wire::{AnyValue, Record};

/// Work done by the orchestrator itself, between two messages.
struct Query<F>(F);

impl<F, R> Handle<Query<F>> for Orchestrator
where
    F: FnOnce(&mut Self, &mut Context) -> R + Send + 'static,
    R: Send + 'static,
{
    type Reply = R;

    async fn handle(&mut self, query: Query<F>, ctx: &mut Context) -> Result<R, ActorError> {
        Ok((query.0)(self, ctx))
    }
}

/// A team's stop on its way.
#[derive(Clone, Debug)]
pub struct Stopping {
    stopped: watch::Receiver<bool>,
}

impl Stopping {
    /// Waits until the team is completely down, at the latest about its grace after the request.
    pub async fn wait(mut self) {
        // An orchestrator that is gone has stopped.
        let _down = self.stopped.wait_for(|stopped| *stopped).await.is_ok();
    }

    /// Whether the team is down.
    pub fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }
}

/// The record as subscribers see it: without live addresses.
fn shown(record: &Arc<dyn Record>) -> Arc<dyn Record> {
    record.snapshot().unwrap_or_else(|| Arc::clone(record))
}

/// What a stop may take beyond its grace, for the last records and for subscribers.
const SLACK: Duration = Duration::from_secs(2);

impl ActorRef<Orchestrator> {
    async fn query<F, R>(&self, query: F) -> Result<R, CallError>
    where
        F: FnOnce(&mut Orchestrator, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.ask(Query(query)).await
    }

    /// What can be read without asking; `None` before the orchestrator has started.
    pub fn view(&self) -> Option<Arc<TeamView>> {
        self.address().cell()?.team_view()
    }

    /// Members in order of their first start, tool actors included, the orchestrator not.
    pub async fn get_team(&self) -> Result<Arc<[ActorAddress]>, CallError> {
        self.query(|team, _| team.view.members()).await
    }

    /// The first member with exactly this name.
    pub async fn get_team_member(&self, name: &str) -> Result<Option<ActorAddress>, CallError> {
        let name = name.to_owned();
        self.query(move |team, _| team.view.member(&name)).await
    }

    /// Recorded messages that pass `filter`, in order.
    pub async fn get_messages(
        &self,
        filter: HistoryFilter,
    ) -> Result<Vec<Arc<Message>>, CallError> {
        self.query(move |team, _| team.history.select(&filter)).await
    }

    /// The messages that led to the one with this id, itself first; see [`History::line`].
    ///
    /// [`History::line`]: crate::orchestrator::History::line
    pub async fn get_message_line(
        &self,
        id: Uuid,
        most: usize,
    ) -> Result<Vec<Arc<Message>>, CallError> {
        self.query(move |team, _| team.history.line(id, most)).await
    }

    /// Recorded events, of one member or one payload type when given; see [`HistoryFilter`].
    pub async fn get_events(
        &self,
        agent_id: Option<Uuid>,
        event_type: Option<&'static str>,
    ) -> Result<Vec<Arc<Message>>, CallError> {
        use crate::wire::WireType as _;
        let message_type = Some(EventMessage::PATH);
        self.get_messages(HistoryFilter { sender: agent_id, message_type, event_type }).await
    }

    /// The last published state of every member.
    pub async fn get_states(&self) -> Result<Vec<(Uuid, AnyState)>, CallError> {
        self.query(|team, _| team.states.iter().map(|(id, state)| (*id, state.clone())).collect())
            .await
    }

    /// The team's metadata record.
    pub async fn get_metadata(&self) -> Result<Option<Arc<dyn Record>>, CallError> {
        self.query(|team, _| team.view.metadata()).await
    }

    /// Replaces the team's metadata record; `None` clears it. Nothing is announced.
    pub async fn set_metadata(&self, metadata: Option<Arc<dyn Record>>) -> Result<(), CallError> {
        self.query(move |team, _| {
            let shown = metadata.as_ref().map(shown);
            tell_all(&team.subscribers, "on_team_data", |subscriber| {
                subscriber.on_team_data(TeamData::Metadata(shown.as_ref()))
            });
            team.view.lock().metadata = metadata;
        })
        .await
    }

    /// Adds an agent card; one with a known role replaces it.
    pub async fn register_agent_profile(&self, card: AgentCard) -> Result<(), CallError> {
        self.register_agent_profiles(vec![card]).await
    }

    /// Adds agent cards in order.
    pub async fn register_agent_profiles(&self, cards: Vec<AgentCard>) -> Result<(), CallError> {
        let cards: Vec<Arc<AgentCard>> = cards.into_iter().map(Arc::new).collect();
        self.query(move |team, _| {
            tell_all(&team.subscribers, "on_team_data", |subscriber| {
                subscriber.on_team_data(TeamData::Profiles(&cards))
            });
            let mut view = team.view.lock();
            for card in cards {
                view.catalog.register(card);
            }
        })
        .await
    }

    /// All agent cards, in the order in which their roles came.
    pub async fn get_agent_catalog(&self) -> Result<Vec<Arc<AgentCard>>, CallError> {
        self.query(|team, _| team.view.cards()).await
    }

    /// The card of a role.
    pub async fn get_agent_profile(&self, role: &str) -> Result<Option<Arc<AgentCard>>, CallError> {
        let role = role.to_owned();
        self.query(move |team, _| team.view.card(&role)).await
    }

    /// Cards with a skill.
    pub async fn get_profiles_by_skill(
        &self,
        skill: &str,
    ) -> Result<Vec<Arc<AgentCard>>, CallError> {
        let skill = skill.to_owned();
        self.query(move |team, _| team.view.lock().catalog.with_skill(&skill)).await
    }

    /// Roles with a card, in order.
    pub async fn get_available_roles(&self) -> Result<Vec<String>, CallError> {
        self.query(|team, _| team.view.lock().catalog.roles()).await
    }

    /// Skills of all cards, sorted.
    pub async fn get_available_skills(&self) -> Result<Vec<String>, CallError> {
        self.query(|team, _| team.view.lock().catalog.skills()).await
    }

    /// Adds a subscriber; it sees what is recorded from now on.
    pub async fn subscribe(&self, subscriber: Arc<dyn Subscriber>) -> Result<(), CallError> {
        self.query(move |team, _| {
            let (cards, metadata) = (team.view.cards(), team.view.metadata().as_ref().map(shown));
            let one = [Arc::clone(&subscriber)];
            if !cards.is_empty() {
                tell_all(&one, "on_team_data", |one| one.on_team_data(TeamData::Profiles(&cards)));
            }
            if metadata.is_some() {
                let metadata = TeamData::Metadata(metadata.as_ref());
                tell_all(&one, "on_team_data", |one| one.on_team_data(metadata));
            }
            team.subscribers.push(subscriber);
        })
        .await
    }

    /// Removes a subscriber, once; an unknown one is no error.
    pub async fn unsubscribe(&self, subscriber: Arc<dyn Subscriber>) -> Result<(), CallError> {
        self.query(move |team, _| {
            let same = |known: &Arc<dyn Subscriber>| Arc::ptr_eq(known, &subscriber);
            if let Some(at) = team.subscribers.iter().position(same) {
                team.subscribers.remove(at);
            }
        })
        .await
    }

    /// The live direct child with the name of `config`, or a new actor of type `A`.
    ///
    /// Only the name is compared: the first creator's configuration wins. Concurrent callers get
    /// one actor. Fails with [`CallError::WrongActorType`] when the child is of another type.
    pub async fn get_children_or_create<A: Actor>(
        &self,
        config: A::Config,
    ) -> Result<ActorRef<A>, CreateError> {
        self.get_children_or_create_with(config, A::create).await
    }

    /// The same with a constructor of its own, for actors that hold more than data.
    pub async fn get_children_or_create_with<A: Actor>(
        &self,
        config: A::Config,
        make: impl FnOnce(&A::Config) -> Result<A, ActorError> + Send + 'static,
    ) -> Result<ActorRef<A>, CreateError> {
        let newborn = Newborn::of::<A>(config, make);
        let child = self.query(|team, ctx| team.child_or_create(newborn, ctx)).await??;
        Ok(ActorRef::new(&child)?)
    }

    /// The same for the registered class at `class`.
    pub async fn get_children_or_create_of(
        &self,
        class: &str,
        config: AnyConfig,
    ) -> Result<ActorAddress, CreateError> {
        let newborn = Spawner::of_class(class)?.newborn(&config)?;
        self.query(|team, ctx| team.child_or_create(newborn, ctx)).await?
    }

    /// Creates a member of the team below the orchestrator.
    pub async fn create_actor<A: Actor>(
        &self,
        config: A::Config,
    ) -> Result<ActorRef<A>, CreateError> {
        self.query(|team, ctx| team.joining(ctx.create_actor::<A>(config))).await?
    }

    /// Creates a member from a value made by `make`, for actors that hold more than data.
    pub async fn create_actor_with<A: Actor>(
        &self,
        config: A::Config,
        make: impl FnOnce(&A::Config) -> Result<A, ActorError> + Send + 'static,
    ) -> Result<ActorRef<A>, CreateError> {
        self.query(|team, ctx| team.joining(ctx.create_actor_with::<A>(config, make))).await?
    }

    /// Creates a member and waits until it has started; a failing start is the error.
    pub async fn create_and_wait<A: Actor>(
        &self,
        config: A::Config,
    ) -> Result<ActorRef<A>, CreateError> {
        let child = self.create_actor::<A>(config).await?;
        let timeout = self.address().reach()?.ask_timeout();
        match child.address().wait_started(timeout).await {
            Ok(()) => Ok(child),
            Err(CallError::Failed(error)) => {
                Err(CreateError::Start { name: child.address().name().to_owned(), error })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a member of the registered class at `class`.
    pub async fn create_actor_of(
        &self,
        class: &str,
        config: AnyConfig,
    ) -> Result<ActorAddress, CreateError> {
        let class = class.to_owned();
        self.query(move |team, ctx| {
            let child = ctx.create_actor_of(&class, &config)?;
            team.joined(&child);
            Ok(child)
        })
        .await?
    }

    /// Keeps a name for a member that is about to be created; `false` when it is taken.
    ///
    /// The reservation ends when a member of that name starts, or with [`Self::release_name`].
    pub async fn reserve_name(&self, name: &str) -> Result<bool, CallError> {
        let name = name.to_owned();
        self.query(move |team, _| team.reserve(&name)).await
    }

    /// Keeps `prefix` with the first free number from `number` on as the name of a member that is
    /// about to be created; see [`Self::reserve_name`].
    pub async fn reserve_numbered_name(
        &self,
        prefix: &str,
        number: u32,
    ) -> Result<String, CallError> {
        let prefix = prefix.to_owned();
        self.query(move |team, _| {
            let mut names = (number..).map(|number| format!("{prefix}{number}"));
            names.find(|name| team.reserve(name)).unwrap_or(prefix)
        })
        .await
    }

    /// Gives up a reserved name.
    pub async fn release_name(&self, name: &str) -> Result<(), CallError> {
        let name = name.to_owned();
        self.query(move |team, _| {
            team.reserved.remove(&name);
        })
        .await
    }

    /// Records a message of the orchestrator and shows it to the subscribers; nobody handles it.
    pub async fn emit_message(&self, message: impl Into<Message>) -> Result<(), CallError> {
        let message = message.into();
        self.query(move |team, ctx| team.emit(message, ctx)).await
    }

    /// Records a message of an earlier life of the team and shows it to the subscribers.
    ///
    /// The announcement of that life's stop is skipped.
    pub async fn restore_message(&self, message: Arc<Message>) -> Result<(), CallError> {
        self.query(move |team, ctx| team.restore_message(&message, ctx)).await
    }

    /// Puts a live member in place of the address that the replayed records hold of it.
    pub(crate) async fn rejoin(&self, member: ActorAddress) -> Result<(), CallError> {
        self.query(move |team, _| team.view.lock().roster.started(member)).await
    }

    /// Records a message as it stands, on behalf of a member, and shows it to the subscribers.
    pub(crate) async fn record_for(&self, message: Message) -> Result<(), CallError> {
        self.query(move |team, ctx| {
            let message = Arc::new(message);
            team.record(&message, ctx);
            team.fan_out(&message);
        })
        .await
    }

    /// Tells the subscribers that what follows happened before, or no longer.
    pub async fn set_restoring(&self, restoring: bool) -> Result<(), CallError> {
        self.query(move |team, ctx| {
            team.restoring = restoring;
            let team_id = ctx.team_id();
            tell_all(&team.subscribers, "set_restoring", |subscriber| {
                subscriber.set_restoring(team_id, restoring)
            });
        })
        .await
    }

    /// Ends a restoration.
    pub async fn end_restoration(&self) -> Result<(), CallError> {
        self.query(|team, _| team.restoring = false).await
    }

    /// Asks the team to stop and gives back at once; see [`Stopping::wait`].
    ///
    /// Everyone but the tool actors is told first, then the tool actors, each in reverse order of
    /// creation. After `grace` the team ends with whoever is left abandoned. A second request
    /// joins the first.
    pub async fn begin_stop(&self, grace: Duration) -> Result<Stopping, CallError> {
        let query = Query(move |team: &mut Orchestrator, ctx: &mut Context| {
            team.begin_stop(grace, ctx);
            Stopping { stopped: team.stopped.subscribe() }
        });
        self.ask_control(query, grace + SLACK).await
    }

    /// Stops the team and waits until it is down; a team that is down already is no error.
    ///
    /// Takes a little longer than `grace` at the most. [`CallError::Timeout`] means that the
    /// orchestrator itself does not come forward, because one of its subscribers blocks it.
    pub async fn stop(&self, grace: Duration) -> Result<(), CallError> {
        let stop = async {
            match self.begin_stop(grace).await {
                Ok(stopping) => {
                    stopping.wait().await;
                    Ok(())
                }
                Err(CallError::Dead(_)) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let longest = grace + SLACK;
        tokio::time::timeout(longest, stop).await.unwrap_or(Err(CallError::Timeout(longest)))
    }
}

impl Orchestrator {
    fn child_or_create(
        &mut self,
        newborn: Newborn,
        ctx: &Context,
    ) -> Result<ActorAddress, CreateError> {
        let name = &newborn.base.name;
        let mut children = ctx.children().into_iter();
        if let Some(child) = children.find(|child| child.name() == name && child.is_alive()) {
            return Ok(child);
        }
        let child = ctx.adopt(newborn)?;
        self.joined(&child);
        Ok(child)
    }

    fn joining<A: Actor>(
        &mut self,
        child: Result<ActorRef<A>, CreateError>,
    ) -> Result<ActorRef<A>, CreateError> {
        if let Ok(child) = &child {
            self.joined(child.address());
        }
        child
    }

    fn reserve(&mut self, name: &str) -> bool {
        self.view.member(name).is_none() && self.reserved.insert(name.to_owned())
    }

    fn restore_message(&mut self, message: &Arc<Message>, ctx: &Context) {
        if is_stop_announcement(message) {
            return;
        }
        self.record(message, ctx);
        self.fan_out(message);
    }
}

/// Whether a message says that its team is about to stop.
pub(crate) fn is_stop_announcement(message: &Message) -> bool {
    let event = message.body::<EventMessage>();
    event.is_some_and(|event| match &event.event {
        AnyValue::Record(record) => record.as_any().is::<TeamStoppingEvent>(),
        _ => false,
    })
}
