//! What an actor publishes about itself, and when it counts as changed.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::coerce;
use crate::error::ActorError;
use crate::wire::{
    AddressResolver, Dyn, Family, Kind, Record, WireType, fingerprint, has_addresses,
    hydrate_addresses, no_addresses,
};

/// Published state of an actor; implemented with [`state!`](macro@crate::state).
pub trait State: Record {
    /// An independent copy.
    fn clone_state(&self) -> Box<dyn State>;
    /// A copy without live addresses; `None` when there are none.
    fn snapshot_state(&self) -> Option<Arc<dyn State>>;
}

/// Any state, loaded by its marker.
pub type AnyState = Dyn<dyn State>;

/// The state of an actor that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaseState {}

crate::state!(BaseState = "akgentic.core.agent_state.BaseState",
    aliases: ["akgentic.core.BaseState"], snapshot: no_addresses);

impl Family for dyn State {
    const KIND: Kind = Kind::State;
    const DEFAULT: Option<&'static str> = Some(BaseState::PATH);

    fn as_record(&self) -> &dyn Record {
        self
    }
}

impl<S: State> From<S> for AnyState {
    fn from(state: S) -> Self {
        Dyn(Arc::new(state))
    }
}

/// A state with change detection: reading is free, writing marks it as perhaps changed.
///
/// Publication compares the serialised form with what was last published, so a write that changes
/// nothing publishes nothing. A state that was not written since is not even serialised.
///
/// ```
/// # use akgentic_core::state::{BaseState, Tracked};
/// let mut state = Tracked::new(BaseState {});
/// assert!(state.observe().is_some(), "attaching publishes");
/// assert!(state.notify_if_changed().is_none());
/// ```
#[derive(Debug)]
pub struct Tracked<S> {
    value: S,
    observed: bool,
    written: bool,
    published: Option<u64>,
}

impl<S: State + WireType> Tracked<S> {
    /// A state nobody observes yet.
    pub fn new(value: S) -> Self {
        Self { value, observed: false, written: true, published: None }
    }

    /// Attaches the observer; gives what to publish now.
    #[must_use = "the observer is told by publishing the value"]
    pub fn observe(&mut self) -> Option<AnyState> {
        self.observed = true;
        self.notify()
    }

    /// Detaches the observer and remembers the state as it is.
    pub fn detach(&mut self) {
        self.observed = false;
        self.remember();
    }

    /// What to publish now, changed or not; `None` without observer.
    #[must_use = "the observer is told by publishing the value"]
    pub fn notify(&mut self) -> Option<AnyState> {
        self.remember();
        self.observed.then(|| self.publication())
    }

    /// What to publish if the state differs from what was last published.
    #[must_use = "the observer is told by publishing the value"]
    pub fn notify_if_changed(&mut self) -> Option<AnyState> {
        if !self.observed || !self.written {
            return None;
        }
        let before = self.published;
        self.remember();
        (self.published != before).then(|| self.publication())
    }

    /// Puts `value` in place of the state; the observer stays. Gives what to publish.
    #[must_use = "the observer is told by publishing the value"]
    pub fn replace(&mut self, value: S) -> Option<AnyState> {
        self.value = value;
        self.notify()
    }

    /// A copy that nobody observes.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self::new(self.value.clone())
    }

    fn remember(&mut self) {
        self.published = Some(fingerprint(&self.value));
        self.written = false;
    }

    fn publication(&self) -> AnyState {
        Dyn(Arc::new(self.value.clone()))
    }
}

impl<S> Deref for Tracked<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.value
    }
}

impl<S> DerefMut for Tracked<S> {
    fn deref_mut(&mut self) -> &mut S {
        self.written = true;
        &mut self.value
    }
}

/// A [`Tracked`] state whatever its type.
pub trait StateSlot: Send {
    /// Marks the state as perhaps changed, for states with inner mutability.
    fn touch(&mut self);
    /// See [`Tracked::notify`].
    fn notify(&mut self) -> Option<AnyState>;
    /// See [`Tracked::notify_if_changed`].
    fn notify_if_changed(&mut self) -> Option<AnyState>;
    /// Replaces the state by one of the same type.
    fn replace_any(&mut self, state: &AnyState) -> Result<Option<AnyState>, ActorError>;
    /// Replaces every address in the state, such as snapshots of members that run again.
    fn resolve_addresses(&mut self, resolver: AddressResolver) -> Result<(), ActorError>;
    /// Replaces the fields that `changes` names; unknown keys are ignored, values are coerced.
    fn merge(&mut self, changes: Map<String, Value>) -> Result<Option<AnyState>, ActorError>;
}

impl<S: State + WireType> StateSlot for Tracked<S> {
    fn touch(&mut self) {
        self.written = true;
    }

    fn notify(&mut self) -> Option<AnyState> {
        Tracked::notify(self)
    }

    fn notify_if_changed(&mut self) -> Option<AnyState> {
        Tracked::notify_if_changed(self)
    }

    fn replace_any(&mut self, state: &AnyState) -> Result<Option<AnyState>, ActorError> {
        let Some(state) = state.as_any().downcast_ref::<S>() else {
            let text = format!("a state of type {} does not fit {}", state.type_path(), S::PATH);
            return Err(ActorError::new("TypeError", text));
        };
        Ok(self.replace(state.clone()))
    }

    fn resolve_addresses(&mut self, resolver: AddressResolver) -> Result<(), ActorError> {
        if has_addresses(&self.value) {
            self.value = hydrate_addresses(&self.value, resolver)?;
        }
        Ok(())
    }

    fn merge(&mut self, changes: Map<String, Value>) -> Result<Option<AnyState>, ActorError> {
        let mut fields = self.value.to_fields();
        fields.extend(changes);
        let value = coerce::from_value_coerced::<S>(Value::Object(fields)).map_err(|errors| {
            ActorError::new("ValidationError", coerce::Listed(&errors).to_string())
        })?;
        Ok(self.replace(value))
    }
}
