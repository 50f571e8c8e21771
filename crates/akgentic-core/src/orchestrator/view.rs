//! What of a team can be read without asking its orchestrator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::catalog::Catalog;
use super::roster::Roster;
use crate::address::ActorAddress;
use crate::card::AgentCard;
use crate::wire::Record;

/// Roster, catalogue and metadata of a team; written by its orchestrator, read by anyone.
///
/// A read sees what the orchestrator has handled so far. Ask the orchestrator where an earlier
/// send or creation must be visible.
#[derive(Debug, Default)]
pub struct TeamView(Mutex<Shared>);

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) roster: Roster,
    pub(super) catalog: Catalog,
    pub(super) metadata: Option<Arc<dyn Record>>,
}

impl TeamView {
    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Members in order of their first start, tool actors included, the orchestrator not.
    pub fn members(&self) -> Arc<[ActorAddress]> {
        self.lock().roster.list()
    }

    /// The first member with exactly this name.
    pub fn member(&self, name: &str) -> Option<ActorAddress> {
        self.lock().roster.member(name).cloned()
    }

    /// The member with this identity.
    pub fn member_by_id(&self, agent_id: Uuid) -> Option<ActorAddress> {
        self.lock().roster.by_id(agent_id).cloned()
    }

    /// Changes of the roster so far; equal numbers mean equal rosters.
    pub fn roster_version(&self) -> u64 {
        self.lock().roster.version()
    }

    /// Agent cards in the order in which their roles came.
    pub fn cards(&self) -> Vec<Arc<AgentCard>> {
        self.lock().catalog.cards()
    }

    /// The card of a role.
    pub fn card(&self, role: &str) -> Option<Arc<AgentCard>> {
        self.lock().catalog.get(role).cloned()
    }

    /// The team's metadata record.
    pub fn metadata(&self) -> Option<Arc<dyn Record>> {
        self.lock().metadata.clone()
    }
}
