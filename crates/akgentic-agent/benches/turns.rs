//! Turns of whole agents; figures in `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its team should end")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, HumanProxy, Intent, ModelSource, provide_models,
};
use akgentic_core::ActorRef;
use akgentic_core::message::{EventMessage, ProcessedMessage, SentMessage};
use akgentic_core::prelude::*;
use akgentic_llm::{
    FunctionModel, LlmEvent, Model, ModelConfig, ModelInput, ModelResponse, RequestPart,
    ResponsePart, TextPart, ToolCallPart,
};
use akgentic_tool_core::{BindError, BoundCard, Observer, Tool, ToolCall, ToolCard, ToolError};
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

const WAIT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct LookTool {}
akgentic_tool_core::tool_card!(LookTool = "agent.bench.LookTool");

impl ToolCard for LookTool {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async {
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("look", "Looks.", |(): (), _: ToolCall| async {
                Ok::<_, ToolError>("seen")
            }));
            Ok(bound)
        })
    }
}

/// Every agent answers @Human, the players of ping-pong each other; `steps N` calls a tool so often.
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
        Ok(Arc::new(FunctionModel::new(move |input| {
            let parts = match steps_left(&input) {
                0 => ResponsePart::Text(TextPart::new(answer.clone())),
                left => ResponsePart::ToolCall(ToolCallPart::new("look", "{}", format!("c{left}"))),
            };
            Ok(ModelResponse::new(vec![parts]))
        })))
    }
}

/// How many tool calls the last prompt asks for, less those made since.
fn steps_left(input: &ModelInput) -> usize {
    let mut made = 0;
    for message in input.messages.iter().rev() {
        let Some(request) = message.as_request() else { continue };
        for part in request.parts.iter().rev() {
            match part {
                RequestPart::ToolReturn(_) => made += 1,
                RequestPart::UserPrompt(prompt) => {
                    let text = prompt.content.text();
                    let wanted = text.rsplit_once("steps ").and_then(|(_, n)| n.parse().ok());
                    return wanted.unwrap_or(0_usize).saturating_sub(made);
                }
                _ => {}
            }
        }
    }
    0
}

struct Team {
    system: ActorSystem,
    lead: ActorRef<Orchestrator>,
    /// Messages of agents, as they are recorded.
    sent: Arc<Semaphore>,
    /// Turns, as they end.
    ended: Arc<Semaphore>,
}

async fn team() -> Team {
    let system = ActorSystem::new();
    provide_models(&system, Lines);
    let lead = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
    let (sent, ended) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (count, turns) = (Arc::clone(&sent), Arc::clone(&ended));
    let watch = move |message: &Arc<Message>| {
        if message.sender.as_ref().is_none_or(ActorAddress::is_user_proxy) {
            return;
        }
        if message.body::<SentMessage>().is_some() {
            count.add_permits(1);
        } else if message.body::<ProcessedMessage>().is_some() {
            turns.add_permits(1);
        }
    };
    lead.subscribe(Arc::new(watch)).await.unwrap();
    lead.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await.unwrap();
    Team { system, lead, sent, ended }
}

impl Team {
    async fn agent(&self, name: &str) -> ActorRef<BaseAgent> {
        let config = AgentConfig::new(name, "Agent", "Hi.").with_tool(LookTool {});
        self.lead.create_and_wait::<BaseAgent>(config).await.unwrap()
    }

    async fn human(&self) -> ActorAddress {
        self.lead.get_team_member("@Human").await.unwrap().unwrap()
    }

    async fn end(self) {
        self.system.shutdown(WAIT).await;
    }
}

async fn wait(semaphore: &Semaphore, count: u64) {
    semaphore.acquire_many(u32::try_from(count).unwrap()).await.unwrap().forget();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Turns of one agent, a fresh one after each hundred, after `warm` turns that are not counted.
async fn turns_of(n: u64, warm: u64, text: &str) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = n;
    while left > 0 {
        let some = left.min(100);
        let world = team().await;
        let (human, agent) = (world.human().await, world.agent("@Agent").await);
        let turn = |content: &str| {
            human.send(agent.address(), AgentMessage::new(Intent::Request, content)).unwrap();
        };
        for _ in 0..warm {
            turn("go");
            wait(&world.ended, 1).await;
        }
        let begun = Instant::now();
        for _ in 0..some {
            turn(text);
            wait(&world.ended, 1).await;
        }
        total += begun.elapsed();
        world.end().await;
        left -= some;
    }
    total
}

fn turns(c: &mut Criterion) {
    let runtime = runtime();
    for (name, warm, text) in [
        ("turn_without_tool", 1, "go"),
        ("turn_without_tool_after_1000_messages", 500, "go"),
        ("turn_with_10_tool_steps", 1, "steps 10"),
        ("turn_with_10_tool_steps_after_1000_messages", 500, "steps 10"),
    ] {
        let mut group = c.benchmark_group("turns");
        if warm > 1 {
            group.sample_size(10).warm_up_time(Duration::from_secs(1));
        }
        group.bench_function(name, |b| {
            b.iter_custom(|n| runtime.block_on(turns_of(n, warm, text)));
        });
        group.finish();
    }
}

/// How many messages a pair exchanges before a fresh one takes over.
const EXCHANGE: u64 = 2000;

/// Messages of two warm agents that answer each other.
async fn exchange(n: u64) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = n;
    while left > 0 {
        let some = left.min(EXCHANGE);
        let world = team().await;
        let (one, other) = (world.agent("@Ping").await, world.agent("@Pong").await);
        other.address().send(one.address(), AgentMessage::new(Intent::Response, "go")).unwrap();
        wait(&world.sent, 20).await;
        let begun = Instant::now();
        wait(&world.sent, some).await;
        total += begun.elapsed();
        one.address().dismiss(WAIT).await.unwrap();
        world.end().await;
        left -= some;
    }
    total
}

fn ping_pong(c: &mut Criterion) {
    let runtime = runtime();
    let mut group = c.benchmark_group("ping_pong");
    group.sample_size(20);
    group.bench_function("message", |b| {
        b.iter_custom(|n| runtime.block_on(exchange(n)));
    });
    group.finish();
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

async fn thousand() -> (Duration, usize) {
    let world = team().await;
    let before = resident();
    let begun = Instant::now();
    let mut agents = Vec::with_capacity(1000);
    for number in 0..1000 {
        let config = AgentConfig::new(format!("@A{number}"), "Agent", "Hi.");
        agents.push(world.lead.create_actor::<BaseAgent>(config).await.unwrap());
    }
    for agent in &agents {
        agent.address().wait_started(WAIT).await.unwrap();
    }
    let took = begun.elapsed();
    let each = resident().saturating_sub(before) / agents.len();
    world.end().await;
    (took, each)
}

#[expect(clippy::print_stderr, reason = "criterion has no place for memory")]
fn starts(c: &mut Criterion) {
    let runtime = runtime();
    let mut group = c.benchmark_group("slow");
    group.sample_size(10);
    let mut is_first = true;
    group.bench_function("start_1000_agents", |b| {
        // the first thousand find no memory to use again
        if std::mem::take(&mut is_first) {
            let (_, each) = runtime.block_on(thousand());
            eprintln!("memory of an agent that has started: {} KiB", each / 1024);
        }
        b.iter_custom(|n| {
            runtime.block_on(async {
                let mut total = Duration::ZERO;
                for _ in 0..n {
                    total += thousand().await.0;
                }
                total
            })
        });
    });
    group.finish();
}

/// The first 1 500 events of an agent's conversation.
async fn conversation() -> Vec<LlmEvent> {
    let world = team().await;
    let (human, agent) = (world.human().await, world.agent("@Agent").await);
    for _ in 0..500 {
        human.send(agent.address(), AgentMessage::new(Intent::Request, "go")).unwrap();
    }
    wait(&world.ended, 500).await;
    let records = world.lead.get_events(Some(agent.address().agent_id()), None).await.unwrap();
    let events = records.iter().filter_map(|record| record.body::<EventMessage>());
    let events = events.filter_map(|event| LlmEvent::from_value(&event.event));
    let events: Vec<LlmEvent> = events.take(1500).collect();
    world.end().await;
    events
}

fn restores(c: &mut Criterion) {
    let runtime = runtime();
    c.bench_function("restore_context_of_1500_events", |b| {
        let events = runtime.block_on(conversation());
        let model = FunctionModel::text(|_| String::new());
        let mut agent = akgentic_llm::ReactAgent::builder(model).build().unwrap();
        b.iter(|| agent.restore_context(&events));
    });
}

criterion_group!(benches, turns, ping_pong, starts, restores);
criterion_main!(benches);
