//! Tool state and events on the wire, and an agent to keep the state.

use std::future::Future;

use akgentic_core::prelude::*;
use akgentic_core::wire::{LoadError, load};
use akgentic_testkit::{Case, same};
use akgentic_tool_core::{ContextState, Observer, ToolState, ToolStateCell, context_state};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Checked = Result<(), String>;

macro_rules! vector_state {
    ($name:ident, $path:literal, $letter:literal) => {
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub(super) struct $name {
            pub(super) v: String,
            pub(super) mode: String,
        }
        context_state!($name = $path);

        impl ContextState for $name {
            fn render_full(&self) -> String {
                match (self.mode.as_str(), self.v.as_str()) {
                    ("raise_full", _) => fail(),
                    (_, "") => String::new(),
                    (_, v) => format!(concat!($letter, " full: {}"), v),
                }
            }

            fn render_delta(&self, previous: &dyn ContextState) -> Option<String> {
                let before = previous.downcast::<Self>().expect("the same type");
                match self.mode.as_str() {
                    "raise_delta" => fail(),
                    _ if before.v == self.v => None,
                    "empty_delta" => Some(String::new()),
                    _ => Some(format!(concat!($letter, " delta: {} -> {}"), before.v, self.v)),
                }
            }
        }
    };
}

vector_state!(StA, "vectool.StA", "A");
vector_state!(StB, "vectool.StB", "B");

/// Fails without the noise of a panic.
fn fail() -> ! {
    std::panic::resume_unwind(Box::new("cannot be rendered"))
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Delta {
    added: Vec<String>,
    removed: Vec<String>,
}
payload!(Delta = "vectool.Delta");

pub(crate) fn state_and_events(case: &Case) -> Checked {
    let loaded = load(case.input["json"].clone());
    match (loaded, case.expect["ok"].as_bool()) {
        (Ok(value), Some(true)) => {
            same("dump", &value.to_json().to_string(), &case.expect["dump"].to_string())?;
        }
        (Err(error), Some(false)) => {
            let kind = match &error {
                LoadError::UnresolvableClass(_) => "unresolvable_class",
                _ => "invalid",
            };
            same("kind", &kind, &case.expect["kind"].as_str().unwrap_or_default())
                .map_err(|text| format!("{text}: {error}"))?;
        }
        (loaded, _) => return Err(format!("loaded {loaded:?}")),
    }
    Ok(())
}

/// An agent that keeps a tool state and does nothing.
struct Keeper;
agent_type!(Keeper = "vectool.Keeper");

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
        let cell = ToolStateCell::from(ToolState::default());
        Ok(Observer::of(ctx).tool_state(cell.handle()).build())
    }
}

/// Runs a check with the observer of a live agent.
pub(crate) fn with_agent<F, Fut>(check: F) -> Checked
where
    F: FnOnce(Observer) -> Fut,
    Fut: Future<Output = Checked>,
{
    akgentic_testkit::block_on(async {
        let system = ActorSystem::new();
        let keeper = system
            .create_actor::<Keeper>(BaseConfig::new("@Keeper", "Keeper"), Origin::default())
            .map_err(|error| error.to_string())?;
        let observer = keeper.ask(GetObserver).await.map_err(|error| error.to_string())?;
        let outcome = check(observer).await;
        system.shutdown(std::time::Duration::from_secs(5)).await;
        outcome
    })
}
