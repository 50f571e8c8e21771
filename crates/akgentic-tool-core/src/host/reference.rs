//! A tool host as its callers see it.

use std::time::Duration;

use akgentic_core::{ActorRef, CallError, CreateError, Orchestrator};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::requests::{
    CallTool, ContextUpdate, DispatchCommand, GetDescriptors, GetOffers, GetSystemPrompts,
    HostOffers, ListTools, ResetContext,
};
use super::{ToolHost, ToolHostConfig};
use crate::commands::DispatchOutcome;
use crate::content::Content;
use crate::context::highest_marker;
use crate::error::ToolError;
use crate::events::CommandDescriptor;
use crate::observer::Capabilities;
use crate::tool::{ToolCall, ToolDefinition};

impl ToolHost {
    /// Creates a host in a team and waits until its cards are bound.
    ///
    /// `capabilities` is what its cards may ask of it, such as a model.
    pub async fn create_in(
        team: &ActorRef<Orchestrator>,
        config: ToolHostConfig,
        capabilities: Capabilities,
    ) -> Result<ToolHostRef, CreateError> {
        let make = move |_: &ToolHostConfig| Ok(Self::new(capabilities));
        let host = team.create_actor_with::<Self>(config, make).await?;
        let name = host.address().name().to_owned();
        match host.address().wait_started(START_TIMEOUT).await {
            Ok(()) => Ok(ToolHostRef { host }),
            Err(CallError::Failed(error)) => {
                host.address().request_stop();
                Err(CreateError::Start { name, error })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// How long binding the cards of a host may take.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A [`ToolHost`] as its callers see it; cheap to clone, does not keep the host alive.
#[derive(Clone, Debug)]
pub struct ToolHostRef {
    host: ActorRef<ToolHost>,
}

impl ToolHostRef {
    /// The host that `host` names.
    pub fn new(host: ActorRef<ToolHost>) -> Self {
        Self { host }
    }

    /// The actor.
    pub fn actor(&self) -> &ActorRef<ToolHost> {
        &self.host
    }

    /// The definitions of all tools, in order. The first call connects toolsets.
    pub async fn tools(&self) -> Result<Vec<ToolDefinition>, ToolError> {
        self.host.ask(ListTools).await?.wait().await
    }

    /// Runs a tool on JSON arguments, which are checked as those of a model would be.
    ///
    /// An unknown tool and arguments that do not fit are retriable. Dropping the future cancels
    /// the call.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Content, ToolError> {
        self.call_with(name, arguments, ToolCall::default()).await
    }

    /// The same with a cancellation token and a deadline.
    pub async fn call_with(
        &self,
        name: &str,
        arguments: Value,
        call: ToolCall,
    ) -> Result<Content, ToolError> {
        self.host.ask(CallTool { name: name.to_owned(), arguments, call }).await?.wait().await
    }

    /// Runs what a person typed. Dropping the future cancels the command.
    pub async fn dispatch(&self, text: &str) -> Result<DispatchOutcome, ToolError> {
        self.host.ask(DispatchCommand(text.to_owned())).await?.wait().await
    }

    /// The commands, as a front end shows them.
    pub async fn descriptors(&self) -> Result<Vec<CommandDescriptor>, ToolError> {
        Ok(self.host.ask(GetDescriptors).await?)
    }

    /// The next context update, given the texts the caller showed and still shows.
    pub fn context_update<'a>(
        &self,
        shown: impl IntoIterator<Item = &'a str>,
    ) -> BoxFuture<'static, Result<Option<String>, ToolError>> {
        let visible = shown.into_iter().map(highest_marker).max().unwrap_or(0);
        self.context_update_after(visible)
    }

    /// The next context update, given the highest update number still shown.
    pub fn context_update_after(
        &self,
        visible: i64,
    ) -> BoxFuture<'static, Result<Option<String>, ToolError>> {
        let host = self.host.clone();
        Box::pin(async move { host.ask(ContextUpdate(visible)).await?.wait().await })
    }

    /// Forgets what was told in context updates.
    pub async fn reset_context(&self) -> Result<(), ToolError> {
        Ok(self.host.ask(ResetContext).await?)
    }

    /// The system prompts, rendered.
    pub async fn system_prompts(&self) -> Result<Vec<String>, ToolError> {
        self.host.ask(GetSystemPrompts).await?.wait().await
    }

    /// What the cards offer, by name, and what they ask for in vain.
    pub async fn offers(&self) -> Result<HostOffers, ToolError> {
        Ok(self.host.ask(GetOffers).await?)
    }

    /// Stops the host and waits until it is down; calls that run are cut off.
    pub async fn stop(&self, timeout: Duration) -> Result<(), CallError> {
        self.host.address().stop(timeout).await.map(drop)
    }
}
