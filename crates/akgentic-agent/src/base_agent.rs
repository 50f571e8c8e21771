//! The agent: takes messages, lets its model work on them, sends what comes out.

use std::sync::Arc;

use akgentic_core::message::CancelMessage;
use akgentic_core::state::StateSlot;
use akgentic_core::wire::AnyValue;
use akgentic_core::{
    Actor, ActorAddress, ActorError, Context, Handle, Handlers, Message, Outcome, agent_type,
};
use akgentic_llm::UsageSummary;
use akgentic_team::HireMember;

use crate::agent::LlmAgent;
use crate::config::AgentConfig;
use crate::message::AgentMessage;
use crate::requests::{ListModels, SummarizeUsage, SwitchModel};
use crate::setup::AgentSetup;

/// An LLM agent of a team.
///
/// A message becomes a prompt, the model works with the tools of the agent's cards, and its output
/// is a list of messages, each sent to a member or to a newly hired one. There is no call stack and
/// no automatic reply: the model chooses who gets what.
#[derive(Debug)]
pub struct BaseAgent(LlmAgent);
agent_type!(BaseAgent = "akgentic.agent.agent.BaseAgent", aliases: ["akgentic.agent.BaseAgent"]);

impl Actor for BaseAgent {
    type Config = AgentConfig;

    fn create(_: &AgentConfig) -> Result<Self, ActorError> {
        Ok(Self(LlmAgent::default()))
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers
            .on::<AgentMessage>(|this, message, ctx| Box::pin(this.0.agent_message(message, ctx)));
        handlers.on::<CancelMessage>(|_, _, ctx| {
            tracing::debug!(agent = %ctx.name(), "there is no run to cancel");
            Box::pin(async { Ok(Outcome::done()) })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        self.0.start(AgentSetup::default(), ctx).await
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        self.0.state()
    }

    async fn restore(&mut self, events: Vec<AnyValue>, _: &mut Context) -> Result<(), ActorError> {
        self.0.restore(&events);
        Ok(())
    }

    async fn resume_turn(
        &mut self,
        message: Arc<Message>,
        ctx: &mut Context,
    ) -> Result<bool, ActorError> {
        self.0.resume_turn(&message, ctx).await
    }

    async fn on_stop(&mut self, _: &mut Context) -> Result<(), ActorError> {
        self.0.stop().await;
        Ok(())
    }
}

impl Handle<SummarizeUsage> for BaseAgent {
    type Reply = UsageSummary;

    async fn handle(
        &mut self,
        request: SummarizeUsage,
        ctx: &mut Context,
    ) -> Result<UsageSummary, ActorError> {
        self.0.engine(ctx).await?.usage_summary(request.by_run, ctx).await
    }
}

impl Handle<ListModels> for BaseAgent {
    type Reply = Vec<crate::ModelEntry>;

    async fn handle(
        &mut self,
        _: ListModels,
        ctx: &mut Context,
    ) -> Result<Vec<crate::ModelEntry>, ActorError> {
        Ok(self.0.engine(ctx).await?.models().rows())
    }
}

impl Handle<SwitchModel> for BaseAgent {
    type Reply = String;

    async fn handle(
        &mut self,
        request: SwitchModel,
        ctx: &mut Context,
    ) -> Result<String, ActorError> {
        Ok(self.0.engine(ctx).await?.switch_model(&request.key)?)
    }
}

/// The program that made the team hires for the agent, before or between its turns; the rules are those
/// of the agent's team card.
impl Handle<HireMember> for BaseAgent {
    type Reply = ActorAddress;

    async fn handle(
        &mut self,
        request: HireMember,
        ctx: &mut Context,
    ) -> Result<ActorAddress, ActorError> {
        Ok(self.0.engine(ctx).await?.hire(request).await?)
    }
}
