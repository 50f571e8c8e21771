//! Cards and helpers the tests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use akgentic_core::prelude::*;
use akgentic_tool_core::{
    BindError, BoundCard, Capabilities, Capability, Channel, Command, ContextProvider,
    ContextState, Dependency, Exposure, Observer, Tool, ToolCall, ToolCard, ToolError, ToolHost,
    ToolHostConfig, ToolHostRef, Toolset, ToolsetError, context_state, tool_card, tool_param,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// A team with one host.
pub(crate) struct World {
    pub(crate) system: ActorSystem,
    pub(crate) team: ActorRef<Orchestrator>,
}

impl World {
    pub(crate) fn new() -> Self {
        let system = ActorSystem::new();
        let config = BaseConfig::new("@Orchestrator", "Orchestrator");
        let team = system.create_team(config, Origin::default()).unwrap();
        Self { system, team }
    }

    pub(crate) async fn host(
        &self,
        cards: Vec<akgentic_tool_core::AnyCard>,
        capabilities: Capabilities,
    ) -> ToolHostRef {
        let config = ToolHostConfig::new("@Host", cards);
        ToolHost::create_in(&self.team, config, capabilities).await.unwrap()
    }

    pub(crate) async fn end(self) {
        assert_eq!(self.system.shutdown(WAIT).await, Vec::<String>::new());
    }
}

/// What the tests and the card share.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// A tool body has begun.
    pub(crate) entered: Notify,
    /// A tool body may go on.
    pub(crate) go_on: Notify,
    pub(crate) connected: AtomicUsize,
    pub(crate) closed: AtomicUsize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ProbeParam {
    pub(crate) instructions: Option<String>,
    pub(crate) expose: Exposure,
}
tool_param!(ProbeParam = "it.ProbeParam", served: [ToolCall]);

/// Offers tools that behave and tools that do not.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ProbeTool {
    pub(crate) probe: Capability<ProbeParam>,
    pub(crate) needs: Vec<String>,
}
tool_card!(ProbeTool = "it.ProbeTool", aliases: ["it.old.ProbeTool"], capabilities: [probe]);

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Seen {
    pub(crate) count: i64,
}
context_state!(Seen = "it.Seen");

impl ContextState for Seen {
    fn render_full(&self) -> String {
        format!("seen {}", self.count)
    }

    fn render_delta(&self, previous: &dyn ContextState) -> Option<String> {
        let before = previous.downcast::<Self>()?.count;
        (before != self.count).then(|| format!("seen {before} -> {}", self.count))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Model {
    model: Option<String>,
}

impl ToolCard for ProbeTool {
    fn depends_on(&self) -> Vec<Dependency> {
        self.needs.iter().map(Dependency::required).collect()
    }

    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let gate = observer.get::<Gate>()?;
            let mut bound = BoundCard::new();
            let Some(param) = self.probe.on(Channel::ToolCall) else { return Ok(bound) };
            let (held, watched) = (Arc::clone(&gate), observer.clone());
            bound.tools.push(
                Tool::new(
                    "wait",
                    "Waits, then looks for its agent.",
                    move |(): (), _: ToolCall| {
                        let (gate, observer) = (Arc::clone(&held), watched.clone());
                        async move {
                            gate.entered.notify_one();
                            gate.go_on.notified().await;
                            Ok::<_, ToolError>(observer.context()?.name().to_owned())
                        }
                    },
                )
                .with_instructions(param.instructions.as_deref()),
            );
            bound.tools.push(Tool::new("panic", "Panics.", |(): (), _: ToolCall| async {
                if true {
                    std::panic::resume_unwind(Box::new("oh no"));
                }
                Ok::<_, ToolError>("")
            }));
            let owned = observer.clone();
            bound.tools.push(Tool::new(
                "prefer",
                "Sets a model.",
                move |args: Model, _: ToolCall| {
                    let stored = owned.with_tool_state(|state| state.active_model = args.model);
                    async move { Ok::<_, ToolError>(stored.map(|()| "set")?) }
                },
            ));
            let owned = observer.clone();
            bound.context_states.push(ContextProvider::read("seen", move || {
                let count = owned.read_tool_state(|state| state.context_update_seq).ok()?;
                Some(Seen { count })
            }));
            bound.commands.push(Command::new(
                "prefer",
                "Sets a model.",
                |args: Model| async move { Ok(args.model) },
            ));
            bound.toolsets.push(Arc::new(Remote(gate)));
            Ok(bound)
        })
    }
}

/// Offers the same toolset once more, and nothing else.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Renamed {}
tool_card!(Renamed = "it.Renamed");

impl ToolCard for Renamed {
    fn depends_on(&self) -> Vec<Dependency> {
        vec![Dependency::optional("ProbeTool"), Dependency::optional("NoSuchTool")]
    }

    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let mut bound = BoundCard::new();
            bound.toolsets.push(Arc::new(Remote(observer.get::<Gate>()?)));
            Ok(bound)
        })
    }
}

/// A toolset with one tool.
#[derive(Debug)]
struct Remote(Arc<Gate>);

impl Toolset for Remote {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn connect(&self) -> BoxFuture<'_, Result<Vec<Tool>, ToolsetError>> {
        self.0.connected.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            Ok(vec![Tool::new("far", "Far away.", |(): (), _: ToolCall| async {
                Ok::<_, ToolError>("from afar")
            })])
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {})
    }
}

pub(crate) fn probe() -> akgentic_tool_core::AnyCard {
    ProbeTool::default().into()
}

pub(crate) fn gate() -> (Arc<Gate>, Capabilities) {
    let gate = Arc::new(Gate::default());
    let capabilities = Capabilities::default().with(Arc::clone(&gate));
    (gate, capabilities)
}
