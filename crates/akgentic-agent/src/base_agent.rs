//! The agent: takes messages, lets its model work on them, sends what comes out.

use akgentic_core::state::StateSlot;
use akgentic_core::wire::AnyValue;
use akgentic_core::{Actor, ActorError, Context, Handlers, Outcome, Typed, agent_type};
use akgentic_llm::OutputSpec;

use crate::config::AgentConfig;
use crate::engine::{Engine, notify_human};
use crate::message::AgentMessage;
use crate::output::StructuredOutput;
use crate::routing::route;

/// An LLM agent of a team.
///
/// A message becomes a prompt, the model works with the tools of the agent's cards, and its output
/// is a list of messages, each sent to a member or to a newly hired one. There is no call stack and
/// no automatic reply: the model chooses who gets what.
#[derive(Debug)]
pub struct BaseAgent {
    life: Life,
}
agent_type!(BaseAgent = "akgentic.agent.agent.BaseAgent", aliases: ["akgentic.agent.BaseAgent"]);

#[derive(Debug)]
enum Life {
    Starting,
    Running(Box<Engine>),
    /// Its start failed; the human is told with the first message.
    Failed {
        error: ActorError,
        told: bool,
    },
}

impl Actor for BaseAgent {
    type Config = AgentConfig;

    fn create(_: &AgentConfig) -> Result<Self, ActorError> {
        Ok(Self { life: Life::Starting })
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers
            .on::<AgentMessage>(|this, message, ctx| Box::pin(this.agent_message(message, ctx)));
        handlers.on::<akgentic_core::message::CancelMessage>(|_, _, ctx| {
            tracing::debug!(agent = %ctx.name(), "there is no run to cancel");
            Box::pin(async { Ok(Outcome::done()) })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        let started = match ctx.config_as::<AgentConfig>().cloned() {
            Some(config) => Engine::start(&config, ctx).await,
            None => Err(ActorError::new("StartFailed", "an agent is configured by AgentConfig")),
        };
        match started {
            Ok(engine) => {
                self.life = Life::Running(Box::new(engine));
                Ok(())
            }
            Err(error) => {
                self.life = Life::Failed { error: error.clone(), told: false };
                Err(error)
            }
        }
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        match &mut self.life {
            Life::Running(engine) => Some(engine.state()),
            Life::Starting | Life::Failed { .. } => None,
        }
    }

    async fn restore(&mut self, events: Vec<AnyValue>, _: &mut Context) -> Result<(), ActorError> {
        if let Life::Running(engine) = &mut self.life {
            engine.restore(&events);
        }
        Ok(())
    }

    async fn on_stop(&mut self, _: &mut Context) -> Result<(), ActorError> {
        if let Life::Running(engine) = &mut self.life {
            engine.stop().await;
        }
        Ok(())
    }
}

impl BaseAgent {
    async fn agent_message(
        &mut self,
        message: Typed<AgentMessage>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        let engine = match &mut self.life {
            Life::Running(engine) => engine,
            Life::Failed { error, told } => {
                let error = error.clone();
                if !std::mem::replace(told, true) {
                    let text = format!("{} did not start and cannot work: {error}", ctx.name());
                    notify_human(ctx, &text).await;
                }
                return Err(error);
            }
            Life::Starting => {
                return Err(ActorError::new("StartFailed", "the agent has not started"));
            }
        };
        let content = message.body().content.as_str();
        tracing::debug!(agent = %ctx.name(), sender = ?message.sender, length = content.len(), "message");
        if content.starts_with('/') && engine.command(content, message.sender.as_ref(), ctx).await?
        {
            return Ok(Outcome::done());
        }
        let output =
            engine.act(message.message(), &OutputSpec::of::<StructuredOutput>(), ctx).await?;
        let output: StructuredOutput = output.parse()?;
        route(engine, output, ctx).await?;
        Ok(Outcome::done())
    }
}
