//! Who is in the team: members in the order of their first start.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use uuid::Uuid;

use crate::address::ActorAddress;

/// The members of a team, kept up to date start by start.
///
/// A member is in the team when the latest of its starts and stops is a start; its address is that
/// of its last start, its place that of its first.
#[derive(Debug, Default)]
pub struct Roster {
    members: IndexMap<Uuid, Member>,
    names: HashMap<String, BTreeSet<usize>>,
    present: usize,
    listed: Option<Arc<[ActorAddress]>>,
    version: u64,
}

#[derive(Debug)]
struct Member {
    address: ActorAddress,
    present: bool,
}

impl Roster {
    /// A member started.
    pub fn started(&mut self, address: ActorAddress) {
        self.changed();
        let id = address.agent_id();
        let name = address.name().to_owned();
        let (at, old) = self.members.insert_full(id, Member { address, present: true });
        match old {
            Some(old) if old.present => self.forget_name(at, old.address.name()),
            _ => self.present += 1,
        }
        self.names.entry(name).or_default().insert(at);
    }

    /// A member stopped; unknown ids are ignored.
    pub fn stopped(&mut self, agent_id: Uuid) {
        let Some((at, _, member)) = self.members.get_full_mut(&agent_id) else { return };
        if !std::mem::replace(&mut member.present, false) {
            return;
        }
        let name = member.address.name().to_owned();
        self.present -= 1;
        self.forget_name(at, &name);
        self.changed();
    }

    /// The first member with exactly this name.
    pub fn member(&self, name: &str) -> Option<&ActorAddress> {
        let at = *self.names.get(name)?.first()?;
        self.members.get_index(at).map(|(_, member)| &member.address)
    }

    /// The member with this identity.
    pub fn by_id(&self, agent_id: Uuid) -> Option<&ActorAddress> {
        let member = self.members.get(&agent_id).filter(|member| member.present)?;
        Some(&member.address)
    }

    /// Members in order, without building a list.
    pub fn iter(&self) -> impl Iterator<Item = &ActorAddress> {
        self.members.values().filter(|member| member.present).map(|member| &member.address)
    }

    /// Members in order; the list is built once per change.
    pub fn list(&mut self) -> Arc<[ActorAddress]> {
        if let Some(listed) = &self.listed {
            return Arc::clone(listed);
        }
        let listed: Arc<[ActorAddress]> = self.iter().cloned().collect();
        self.listed = Some(Arc::clone(&listed));
        listed
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.present
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Counts changes; equal versions mean equal rosters.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn changed(&mut self) {
        self.version += 1;
        self.listed = None;
    }

    fn forget_name(&mut self, at: usize, name: &str) {
        if let Some(places) = self.names.get_mut(name) {
            places.remove(&at);
            if places.is_empty() {
                self.names.remove(name);
            }
        }
    }
}
