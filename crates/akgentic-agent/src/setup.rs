//! What an agent type adds to the common agent.

use std::sync::Arc;

use akgentic_llm::{Hook, LimitBreach, Recovery};
use akgentic_team::TeamManagement;
use akgentic_tool_core::Capabilities;

/// What an agent type adds to the common agent when it starts.
///
/// ```
/// use akgentic_agent::AgentSetup;
/// use akgentic_llm::{Hook, HookFuture, RunContext};
///
/// struct Audit;
///
/// impl Hook for Audit {
///     fn before_run<'a>(&'a self, run: &'a RunContext) -> HookFuture<'a> {
///         tracing::info!(run = %run.run_id, "a run begins");
///         Box::pin(async { Ok(()) })
///     }
/// }
///
/// let setup = AgentSetup::default().hook(Audit).recovery(|_| None);
/// ```
#[derive(Default)]
pub struct AgentSetup {
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) recovery: Option<Arc<Recovery>>,
    pub(crate) management: Option<Arc<dyn TeamManagement>>,
    pub(crate) capabilities: Capabilities,
}

impl AgentSetup {
    /// Adds code around the runs, inside of what was added before. Nothing else drives it: what it
    /// keeps for one run it resets when the next one begins.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Adds code that is made anew for each run, or left out of it.
    #[must_use]
    pub fn hook_per_run<F>(mut self, make: F) -> Self
    where
        F: Fn() -> Option<Arc<dyn Hook>> + Send + Sync + 'static,
    {
        self.hooks.push(Arc::new(PerRun(make)));
        self
    }

    /// Decides whether a run that reached a limit is concluded, and with which request; see
    /// [`Recovery`]. Without it every one is.
    #[must_use]
    pub fn recovery<F>(mut self, recovery: F) -> Self
    where
        F: Fn(&LimitBreach) -> Option<String> + Send + Sync + 'static,
    {
        self.recovery = Some(Arc::new(recovery));
        self
    }

    /// Is told whom the agent hires and fires.
    #[must_use]
    pub fn management(mut self, management: impl TeamManagement + 'static) -> Self {
        self.management = Some(Arc::new(management));
        self
    }

    /// Offers something more to the agent's cards; name the trait: `capability::<dyn Clock>(clock)`.
    #[must_use]
    pub fn capability<C: ?Sized + Send + Sync + 'static>(mut self, capability: Arc<C>) -> Self {
        self.capabilities.insert(capability);
        self
    }
}

impl std::fmt::Debug for AgentSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.hooks.iter().map(|hook| hook.name()).collect();
        f.debug_struct("AgentSetup").field("hooks", &names).finish_non_exhaustive()
    }
}

/// A hook for each run.
struct PerRun<F>(F);

impl<F: Fn() -> Option<Arc<dyn Hook>> + Send + Sync> Hook for PerRun<F> {
    fn for_run(&self) -> Option<Arc<dyn Hook>> {
        Some((self.0)().unwrap_or_else(|| Arc::new(Absent)))
    }
}

/// Does nothing for one run.
struct Absent;

impl Hook for Absent {}
