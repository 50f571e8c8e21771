//! Volatile state, told to the model once per turn as what changed.

mod marker;
mod provider;
mod state;
mod updater;

pub use marker::{MarkerScan, UpdateKind, highest_marker, marker_line};
pub use provider::ContextProvider;
pub use state::{AnyContextState, ContextState};
pub use updater::{ContextUpdater, PROVIDER_BUDGET};
