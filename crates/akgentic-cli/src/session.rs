//! One team with the hosts that answer.

use std::collections::HashMap;
use std::time::Duration;

use akgentic::prelude::*;
use akgentic::tool::{Capabilities, Content, DispatchOutcome, ToolHostConfig, ToolHostRef, quoted};

/// How long the team may take to stop.
const GRACE: Duration = Duration::from_secs(30);

/// Most hosts: each keeps its tools and what they hold.
const HOSTS_MAX: usize = 1024;

/// Longest name of a host in bytes.
const NAME_MAX: usize = 256;

/// A team whose hosts are created as they are named.
pub(crate) struct Session {
    system: ActorSystem,
    team: ActorRef<Orchestrator>,
    cards: Vec<AnyCard>,
    hosts: HashMap<String, ToolHostRef>,
}

impl Session {
    pub(crate) fn start(cards: Vec<AnyCard>) -> anyhow::Result<Self> {
        let system = ActorSystem::new();
        let config = BaseConfig::new("@Orchestrator", "Orchestrator");
        let team = system.create_team(config, Origin::default())?;
        Ok(Self { system, team, cards, hosts: HashMap::new() })
    }

    /// The host of this name.
    pub(crate) async fn host(&mut self, name: &str) -> anyhow::Result<ToolHostRef> {
        if let Some(host) = self.hosts.get(name) {
            return Ok(host.clone());
        }
        if self.hosts.len() >= HOSTS_MAX || name.len() > NAME_MAX {
            anyhow::bail!(
                "there are at most {HOSTS_MAX} agents, with names of at most {NAME_MAX} bytes: go on with one \
                 that was named before"
            );
        }
        let config = ToolHostConfig::new(name, self.cards.clone());
        let host = ToolHost::create_in(&self.team, config, Capabilities::default()).await?;
        self.hosts.insert(name.to_owned(), host.clone());
        Ok(host)
    }

    /// Stops everything in order.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.team.stop(GRACE).await?;
        self.system.shutdown(GRACE).await;
        Ok(())
    }
}

/// Why a command has no result.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The kind of failure, as answers to requests name it.
    pub(crate) kind: &'static str,
    /// What to tell.
    pub(crate) message: String,
}

/// Runs a command of a host, `/name …`.
pub(crate) async fn dispatch(host: &ToolHostRef, command: &str) -> Result<Content, Refused> {
    let refused = |kind, message| Err(Refused { kind, message });
    match host.dispatch(command).await {
        Ok(DispatchOutcome::Reply(text)) => Ok(text.into()),
        Ok(DispatchOutcome::Silent) => Ok(Content::default()),
        Ok(DispatchOutcome::Failed(failure)) => refused("command", failure.to_string()),
        Ok(DispatchOutcome::Syntax(error)) => refused("command", error.to_string()),
        Ok(DispatchOutcome::NotRecognized(word)) => {
            let known = host.descriptors().await.unwrap_or_default();
            let known = known.iter().map(|command| format!("/{}", command.name));
            let known = known.collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            let word = quoted(&word);
            refused(
                "unknown_command",
                format!("there is no command {word}; the commands are: {known}"),
            )
        }
        Err(error) if error.is_retriable() => refused("retriable", error.to_string()),
        Err(error) => refused("fatal", error.to_string()),
    }
}
