//! What an agent keeps for its tools, and how it is shared with them.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use akgentic_core::ActorError;
use akgentic_core::state::{AnyState, State, StateSlot, Tracked};
use akgentic_core::wire::{
    AddressResolver, Kind, LoadError, Registration, WireType, load_record, no_addresses, registry,
};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::context::AnyContextState;

/// What an agent keeps for its tools; stored with the agent's own state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, tag = "__model__", rename = "akgentic.tool.core.state.ToolState")]
pub struct ToolState {
    /// What the model was last told, by provider name: a memory, safe to lose.
    #[schemars(with = "std::collections::BTreeMap<String, AnyContextState>")]
    pub context_baselines: IndexMap<String, AnyContextState>,
    /// Number of the last context update.
    pub context_update_seq: i64,
    /// The model in force as `provider:model`; no preference when absent. A record, not a memory:
    /// only the model tool writes it.
    pub active_model: Option<String>,
}

akgentic_core::wire_type!(ToolState = "akgentic.tool.core.state.ToolState",
    aliases: ["akgentic.tool.ToolState", "akgentic.tool.core.ToolState"], snapshot: no_addresses);

akgentic_core::wire::private::inventory::submit! {
    Registration::of::<ToolState>(Kind::Payload).refined(drop_lost_baselines)
}

/// Leaves out baselines whose type is gone or unmarked: the model is told in full again.
#[expect(clippy::unnecessary_wraps, reason = "the registry's signature")]
fn drop_lost_baselines(fields: &mut Map<String, Value>) -> Result<(), LoadError> {
    if let Some(Value::Object(baselines)) = fields.get_mut("context_baselines") {
        baselines.retain(|provider, baseline| {
            let Some(fields) = baseline.as_object() else { return true };
            let marker = fields.get(akgentic_core::wire::MODEL_KEY);
            let known =
                marker.and_then(Value::as_str).is_some_and(|path| registry().get(path).is_some());
            if !known {
                tracing::warn!(provider, ?marker, "dropped a context baseline that no type claims");
            }
            known
        });
    }
    Ok(())
}

/// The tool state inside of an agent's state record.
///
/// A clone is independent. What the agent's tools share is the [handle](ToolStateCell::handle).
pub struct ToolStateCell(Arc<Shared>);

/// A handle to the tool state in force; clones share it, and none keeps the agent alive.
#[derive(Clone)]
pub struct ToolStateHandle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<ToolState>,
    /// Counts possible changes.
    generation: AtomicU64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ToolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolStateHandle {
    /// Works on the state under a short lock; never call it from inside itself.
    pub fn with<R>(&self, work: impl FnOnce(&mut ToolState) -> R) -> R {
        let mut state = self.0.lock();
        self.0.generation.fetch_add(1, Ordering::Relaxed);
        work(&mut state)
    }

    /// Reads the state under a short lock.
    pub fn read<R>(&self, read: impl FnOnce(&ToolState) -> R) -> R {
        read(&self.0.lock())
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Relaxed)
    }
}

impl ToolStateCell {
    /// The handle that tools share.
    pub fn handle(&self) -> ToolStateHandle {
        ToolStateHandle(Arc::clone(&self.0))
    }

    /// A copy of the state.
    pub fn get(&self) -> ToolState {
        self.0.lock().clone()
    }
}

impl Default for ToolStateCell {
    fn default() -> Self {
        ToolState::default().into()
    }
}

impl From<ToolState> for ToolStateCell {
    fn from(state: ToolState) -> Self {
        Self(Arc::new(Shared { state: Mutex::new(state), generation: AtomicU64::new(0) }))
    }
}

impl Clone for ToolStateCell {
    fn clone(&self) -> Self {
        self.get().into()
    }
}

impl PartialEq for ToolStateCell {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.get() == other.get()
    }
}

impl fmt::Debug for ToolStateCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Debug for ToolStateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|state| state.fmt(f))
    }
}

impl Serialize for ToolStateCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolStateCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let state = load_record::<ToolState>(value).map_err(serde::de::Error::custom)?;
        Ok(state.into())
    }
}

/// Read through the registry, which leaves out baselines that no longer load.
impl JsonSchema for ToolStateCell {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToolStateCell".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "x-akgentic": {"family": "payload", "default": ToolState::PATH},
        })
    }
}

/// A state record that carries a tool state.
pub trait ToolStateCarrier {
    /// The field that holds it.
    fn tool_state(&mut self) -> &mut ToolStateCell;
}

/// The [`Tracked`] state of an actor whose record carries a tool state.
///
/// The handle given to tools stays good when the state is replaced by a restored one, and what tools
/// change is published with the actor's next checkpoint. Return it from `Actor::state`.
pub struct CarriedState<S> {
    tracked: Tracked<S>,
    handle: ToolStateHandle,
    seen: u64,
}

impl<S: State + WireType + ToolStateCarrier> CarriedState<S> {
    /// A state nobody observes yet.
    pub fn new(mut state: S) -> Self {
        let handle = state.tool_state().handle();
        Self { tracked: Tracked::new(state), handle, seen: 0 }
    }

    /// The handle for the observer's tools.
    pub fn handle(&self) -> ToolStateHandle {
        self.handle.clone()
    }

    /// Attaches the observer; gives what to publish now.
    #[must_use = "the observer is told by publishing the value"]
    pub fn observe(&mut self) -> Option<AnyState> {
        self.seen = self.handle.generation();
        self.tracked.observe()
    }

    /// What to publish if the state, tool state included, differs from what was last published.
    #[must_use = "the observer is told by publishing the value"]
    pub fn notify_if_changed(&mut self) -> Option<AnyState> {
        let generation = self.handle.generation();
        if generation != self.seen {
            self.seen = generation;
            StateSlot::touch(&mut self.tracked);
        }
        self.tracked.notify_if_changed()
    }

    /// Moves the tool state of a replaced record into the one that tools hold.
    fn relink(&mut self) {
        let handle = self.handle.clone();
        let cell = self.tracked.tool_state();
        if Arc::ptr_eq(&cell.0, &handle.0) {
            return;
        }
        let loaded = std::mem::take(&mut *cell.0.lock());
        handle.with(|state| *state = loaded);
        *cell = ToolStateCell(handle.0);
    }
}

impl<S> Deref for CarriedState<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.tracked
    }
}

impl<S> DerefMut for CarriedState<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.tracked
    }
}

impl<S: State + WireType + ToolStateCarrier> StateSlot for CarriedState<S> {
    fn touch(&mut self) {
        StateSlot::touch(&mut self.tracked);
    }

    fn notify(&mut self) -> Option<AnyState> {
        self.tracked.notify()
    }

    fn notify_if_changed(&mut self) -> Option<AnyState> {
        Self::notify_if_changed(self)
    }

    fn replace_any(&mut self, state: &AnyState) -> Result<Option<AnyState>, ActorError> {
        let published = self.tracked.replace_any(state)?;
        self.relink();
        Ok(published)
    }

    fn resolve_addresses(&mut self, resolver: AddressResolver) -> Result<(), ActorError> {
        self.tracked.resolve_addresses(resolver)?;
        self.relink();
        Ok(())
    }

    fn merge(&mut self, changes: Map<String, Value>) -> Result<Option<AnyState>, ActorError> {
        let published = self.tracked.merge(changes)?;
        self.relink();
        Ok(published)
    }
}

impl<S: fmt::Debug> fmt::Debug for CarriedState<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tracked.fmt(f)
    }
}
