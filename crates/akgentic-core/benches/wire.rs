//! Writing, reading and copying messages, and finding out whether a state changed.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its data should end")]

use std::hint::black_box;
use std::sync::Arc;

use akgentic_core::AddressInfo;
use akgentic_core::message::{SentMessage, load_message};
use akgentic_core::prelude::*;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Builder;
use uuid::Uuid;

struct Idle;
agent_type!(Idle = "bench.wire.Idle");

impl Actor for Idle {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Item {
    id: u64,
    title: String,
    done: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Plan {
    items: Vec<Item>,
}
state!(Plan = "bench.wire.Plan");

fn loaded(number: u128) -> ActorAddress {
    ActorAddress::proxy(AddressInfo {
        agent_id: Uuid::from_u128(number),
        name: format!("@m{number}"),
        role: "Bench".into(),
        team_id: Uuid::nil(),
        squad_id: None,
        is_user_proxy: false,
        actor_type: "bench.wire.Idle".into(),
        extra: serde_json::Map::new(),
    })
}

/// A message of about 1.4 kB when written.
fn sent(address: &ActorAddress) -> Message {
    let mut user = Message::new(UserMessage { content: "word ".repeat(25) });
    user.stamp(address.clone(), Uuid::nil(), None);
    let mut sent =
        Message::new(SentMessage { message: Arc::new(user), recipient: address.clone() });
    sent.stamp(address.clone(), Uuid::nil(), None);
    sent
}

fn json(c: &mut Criterion) {
    let user = Message::new(UserMessage { content: "word ".repeat(25) });
    let sent = sent(&loaded(1));
    for (name, message) in [("user_message", &user), ("sent_message", &sent)] {
        let text = serde_json::to_string(message).unwrap();
        let parsed: Value = serde_json::from_str(&text).unwrap();
        c.bench_function(&format!("write_{name}_{}_bytes", text.len()), |b| {
            b.iter(|| serde_json::to_string(black_box(message)).unwrap());
        });
        c.bench_function(&format!("read_{name}_from_parsed_json"), |b| {
            b.iter_batched(
                || parsed.clone(),
                |value| load_message(value).unwrap(),
                BatchSize::SmallInput,
            );
        });
    }
}

fn snapshots(c: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let system = ActorSystem::new();
    let idle = system.create_actor::<Idle>(BaseConfig::new("@idle", "Idle"), Origin::default());
    let live = sent(idle.unwrap().address());
    c.bench_function("snapshot_of_sent_message", |b| {
        b.iter(|| black_box(&live).snapshot().unwrap());
    });
}

fn states(c: &mut Criterion) {
    let items = (0..500).map(|id| Item { id, title: "x".repeat(55), done: id % 2 == 0 }).collect();
    let plan = Plan { items };
    let size = serde_json::to_vec(&plan).unwrap().len();
    assert!((44_000..46_000).contains(&size), "{size} bytes");
    let mut state = Tracked::new(plan);
    black_box(state.observe());
    c.bench_function("notify_if_changed_45kb_untouched", |b| {
        b.iter(|| black_box(&mut state).notify_if_changed());
    });
    c.bench_function("notify_if_changed_45kb_touched_unchanged", |b| {
        b.iter(|| {
            black_box(&mut state).items[0].done = true;
            assert!(state.notify_if_changed().is_none());
        });
    });
    let mut flag = false;
    c.bench_function("notify_if_changed_45kb_changed", |b| {
        b.iter(|| {
            flag = !flag;
            state.items[0].done = flag;
            state.notify_if_changed()
        });
    });
}

criterion_group!(benches, json, snapshots, states);
criterion_main!(benches);
