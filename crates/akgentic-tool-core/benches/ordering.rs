//! Putting cards in order, and deferred work from request to result.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::sync::Arc;
use std::time::Duration;

use akgentic_core::prelude::*;
use akgentic_tool_core::deferred::{
    DeferredResultActor, DeferredSource, GetDeferred, RequestDeferred, WorkerCall, poll_deferred,
};
use akgentic_tool_core::{Dependency, ToolError, deferred_actor, order_cards};
use criterion::{Criterion, criterion_group, criterion_main};

fn ordering(c: &mut Criterion) {
    let names: Vec<String> = (0..200).map(|index| format!("Card{index}")).collect();
    // Each needs three that come later in the list.
    let cards: Vec<(String, Vec<Dependency>)> = (0..200)
        .map(|index| {
            let needs = [1, 7, 31].into_iter().filter_map(|step| names.get(index + step));
            (names[index].clone(), needs.map(Dependency::required).collect())
        })
        .collect();
    c.bench_function("ordering of 200 cards", |b| {
        b.iter(|| order_cards(&cards).unwrap());
    });
}

/// Has every result at once.
struct Ready;

impl DeferredSource for Ready {
    const CLASS: &'static str = "bench.Ready";

    type Config = BaseConfig;
    type Key = u64;
    type Payload = ();
    type Value = u64;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    async fn produce(
        self: Arc<Self>,
        key: u64,
        (): (),
        _: WorkerCall,
    ) -> Result<Option<u64>, ToolError> {
        Ok(Some(key))
    }
}
deferred_actor!(Ready = "bench.Ready");

fn deferred(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let system = runtime.block_on(async { ActorSystem::new() });
    let actor = runtime.block_on(async {
        let team = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
        let config = BaseConfig::new("#Ready", "ToolActor");
        team.get_children_or_create::<DeferredResultActor<Ready>>(config).await.unwrap()
    });
    let mut key = 0;
    c.bench_function("deferred: request to value", |b| {
        b.iter(|| {
            key += 1;
            runtime.block_on(async {
                actor.ask(RequestDeferred { key, payload: () }).await.unwrap();
                let look = || async { actor.ask(GetDeferred(key)).await.unwrap() };
                poll_deferred(look, 1_000, Duration::ZERO).await.unwrap()
            })
        });
    });
    c.bench_function("deferred: a miss", |b| {
        b.iter(|| runtime.block_on(async { actor.ask(GetDeferred(u64::MAX)).await.unwrap() }));
    });
    runtime.block_on(system.shutdown(Duration::from_secs(5)));
}

criterion_group!(benches, ordering, deferred);
criterion_main!(benches);
