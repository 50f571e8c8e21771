//! A person works with a team of three: a manager hands work out, an assistant and an expert do it on
//! the files of a folder.
//!
//! Lines of standard input are what the person says; `/help` tells what there is.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use akgentic::core::log::{EventLog, Fsync};
use akgentic::llm::HttpClientConfig;
use akgentic::prelude::*;
use anyhow::{Context as _, bail};
use clap::Parser;

mod chat;
mod input;
mod line;
#[path = "../../shared.rs"]
mod shared;
mod show;
mod team;
mod usage;

use chat::Chat;
use shared::say;
use show::Show;

const SCENARIO: &str = include_str!("../../../scenarios/simple_team.yaml");

/// A team of agents works on a folder.
///
/// Standard input is read line by line. When it is no terminal, a line is taken when the team is done
/// with the one before it.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The folder to work on; `team-report.md` is written into it.
    #[arg(default_value_os_t = default_folder())]
    folder: PathBuf,
    /// Takes this as the only line and ends; standard input is not read.
    #[arg(long)]
    ask: Option<String>,
    /// Keeps the team's records in this file.
    #[arg(long)]
    log: Option<PathBuf>,
    /// A real model instead of the script, such as `anthropic:claude-sonnet-4-5`; its key comes
    /// from the environment.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<ModelConfig>,
    /// How many seconds the team may take for one line; 60, or 600 with a real model.
    #[arg(long)]
    timeout: Option<u64>,
}

fn default_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"))
}

#[tokio::main]
async fn main() -> ExitCode {
    shared::log_to_stderr();
    shared::exit("simple_team", run(Arguments::parse()).await)
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
    let show = Arc::new(Show::default());
    team.subscribe(Arc::clone(&show) as Arc<dyn Subscriber>).await?;
    if let Some(path) = &arguments.log {
        if path.exists() {
            bail!("{} exists; give the records a file of their own", path.display());
        }
        team.subscribe(Arc::new(EventLog::for_team(path, &team, Fsync::Never)?)).await?;
    }
    let result = work(&team, &arguments, &folder, &show).await;
    team.stop(Duration::from_secs(10)).await?;
    system.shutdown(Duration::from_secs(5)).await;
    say!("\n{}", show.usage());
    result
}

/// Sets the team up and hands it what the person says.
async fn work(
    team: &ActorRef<Orchestrator>,
    arguments: &Arguments,
    folder: &std::path::Path,
    show: &Arc<Show>,
) -> anyhow::Result<()> {
    let human = team::assemble(team, folder, arguments.model.as_ref()).await?;
    let limit = arguments.timeout.unwrap_or(if arguments.model.is_some() { 600 } else { 60 });
    let chat = Chat::new(team.clone(), human, Arc::clone(show), Duration::from_secs(limit));
    if let Some(question) = &arguments.ask {
        return chat.one(question).await;
    }
    if std::io::stdin().is_terminal() {
        if arguments.model.is_none() {
            say!("The agents play a script: whatever they are asked, they report on the folder.");
        }
        chat.at_terminal().await
    } else {
        chat.lines().await
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
