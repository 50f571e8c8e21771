//! A team with one agent that hires and fires.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::prelude::*;
use akgentic_core::{ActorAddress, ActorRef};
use akgentic_team::{HireNumbers, TeamManagement};
use akgentic_tool_core::Observer;
use serde_json::{Value, json};

pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// A member that does nothing.
pub(crate) struct Idle;
agent_type!(Idle = "team.it.Idle");

impl Actor for Idle {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

/// Request: an observer of this member with these capabilities.
pub(crate) struct Observe(pub(crate) Arc<Hooks>);

impl Handle<Observe> for Idle {
    type Reply = Observer;

    async fn handle(
        &mut self,
        request: Observe,
        ctx: &mut Context,
    ) -> Result<Observer, ActorError> {
        let hooks = request.0;
        Ok(Observer::of(ctx)
            .with::<dyn HireNumbers>(Arc::clone(&hooks) as Arc<dyn HireNumbers>)
            .with::<dyn TeamManagement>(hooks)
            .build())
    }
}

/// Scripted numbers, and what the agent was told.
#[derive(Default)]
pub(crate) struct Hooks {
    numbers: Mutex<VecDeque<u32>>,
    told: Mutex<Vec<Value>>,
}

impl HireNumbers for Hooks {
    fn next(&self) -> u32 {
        self.numbers.lock().expect("lock").pop_front().unwrap_or(100)
    }
}

impl TeamManagement for Hooks {
    fn on_hire(&self, member: &ActorAddress) {
        self.told.lock().expect("lock").push(json!(["hire", member.name()]));
    }

    fn on_fire(&self, member: &ActorAddress) {
        self.told.lock().expect("lock").push(json!(["fire", member.name()]));
    }
}

pub(crate) struct World {
    pub(crate) team: ActorRef<Orchestrator>,
    pub(crate) hirer: ActorAddress,
    pub(crate) observer: Observer,
    hooks: Arc<Hooks>,
    _system: ActorSystem,
}

impl World {
    /// A team as the vectors describe one.
    pub(crate) async fn new(input: &Value) -> Self {
        let system = ActorSystem::new();
        let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
        for card in input["catalog"].as_array().into_iter().flatten() {
            team.register_agent_profile(card_of(card)).await.expect("registered");
        }
        let own = input["self"].as_str().unwrap_or("@Manager");
        let mut hirer = None;
        for member in input["team"].as_array().into_iter().flatten() {
            let name = member["name"].as_str().expect("a name");
            let role = member["role"].as_str().unwrap_or(name);
            let config = BaseConfig::new(name, role);
            if member["user_proxy"] == true {
                team.create_actor::<UserProxy>(config).await.expect("member");
            } else {
                let member = team.create_actor::<Idle>(config).await.expect("member");
                if name == own {
                    hirer = Some(member);
                }
            }
        }
        let hirer = match hirer {
            Some(hirer) => hirer,
            None => {
                team.create_actor::<Idle>(BaseConfig::new(own, "Manager")).await.expect("hirer")
            }
        };
        let numbers = input["suffixes"].as_array().into_iter().flatten();
        let numbers = numbers
            .map(|number| u32::try_from(number.as_u64().expect("a number")).expect("small"))
            .collect();
        let hooks = Arc::new(Hooks { numbers: Mutex::new(numbers), told: Mutex::default() });
        let observer = hirer.ask(Observe(Arc::clone(&hooks))).await.expect("an observer");
        Self { team, hirer: hirer.address().clone(), observer, hooks, _system: system }
    }

    pub(crate) fn hooks(&self) -> Vec<Value> {
        self.hooks.told.lock().expect("lock").clone()
    }

    pub(crate) async fn members(&self) -> Vec<Value> {
        let members = self.team.get_team().await.expect("team");
        members.iter().map(|member| json!(member.name())).collect()
    }
}

fn card_of(card: &Value) -> AgentCard {
    let role = card["role"].as_str().expect("a role");
    let name = card["config_name"].as_str().unwrap_or_default();
    let squad_id = card["squad_id"].as_str().map(|id| id.parse().expect("an id"));
    let config = BaseConfig { squad_id, ..BaseConfig::new(name, role) };
    AgentCard::new("akgentic.core.user_proxy.UserProxy", "does things", config).expect("a card")
}
