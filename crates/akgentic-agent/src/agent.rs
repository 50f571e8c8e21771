//! A whole LLM agent but its actor type: what types with messages of their own hold.

use akgentic_core::state::StateSlot;
use akgentic_core::wire::AnyValue;
use akgentic_core::{ActorError, Context, Message, Outcome, Typed};
use akgentic_mailbox::asks_to_stop;

use crate::config::AgentConfig;
use crate::engine::Engine;
use crate::human::notify_human;
use crate::message::AgentMessage;
use crate::output::StructuredOutput;
use crate::resume::{report_interrupted, resume_said};
use crate::routing::route;
use crate::setup::AgentSetup;

/// The life of an LLM agent: it starts, works, comes back after a restart, stops.
///
/// An actor type holds one and hands its calls on; see [`CustomAgent`](crate::CustomAgent) for a whole
/// example. An agent whose start failed answers every message with that failure, and the human is told once.
#[derive(Debug, Default)]
pub struct LlmAgent {
    life: Life,
}

#[derive(Debug, Default)]
enum Life {
    #[default]
    Starting,
    Running(Box<Engine>),
    /// Its start failed; the human is told with the first message.
    Failed {
        error: ActorError,
        told: bool,
    },
}

impl LlmAgent {
    /// Starts the agent: what an actor does in `on_start`. Its configuration has to be an
    /// [`AgentConfig`].
    pub async fn start(&mut self, setup: AgentSetup, ctx: &mut Context) -> Result<(), ActorError> {
        let started = match ctx.config_as::<AgentConfig>().cloned() {
            Some(config) => Engine::start(&config, setup, ctx).await,
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

    /// The inside of the agent, or why there is none; the human is told about that once.
    pub async fn engine(&mut self, ctx: &Context) -> Result<&mut Engine, ActorError> {
        match &mut self.life {
            Life::Running(engine) => Ok(engine),
            Life::Failed { error, told } => {
                let error = error.clone();
                if !std::mem::replace(told, true) {
                    let text = format!("{} did not start and cannot work: {error}", ctx.name());
                    notify_human(ctx, &text).await;
                }
                Err(error)
            }
            Life::Starting => Err(ActorError::new("StartFailed", "the agent has not started")),
        }
    }

    /// Handles what a member says: `/` text is run as a command, everything else is put before the
    /// model and its output is routed.
    pub async fn agent_message(
        &mut self,
        message: Typed<AgentMessage>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        let content = message.body().content.as_str();
        let kind = message.class_name();
        tracing::debug!(agent = %ctx.name(), kind, sender = ?message.sender, length = content.len(), "message");
        let engine = self.engine(ctx).await?;
        let is_line = content.starts_with('/') || asks_to_stop(content);
        if is_line && engine.command(content, message.sender.as_ref(), ctx).await? {
            return Ok(Outcome::done());
        }
        let output: StructuredOutput = engine.act(message.message(), ctx).await?;
        route(engine, output, ctx).await?;
        Ok(Outcome::done())
    }

    /// The published state: what an actor gives in `state`.
    pub fn state(&mut self) -> Option<&mut dyn StateSlot> {
        match &mut self.life {
            Life::Running(engine) => Some(engine.state()),
            Life::Starting | Life::Failed { .. } => None,
        }
    }

    /// Takes back what was announced before a restart: what an actor does in `restore`.
    pub fn restore(&mut self, events: &[AnyValue]) {
        if let Life::Running(engine) = &mut self.life {
            engine.restore(events);
        }
    }

    /// Brings a cut-off turn to its end, when its output is on record: what an actor does in
    /// `resume_turn`. Of any other turn the model and the human are told that its effects are
    /// unknown, and it gives `false`.
    pub async fn resume_turn(
        &mut self,
        message: &Message,
        ctx: &mut Context,
    ) -> Result<bool, ActorError> {
        let Life::Running(engine) = &mut self.life else { return Ok(false) };
        if message.body::<AgentMessage>().is_some() {
            return resume_said(engine, message, ctx).await;
        }
        report_interrupted(engine, message, ctx).await?;
        Ok(false)
    }

    /// Lets go of everything: what an actor does in `on_stop`.
    pub async fn stop(&mut self) {
        if let Life::Running(engine) = &mut self.life {
            engine.stop().await;
        }
    }
}
