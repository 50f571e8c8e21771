//! A worked example of a second agent type: it triages incidents and hands the rest off.

use std::sync::Arc;

use akgentic_core::message;
use akgentic_core::message::CancelMessage;
use akgentic_core::state::StateSlot;
use akgentic_core::wire::{AnyValue, no_addresses};
use akgentic_core::{Actor, ActorError, Context, Handlers, Message, Outcome, Typed, agent_type};
use akgentic_llm::run::ModelStep;
use akgentic_llm::{Hook, HookFuture, RunContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::LlmAgent;
use crate::config::AgentConfig;
use crate::message::{AgentMessage, Intent, LlmRenderable};
use crate::output::AgentOutput;
use crate::routing::{Membership, resolve_recipient};
use crate::setup::AgentSetup;

/// An incident to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriageMessage {
    /// What happened.
    pub incident: String,
    /// Who noticed.
    #[serde(default = "nobody")]
    pub reported_by: String,
}
message!(TriageMessage = "akgentic.agent.custom_agent.TriageMessage",
    aliases: ["akgentic.agent.TriageMessage"],
    content: incident, facets: [dyn LlmRenderable], snapshot: no_addresses);

fn nobody() -> String {
    "unknown".to_owned()
}

impl LlmRenderable for TriageMessage {
    fn rendering(&self, _: &Message) -> String {
        let Self { incident, reported_by } = self;
        format!(
            "Incident reported by {reported_by}:\n\n{incident}\n\n\
             Assess how severe it is, sum it up in one line, and hand off what has to be done."
        )
    }
}

/// How bad an incident is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It can wait.
    #[default]
    Low,
    /// It should be dealt with today.
    Medium,
    /// It is to be dealt with now.
    High,
}

/// What a triage gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriageOutput {
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// The incident in one line.
    #[serde(default)]
    pub summary: String,
    /// Who has to do what.
    #[serde(default)]
    pub handoffs: Vec<Handoff>,
}

/// A task for somebody else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handoff {
    /// The exact @Name of a member, or a role to hire for it.
    pub recipient: String,
    /// What it has to do.
    pub task: String,
}

/// Every field has a default, so an interrupted triage hands nothing off and fails nothing.
impl AgentOutput for TriageOutput {
    fn default_output() -> Option<Self> {
        Some(Self::default())
    }
}

/// An agent that triages incidents beside what every agent does.
///
/// It shows all there is to an agent type with messages of its own: the message renders itself, the
/// handler puts it before the model with an output of its own and sends what comes out. Limits,
/// interruptions and the agent's other messages need nothing here.
#[derive(Debug)]
pub struct CustomAgent(LlmAgent);
agent_type!(CustomAgent = "akgentic.agent.custom_agent.CustomAgent",
    aliases: ["akgentic.agent.CustomAgent"]);

impl Actor for CustomAgent {
    type Config = AgentConfig;

    fn create(_: &AgentConfig) -> Result<Self, ActorError> {
        Ok(Self(LlmAgent::default()))
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<TriageMessage>(|this, message, ctx| Box::pin(this.triage(message, ctx)));
        handlers
            .on::<AgentMessage>(|this, message, ctx| Box::pin(this.0.agent_message(message, ctx)));
        handlers.on::<CancelMessage>(|_, _, _| Box::pin(async { Ok(Outcome::done()) }));
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        let agent = ctx.name().to_owned();
        self.0.start(AgentSetup::default().hook(LogRequests { agent }), ctx).await
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

impl CustomAgent {
    async fn triage(
        &mut self,
        message: Typed<TriageMessage>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        let engine = self.0.engine(ctx).await?;
        let output: TriageOutput = engine.act(message.message(), ctx).await?;
        tracing::info!(severity = ?output.severity, summary = %output.summary, "triaged");
        for Handoff { recipient, task } in output.handoffs {
            match resolve_recipient(&Membership { engine, ctx }, &recipient).await {
                Ok(Some(member)) => {
                    ctx.send(&member, AgentMessage::new(Intent::Request, task))?;
                }
                Ok(None) => tracing::warn!(recipient, "nobody has this name; not handed off"),
                Err(error) => tracing::warn!(recipient, %error, "not handed off"),
            }
        }
        Ok(Outcome::done())
    }
}

/// Logs every request to the model.
struct LogRequests {
    agent: String,
}

impl Hook for LogRequests {
    fn before_model_request<'a>(
        &'a self,
        run: &'a RunContext,
        step: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        tracing::debug!(
            agent = self.agent, run = %run.run_id, step = run.steps, messages = step.messages.len(),
            "the model is asked"
        );
        Box::pin(async { Ok(()) })
    }
}
