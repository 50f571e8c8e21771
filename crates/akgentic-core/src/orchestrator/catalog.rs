//! Which roles a team knows: agent cards by role.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::card::AgentCard;

/// Agent cards by role, in the order in which the roles came.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    cards: IndexMap<String, Arc<AgentCard>>,
}

impl Catalog {
    /// Adds a card; one with a known role replaces the card and keeps the place.
    pub fn register(&mut self, card: impl Into<Arc<AgentCard>>) {
        let card = card.into();
        self.cards.insert(card.role().to_owned(), card);
    }

    /// The cards in order.
    pub fn cards(&self) -> Vec<Arc<AgentCard>> {
        self.cards.values().cloned().collect()
    }

    /// The card of a role, spelled exactly so.
    pub fn get(&self, role: &str) -> Option<&Arc<AgentCard>> {
        self.cards.get(role)
    }

    /// Cards with a skill, spelled exactly so.
    pub fn with_skill(&self, skill: &str) -> Vec<Arc<AgentCard>> {
        self.cards.values().filter(|card| card.has_skill(skill)).cloned().collect()
    }

    /// The roles in order.
    pub fn roles(&self) -> Vec<String> {
        self.cards.keys().cloned().collect()
    }

    /// All skills, sorted, each once.
    pub fn skills(&self) -> Vec<String> {
        let skills: BTreeSet<&String> = self.cards.values().flat_map(|card| &card.skills).collect();
        skills.into_iter().cloned().collect()
    }
}
