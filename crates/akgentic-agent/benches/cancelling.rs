//! From a cancel to the end of the turn, while the model never answers; figures in
//! `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its team should end")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, HumanProxy, Intent, ModelSource, provide_models,
};
use akgentic_core::message::{CancelMessage, ProcessedMessage};
use akgentic_core::prelude::*;
use akgentic_llm::{FunctionModel, Model, ModelConfig};
use criterion::{Criterion, criterion_group, criterion_main};
use tokio::sync::Semaphore;

/// A model that is asked and never answers.
struct Silence(Arc<Semaphore>);

impl ModelSource for Silence {
    fn model(&self, _: &ModelConfig, _: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let asked = Arc::clone(&self.0);
        Ok(Arc::new(FunctionModel::from_async(move |_| {
            asked.add_permits(1);
            Box::pin(std::future::pending())
        })))
    }
}

async fn next(semaphore: &Semaphore) {
    semaphore.acquire().await.unwrap().forget();
}

fn cancelling(c: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    c.bench_function("cancel_to_end_of_turn_request_hangs", |b| {
        b.iter_custom(|n| {
            runtime.block_on(async {
                let system = ActorSystem::new();
                let (asked, ended) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
                provide_models(&system, Silence(Arc::clone(&asked)));
                let team = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
                let turns = Arc::clone(&ended);
                let watch = move |message: &Arc<Message>| {
                    let agents =
                        message.sender.as_ref().is_some_and(|sender| sender.name() == "@A");
                    if agents && message.body::<ProcessedMessage>().is_some() {
                        turns.add_permits(1);
                    }
                };
                team.subscribe(Arc::new(watch)).await.unwrap();
                let human = BaseConfig::new("@Human", "Human");
                let human = team.create_actor::<HumanProxy>(human).await.unwrap();
                let agent = AgentConfig::new("@A", "Agent", "Hi.");
                let agent = team.create_and_wait::<BaseAgent>(agent).await.unwrap();
                let (human, agent) = (human.address(), agent.address());
                let mut total = Duration::ZERO;
                for _ in 0..n {
                    human.send(agent, AgentMessage::new(Intent::Request, "go")).unwrap();
                    next(&asked).await;
                    let begun = Instant::now();
                    human.send(agent, CancelMessage::default()).unwrap();
                    next(&ended).await;
                    total += begun.elapsed();
                }
                system.shutdown(Duration::from_secs(5)).await;
                total
            })
        });
    });
}

criterion_group!(benches, cancelling);
criterion_main!(benches);
