//! An agent type with a message and an output of its own: an incident is triaged, and what has to be
//! done is handed off, to a member and to somebody hired for it.
//!
//! `akgentic::agent::CustomAgent` is the type; its source is the worked example for types of your own.

#[path = "../shared.rs"]
mod shared;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use akgentic::agent::{CustomAgent, Handoff, Severity, TriageMessage, TriageOutput};
use akgentic::core::message::{ErrorMessage, ProcessedMessage, SentMessage, StartMessage};
use akgentic::core::orchestrator::Watched;
use akgentic::llm::{FunctionModel, ModelInput, RequestPart};
use akgentic::prelude::*;
use anyhow::{Context as _, bail};
use clap::Parser;
use shared::say;
use tokio::sync::watch;

/// An agent triages an incident.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// What happened.
    #[arg(default_value = "The disk of the build machine is full and nothing can be released.")]
    incident: String,
    /// Who noticed.
    #[arg(long, default_value = "Bo")]
    reporter: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    shared::log_to_stderr();
    shared::exit("custom_agent", run(Arguments::parse()).await)
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let system = ActorSystem::new();
    provide_models(&system, Lines);
    let team = system.create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())?;
    let (show, mut ended) = Show::new();
    team.subscribe(show).await?;
    let writer = AgentConfig::new("", "Writer", "You write what people have to know.");
    let card = AgentCard::new("akgentic.agent.BaseAgent", "Writes notices", writer)?;
    team.register_agent_profile(card).await?;

    let human = team.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await?;
    let ops = AgentConfig::new("@Ops", "Operator", "You keep machines running.");
    team.create_and_wait::<BaseAgent>(ops).await?;
    let triage = AgentConfig::new("@Triage", "Triage", "You assess incidents and hand them off.");
    let triage = team.create_and_wait::<CustomAgent>(triage).await?;

    let incident = TriageMessage { incident: arguments.incident, reported_by: arguments.reporter };
    say!("@Human reports: {}", incident.incident);
    human.address().send(triage.address(), incident)?;
    let done = ended.wait_for(|ended| ended.answers == 2 || ended.failed.is_some());
    let done = tokio::time::timeout(Duration::from_secs(30), done).await;
    let ended = done.context("nobody answered within 30 seconds")??.clone();
    team.stop(Duration::from_secs(10)).await?;
    system.shutdown(Duration::from_secs(5)).await;
    match ended.failed {
        Some(reason) => bail!("the team failed: {reason}"),
        None => Ok(()),
    }
}

/// What the agents say: a model in words of one program.
struct Lines;

impl ModelSource for Lines {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let role = agent.role().to_owned();
        Ok(Arc::new(FunctionModel::text(move |input| match role.as_str() {
            "Triage" => triage(&latest_prompt(input)),
            _ => answer(&role),
        })))
    }
}

fn latest_prompt(input: &ModelInput) -> String {
    let parts = input.messages.iter().filter_map(|message| message.as_request());
    let mut prompts = parts.flat_map(|request| &request.parts).filter_map(|part| match part {
        RequestPart::UserPrompt(prompt) => Some(prompt.content.text()),
        _ => None,
    });
    prompts.next_back().unwrap_or_default()
}

fn triage(prompt: &str) -> String {
    let urgent = ["full", "down", "lost", "fire"].iter().any(|word| prompt.contains(word));
    let handoff = |recipient: &str, task: &str| Handoff {
        recipient: recipient.to_owned(),
        task: task.to_owned(),
    };
    let output = TriageOutput {
        severity: if urgent { Severity::High } else { Severity::Low },
        summary: "Releases are blocked.".to_owned(),
        handoffs: vec![
            handoff("@Ops", "Make room on the machine and tell @Human."),
            handoff("Writer", "Write a notice for everybody and send it to @Human."),
        ],
    };
    serde_json::to_string(&output).unwrap_or_default()
}

fn answer(role: &str) -> String {
    let text = match role {
        "Operator" => "Room was made; releases go on.",
        _ => "Notice: releases were blocked for a while and go on now.",
    };
    let message =
        serde_json::json!({"message_type": "response", "recipient": "@Human", "message": text});
    serde_json::json!({"messages": [message]}).to_string()
}

/// What came of it.
#[derive(Clone, Debug, Default)]
struct Ended {
    answers: usize,
    failed: Option<String>,
}

/// Prints who joins and what is said.
struct Show {
    ended: watch::Sender<Ended>,
}

impl Show {
    fn new() -> (Arc<Self>, watch::Receiver<Ended>) {
        let (ended, watched) = watch::channel(Ended::default());
        (Arc::new(Self { ended }), watched)
    }
}

impl Subscriber for Show {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        let Some(sender) = &message.sender else { return Ok(()) };
        if let Some(start) = message.body::<StartMessage>() {
            let parent = start.parent.as_ref().map_or("", |parent| parent.name());
            say!("{} ({}) joins, below {parent}", sender.name(), sender.role());
        } else if let Some(sent) = message.body::<SentMessage>() {
            if let Some(said) = sent.message.body::<AgentMessage>() {
                let kind = said.intent.as_str();
                say!("{} → {} [{kind}]: {}", sender.name(), sent.recipient.name(), said.content);
            }
        } else if let Some(error) = message.body::<ErrorMessage>() {
            let reason = format!("{}: {}", sender.name(), error.notification.content);
            self.ended.send_modify(|ended| ended.failed = Some(reason));
        } else if message.body::<ProcessedMessage>().is_some() && sender.name() == "@Human" {
            self.ended.send_modify(|ended| ended.answers += 1);
        }
        Ok(())
    }
}
