//! The member that stands for a person.

use std::sync::Arc;

use crate::actor::{Actor, Handle};
use crate::address::ActorAddress;
use crate::agent_type;
use crate::config::BaseConfig;
use crate::context::Context;
use crate::dispatch::{Handlers, Outcome};
use crate::error::ActorError;
use crate::message::{Message, ResultMessage, UserMessage};

/// A person in the team: takes messages, and sends what the person answers.
///
/// A front end sees the messages through the orchestrator's records; the proxy only logs them.
#[derive(Debug)]
pub struct UserProxy;
agent_type!(UserProxy = "akgentic.core.user_proxy.UserProxy",
    aliases: ["akgentic.core.UserProxy"]);

/// Request: the person answers `message` with `content`.
#[derive(Clone, Debug)]
pub struct HumanInput {
    /// What the person wrote.
    pub content: String,
    /// The message the person answers; its sender gets the answer.
    pub message: Arc<Message>,
}

impl HumanInput {
    /// Who gets the answer, found in the team when the message came from a subscriber.
    pub fn recipient(&self, ctx: &Context) -> Result<ActorAddress, ActorError> {
        let Some(sender) = &self.message.sender else {
            return Err(ActorError::new("ValueError", "the message to answer has no sender"));
        };
        ctx.resolve(sender).ok_or_else(|| {
            ActorError::new("ValueError", format!("{} has left the team", sender.name()))
        })
    }
}

impl Actor for UserProxy {
    type Config = BaseConfig;

    const IS_USER_PROXY: bool = true;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, message, ctx| {
            tracing::info!(agent = %ctx.name(), length = message.body().content.len(), "user message");
            Box::pin(async { Ok(Outcome::done()) })
        });
    }
}

impl Handle<HumanInput> for UserProxy {
    type Reply = ();

    async fn handle(&mut self, input: HumanInput, ctx: &mut Context) -> Result<(), ActorError> {
        let recipient = input.recipient(ctx)?;
        ctx.send(&recipient, ResultMessage { content: input.content })?;
        Ok(())
    }
}
