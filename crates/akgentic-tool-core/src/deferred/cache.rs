//! What a deferred result actor remembers; no clock, no tasks.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use lru::LruCache;

/// How many results and failures are kept.
pub const CACHE_CAPACITY: usize = 128;
/// How long a failure is remembered.
pub const NEGATIVE_TTL: Duration = Duration::from_mins(1);

/// Results, remembered failures and work in flight, by key.
///
/// Time is a [`Duration`] since any fixed moment that the owner chooses; it is passed in.
pub struct DeferredCache<K, V> {
    slots: LruCache<K, Slot<V>>,
    capacity: usize,
    in_flight: HashMap<K, Flight>,
    negative_ttl: Duration,
    started: u64,
}

enum Slot<V> {
    Value(V),
    /// The work ended without a result.
    Nothing,
    Failed {
        text: String,
        until: Duration,
    },
}

struct Flight {
    number: u64,
    deadline: Option<Duration>,
}

/// What became of a request for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The work is to be started; it is in flight from now on.
    Start(FlightId),
    /// The work is in flight already.
    InFlight,
    /// The result is there.
    Present,
    /// The work failed not long ago.
    Failed,
}

/// Tells one start of the work for a key from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlightId(u64);

impl<K: Hash + Eq + Clone, V> DeferredCache<K, V> {
    /// An empty cache; one of capacity 0 keeps nothing.
    pub fn new(capacity: usize, negative_ttl: Duration) -> Self {
        Self {
            slots: LruCache::unbounded(),
            capacity,
            in_flight: HashMap::new(),
            negative_ttl,
            started: 0,
        }
    }

    /// The result for `key`, which counts as used now; nothing while unknown, in flight or failed.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        match self.slots.peek(key) {
            Some(Slot::Value(_)) => match self.slots.get(key) {
                Some(Slot::Value(value)) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Why the last work for `key` failed, as long as that is remembered.
    pub fn failure(&self, key: &K) -> Option<&str> {
        match self.slots.peek(key) {
            Some(Slot::Failed { text, .. }) => Some(text),
            _ => None,
        }
    }

    /// Asks for the work on `key`, to be done by `deadline`.
    pub fn request(&mut self, key: &K, now: Duration, deadline: Option<Duration>) -> Admission {
        if self.in_flight.contains_key(key) {
            return Admission::InFlight;
        }
        match self.slots.peek(key) {
            Some(Slot::Value(_)) => return Admission::Present,
            Some(Slot::Failed { until, .. }) if *until > now => return Admission::Failed,
            Some(Slot::Failed { .. } | Slot::Nothing) => {
                self.slots.pop(key);
            }
            None => {}
        }
        self.started += 1;
        self.in_flight.insert(key.clone(), Flight { number: self.started, deadline });
        Admission::Start(FlightId(self.started))
    }

    /// Keeps a result; `None` keeps nothing usable.
    pub fn deliver(&mut self, key: K, value: Option<V>) {
        self.keep(key, value.map_or(Slot::Nothing, Slot::Value));
    }

    /// Remembers a failure until the negative time to live has passed.
    pub fn fail(&mut self, key: K, text: impl Into<String>, now: Duration) {
        self.keep(key, Slot::Failed { text: text.into(), until: now + self.negative_ttl });
    }

    fn keep(&mut self, key: K, slot: Slot<V>) {
        self.in_flight.remove(&key);
        self.slots.put(key, slot);
        while self.slots.len() > self.capacity {
            self.slots.pop_lru();
        }
    }

    /// Whether this very start of the work is still awaited.
    pub fn is_current(&self, key: &K, flight: FlightId) -> bool {
        self.in_flight.get(key).is_some_and(|found| found.number == flight.0)
    }

    /// Turns work whose deadline has passed into failures; their keys are given back.
    pub fn expire(&mut self, now: Duration) -> Vec<K> {
        let overdue = |flight: &Flight| flight.deadline.is_some_and(|deadline| deadline <= now);
        let keys: Vec<K> = self
            .in_flight
            .iter()
            .filter(|(_, flight)| overdue(flight))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &keys {
            self.fail(key.clone(), "the work did not report in time", now);
        }
        keys
    }

    /// Keys of results and failures, least recently used first.
    pub fn keys(&self) -> Vec<&K> {
        let mut keys: Vec<_> = self.slots.iter().map(|(key, _)| key).collect();
        keys.reverse();
        keys
    }

    /// Keys in flight, in the order they were started.
    pub fn in_flight(&self) -> Vec<&K> {
        let mut flights: Vec<_> = self.in_flight.iter().collect();
        flights.sort_by_key(|(_, flight)| flight.number);
        flights.into_iter().map(|(key, _)| key).collect()
    }
}

impl<K: Hash + Eq + Clone, V> Default for DeferredCache<K, V> {
    fn default() -> Self {
        Self::new(CACHE_CAPACITY, NEGATIVE_TTL)
    }
}

impl<K: Hash + Eq + Clone + fmt::Debug, V> fmt::Debug for DeferredCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredCache")
            .field("keys", &self.keys())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn overdue_work_becomes_a_failure() {
        let mut cache: DeferredCache<&str, u8> = DeferredCache::new(4, 60 * SECOND);
        assert!(matches!(
            cache.request(&"a", Duration::ZERO, Some(20 * SECOND)),
            Admission::Start(_)
        ));
        assert_eq!(cache.expire(19 * SECOND), Vec::<&str>::new());
        assert_eq!(cache.expire(20 * SECOND), ["a"]);
        assert_eq!(cache.request(&"a", 21 * SECOND, None), Admission::Failed);
        assert!(cache.failure(&"a").is_some());
        assert!(matches!(cache.request(&"a", 80 * SECOND, None), Admission::Start(_)));
    }

    #[test]
    fn a_late_report_is_told_from_the_current_one() {
        let mut cache: DeferredCache<&str, u8> = DeferredCache::default();
        let Admission::Start(first) = cache.request(&"a", Duration::ZERO, Some(SECOND)) else {
            panic!("not started")
        };
        cache.expire(2 * SECOND);
        let Admission::Start(second) = cache.request(&"a", 100 * SECOND, None) else {
            panic!("not started")
        };
        assert!(!cache.is_current(&"a", first));
        assert!(cache.is_current(&"a", second));
    }
}
