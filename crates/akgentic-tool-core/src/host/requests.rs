//! What can be asked of a tool host.

use std::time::Duration;

use akgentic_core::{ActorError, Context, Handle};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ToolHost;
use crate::card::Offers;
use crate::commands::DispatchOutcome;
use crate::content::Content;
use crate::error::ToolError;
use crate::events::CommandDescriptor;
use crate::params::BindWarning;
use crate::tool::{Tool, ToolCall, ToolDefinition};

/// Request: the definitions of all tools, in order; toolsets are connected for it.
#[derive(Clone, Copy, Debug)]
pub struct ListTools;

/// Request: run a tool on JSON arguments.
#[derive(Clone, Debug)]
pub struct CallTool {
    /// The tool.
    pub name: String,
    /// Its arguments, checked as those of a model would be.
    pub arguments: Value,
    /// Cancellation and deadline.
    pub call: ToolCall,
}

/// Request: run what a person typed; it is cut off after [`COMMAND_BUDGET`].
#[derive(Clone, Debug)]
pub struct DispatchCommand(pub String);

/// Request: the commands, as a front end shows them.
#[derive(Clone, Copy, Debug)]
pub struct GetDescriptors;

/// Request: what the cards offer, by name.
#[derive(Clone, Copy, Debug)]
pub struct GetOffers;

/// What the cards of a host offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOffers {
    /// The cards in binding order.
    pub cards: Vec<&'static str>,
    /// The names offered on each channel; toolsets stand for their tools.
    pub offers: Offers,
    /// Channels that cards ask for in vain.
    pub warnings: Vec<BindWarning>,
}

/// Request: the next context update, given the highest update number the caller still shows.
#[derive(Clone, Copy, Debug)]
pub struct ContextUpdate(pub i64);

/// Request: forget what was told in context updates.
#[derive(Clone, Copy, Debug)]
pub struct ResetContext;

/// Request: the system prompts, rendered.
#[derive(Clone, Copy, Debug)]
pub struct GetSystemPrompts;

/// How long a host may take for what is no call of a tool or a command.
const HOUSEKEEPING_BUDGET: Duration = Duration::from_mins(2);

/// How long a command may take; then it fails as a call whose deadline passed.
pub const COMMAND_BUDGET: Duration = Duration::from_mins(10);

fn housekeeping() -> ToolCall {
    until(HOUSEKEEPING_BUDGET)
}

fn until(budget: Duration) -> ToolCall {
    ToolCall::until((Instant::now() + budget).into_std())
}

/// Request: publish the state if it changed.
pub(super) struct Checkpoint;

/// Work that a host does beside others; wait for it with [`Hosted::wait`].
///
/// Dropping it cancels the work.
#[derive(Debug)]
#[must_use = "dropping it cancels the work"]
pub struct Hosted<T> {
    receiver: oneshot::Receiver<Result<T, ToolError>>,
    cancel: DropGuard,
}

/// A running call of a tool.
pub type HostedCall = Hosted<Content>;

impl<T> Hosted<T> {
    pub(super) fn new(
        receiver: oneshot::Receiver<Result<T, ToolError>>,
        cancel: CancellationToken,
    ) -> Self {
        Self { receiver, cancel: cancel.drop_guard() }
    }

    /// Waits for the work; [`ToolError::Fatal`] when the host stops first.
    pub async fn wait(self) -> Result<T, ToolError> {
        let result = self.receiver.await;
        drop(self.cancel.disarm());
        result.unwrap_or_else(|_| Err(ToolError::fatal("the tool host has stopped")))
    }
}

impl Handle<ListTools> for ToolHost {
    type Reply = Hosted<Vec<ToolDefinition>>;

    async fn handle(&mut self, _: ListTools, ctx: &mut Context) -> Result<Self::Reply, ActorError> {
        let hosting = self.hosting()?;
        self.run(ctx, housekeeping(), async move {
            let connected = hosting.connected().await?;
            Ok(connected.tools.iter().map(Tool::definition).cloned().collect())
        })
    }
}

impl Handle<CallTool> for ToolHost {
    type Reply = HostedCall;

    async fn handle(
        &mut self,
        call: CallTool,
        ctx: &mut Context,
    ) -> Result<HostedCall, ActorError> {
        let hosting = self.hosting()?;
        let CallTool { name, arguments, call } = call;
        let call = ToolCall { cancel: call.cancel.child_token(), ..call };
        let inner = call.clone();
        self.run(ctx, call, async move { hosting.tool(&name).await?.call(arguments, inner).await })
    }
}

impl Handle<DispatchCommand> for ToolHost {
    type Reply = Hosted<DispatchOutcome>;

    async fn handle(
        &mut self,
        command: DispatchCommand,
        ctx: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        let hosting = self.hosting()?;
        self.run(ctx, until(COMMAND_BUDGET), async move {
            Ok(hosting.tools.commands().dispatch(&command.0).await)
        })
    }
}

impl Handle<GetDescriptors> for ToolHost {
    type Reply = Vec<CommandDescriptor>;

    async fn handle(
        &mut self,
        _: GetDescriptors,
        _: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        Ok(self.hosting()?.tools.commands().descriptors().to_vec())
    }
}

impl Handle<GetOffers> for ToolHost {
    type Reply = HostOffers;

    async fn handle(&mut self, _: GetOffers, _: &mut Context) -> Result<Self::Reply, ActorError> {
        let hosting = self.hosting()?;
        let tools = &hosting.tools;
        Ok(HostOffers {
            cards: tools.cards().to_vec(),
            offers: tools.offers(),
            warnings: tools.warnings().to_vec(),
        })
    }
}

impl Handle<ContextUpdate> for ToolHost {
    type Reply = Hosted<Option<String>>;

    async fn handle(
        &mut self,
        update: ContextUpdate,
        ctx: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        let hosting = self.hosting()?;
        self.run(ctx, housekeeping(), async move {
            Ok(hosting.tools.updater().compose_update(update.0).await)
        })
    }
}

impl Handle<ResetContext> for ToolHost {
    type Reply = ();

    async fn handle(&mut self, _: ResetContext, ctx: &mut Context) -> Result<(), ActorError> {
        self.hosting()?.tools.updater().reset();
        ctx.publish(self.state.notify_if_changed());
        Ok(())
    }
}

impl Handle<GetSystemPrompts> for ToolHost {
    type Reply = Hosted<Vec<String>>;

    async fn handle(
        &mut self,
        _: GetSystemPrompts,
        ctx: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        let hosting = self.hosting()?;
        self.run(
            ctx,
            housekeeping(),
            async move { Ok(hosting.tools.render_system_prompts().await) },
        )
    }
}
