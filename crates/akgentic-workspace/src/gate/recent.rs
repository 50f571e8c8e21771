//! A map that keeps the entries touched last.

use std::borrow::Borrow;
use std::hash::Hash;
use std::num::NonZeroUsize;

use lru::LruCache;

/// At most so many entries; with room for none, it remembers nothing.
#[derive(Debug)]
pub(crate) struct Recent<K: Hash + Eq, V> {
    entries: Option<LruCache<K, V>>,
}

impl<K: Hash + Eq, V> Recent<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        // The map grows as it fills: a cap may be far above what is ever used.
        let entries = NonZeroUsize::new(most).map(|most| {
            let mut entries = LruCache::unbounded();
            entries.resize(most);
            entries
        });
        Self { entries }
    }

    /// Stores an entry as the latest one; gives what had to go for it.
    pub(crate) fn put(&mut self, key: K, value: V) -> Option<(K, V)> {
        self.entries.as_mut()?.push(key, value)
    }

    /// Looks an entry up and leaves the order as it is.
    pub(crate) fn peek<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.as_ref()?.peek(key)
    }

    /// Looks an entry up and makes it the latest one.
    pub(crate) fn touch<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.as_mut()?.get(key)
    }

    /// Looks an entry up to change it, and makes it the latest one.
    pub(crate) fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.as_mut()?.get_mut(key)
    }

    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.as_mut()?.pop(key)
    }

    /// The entries, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().flat_map(|entries| entries.iter().rev())
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, LruCache::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_latest_and_nothing_without_room() {
        let mut recent = Recent::new(2);
        for key in ["a", "b"] {
            recent.put(key, ());
        }
        recent.touch("a");
        assert_eq!(recent.put("c", ()), Some(("b", ())));
        let kept: Vec<_> = recent.iter().map(|(key, ())| *key).collect();
        assert_eq!(kept, ["a", "c"]);
        let mut none = Recent::new(0);
        none.put("a", ());
        assert_eq!((none.peek("a"), none.len()), (None, 0));
    }
}
