//! The models an agent may switch to, for those who list and switch while it runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use akgentic_llm::{BuildModel, FallbackModel, ModelConfig, ModelSwitchError, ReactAgentConfig};

/// A model of an agent's roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// `provider:model`.
    pub key: String,
    /// Who serves it.
    pub provider: String,
    /// Its name at the provider.
    pub model: String,
    /// Whether it is the one in use, from the next turn on.
    pub active: bool,
    /// Its context window in tokens.
    pub context_length: Option<u64>,
}

/// The roster of one agent, and the model in force; clones share it.
///
/// A switch is checked at once and made before the next turn, so that it may come from the middle of
/// one.
#[derive(Clone)]
pub struct ModelDesk {
    config: Arc<ReactAgentConfig>,
    build: Option<Arc<BuildModel>>,
    state: Arc<Mutex<DeskState>>,
}

#[derive(Debug)]
struct DeskState {
    active: String,
    /// The model to switch to before the next run.
    wanted: Option<String>,
}

impl ModelDesk {
    pub(super) fn new(config: ReactAgentConfig, build: Option<Arc<BuildModel>>) -> Self {
        let active = config.model_cfg.key();
        let state = Arc::new(Mutex::new(DeskState { active, wanted: None }));
        Self { config: Arc::new(config), build, state }
    }

    /// The models in the order of the roster; none without a roster.
    pub fn rows(&self) -> Vec<ModelEntry> {
        let active = self.lock().active.clone();
        let rows = self.config.model_roster.iter().map(|model| {
            let key = model.key();
            ModelEntry {
                active: key == active,
                key,
                provider: model.provider.as_str().to_owned(),
                model: model.model.clone(),
                context_length: model.context_length,
            }
        });
        rows.collect()
    }

    /// The configuration of the model in force.
    pub fn active(&self) -> ModelConfig {
        let active = self.lock().active.clone();
        self.entry(&active).unwrap_or(&self.config.model_cfg).clone()
    }

    /// Checks that the agent can use a model of its roster and has it used from the next turn on;
    /// says so in a line. When it cannot nothing changes.
    pub fn switch(&self, key: &str) -> Result<String, ModelSwitchError> {
        let Some(build) = &self.build else { return Err(ModelSwitchError::Mock) };
        if self.config.model_roster.is_empty() {
            return Err(ModelSwitchError::NoRoster);
        }
        let Some(entry) = self.entry(key) else {
            return Err(ModelSwitchError::UnknownKey {
                key: key.to_owned(),
                listed: closest(key, self.config.model_roster.iter().map(ModelConfig::key)),
            });
        };
        let named = || key.to_owned();
        self.config
            .check_bounds(entry)
            .map_err(|reason| ModelSwitchError::CompactionBounds { key: named(), reason })?;
        FallbackModel::build(entry, &**build)
            .map_err(|source| ModelSwitchError::CannotBuild { key: named(), source })?;
        let mut state = self.lock();
        key.clone_into(&mut state.active);
        state.wanted = Some(key.to_owned());
        drop(state);
        Ok(format!("{key} is used from the next turn on."))
    }

    /// The model to switch to, once.
    pub(super) fn take_wanted(&self) -> Option<String> {
        self.lock().wanted.take()
    }

    /// A switch did not go through after all.
    pub(super) fn stay_with(&self, key: String) {
        self.lock().active = key;
    }

    /// The configuration of the model with this key; without one, of the model in force.
    pub(crate) fn find(&self, key: Option<&str>) -> Option<ModelConfig> {
        let active = self.active();
        match key {
            None => Some(active),
            Some(key) if active.key() == key => Some(active),
            Some(key) => self.entry(key).cloned(),
        }
    }

    fn entry(&self, key: &str) -> Option<&ModelConfig> {
        self.config.model_roster.iter().find(|model| model.key() == key)
    }

    fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for ModelDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ModelDesk").field(&*self.lock()).finish()
    }
}

/// Names with those most like `wanted` in front.
pub(crate) fn closest(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_by_cached_key(|name| distance(wanted, name));
    names
}

/// How many changes make one text the other, letters alike in either case.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).take(200).collect();
    let (one, other): (Vec<char>, Vec<char>) = (lower(one), lower(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, right) in other.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_the_fewest_changes_come_first() {
        assert_eq!(distance("@Anna", "@anna"), 0);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("@Dev", "@Dev421"), 3);
        let names = ["@Writer", "@Dev421", "@Dave"].map(str::to_owned);
        assert_eq!(closest("@Dav", names.into_iter()), ["@Dave", "@Dev421", "@Writer"]);
    }
}
