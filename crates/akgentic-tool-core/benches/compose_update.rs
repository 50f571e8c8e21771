//! The block at the start of a turn, over a long history.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use akgentic_core::prelude::*;
use akgentic_tool_core::{
    ContextProvider, ContextState, ContextUpdater, MarkerScan, Observer, ToolStateCell,
    context_state,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ten lines of state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Lines {
    lines: Vec<String>,
}
context_state!(Lines = "bench.Lines");

impl ContextState for Lines {
    fn render_full(&self) -> String {
        self.lines.join("\n")
    }

    fn render_delta(&self, previous: &dyn ContextState) -> Option<String> {
        let before = previous.downcast::<Self>()?;
        (before.lines != self.lines).then(|| self.lines.join("\n"))
    }
}

struct Keeper;
agent_type!(Keeper = "bench.Keeper");

impl Actor for Keeper {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

struct GetObserver;

impl Handle<GetObserver> for Keeper {
    type Reply = Observer;

    async fn handle(&mut self, _: GetObserver, ctx: &mut Context) -> Result<Observer, ActorError> {
        Ok(Observer::of(ctx).tool_state(ToolStateCell::default().handle()).build())
    }
}

fn compose(c: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let observer = runtime.block_on(async {
        let system = ActorSystem::new();
        let config = BaseConfig::new("@Keeper", "Keeper");
        let keeper = system.create_actor::<Keeper>(config, Origin::default()).unwrap();
        let observer = keeper.ask(GetObserver).await.unwrap();
        // The system lives as long as the process.
        std::mem::forget(system);
        observer
    });
    let messages: Vec<String> = (0..2000)
        .map(|n| format!("message {n} with some words about **things** and what to do next"))
        .collect();
    let scan = MarkerScan::over(messages.iter().map(|text| [text.as_str()]));
    for providers in [1, 10, 50] {
        for changing in [false, true] {
            let updater = ContextUpdater::new(
                observer.clone(),
                (0..providers).map(|number| provider(number, changing)).collect(),
            );
            let kind = if changing { "all changed" } else { "unchanged" };
            let name = format!("compose_update/{providers} providers, 2000 messages, {kind}");
            c.bench_function(&name, |b| {
                runtime.block_on(async { updater.reset() });
                let mut scan = scan.clone();
                b.iter(|| {
                    let block = runtime.block_on(updater.compose_update(scan.highest()));
                    // The block and one answer join the history.
                    scan.truncate(2000);
                    scan.push(block.as_deref());
                    if block.is_none() {
                        let told = observer.read_tool_state(|state| state.context_update_seq);
                        scan.push([format!("**Context update {}**", told.unwrap()).as_str()]);
                    }
                    block
                });
            });
        }
    }
    c.bench_function("marker scan/2000 messages from scratch", |b| {
        b.iter(|| MarkerScan::over(messages.iter().map(|text| [text.as_str()])));
    });
    c.bench_function("marker scan/follow one message more", |b| {
        b.iter_batched_ref(
            || scan.clone(),
            |scan| {
                scan.truncate(1999);
                scan.follow(messages.iter().map(|text| [text.as_str()]));
            },
            BatchSize::LargeInput,
        );
    });
}

fn provider(number: usize, changing: bool) -> ContextProvider {
    let count = std::sync::atomic::AtomicU64::new(0);
    ContextProvider::read(format!("provider-{number}"), move || {
        let step =
            if changing { count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) } else { 0 };
        Some(Lines { lines: (0..10).map(|line| format!("line {line} at step {step}")).collect() })
    })
}

criterion_group!(benches, compose);
criterion_main!(benches);
