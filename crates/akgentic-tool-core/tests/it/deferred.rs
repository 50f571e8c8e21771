//! Deferred work in a running actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use akgentic_core::agent_type;
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_tool_core::deferred::{
    DeferredResultActor, DeferredResults, DeferredSource, GetDeferred, RequestDeferred, Settled,
    WORKER_BUDGET, WorkerCall, poll_deferred,
};
use akgentic_tool_core::{ToolError, deferred_actor};
use tokio::sync::Semaphore;

use crate::parts::{WAIT, World};

/// Does what the key says.
struct Slow {
    runs: Arc<AtomicUsize>,
}

impl DeferredSource for Slow {
    const CLASS: &'static str = "it.Slow";
    const BUDGET: Duration = Duration::from_secs(20);

    type Config = BaseConfig;
    type Key = String;
    type Payload = Arc<AtomicUsize>;
    type Value = String;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { runs: Arc::default() })
    }

    async fn produce(
        self: Arc<Self>,
        key: String,
        seen: Arc<AtomicUsize>,
        call: WorkerCall,
    ) -> Result<Option<String>, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        seen.fetch_add(1, Ordering::SeqCst);
        match key.as_str() {
            "panics" => std::panic::resume_unwind(Box::new("oh no")),
            "fails" => Err(ToolError::retriable("no such page")),
            "nothing" => Ok(None),
            "hangs" => {
                call.cancel.cancelled().await;
                std::future::pending().await
            }
            key => Ok(Some(format!("result of {key}"))),
        }
    }
}
deferred_actor!(Slow = "it.Slow");

type SlowActor = DeferredResultActor<Slow>;

async fn actor(world: &World) -> ActorRef<SlowActor> {
    let config = BaseConfig::new("#Slow", "ToolActor");
    world.team.get_children_or_create::<SlowActor>(config).await.unwrap()
}

async fn get(actor: &ActorRef<SlowActor>, key: &str) -> Option<String> {
    actor.ask(GetDeferred(key.to_owned())).await.unwrap()
}

async fn request(
    actor: &ActorRef<SlowActor>,
    key: &str,
    seen: &Arc<AtomicUsize>,
) -> Option<String> {
    let request = RequestDeferred { key: key.to_owned(), payload: Arc::clone(seen) };
    actor.ask(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_result_is_fetched_once_and_kept() {
    let world = World::new();
    let actor = actor(&world).await;
    let seen = Arc::default();
    assert_eq!(get(&actor, "https://example.org").await, None);
    let worker = request(&actor, "https://example.org", &seen).await;
    assert_eq!(worker.as_deref(), Some("#defer-https://exam"));
    let found =
        poll_deferred(|| get(&actor, "https://example.org"), 5, Duration::from_millis(400)).await;
    assert_eq!(found.as_deref(), Some("result of https://example.org"));
    assert_eq!(request(&actor, "https://example.org", &seen).await, None);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_is_a_failure_for_a_while() {
    let world = World::new();
    let actor = actor(&world).await;
    for key in ["panics", "fails", "nothing"] {
        let seen = Arc::default();
        assert!(request(&actor, key, &seen).await.is_some());
        let found = poll_deferred(|| get(&actor, key), 3, Duration::from_millis(400)).await;
        assert_eq!(found, None);
        assert_eq!(request(&actor, key, &seen).await, None, "{key} failed not long ago");
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(request(&actor, key, &seen).await.is_some(), "{key} may be tried again");
        // Let the second run report before the next key.
        poll_deferred(|| get(&actor, key), 2, Duration::from_millis(400)).await;
        assert_eq!(seen.load(Ordering::SeqCst), 2);
    }
    world.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_hangs_is_cut_off() {
    let world = World::new();
    let actor = actor(&world).await;
    let seen = Arc::default();
    assert!(request(&actor, "hangs", &seen).await.is_some());
    assert_eq!(request(&actor, "hangs", &seen).await, None, "in flight");
    tokio::time::sleep(Duration::from_secs(21)).await;
    assert_eq!(get(&actor, "hangs").await, None);
    assert_eq!(request(&actor, "hangs", &seen).await, None, "failed not long ago");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(request(&actor, "hangs", &seen).await.is_some());
    // The work ends with its actor.
    actor.address().stop(WAIT).await.unwrap();
    world.end().await;
}

/// An actor that does deferred work beside other things.
struct Busy {
    results: DeferredResults<String, String>,
}
agent_type!(Busy = "it.Busy");

impl Actor for Busy {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { results: DeferredResults::new(8, Duration::from_mins(1), WORKER_BUDGET) })
    }
}

/// Request: work on this until the semaphore has a permit; gives how many work now.
struct Work(&'static str, Arc<Semaphore>);

impl Handle<Work> for Busy {
    type Reply = usize;

    async fn handle(&mut self, work: Work, ctx: &mut Context) -> Result<usize, ActorError> {
        let Work(key, done) = work;
        self.results.request::<Self, _, _>(&key.to_owned(), ctx, |_| async move {
            done.acquire().await.map_err(ToolError::fatal)?.forget();
            Ok(Some("done".to_owned()))
        });
        Ok(self.results.running())
    }
}

impl Handle<Settled<String, String>> for Busy {
    type Reply = ();

    async fn handle(
        &mut self,
        settled: Settled<String, String>,
        _: &mut Context,
    ) -> Result<(), ActorError> {
        self.results.settle(settled);
        Ok(())
    }
}

#[tokio::test]
async fn finished_workers_are_forgotten_and_leave_no_members_behind() {
    let world = World::new();
    let busy = world.team.create_actor::<Busy>(BaseConfig::new("#Busy", "T")).await.unwrap();
    let done = Arc::new(Semaphore::new(0));
    let records = world.team.get_messages(HistoryFilter::default()).await.unwrap().len();
    for (index, key) in ["a", "b", "c"].into_iter().enumerate() {
        let working = busy.ask(Work(key, Arc::clone(&done))).await.unwrap();
        assert_eq!(working, index + 1);
    }
    done.add_permits(3);
    let idle = async {
        // A known key starts nothing, so this only counts.
        while busy.ask(Work("a", Arc::clone(&done))).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT, idle).await.expect("they end");
    assert_eq!(world.team.get_team().await.unwrap().len(), 1, "workers are no members");
    let after = world.team.get_messages(HistoryFilter::default()).await.unwrap().len();
    assert_eq!(after, records, "and leave no records");
    world.end().await;
}
