//! Calls, telemetry, life and rosters of actors; figures in `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its team should end")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use akgentic_core::AddressInfo;
use akgentic_core::message::{ReceivedMessage, StartMessage};
use akgentic_core::orchestrator::{History, HistoryFilter, Roster};
use akgentic_core::prelude::*;
use akgentic_core::wire::WireType as _;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tokio::runtime::Runtime;
use uuid::Uuid;

struct Idle;
agent_type!(Idle = "bench.Idle");

impl Actor for Idle {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, _, _| Box::pin(async { Ok(Outcome::done()) }));
    }
}

struct Ping;

impl Handle<Ping> for Idle {
    type Reply = u64;

    async fn handle(&mut self, _: Ping, _: &mut Context) -> Result<u64, ActorError> {
        Ok(1)
    }
}

/// Sends `n` messages to a peer from inside its own turn.
struct Sender;
agent_type!(Sender = "bench.Sender");

struct SendMany(ActorAddress, u64);

impl Actor for Sender {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

impl Handle<SendMany> for Sender {
    type Reply = ();

    async fn handle(&mut self, request: SendMany, ctx: &mut Context) -> Result<(), ActorError> {
        for _ in 0..request.1 {
            ctx.send(&request.0, UserMessage { content: "x".into() })?;
        }
        Ok(())
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn config(name: &str) -> BaseConfig {
    BaseConfig::new(name, "Bench")
}

/// Runs a future inside a task of the runtime, as agents do.
fn inside<F: Future<Output = Duration> + Send + 'static>(runtime: &Runtime, future: F) -> Duration {
    runtime.block_on(async { tokio::spawn(future).await.unwrap() })
}

fn calls(c: &mut Criterion) {
    let runtime = runtime();
    let (system, team) = runtime.block_on(async {
        let system = ActorSystem::new();
        let team = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
        (system, team)
    });
    let idle = runtime.block_on(team.create_actor::<Idle>(config("@idle"))).unwrap();
    let sender = runtime.block_on(team.create_actor::<Sender>(config("@sender"))).unwrap();
    c.bench_function("ask_round_trip", |b| {
        b.iter_custom(|n| {
            let idle = idle.clone();
            inside(&runtime, async move {
                let begun = Instant::now();
                for _ in 0..n {
                    black_box(idle.ask(Ping).await.unwrap());
                }
                begun.elapsed()
            })
        });
    });
    c.bench_function("send_and_drain_with_telemetry", |b| {
        b.iter_custom(|n| {
            let (idle, sender, team) = (idle.clone(), sender.clone(), team.clone());
            inside(&runtime, async move {
                let begun = Instant::now();
                let mut left = n;
                while left > 0 {
                    let some = left.min(1000);
                    sender.ask(SendMany(idle.address().clone(), some)).await.unwrap();
                    idle.ask(Ping).await.unwrap();
                    team.get_team_member("@idle").await.unwrap();
                    left -= some;
                }
                begun.elapsed()
            })
        });
    });
    c.bench_function("create_and_stop_member", |b| {
        b.iter_custom(|n| {
            let team = team.clone();
            inside(&runtime, async move {
                let begun = Instant::now();
                for _ in 0..n {
                    let member = team.create_actor::<Idle>(config("@m")).await.unwrap();
                    member.address().stop(Duration::from_secs(5)).await.unwrap();
                }
                begun.elapsed()
            })
        });
    });
    c.bench_function("get_children_or_create_existing", |b| {
        b.iter_custom(|n| {
            let team = team.clone();
            inside(&runtime, async move {
                let begun = Instant::now();
                for _ in 0..n {
                    team.get_children_or_create::<Idle>(config("@idle")).await.unwrap();
                }
                begun.elapsed()
            })
        });
    });
    let mut group = c.benchmark_group("slow");
    group.sample_size(10);
    group.bench_function("stop_team_of_100", |b| {
        b.iter_custom(|n| {
            let system = system.clone();
            inside(&runtime, async move {
                let mut total = Duration::ZERO;
                for _ in 0..n {
                    let team =
                        system.create_team(BaseConfig::default(), Origin::default()).unwrap();
                    for number in 0..100 {
                        team.create_actor::<Idle>(config(&format!("@m{number}"))).await.unwrap();
                    }
                    let begun = Instant::now();
                    team.stop(Duration::from_secs(10)).await.unwrap();
                    total += begun.elapsed();
                }
                total
            })
        });
    });
    group.finish();
}

fn address(number: u128) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::from_u128(number),
        name: format!("@m{number}"),
        role: "Bench".into(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: String::new(),
        extra: serde_json::Map::new(),
    })
}

fn records(c: &mut Criterion) {
    let mut history = History::default();
    let mut roster = Roster::default();
    for number in 0..20 {
        let member = address(number);
        roster.started(member.clone());
        let mut start: Message =
            StartMessage { config: BaseConfig::default().into(), parent: None }.into();
        start.sender = Some(member);
        history.push(start.into());
    }
    for number in 0..100_000_u128 {
        let mut message: Message = ReceivedMessage { message_id: Uuid::nil() }.into();
        message.sender = Some(address(number % 20));
        history.push(message.into());
    }
    c.bench_function("roster_lookup_at_100k_messages", |b| {
        b.iter(|| black_box(roster.member(black_box("@m7"))));
    });
    c.bench_function("roster_list_after_change_at_100k_messages", |b| {
        b.iter_batched(
            || address(7),
            |member| {
                roster.started(member);
                black_box(roster.list());
            },
            BatchSize::SmallInput,
        );
    });
    let filter = HistoryFilter { message_type: Some(StartMessage::PATH), ..Default::default() };
    c.bench_function("get_messages_by_type_at_100k", |b| {
        b.iter(|| black_box(history.select(&filter)));
    });
}

criterion_group!(benches, calls, records);
criterion_main!(benches);
