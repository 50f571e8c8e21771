//! What goes before the model at the start of a turn.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use akgentic_core::wire::Dyn;
use futures_util::FutureExt as _;
use indexmap::IndexMap;

use super::{
    AnyContextState, ContextProvider, ContextState, UpdateKind, highest_marker, marker_line,
};
use crate::error::Panicked;
use crate::observer::{Observer, ObserverError};
use crate::state::ToolState;

/// How long a provider may take; one that takes longer is left out of the update.
pub const PROVIDER_BUDGET: Duration = Duration::from_secs(10);

/// Composes context updates: at most one block per turn, with what the model does not know yet.
///
/// What the model was told is remembered in the agent's [`ToolState`]. A wrong, stale or lost memory
/// gives a repetition, never a lost update.
#[derive(Clone, Debug)]
pub struct ContextUpdater {
    observer: Observer,
    providers: Arc<[ContextProvider]>,
}

/// What one provider contributes.
enum Contribution {
    Nothing,
    /// No text, but this is what the model knows now.
    Known(AnyContextState),
    Section(String, AnyContextState),
}

impl ContextUpdater {
    /// An updater over these providers, in order.
    pub fn new(observer: Observer, providers: Vec<ContextProvider>) -> Self {
        Self { observer, providers: providers.into() }
    }

    /// The providers in order.
    pub fn providers(&self) -> &[ContextProvider] {
        &self.providers
    }

    /// The next block, or nothing when there is no news or the agent is gone.
    ///
    /// `visible` is the highest update number in the user-side texts the model will see: 0 without
    /// any, [`MarkerScan::highest`](super::MarkerScan::highest) over a history. The block counts as
    /// told from now on; the caller appends it. Dropping the future remembers nothing. Needs a Tokio
    /// runtime with a clock, because providers have a [budget](PROVIDER_BUDGET).
    pub async fn compose_update(&self, visible: i64) -> Option<String> {
        let baselines = match self.reconciled_baselines(visible) {
            Ok(baselines) => baselines,
            Err(error) => {
                tracing::debug!(%error, "no context update");
                return None;
            }
        };
        let kind = if baselines.is_empty() { UpdateKind::Snapshot } else { UpdateKind::Change };
        let mut sections = Vec::new();
        let mut told = Vec::new();
        let mut known = Vec::new();
        for provider in self.providers.iter() {
            let Some(state) = current(provider).await else { continue };
            match contribution(provider.name(), state, baselines.get(provider.name())) {
                Contribution::Nothing => {}
                Contribution::Known(state) => known.push((provider.name(), state)),
                Contribution::Section(text, state) => {
                    sections.push(text);
                    told.push((provider.name(), state));
                }
            }
        }
        if sections.is_empty() && known.is_empty() {
            return None;
        }
        let stored = self.observer.with_tool_state(|state| {
            for (name, known) in known.into_iter().chain(told) {
                state.context_baselines.insert(name.to_owned(), known);
            }
            if !sections.is_empty() {
                state.context_update_seq = state.context_update_seq.saturating_add(1);
            }
            state.context_update_seq
        });
        match stored {
            Ok(number) if !sections.is_empty() => {
                sections.insert(0, marker_line(number, kind));
                Some(sections.join("\n\n"))
            }
            _ => None,
        }
    }

    /// What the model knows, after the counter was brought in line with what it will see.
    fn reconciled_baselines(
        &self,
        visible: i64,
    ) -> Result<IndexMap<String, AnyContextState>, ObserverError> {
        let in_line = self.observer.read_tool_state(|state| {
            (state.context_update_seq == visible).then(|| state.context_baselines.clone())
        })?;
        if let Some(baselines) = in_line {
            return Ok(baselines);
        }
        self.observer.with_tool_state(|state| {
            reconcile(state, visible);
            state.context_baselines.clone()
        })
    }

    /// The same over the user-side texts themselves, all of which are searched.
    pub async fn compose_update_over<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        let visible = texts.into_iter().map(highest_marker).max().unwrap_or(0);
        self.compose_update(visible).await
    }

    /// Forgets what the model was told and starts counting anew; nothing happens without an agent.
    pub fn reset(&self) {
        let outcome = self.observer.with_tool_state(|state| {
            state.context_baselines.clear();
            state.context_update_seq = 0;
        });
        if let Err(error) = outcome {
            tracing::debug!(%error, "no context to reset");
        }
    }

    /// Forgets what providers said that are no longer there.
    ///
    /// Done when cards are bound; do it again after the agent's state was restored.
    pub fn prune(&self) {
        let is_known = |name: &str| self.providers.iter().any(|provider| provider.name() == name);
        let stale = self
            .observer
            .read_tool_state(|state| state.context_baselines.keys().any(|name| !is_known(name)));
        if stale != Ok(true) {
            return;
        }
        let outcome = self.observer.with_tool_state(|state| {
            state.context_baselines.retain(|name, _| is_known(name));
        });
        if let Err(error) = outcome {
            tracing::debug!(%error, "no context to prune");
        }
    }
}

/// Brings the counter in line with what the model will see.
fn reconcile(state: &mut ToolState, visible: i64) {
    let told = state.context_update_seq;
    if told < visible {
        if visible > told.saturating_add(1) {
            tracing::warn!(
                told,
                visible,
                "the visible context updates are far ahead of the counter"
            );
        }
        state.context_update_seq = visible;
    } else if told > visible && !state.context_baselines.is_empty() {
        tracing::debug!(told, visible, "the last context update is no longer visible");
        state.context_baselines = IndexMap::new();
    }
}

/// The state of a provider now; a failure is logged and gives nothing.
async fn current(provider: &ContextProvider) -> Option<Arc<dyn ContextState>> {
    let name = provider.name();
    let state = AssertUnwindSafe(async { provider.provide().await }).catch_unwind();
    match tokio::time::timeout(PROVIDER_BUDGET, state).await {
        Ok(Ok(state)) => state,
        Ok(Err(payload)) => {
            let error = Panicked::from_payload(&*payload);
            tracing::error!(provider = name, %error, "a context provider failed");
            None
        }
        Err(_) => {
            tracing::error!(provider = name, "a context provider took too long");
            None
        }
    }
}

fn contribution(
    name: &str,
    state: Arc<dyn ContextState>,
    baseline: Option<&AnyContextState>,
) -> Contribution {
    let same_type =
        |baseline: &&AnyContextState| baseline.as_any().type_id() == state.as_any().type_id();
    let rendered =
        std::panic::catch_unwind(AssertUnwindSafe(|| match baseline.filter(same_type) {
            None => Some(state.render_full()),
            Some(baseline) => state.render_delta(&*baseline.0),
        }));
    match rendered {
        Err(payload) => {
            let error = Panicked::from_payload(&*payload);
            tracing::error!(provider = name, %error, "a context state cannot be rendered");
            Contribution::Nothing
        }
        Ok(None) => Contribution::Known(Dyn(state)),
        Ok(Some(text)) if text.is_empty() => Contribution::Nothing,
        Ok(Some(text)) => Contribution::Section(text, Dyn(state)),
    }
}
