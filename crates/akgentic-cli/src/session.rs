//! One team with the hosts that answer.

use std::collections::HashMap;
use std::time::Duration;

use akgentic::prelude::*;
use akgentic::tool::{Capabilities, ToolHostConfig, ToolHostRef};

/// How long the team may take to stop.
const GRACE: Duration = Duration::from_secs(30);

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
