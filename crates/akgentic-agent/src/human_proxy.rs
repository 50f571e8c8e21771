//! The member that stands for a person among agents.

use akgentic_core::{
    Actor, ActorError, BaseConfig, Context, Handle, Handlers, HumanInput, Outcome, agent_type,
};

use crate::message::{AgentMessage, Intent};

/// A person in a team of agents.
///
/// What agents send to it is recorded for front ends to show; what the person answers goes to the
/// sender of the message answered.
#[derive(Debug)]
pub struct HumanProxy;
agent_type!(HumanProxy = "akgentic.agent.human_proxy.HumanProxy",
    aliases: ["akgentic.agent.HumanProxy"]);

/// Request: the person writes to a member of its own accord.
#[derive(Clone, Debug)]
pub struct HumanSays {
    /// Name of the member.
    pub to: String,
    /// What the person writes.
    pub content: String,
}

impl Actor for HumanProxy {
    type Config = BaseConfig;

    const IS_USER_PROXY: bool = true;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<AgentMessage>(|_, message, ctx| {
            let AgentMessage { intent, content } = message.body();
            let kind = intent.as_str();
            tracing::info!(human = %ctx.name(), sender = ?message.sender, kind, length = content.len());
            Box::pin(async { Ok(Outcome::done()) })
        });
    }
}

impl Handle<HumanInput> for HumanProxy {
    type Reply = ();

    async fn handle(&mut self, input: HumanInput, ctx: &mut Context) -> Result<(), ActorError> {
        let recipient = input.recipient(ctx)?;
        ctx.set_current_message(Some(input.message));
        let sent = ctx.send(&recipient, AgentMessage::new(Intent::Response, input.content));
        ctx.set_current_message(None);
        sent?;
        Ok(())
    }
}

impl Handle<HumanSays> for HumanProxy {
    /// Whether there is such a member.
    type Reply = bool;

    async fn handle(&mut self, says: HumanSays, ctx: &mut Context) -> Result<bool, ActorError> {
        let Some(member) = ctx.team()?.get_team_member(&says.to).await? else { return Ok(false) };
        ctx.send(&member, AgentMessage::new(Intent::Request, says.content))?;
        Ok(true)
    }
}
