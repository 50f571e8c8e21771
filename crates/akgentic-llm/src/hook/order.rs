//! The order of hooks: as they were mounted, moved where they ask to be.

use std::sync::Arc;

use super::{Hook, Hooks};

/// Where a hook wants to stand among the others; hooks are named by [`Hook::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Outside of all that do not want that, too.
    pub outermost: bool,
    /// Inside of all that do not want that, too.
    pub innermost: bool,
    /// Outside of these, if they are there.
    pub wraps: Vec<String>,
    /// Inside of these, if they are there.
    pub wrapped_by: Vec<String>,
    /// These must be there.
    pub requires: Vec<String>,
}

/// The hooks cannot stand as they ask to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HookOrderError {
    /// One needs another that is not there.
    #[error("the hook {hook:?} requires the hook {missing:?}, which is not mounted")]
    Missing {
        /// The hook.
        hook: String,
        /// What it needs.
        missing: String,
    },
    /// They ask for places around each other.
    #[error("the hooks {} cannot all be where they ask to be", names.join(", "))]
    Cycle {
        /// Those that are left when all others have their place.
        names: Vec<String>,
    },
}

/// The hooks in an order that suits all of them, as near as possible to the one they are in.
pub(crate) fn sorted(hooks: Vec<Arc<dyn Hook>>) -> Result<Hooks, HookOrderError> {
    let places: Vec<Place> = hooks.iter().map(|hook| hook.place()).collect();
    if places.iter().all(|place| *place == Place::default()) {
        return Ok(hooks.into());
    }
    let names: Vec<String> = hooks.iter().map(|hook| hook.name().to_owned()).collect();
    for (place, name) in places.iter().zip(&names) {
        if let Some(missing) = place.requires.iter().find(|needed| !names.contains(needed)) {
            return Err(HookOrderError::Missing { hook: name.clone(), missing: missing.clone() });
        }
    }
    let outside = |outer: usize, inner: usize| {
        let (Some(a), Some(b)) = (places.get(outer), places.get(inner)) else { return false };
        let is = |name: &String, index: usize| names.get(index) == Some(name);
        (a.outermost && !b.outermost)
            || (b.innermost && !a.innermost)
            || a.wraps.iter().any(|name| is(name, inner))
            || b.wrapped_by.iter().any(|name| is(name, outer))
    };
    let mut waiting: Vec<usize> = (0..hooks.len()).collect();
    let mut order = Vec::with_capacity(hooks.len());
    while !waiting.is_empty() {
        let free =
            |inner: &usize| waiting.iter().all(|outer| outer == inner || !outside(*outer, *inner));
        let Some(at) = waiting.iter().position(free) else {
            let names = waiting.iter().filter_map(|index| names.get(*index).cloned()).collect();
            return Err(HookOrderError::Cycle { names });
        };
        order.push(waiting.remove(at));
    }
    Ok(order.into_iter().filter_map(|index| hooks.get(index).cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str, Place);

    impl Hook for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn place(&self) -> Place {
            self.1.clone()
        }
    }

    fn order(hooks: Vec<(&'static str, Place)>) -> Result<Vec<String>, HookOrderError> {
        let hooks = hooks.into_iter().map(|(name, place)| Arc::new(Named(name, place)) as _);
        let sorted = sorted(hooks.collect())?;
        Ok(sorted.iter().map(|hook| hook.name().to_owned()).collect())
    }

    fn anywhere() -> Place {
        Place::default()
    }

    fn wraps(name: &str) -> Place {
        Place { wraps: vec![name.to_owned()], ..anywhere() }
    }

    #[test]
    fn hooks_move_only_where_they_ask_to() {
        assert_eq!(order(vec![("b", anywhere()), ("a", anywhere())]).unwrap(), ["b", "a"]);
        let outermost = Place { outermost: true, ..anywhere() };
        let innermost = Place { innermost: true, ..anywhere() };
        let inside_a = Place { wrapped_by: vec!["a".to_owned()], ..anywhere() };
        let hooks = vec![
            ("in", innermost),
            ("c", inside_a),
            ("a", anywhere()),
            ("d", wraps("b")),
            ("b", anywhere()),
            ("out", outermost),
        ];
        assert_eq!(order(hooks).unwrap(), ["out", "a", "c", "d", "b", "in"]);
        assert_eq!(order(vec![("a", wraps("nobody"))]).unwrap(), ["a"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let cycle = order(vec![("a", wraps("b")), ("b", wraps("a")), ("c", anywhere())]);
        assert_eq!(
            cycle.unwrap_err(),
            HookOrderError::Cycle { names: vec!["a".to_owned(), "b".to_owned()] }
        );
        let needs = Place { requires: vec!["z".to_owned()], ..anywhere() };
        let missing = order(vec![("a", needs)]).unwrap_err();
        assert_eq!(
            missing,
            HookOrderError::Missing { hook: "a".to_owned(), missing: "z".to_owned() }
        );
    }
}
