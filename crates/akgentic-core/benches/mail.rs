//! An actor looks at its waiting mail and takes some of it out, telemetry included; figures in
//! `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its team should end")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use akgentic_core::prelude::*;
use criterion::{Criterion, criterion_group, criterion_main};
use uuid::Uuid;

/// Holds its mail in a turn that looks at it.
struct Busy;
agent_type!(Busy = "bench.Busy");

impl Actor for Busy {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

/// Request: how long one look at so much mail takes, and taking out every other message.
struct Measure(usize);

impl Handle<Measure> for Busy {
    type Reply = (Duration, Duration);

    async fn handle(
        &mut self,
        request: Measure,
        ctx: &mut Context,
    ) -> Result<(Duration, Duration), ActorError> {
        for _ in 0..request.0 {
            ctx.address().tell(UserMessage { content: "x".into() })?;
        }
        let begun = Instant::now();
        let mail = black_box(ctx.pending_mail());
        let look = begun.elapsed();
        let every_other: Vec<Uuid> = mail.iter().step_by(2).map(|one| one.message.id).collect();
        let begun = Instant::now();
        black_box(ctx.consume_mailbox(&every_other));
        let consume = begun.elapsed();
        let rest: Vec<Uuid> = ctx.get_mailbox().iter().map(|message| message.id).collect();
        ctx.consume_mailbox(&rest);
        Ok((look, consume))
    }
}

fn mail(c: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (_system, team, busy) = runtime.block_on(async {
        let system = ActorSystem::new();
        let team = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
        let busy = team.create_actor::<Busy>(BaseConfig::new("@busy", "Bench")).await.unwrap();
        (system, team, busy)
    });
    let mut group = c.benchmark_group("mail");
    group.sample_size(20);
    for count in [1_000, 5_000] {
        for (name, look) in [("look_at", true), ("take_half_of", false)] {
            group.bench_function(format!("{name}_{count}"), |b| {
                b.iter_custom(|n| {
                    runtime.block_on(async {
                        let mut total = Duration::ZERO;
                        for _ in 0..n {
                            let (looked, consumed) = busy.ask(Measure(count)).await.unwrap();
                            total += if look { looked } else { consumed };
                            team.get_team().await.unwrap();
                        }
                        total
                    })
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, mail);
criterion_main!(benches);
