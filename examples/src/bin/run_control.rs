//! A person steers an agent that is at work: writes to it in the middle of a run, cancels a run,
//! and sees what becomes of work that reaches a limit.

#[path = "../shared.rs"]
mod shared;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use akgentic::core::message::{
    ErrorMessage, HandledMessage, ReceivedMessage, SentMessage, WarningMessage,
};
use akgentic::core::orchestrator::Watched;
use akgentic::llm::{
    AgentUsageLimits, LlmEvent, ModelMessage, Outcome, RequestPart, RunUsageLimits, ToolCallEvent,
};
use akgentic::prelude::*;
use akgentic::tool::BoxFuture;
use anyhow::bail;
use clap::Parser;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared::say;
use tokio::sync::{Semaphore, watch};

const SCENARIO: &str = include_str!("../../scenarios/run_control.yaml");

/// A person steers an agent that is at work.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// How many seconds each act may take.
    #[arg(long, default_value_t = 30)]
    timeout: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    shared::log_to_stderr();
    shared::exit("run_control", run(&Arguments::parse()).await)
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let system = ActorSystem::new();
    provide_models(&system, Script(Scenario::parse(SCENARIO)?));
    let site = Arc::new(Site::default());
    system.provide(Arc::clone(&site));
    let team = system.create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())?;
    let heard = watch::Sender::new(0);
    let answers = heard.subscribe();
    team.subscribe(Arc::new(Show { heard })).await?;
    let human = team.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await?;

    let mut surveyor = AgentConfig::new("@Surveyor", "Surveyor", "You survey a garden.");
    surveyor.run_usage_limits =
        RunUsageLimits { run_request_limit: Some(4), ..RunUsageLimits::default() };
    surveyor.agent_usage_limits =
        AgentUsageLimits { agent_request_limit: Some(4), ..AgentUsageLimits::default() };
    let surveyor = surveyor.with_tool(GardenTool {});
    team.create_and_wait::<BaseAgent>(surveyor).await?;

    let limit = Duration::from_secs(arguments.timeout);
    let mut garden = Garden { human, site, answers, told: 0, limit };
    let played = garden.play().await;
    team.stop(Duration::from_secs(10)).await?;
    system.shutdown(Duration::from_secs(5)).await;
    played
}

/// The acts, one after the other.
struct Garden {
    human: ActorRef<HumanProxy>,
    site: Arc<Site>,
    /// How many messages the person got.
    answers: watch::Receiver<usize>,
    told: usize,
    limit: Duration,
}

impl Garden {
    async fn play(&mut self) -> anyhow::Result<()> {
        say!("== Mail in the middle of a run");
        self.says("How long is the fence?").await?;
        self.work_begins().await?;
        self.says("And the gate, how wide is it?").await?;
        self.work_ends(2);
        self.answers(2).await?;
        self.work_begins().await?;

        say!("\n== A run is cancelled");
        self.work_ends(1);
        self.says("Please dig for water.").await?;
        self.work_begins().await?;
        self.work_begins().await?;
        self.says("/stop it, please").await?;
        self.answers(1).await?;
        self.says("/stop it, please").await?;
        self.answers(1).await?;

        say!("\n== A run reaches its limit");
        self.work_ends(4);
        self.says("Measure every tree.").await?;
        self.answers(1).await?;

        say!("\n== The agent's budget is spent");
        self.says("Measure every tree once more.").await?;
        self.answers(1).await
    }

    async fn says(&self, content: &str) -> anyhow::Result<()> {
        let says = HumanSays { to: "@Surveyor".to_owned(), content: content.to_owned() };
        if !self.human.ask(says).await? {
            bail!("there is no @Surveyor");
        }
        Ok(())
    }

    /// Waits until a tool is at work.
    async fn work_begins(&self) -> anyhow::Result<()> {
        match tokio::time::timeout(self.limit, self.site.begun.acquire()).await {
            Ok(begun) => begun?.forget(),
            Err(_) => bail!("no tool was called within {} s", self.limit.as_secs()),
        }
        Ok(())
    }

    /// Lets tools end.
    fn work_ends(&self, count: usize) {
        self.site.may_end.add_permits(count);
    }

    /// Waits until the person got so many more messages.
    async fn answers(&mut self, more: usize) -> anyhow::Result<()> {
        self.told += more;
        let told = self.told;
        let heard = self.answers.wait_for(|heard| *heard >= told);
        match tokio::time::timeout(self.limit, heard).await {
            Ok(heard) => heard.map(drop)?,
            Err(_) => bail!("no answer within {} s", self.limit.as_secs()),
        }
        Ok(())
    }
}

/// The agent speaks the lines of its role.
struct Script(Scenario);

impl ModelSource for Script {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let model = self.0.model(agent.role()).map_err(|error| error.to_string())?;
        Ok(Arc::new(model))
    }
}

/// Where tools meet the program, so that its acts come in order.
#[derive(Debug)]
struct Site {
    begun: Semaphore,
    may_end: Semaphore,
}

impl Default for Site {
    fn default() -> Self {
        Self { begun: Semaphore::new(0), may_end: Semaphore::new(0) }
    }
}

/// A card with two tools of a garden.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct GardenTool {}
tool_card!(GardenTool = "run_control.GardenTool");

/// What to look at.
#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    /// The place.
    place: String,
}

impl ToolCard for GardenTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let mut bound = BoundCard::new();
            let site = observer.get::<Site>()?;
            let there = Arc::clone(&site);
            bound.tools.push(Tool::new(
                "survey",
                "Measures a place.",
                move |look: Place, _: ToolCall| {
                    let site = Arc::clone(&there);
                    async move {
                        site.begun.add_permits(1);
                        site.may_end.acquire().await.map_err(ToolError::fatal)?.forget();
                        Ok::<_, ToolError>(format!("{} is 12 m long", look.place))
                    }
                },
            ));
            bound.tools.push(Tool::new("dig", "Digs.", move |(): (), call: ToolCall| {
                site.begun.add_permits(1);
                async move {
                    // It ends when it is told to; one that did not would be cut off after a second.
                    call.cancel.cancelled().await;
                    Ok::<_, ToolError>("stopped at half a metre")
                }
            }));
            Ok(bound)
        })
    }
}

/// Prints what happens.
struct Show {
    heard: watch::Sender<usize>,
}

impl Show {
    fn returns(agent: &str, message: &ModelMessage) {
        let ModelMessage::Request(request) = message else { return };
        for part in &request.parts {
            if let RequestPart::ToolReturn(part) = part {
                let how = match part.outcome {
                    Outcome::Success => "gave",
                    Outcome::Interrupted => "was interrupted",
                    _ => "failed",
                };
                say!("  {agent} {} {how}: {}", part.tool_name, part.content.to_text());
            }
        }
    }
}

impl Subscriber for Show {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        let Some(sender) = &message.sender else { return Ok(()) };
        let name = sender.name();
        if let Some(sent) = message.body::<SentMessage>() {
            let Some(said) = sent.message.body::<AgentMessage>() else { return Ok(()) };
            say!("{name} → {} [{}] {}", sent.recipient.name(), said.intent.as_str(), said.content);
            if sent.recipient.is_user_proxy() {
                self.heard.send_modify(|heard| *heard += 1);
            }
        } else if message.body::<ReceivedMessage>().is_some() && !sender.is_user_proxy() {
            say!("  {name} begins a turn");
        } else if message.body::<HandledMessage>().is_some() {
            say!("  {name} takes a message out of its inbox");
        } else if let Some(event) = message.body::<EventMessage>() {
            if let Some(call) = event.event.downcast::<ToolCallEvent>() {
                say!("  {name} calls {}", call.tool_name);
            } else if let Some(LlmEvent::Message(event)) = LlmEvent::from_value(&event.event) {
                Self::returns(name, &event.message);
            }
        } else if let Some(error) = message.body::<ErrorMessage>() {
            say!("! {name}: {}", error.notification.content);
        } else if let Some(warning) = message.body::<WarningMessage>() {
            say!("! {name}: {}", warning.notification.content);
        }
        Ok(())
    }
}
