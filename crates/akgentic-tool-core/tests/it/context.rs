//! Context updates where something is missing or late.

use std::future::pending;
use std::sync::Arc;

use akgentic_core::agent_type;
use akgentic_core::prelude::*;
use akgentic_testkit::Logs;
use akgentic_tool_core::context::PROVIDER_BUDGET;
use akgentic_tool_core::{
    AnyContextState, ContextProvider, ContextState, ContextUpdater, Observer, ToolStateCell,
    ToolStateHandle,
};
use tokio::time::Instant;

use crate::parts::{Seen, WAIT};

fn seen(name: &str, count: i64) -> ContextProvider {
    ContextProvider::read(name, move || Some(Seen { count }))
}

/// An agent that does nothing, with or without a tool state.
struct Keeper;
agent_type!(Keeper = "it.Keeper");

impl Actor for Keeper {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

struct GetObserver(Option<ToolStateHandle>);

impl Handle<GetObserver> for Keeper {
    type Reply = Observer;

    async fn handle(
        &mut self,
        ask: GetObserver,
        ctx: &mut Context,
    ) -> Result<Observer, ActorError> {
        let observer = Observer::of(ctx);
        Ok(match ask.0 {
            Some(state) => observer.tool_state(state).build(),
            None => observer.build(),
        })
    }
}

/// The observer of an agent, which lives as long as the system.
async fn observer(system: &ActorSystem, state: Option<&ToolStateCell>) -> Observer {
    let config = BaseConfig::new("@Keeper", "Keeper");
    let keeper = system.create_actor::<Keeper>(config, Origin::default()).unwrap();
    keeper.ask(GetObserver(state.map(ToolStateCell::handle))).await.unwrap()
}

#[tokio::test]
async fn what_vanished_providers_said_is_pruned() {
    let (system, state) = (ActorSystem::new(), ToolStateCell::default());
    state.handle().with(|state| {
        for name in ["gone", "seen"] {
            state
                .context_baselines
                .insert(name.to_owned(), AnyContextState::from(Seen { count: 1 }));
        }
        state.context_update_seq = 3;
    });
    ContextUpdater::new(observer(&system, Some(&state)).await, vec![seen("seen", 1)]).prune();
    let left = state.get();
    assert_eq!(left.context_baselines.keys().collect::<Vec<_>>(), ["seen"]);
    assert_eq!(left.context_update_seq, 3);
}

#[tokio::test(start_paused = true)]
async fn a_slow_provider_is_skipped_and_does_not_hold_the_others() {
    let (system, state) = (ActorSystem::new(), ToolStateCell::default());
    let slow =
        ContextProvider::shared("slow", || Box::pin(pending::<Option<Arc<dyn ContextState>>>()));
    let updater =
        ContextUpdater::new(observer(&system, Some(&state)).await, vec![slow, seen("quick", 7)]);
    let begun = Instant::now();
    let block = updater.compose_update(0).await.expect("the quick one has something to say");
    assert!(block.contains("seen 7"), "{block}");
    assert_eq!(begun.elapsed().as_secs(), PROVIDER_BUDGET.as_secs());
    assert_eq!(state.get().context_baselines.keys().collect::<Vec<_>>(), ["quick"]);
}

#[tokio::test]
async fn without_a_tool_state_nothing_is_composed_and_nothing_fails() {
    let system = ActorSystem::new();
    for observer in [observer(&system, None).await, Observer::unattached().build()] {
        let updater = ContextUpdater::new(observer, vec![seen("seen", 1)]);
        assert_eq!(updater.compose_update(0).await, None);
        updater.reset();
        updater.prune();
    }
}

#[tokio::test]
async fn a_jump_of_the_visible_number_is_reported() {
    let (system, state) = (ActorSystem::new(), ToolStateCell::default());
    let observer = observer(&system, Some(&state)).await;
    let updater = ContextUpdater::new(observer, vec![seen("a", 1)]);
    let logs = Logs::capture();
    updater.compose_update(0).await.unwrap();
    updater.compose_update(2).await;
    assert_eq!(logs.lines(), Vec::<String>::new(), "one ahead is no jump");
    updater.compose_update(40).await;
    assert_eq!(logs.count(&["WARN", "far ahead", "told=2", "visible=40"]), 1, "{:?}", logs.lines());
    assert_eq!(state.get().context_update_seq, 40);
    system.shutdown(WAIT).await;
}
