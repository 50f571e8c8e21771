//! Turns of whole agents; figures in `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its team should end")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, HumanProxy, Intent, ModelSource, provide_models,
};
use akgentic_core::message::SentMessage;
use akgentic_core::prelude::*;
use akgentic_llm::{FunctionModel, Model, ModelConfig};
use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Every agent answers @Human, the players of ping-pong each other.
struct Lines;

impl ModelSource for Lines {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let to = match agent.name() {
            "@Ping" => "@Pong",
            "@Pong" => "@Ping",
            _ => "@Human",
        };
        let answer = format!(
            r#"{{"messages": [{{"message_type": "response", "message": "ok", "recipient": "{to}"}}]}}"#
        );
        Ok(Arc::new(FunctionModel::text(move |_| answer.clone())))
    }
}

struct Team {
    system: ActorSystem,
    lead: akgentic_core::ActorRef<Orchestrator>,
    /// Messages of agents, as they are recorded.
    sent: Arc<Semaphore>,
}

async fn team() -> Team {
    let system = ActorSystem::new();
    provide_models(&system, Lines);
    let team = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
    let sent = Arc::new(Semaphore::new(0));
    let count = Arc::clone(&sent);
    let watch = move |message: &Arc<Message>| {
        let agents = message.sender.as_ref().is_some_and(|sender| !sender.is_user_proxy());
        if agents && message.body::<SentMessage>().is_some() {
            count.add_permits(1);
        }
    };
    team.subscribe(Arc::new(watch)).await.unwrap();
    team.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await.unwrap();
    Team { system, lead: team, sent }
}

async fn agent(team: &Team, name: &str) -> akgentic_core::ActorRef<BaseAgent> {
    team.lead.create_and_wait::<BaseAgent>(AgentConfig::new(name, "Agent", "Hi.")).await.unwrap()
}

async fn wait(team: &Team, count: u64) {
    let count = u32::try_from(count).unwrap();
    team.sent.acquire_many(count).await.unwrap().forget();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn turns(c: &mut Criterion) {
    let runtime = runtime();
    c.bench_function("turn_without_tool_fresh_agent_each_100", |b| {
        b.iter_custom(|n| {
            runtime.block_on(async {
                let world = team().await;
                let human = world.lead.get_team_member("@Human").await.unwrap().unwrap();
                let mut total = Duration::ZERO;
                let mut left = n;
                while left > 0 {
                    let some = left.min(100);
                    let agent = agent(&world, "@Agent").await;
                    let begun = Instant::now();
                    for _ in 0..some {
                        human
                            .send(agent.address(), AgentMessage::new(Intent::Request, "go"))
                            .unwrap();
                        wait(&world, 1).await;
                    }
                    total += begun.elapsed();
                    agent.address().stop(Duration::from_secs(5)).await.unwrap();
                    left -= some;
                }
                world.system.shutdown(Duration::from_secs(5)).await;
                total
            })
        });
    });
    c.bench_function("ping_pong_message", |b| {
        b.iter_custom(|n| {
            runtime.block_on(async {
                let world = team().await;
                let one = agent(&world, "@Ping").await;
                let other = agent(&world, "@Pong").await;
                let begun = Instant::now();
                other
                    .address()
                    .send(one.address(), AgentMessage::new(Intent::Response, "go"))
                    .unwrap();
                wait(&world, n + 1).await;
                let took = begun.elapsed();
                one.address().dismiss(Duration::from_secs(5)).await.unwrap();
                world.system.shutdown(Duration::from_secs(5)).await;
                took
            })
        });
    });
    let mut group = c.benchmark_group("slow");
    group.sample_size(10);
    group.bench_function("start_1000_agents", |b| {
        b.iter_custom(|n| {
            runtime.block_on(async {
                let mut total = Duration::ZERO;
                for _ in 0..n {
                    let world = team().await;
                    let begun = Instant::now();
                    let mut agents = Vec::with_capacity(1000);
                    for number in 0..1000 {
                        let config = AgentConfig::new(format!("@A{number}"), "Agent", "Hi.");
                        agents.push(world.lead.create_actor::<BaseAgent>(config).await.unwrap());
                    }
                    for agent in &agents {
                        agent.address().wait_started(Duration::from_secs(10)).await.unwrap();
                    }
                    total += begun.elapsed();
                    world.system.shutdown(Duration::from_secs(20)).await;
                }
                total
            })
        });
    });
    group.finish();
}

criterion_group!(benches, turns);
criterion_main!(benches);
