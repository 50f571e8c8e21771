//! The closed set of types that data may name.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{Registration, TypeEntry, UnresolvableClass};

/// Every registered type, by path and alias.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<TypeEntry>,
    by_path: HashMap<&'static str, Known>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    index: usize,
    deprecated: bool,
}

/// The registry of this program, collected once from every linked crate.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::collect)
}

/// The type that answers to `path`; a deprecated path is reported.
pub fn resolve(path: &str) -> Result<&'static TypeEntry, UnresolvableClass> {
    registry().resolve(path)
}

impl Registry {
    /// The type that answers to `path`; a deprecated path is reported.
    pub fn resolve(&self, path: &str) -> Result<&TypeEntry, UnresolvableClass> {
        let unknown = || UnresolvableClass { path: path.to_owned() };
        let known = self.by_path.get(path).ok_or_else(unknown)?;
        let entry = self.entries.get(known.index).ok_or_else(unknown)?;
        if known.deprecated {
            tracing::warn!(path, current = entry.path(), "a deprecated class path was used");
        }
        Ok(entry)
    }

    /// Like [`Registry::resolve`], without a report.
    pub fn get(&self, path: &str) -> Option<&TypeEntry> {
        self.entries.get(self.by_path.get(path)?.index)
    }

    /// All types, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &TypeEntry> {
        self.entries.iter()
    }

    /// Whether `path` names `ancestor` or a type that derives from it by way of
    /// [`TypeEntry::extends`].
    pub fn derives_from(&self, path: &str, ancestor: &str) -> bool {
        const LONGEST_CHAIN: usize = 16;
        let Some(ancestor) = self.get(ancestor) else {
            return false;
        };
        let mut current = self.get(path);
        for _ in 0..LONGEST_CHAIN {
            match current {
                Some(entry) if entry.path() == ancestor.path() => return true,
                Some(entry) => current = entry.extends().and_then(|parent| self.get(parent)),
                None => return false,
            }
        }
        false
    }

    fn collect() -> Self {
        let mut registry = Self { entries: Vec::new(), by_path: HashMap::new() };
        for registration in inventory::iter::<Registration> {
            let index = registry.entries.len();
            registry.entries.push(TypeEntry::new(registration));
            registry.add(registration.path, Known { index, deprecated: false });
        }
        for index in 0..registry.entries.len() {
            let Some(entry) = registry.entries.get(index) else {
                continue;
            };
            let (aliases, former) = (entry.aliases(), entry.deprecated());
            for alias in aliases {
                registry.add(alias, Known { index, deprecated: false });
            }
            for path in former {
                registry.add(path, Known { index, deprecated: true });
            }
        }
        registry
    }

    /// The first type that claims a path keeps it.
    fn add(&mut self, path: &'static str, known: Known) {
        let kept = *self.by_path.entry(path).or_insert(known);
        let rust_type = |known: Known| self.entries.get(known.index).map(TypeEntry::type_id);
        if rust_type(kept) != rust_type(known) {
            tracing::error!(path, "two types claim one path; the later is refused");
        }
    }
}
