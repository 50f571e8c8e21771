//! Bringing a team back from its log.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::open_work::{MemberRecord, OpenMessage, OpenWork};
use super::read::LogContents;
use crate::address::ActorAddress;
use crate::cell::{Call, Entry, Memory};
use crate::context::Context;
use crate::error::{ActorError, CallError};
use crate::message::{
    HandledMessage, Message, NotificationMessage, ProcessedMessage, StopMessage, WarningMessage,
};
use crate::orchestrator::{Orchestrator, Subscriber, is_tool_actor};
use crate::runner::{Hosted, guarded};
use crate::spawn::{CreateError, Spawner};
use crate::system::{ActorSystem, Origin};
use crate::typed::ActorRef;
use crate::wire::{AddressResolver, LoadError, hydrate_message};

/// Names of workers that live for one job; they are not brought back.
const WORKERS: [&str; 2] = ["#defer-", "#embed-"];

/// Why a team was not brought back at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The orchestrator could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The orchestrator does not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A message to deliver once more could not be read back.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A team or actor with this identity is running.
    #[error("{0} is running already")]
    Running(String),
}

/// What bringing a team back came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Names of the members that are back.
    pub members: Vec<String>,
    /// Members that could not be created or started again, and why.
    pub failed: Vec<(String, String)>,
    /// Workers whose job died with the team.
    pub workers_ended: Vec<String>,
    /// Messages delivered once more because nobody had looked at them.
    pub redelivered: Vec<Uuid>,
    /// Messages whose turn was cut off; they are closed, not handled again.
    pub interrupted: Vec<Uuid>,
    /// Messages whose turn was cut off and brought to its end by the member itself.
    pub resumed: Vec<Uuid>,
    /// Messages closed because their recipient is gone.
    pub undeliverable: Vec<Uuid>,
}

/// A team that is back.
#[derive(Clone, Debug)]
pub struct RestoredTeam {
    /// Its orchestrator, with its old identity.
    pub team: ActorRef<Orchestrator>,
    /// What was done.
    pub report: RestoreReport,
}

/// Brings a team back from its records: same identities, states, history; open work dealt with.
///
/// Subscribers, such as the log that goes on, see the old records between two calls of
/// `set_restoring`. A message whose turn was cut off is closed with a warning; one that nobody had
/// looked at is delivered once more under its old id.
pub async fn restore_team(
    system: &ActorSystem,
    log: &LogContents,
    subscribers: Vec<Arc<dyn Subscriber>>,
) -> Result<RestoredTeam, RestoreError> {
    let header = &log.header;
    let orchestrator = &header.orchestrator;
    if system.get_actor(orchestrator.agent_id()).is_some() {
        return Err(RestoreError::Running(orchestrator.name().to_owned()));
    }
    let newborn =
        Spawner::of::<Orchestrator>().newborn(&header.config)?.with_memory(Memory::default());
    let origin = Origin {
        agent_id: Some(orchestrator.agent_id()),
        team_id: Some(orchestrator.team_id()),
        user_id: header.user_id.clone(),
        user_email: header.user_email.clone(),
    };
    let team = ActorRef::<Orchestrator>::new(&system.spawn_root(newborn, origin)?)?;
    let mut restored =
        Restored { team, live: Arc::default(), report: RestoreReport::default(), is_whole: false };
    for subscriber in subscribers {
        restored.team.subscribe(subscriber).await?;
    }
    restored.restore(log).await?;
    restored.release();
    restored.is_whole = true;
    Ok(RestoredTeam { team: restored.team.clone(), report: std::mem::take(&mut restored.report) })
}

/// Half a team is of no use: when bringing it back fails or is given up, what is there goes again.
impl Drop for Restored {
    fn drop(&mut self) {
        if !self.is_whole {
            self.release();
            self.team.address().request_stop();
        }
    }
}

struct Restored {
    team: ActorRef<Orchestrator>,
    live: Arc<HashMap<Uuid, ActorAddress>>,
    report: RestoreReport,
    is_whole: bool,
}

impl Restored {
    async fn restore(&mut self, log: &LogContents) -> Result<(), RestoreError> {
        self.team.set_restoring(true).await?;
        for message in &log.messages {
            self.team.restore_message(Arc::clone(message)).await?;
        }
        self.team.register_agent_profiles(log.profiles.clone()).await?;
        self.team.set_metadata(log.metadata.clone()).await?;
        let open = OpenWork::of(&log.messages, self.team.address().agent_id());
        let ended = self.members(open.members).await?;
        self.resolve_states();
        self.team.end_restoration().await?;
        self.team.set_restoring(false).await?;
        for worker in ended {
            self.record_for(&worker, None, StopMessage {}).await?;
        }
        for message in open.messages {
            self.open_message(message).await?;
        }
        Ok(())
    }

    /// Creates the members again; gives back those that are not created again.
    ///
    /// The orchestrator's tool actors come first, so that a member that wants one while it starts
    /// finds it.
    async fn members(
        &mut self,
        members: Vec<MemberRecord>,
    ) -> Result<Vec<ActorAddress>, RestoreError> {
        let root = self.team.address().agent_id();
        let (tools, others): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| {
            is_tool_actor(member.address.name())
                && member.parent.is_none_or(|parent| parent == root)
        });
        let mut ended = Vec::new();
        for member in tools.into_iter().chain(others) {
            let name = member.address.name().to_owned();
            if WORKERS.iter().any(|prefix| name.starts_with(prefix)) {
                self.report.workers_ended.push(name);
                ended.push(member.address);
                continue;
            }
            let address = member.address.clone();
            match self.member(member).await {
                Ok((live, started)) => {
                    self.team.rejoin(live.clone()).await?;
                    Arc::make_mut(&mut self.live).insert(live.agent_id(), live);
                    match started {
                        Ok(()) => self.report.members.push(name),
                        // It is there and answers with its error, as after a failed first start.
                        Err(error) => self.report.failed.push((name, error.to_string())),
                    }
                }
                Err(error) => {
                    tracing::error!(member = %name, %error, "the member was not restored");
                    self.report.failed.push((name, error.to_string()));
                    ended.push(address);
                }
            }
        }
        Ok(ended)
    }

    /// Creates a member; also says how its start went.
    async fn member(
        &self,
        member: MemberRecord,
    ) -> Result<(ActorAddress, Result<(), CallError>), CreateError> {
        let spawner = Spawner::of_class(&member.address.info().actor_type)?;
        let memory = Memory { state: member.state, events: member.events };
        let newborn = spawner
            .newborn(&member.config)?
            .with_agent_id(Some(member.address.agent_id()))
            .with_memory(memory);
        let parent = member.parent.and_then(|parent| self.live.get(&parent));
        let parent = parent.unwrap_or_else(|| self.team.address()).reach()?;
        let timeout = parent.ask_timeout();
        let address = Context::new(parent).adopt(newborn)?;
        let started = address.wait_started(timeout).await;
        Ok((address, started))
    }

    /// Puts running members in place of the snapshots that restored states hold.
    fn resolve_states(&self) {
        for member in self.live.values() {
            let call = Entry::Call(Box::new(ResolveState(self.resolver())));
            if member.cell().is_none_or(|cell| cell.push(call, true).is_err()) {
                tracing::debug!(%member, "it went while its team was restored");
            }
        }
    }

    fn resolver(&self) -> AddressResolver {
        let (own, live) = (self.team.address().clone(), Arc::clone(&self.live));
        Arc::new(move |address| {
            if own == *address {
                return Ok(own.clone());
            }
            let live = live.get(&address.agent_id()).cloned();
            Ok(live.unwrap_or_else(|| ActorAddress::stopped(address.info().clone())))
        })
    }

    async fn open_message(&mut self, open: OpenMessage) -> Result<(), RestoreError> {
        match open {
            OpenMessage::Interrupted { message, message_id, member } => {
                let resumed = match &message {
                    Some(message) => self.resume(message, &member).await,
                    None => false,
                };
                self.record_for(&member, Some(message_id), ProcessedMessage { message_id }).await?;
                if resumed {
                    self.report.resumed.push(message_id);
                    return Ok(());
                }
                self.report.interrupted.push(message_id);
                let notification = NotificationMessage {
                    content_type: Some("InterruptedTurn".to_owned()),
                    content: "the team ended in the middle of this turn; its effects are unknown"
                        .to_owned(),
                    current_message: message,
                };
                self.record_for(&member, None, WarningMessage { notification }).await?;
            }
            OpenMessage::Undelivered { message, recipient } => {
                let message_id = message.id;
                let team = Some(self.team.address()).filter(|team| **team == recipient);
                let live = team.or_else(|| self.live.get(&recipient.agent_id()));
                let cell = live.and_then(ActorAddress::cell);
                let delivered = match cell {
                    Some(cell) => {
                        let message = Arc::new(hydrate_message(&message, self.resolver())?);
                        cell.push(Entry::Message(message, None), true).is_ok()
                    }
                    None => false,
                };
                if delivered {
                    self.report.redelivered.push(message_id);
                } else {
                    self.report.undeliverable.push(message_id);
                    self.record_for(&recipient, None, HandledMessage { message_id }).await?;
                }
            }
        }
        Ok(())
    }

    /// Lets a member bring its cut-off turn to an end; whether it did.
    async fn resume(&self, message: &Arc<Message>, member: &ActorAddress) -> bool {
        let Some(cell) = self.live.get(&member.agent_id()).and_then(ActorAddress::cell) else {
            return false;
        };
        let message = match hydrate_message(message, self.resolver()) {
            Ok(message) => Arc::new(message),
            Err(error) => {
                tracing::warn!(%member, %error, "a cut-off turn cannot be resumed");
                return false;
            }
        };
        let (reply, resumed) = oneshot::channel();
        let entry = Entry::Call(Box::new(ResumeTurn { message, reply }));
        if cell.push(entry, true).is_err() {
            return false;
        }
        if let Ok(resumed) = tokio::time::timeout(cell.ask_timeout(), resumed).await {
            return resumed.unwrap_or(false);
        }
        tracing::warn!(%member, "a cut-off turn was not resumed in time");
        false
    }

    async fn record_for(
        &self,
        member: &ActorAddress,
        parent: Option<Uuid>,
        message: impl Into<Message>,
    ) -> Result<(), RestoreError> {
        let sender = self.live.get(&member.agent_id()).unwrap_or(member);
        let mut message = message.into();
        message.stamp(sender.clone(), self.team.address().team_id(), parent);
        Ok(self.team.record_for(message).await?)
    }

    /// Lets everybody handle mail.
    fn release(&self) {
        for address in std::iter::once(self.team.address()).chain(self.live.values()) {
            if let Some(cell) = address.cell() {
                cell.release();
            }
        }
    }
}

/// Has an actor bring a cut-off turn to its end, whatever its type.
struct ResumeTurn {
    message: Arc<Message>,
    reply: oneshot::Sender<bool>,
}

impl Call for ResumeTurn {
    fn run<'a>(
        self: Box<Self>,
        actor: &'a mut dyn Hosted,
        ctx: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move {
            let Self { message, reply } = *self;
            ctx.set_current_message(Some(Arc::clone(&message)));
            let resumed = guarded(actor.resume_turn(message, ctx)).await;
            ctx.set_current_message(None);
            // whoever restores the team may have given up
            let _answered = reply.send(*resumed.as_ref().unwrap_or(&false)).is_ok();
            resumed.map(drop)
        })
    }
}

/// Resolves the addresses in the state of an actor, whatever its type.
struct ResolveState(AddressResolver);

impl Call for ResolveState {
    fn run<'a>(
        self: Box<Self>,
        actor: &'a mut dyn Hosted,
        _: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), ActorError>> {
        Box::pin(async move {
            match actor.state() {
                Some(state) => state.resolve_addresses(self.0),
                None => Ok(()),
            }
        })
    }
}
