//! An actor that hosts cards without a model.

mod config;
mod reference;
mod requests;

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use akgentic_core::state::StateSlot;
use akgentic_core::wire::{AnyValue, Record as _};
use akgentic_core::{Actor, ActorError, ActorRef, Context, Handle, agent_type};
use futures_util::FutureExt as _;
use tokio::sync::{OnceCell, oneshot};
use tokio::task::JoinSet;

pub use config::{ToolHostConfig, ToolHostState};
pub use reference::ToolHostRef;
pub use requests::{
    COMMAND_BUDGET, CallTool, ContextUpdate, DispatchCommand, GetDescriptors, GetOffers,
    GetSystemPrompts, HostOffers, Hosted, HostedCall, ListTools, ResetContext,
};

use requests::Checkpoint;

use crate::error::{Panicked, ToolError};
use crate::factory::{BoundTools, ToolFactory};
use crate::observer::{Capabilities, Observer};
use crate::state::CarriedState;
use crate::tool::{Tool, ToolCall};

/// Calls, dispatches and updates that run at once in one host; more are refused.
const CALLS_AT_ONCE: usize = 256;

/// Hosts cards without a model, so that any program can use the tools alone.
///
/// It is created in a team, below an orchestrator, and used through the methods of
/// [`ToolHostRef`]. Calls run beside each other as tasks the host owns; they end
/// with it, and with the caller that gives up. What tools change in the [`ToolState`](crate::ToolState)
/// is published after each call, so that a restored host goes on where this one was.
pub struct ToolHost {
    capabilities: Capabilities,
    state: CarriedState<ToolHostState>,
    bound: Option<Arc<Hosting>>,
    running: JoinSet<()>,
}
agent_type!(ToolHost = "akgentic.tool.host.ToolHost");

/// What runs calls: the bound cards, and their toolsets once they are connected.
struct Hosting {
    tools: BoundTools,
    connected: OnceCell<Connected>,
}

struct Connected {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
}

impl ToolHost {
    /// A host that hands these capabilities to its cards; they are not stored.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            state: CarriedState::new(ToolHostState::default()),
            bound: None,
            running: JoinSet::new(),
        }
    }

    fn hosting(&self) -> Result<Arc<Hosting>, ActorError> {
        let hosting = self.bound.as_ref().map(Arc::clone);
        hosting.ok_or_else(|| ActorError::new("BindError", "the cards of this host are not bound"))
    }

    /// Runs work beside the host; what it changed is published when it has ended.
    fn run<T, Fut>(
        &mut self,
        ctx: &Context,
        call: ToolCall,
        work: Fut,
    ) -> Result<Hosted<T>, ActorError>
    where
        T: Send + 'static,
        Fut: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        while self.running.try_join_next().is_some() {}
        if self.running.len() >= CALLS_AT_ONCE {
            let text = format!("{} is busy with {CALLS_AT_ONCE} calls", ctx.name());
            return Err(ActorError::new("Overloaded", text));
        }
        let host = ActorRef::<Self>::new(&ctx.address())?;
        let (sender, receiver) = oneshot::channel();
        let cancel = call.cancel.clone();
        let guarded = AssertUnwindSafe(async move { call.bound(work).await }).catch_unwind();
        self.running.spawn(async move {
            let result = guarded
                .await
                .unwrap_or_else(|payload| Err(ToolError::fatal(Panicked::from_payload(&*payload))));
            // The host may be going down; its last checkpoint publishes then.
            let _published = host.ask(Checkpoint).await.is_ok();
            // The caller may have given up.
            drop(sender.send(result));
        });
        Ok(Hosted::new(receiver, cancel))
    }
}

impl Hosting {
    /// All tools, toolsets connected.
    async fn connected(&self) -> Result<&Connected, ToolError> {
        self.connected
            .get_or_try_init(|| async {
                let tools = self.tools.connect().await?;
                let names = tools.iter().enumerate();
                let by_name = names.map(|(index, tool)| (tool.name().to_owned(), index)).collect();
                Ok(Connected { tools, by_name })
            })
            .await
    }

    /// The tool of this name; toolsets are connected only when no card has it.
    async fn tool(&self, name: &str) -> Result<Tool, ToolError> {
        if let Some(tool) = self.tools.tool(name) {
            return Ok(tool.clone());
        }
        let connected = self.connected().await?;
        let index = connected.by_name.get(name).copied();
        let tool = index.and_then(|index| connected.tools.get(index)).cloned();
        tool.ok_or_else(|| {
            let known: Vec<_> = connected.tools.iter().map(Tool::name).collect();
            ToolError::retriable(format!(
                "there is no tool {}; the tools are: {}",
                crate::quoted(name),
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ))
        })
    }
}

impl Actor for ToolHost {
    type Config = ToolHostConfig;

    fn create(_: &ToolHostConfig) -> Result<Self, ActorError> {
        Ok(Self::new(Capabilities::default()))
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.publish(self.state.observe());
        let cards = match ctx.config_as::<ToolHostConfig>() {
            Some(config) => config.cards.clone(),
            None => Vec::new(),
        };
        let observer = Observer::of(ctx)
            .tool_state(self.state.handle())
            .capabilities(&self.capabilities)
            .build();
        let tools = ToolFactory::new(cards).bind(&observer).await?;
        tools.announce(&observer)?;
        self.bound = Some(Arc::new(Hosting { tools, connected: OnceCell::new() }));
        Ok(())
    }

    async fn restore(&mut self, _: Vec<AnyValue>, _: &mut Context) -> Result<(), ActorError> {
        self.hosting()?.tools.updater().prune();
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        Some(&mut self.state)
    }

    async fn on_stop(&mut self, _: &mut Context) -> Result<(), ActorError> {
        self.running.shutdown().await;
        if let Some(hosting) = self.bound.take()
            && hosting.connected.initialized()
        {
            hosting.tools.close().await;
        }
        Ok(())
    }
}

impl std::fmt::Debug for ToolHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let class = self.state.class_name();
        f.debug_struct("ToolHost").field("state", &class).finish_non_exhaustive()
    }
}

impl Handle<Checkpoint> for ToolHost {
    type Reply = ();

    async fn handle(&mut self, _: Checkpoint, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.publish(self.state.notify_if_changed());
        Ok(())
    }
}
