//! A person asks a manager about a folder; the manager hires an analyst who reads it, writes a
//! report into it and answers; the manager answers the person.

#![expect(clippy::print_stderr, reason = "a program tells its failures")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use akgentic::core::log::{EventLog, Fsync};
use akgentic::core::message::{
    ErrorMessage, ProcessedMessage, ReceivedMessage, SentMessage, StartMessage, WarningMessage,
};
use akgentic::core::orchestrator::Watched;
use akgentic::llm::{HttpClientConfig, LlmUsageEvent, ToolCallEvent, ToolReturnEvent};
use akgentic::prelude::*;
use anyhow::{Context as _, bail};
use clap::Parser;
use tokio::sync::watch;

const SCENARIO: &str = include_str!("../../scenarios/simple_team.yaml");

/// Prints a line; that nobody reads it any more is no failure.
macro_rules! say {
    ($($text:tt)*) => {
        let _printed = writeln!(std::io::stdout(), $($text)*).is_ok();
    };
}

/// A team of agents reports on a folder.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The folder to report on; `team-report.md` is written into it.
    #[arg(default_value_os_t = default_folder())]
    folder: PathBuf,
    /// What the person asks.
    #[arg(long, default_value = "What is in this folder? Please have it looked at and report.")]
    ask: String,
    /// Keeps the team's records in this file.
    #[arg(long)]
    log: Option<PathBuf>,
    /// A real model instead of the script, such as `anthropic:claude-sonnet-4-5`; its key comes
    /// from the environment.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<ModelConfig>,
    /// How many seconds the team may take; 60, or 600 with a real model.
    #[arg(long)]
    timeout: Option<u64>,
}

fn default_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"))
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("simple_team: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let folder = arguments
        .folder
        .canonicalize()
        .with_context(|| format!("there is no folder {}", arguments.folder.display()))?;
    if !folder.is_dir() {
        bail!("{} is no folder", folder.display());
    }
    let system = ActorSystem::new();
    match &arguments.model {
        None => provide_models(&system, Script(Scenario::parse(SCENARIO)?)),
        Some(model) => {
            let providers = Providers::from_env();
            // what is missing is told before anybody is hired
            providers.model(model, &HttpClientConfig::default())?;
            provide_models(&system, providers);
        }
    }

    let team = system.create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())?;
    let (show, mut outcome) = Show::new();
    team.subscribe(Arc::clone(&show) as Arc<dyn Subscriber>).await?;
    if let Some(path) = &arguments.log {
        if path.exists() {
            bail!("{} exists; give the records a file of their own", path.display());
        }
        team.subscribe(Arc::new(EventLog::for_team(path, &team, Fsync::Never)?)).await?;
    }
    let result = work(&team, &arguments, &folder, &mut outcome).await;
    team.stop(Duration::from_secs(10)).await?;
    system.shutdown(Duration::from_secs(5)).await;
    show.table();
    result
}

/// Sets the team up, asks, and waits for the answer.
async fn work(
    team: &ActorRef<Orchestrator>,
    arguments: &Arguments,
    folder: &std::path::Path,
    outcome: &mut watch::Receiver<Outcome>,
) -> anyhow::Result<()> {
    let mut manager = AgentConfig::new(
        "@Manager",
        "Manager",
        "You lead a team. Hire who is needed, hand the work out, and answer the person who asked.",
    );
    let mut analyst = AgentConfig::new(
        "",
        "Analyst",
        "You read the files of a folder with your tools and write down what you find.",
    )
    .with_tool(WorkspaceTool::at(folder));
    if let Some(model) = &arguments.model {
        manager.model_cfg = model.clone();
        analyst.model_cfg = model.clone();
    }
    let mut manager_card =
        AgentCard::new("akgentic.agent.BaseAgent", "Leads the team", manager.clone())?;
    manager_card.routes_to = Some(vec!["Analyst".to_owned()]);
    let mut analyst_card =
        AgentCard::new("akgentic.agent.BaseAgent", "Reads files and reports on them", analyst)?;
    analyst_card.skills = vec!["files".to_owned(), "reports".to_owned()];
    team.register_agent_profiles(vec![manager_card, analyst_card]).await?;

    let human = team.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await?;
    team.create_and_wait::<BaseAgent>(manager).await?;
    human.ask(HumanSays { to: "@Manager".to_owned(), content: arguments.ask.clone() }).await?;

    let limit = arguments.timeout.unwrap_or(if arguments.model.is_some() { 600 } else { 60 });
    let ended = outcome.wait_for(|outcome| *outcome != Outcome::Open);
    let outcome = match tokio::time::timeout(Duration::from_secs(limit), ended).await {
        Ok(outcome) => outcome?.clone(),
        Err(_) => bail!("no answer within {limit} seconds"),
    };
    match outcome {
        Outcome::Failed(reason) => bail!("the team failed: {reason}"),
        Outcome::Answered | Outcome::Open => Ok(()),
    }
}

/// Every agent speaks the lines of its role.
struct Script(Scenario);

impl ModelSource for Script {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let model = self.0.model(agent.role()).map_err(|error| error.to_string())?;
        Ok(Arc::new(model))
    }
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 200;
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(SHOWN).collect();
    match characters.count() {
        0 => beginning,
        more => format!("{beginning}… {more} more characters"),
    }
}

/// How the person's question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Answered,
    Failed(String),
}

/// Prints what happens and counts it.
struct Show {
    agents: Mutex<BTreeMap<String, Count>>,
    answer: Mutex<Option<uuid::Uuid>>,
    outcome: watch::Sender<Outcome>,
}

#[derive(Clone, Default)]
struct Count {
    role: String,
    turns: u64,
    requests: u64,
    tool_calls: u64,
    input: u64,
    output: u64,
}

impl Show {
    fn new() -> (Arc<Self>, watch::Receiver<Outcome>) {
        let (outcome, ended) = watch::channel(Outcome::Open);
        (Arc::new(Self { agents: Mutex::default(), answer: Mutex::default(), outcome }), ended)
    }

    fn count(&self, agent: &ActorAddress, count: impl FnOnce(&mut Count)) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = agents.entry(agent.name().to_owned()).or_default();
        agent.role().clone_into(&mut entry.role);
        count(entry);
    }

    fn table(&self) {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |cells: [&str; 7]| {
            let [name, role, turns, requests, calls, input, output] = cells;
            say!(
                "{name:<14} {role:<10} {turns:>6} {requests:>9} {calls:>6} {input:>9} {output:>9}"
            );
        };
        say!();
        row(["agent", "role", "turns", "requests", "tools", "tokens in", "out"]);
        let mut total = Count::default();
        for (name, count) in &*agents {
            let Count { role, turns, requests, tool_calls, input, output } = count;
            let numbers = [turns, requests, tool_calls, input, output].map(u64::to_string);
            let [turns, requests, tool_calls, input, output] = &numbers;
            row([name, role, turns, requests, tool_calls, input, output]);
            total.turns += count.turns;
            total.requests += count.requests;
            total.tool_calls += count.tool_calls;
            total.input += count.input;
            total.output += count.output;
        }
        let Count { turns, requests, tool_calls, input, output, .. } = total;
        let numbers = [turns, requests, tool_calls, input, output].map(|number| number.to_string());
        let [turns, requests, tool_calls, input, output] = &numbers;
        row(["total", "", turns, requests, tool_calls, input, output]);
    }

    fn event(&self, agent: &ActorAddress, event: &akgentic::core::wire::AnyValue) {
        if let Some(call) = event.downcast::<ToolCallEvent>() {
            let arguments = shortened(&call.arguments);
            say!("  {} calls {}({arguments})", agent.name(), call.tool_name);
            self.count(agent, |count| count.tool_calls += 1);
        } else if let Some(done) = event.downcast::<ToolReturnEvent>() {
            let ended = if done.success { "done" } else { "failed" };
            say!("  {} {} {ended}", agent.name(), done.tool_name);
        } else if let Some(usage) = event.downcast::<LlmUsageEvent>() {
            self.count(agent, |count| {
                count.requests += usage.requests;
                count.input += usage.input_tokens;
                count.output += usage.output_tokens;
            });
        }
    }
}

impl Subscriber for Show {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        let Some(sender) = &message.sender else { return Ok(()) };
        if let Some(start) = message.body::<StartMessage>() {
            let hirer = start.parent.as_ref().filter(|parent| parent.role() != "Orchestrator");
            let by = hirer.map_or_else(String::new, |hirer| format!(", hired by {}", hirer.name()));
            say!("+ {} ({}) joined{by}", sender.name(), sender.role());
        } else if let Some(sent) = message.body::<SentMessage>() {
            let Some(said) = sent.message.body::<AgentMessage>() else { return Ok(()) };
            let (from, to) = (sender.name(), sent.recipient.name());
            say!("\n{from} → {to} [{}]\n{}\n", said.intent.as_str(), said.content);
            if sent.recipient.is_user_proxy() && said.intent == Intent::Response {
                *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(sent.message.id);
            }
        } else if let Some(processed) = message.body::<ProcessedMessage>() {
            // Sent is recorded before it is delivered; this says that the person has it.
            let answer = *self.answer.lock().unwrap_or_else(PoisonError::into_inner);
            if sender.is_user_proxy() && answer == Some(processed.message_id) {
                self.outcome.send_replace(Outcome::Answered);
            }
        } else if message.body::<ReceivedMessage>().is_some() {
            self.count(sender, |count| count.turns += 1);
        } else if let Some(event) = message.body::<EventMessage>() {
            self.event(sender, &event.event);
        } else if let Some(error) = message.body::<ErrorMessage>() {
            let reason = format!("{}: {}", sender.name(), error.notification.content);
            say!("! {reason}");
            self.outcome.send_replace(Outcome::Failed(reason));
        } else if let Some(warning) = message.body::<WarningMessage>() {
            say!("! {}: {}", sender.name(), warning.notification.content);
        }
        Ok(())
    }
}
