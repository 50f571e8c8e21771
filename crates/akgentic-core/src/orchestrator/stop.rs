//! The order in which a team is told to stop.

use std::collections::VecDeque;

/// What a stopping orchestrator still has to do.
///
/// First everyone but the tool actors (`#…`) is told, last created first. When no other member is
/// left, the tool actors are told one after the other, last created first, each when the one
/// before it has stopped.
#[derive(Debug)]
pub struct StopPlan<K> {
    waiting: VecDeque<K>,
    told: Option<K>,
}

impl<K: Clone + PartialEq> StopPlan<K> {
    /// A plan for live direct children in creation order; also gives whom to tell now.
    pub fn begin<'n>(children: impl DoubleEndedIterator<Item = (K, &'n str)>) -> (Self, Vec<K>) {
        let mut waiting = VecDeque::new();
        let mut now = Vec::new();
        for (key, name) in children.rev() {
            if is_tool_actor(name) {
                waiting.push_back(key);
            } else {
                now.push(key);
            }
        }
        (Self { waiting, told: None }, now)
    }

    /// A tool actor that came after the stop began; it is the next to be told.
    pub fn add(&mut self, key: K) {
        self.waiting.push_front(key);
    }

    /// A member has stopped.
    pub fn stopped(&mut self, key: &K) {
        if self.told.as_ref() == Some(key) {
            self.told = None;
        }
    }

    /// The tool actor to tell next, given the names of the members that are left.
    pub fn next<'n>(
        &mut self,
        roster: impl Iterator<Item = &'n str>,
        is_alive: impl Fn(&K) -> bool,
    ) -> Option<K> {
        if self.waiting.is_empty() || self.told.is_some() {
            return None;
        }
        if roster.into_iter().any(|name| !is_tool_actor(name)) {
            return None;
        }
        while let Some(key) = self.waiting.pop_front() {
            if is_alive(&key) {
                self.told = Some(key.clone());
                return Some(key);
            }
        }
        None
    }

    /// Tool actors that were not told yet, last created first; they are told no more.
    pub fn give_up(&mut self) -> Vec<K> {
        self.waiting.drain(..).collect()
    }
}

/// Whether a name is that of a tool actor.
pub fn is_tool_actor(name: &str) -> bool {
    name.starts_with('#')
}
