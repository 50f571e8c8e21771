//! The scenario format of load tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use indexmap::IndexMap;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::provider::Variables;

/// What agents answer, read and checked; clones share it.
#[derive(Clone, Debug)]
pub struct LoadScenario(Arc<ScenarioFile>);

/// Why a scenario of a load test cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadScenarioError {
    /// Nobody says which file.
    #[error(
        "name the scenario file as the model of the configuration or in {}",
        LoadScenario::VARIABLE
    )]
    Unnamed,
    /// The file cannot be read.
    #[error("cannot read the scenario {path}: {message}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// The text is not a scenario.
    #[error("the scenario does not load: {0}")]
    Format(String),
}

#[derive(Debug, Deserialize)]
struct ScenarioFile {
    #[serde(default)]
    name: String,
    #[serde(default)]
    default_latency_ms: u64,
    agents: IndexMap<String, Agent>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Agent {
    states: Vec<State>,
    default: State,
}

/// One answer of an agent.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct State {
    id: String,
    when: Option<When>,
    pub(super) tools: Vec<ToolUse>,
    pub(super) respond: Respond,
    pub(super) latency_ms: Option<u64>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            id: "default".to_owned(),
            when: None,
            tools: Vec::new(),
            respond: Respond::default(),
            latency_ms: None,
        }
    }
}

/// All that is given must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct When {
    contains: Option<String>,
    regex: Option<Pattern>,
    from_sender: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&text).map(Self)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolUse {
    pub(super) name: String,
    #[serde(default = "no_args")]
    pub(super) args: String,
    #[serde(default)]
    pub(super) returns: String,
}

fn no_args() -> String {
    "{}".to_owned()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Respond {
    messages: Vec<Sent>,
    pub(super) text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sent {
    message_type: String,
    recipient: String,
    message: String,
}

impl Respond {
    /// The messages as a model would write them.
    pub(super) fn messages_json(&self) -> String {
        let messages = self.messages.iter().map(|message| {
            json!({
                "message_type": message.message_type,
                "recipient": message.recipient,
                "message": message.message,
            })
        });
        format!("{{\"messages\": {}}}", Value::Array(messages.collect()))
    }
}

impl When {
    fn holds(&self, prompt: &str) -> bool {
        let contains = |text: &String| prompt.to_lowercase().contains(&text.to_lowercase());
        self.contains.as_ref().is_none_or(contains)
            && self.regex.as_ref().is_none_or(|pattern| pattern.0.is_match(prompt))
            && self.from_sender.as_ref().is_none_or(|sender| prompt.contains(sender.as_str()))
    }
}

/// Scenarios that were loaded, by file.
static LOADED: LazyLock<Mutex<HashMap<PathBuf, LoadScenario>>> = LazyLock::new(Mutex::default);

impl LoadScenario {
    /// The environment variable that names the file.
    pub const VARIABLE: &'static str = "AKGENTIC_MOCK_SCENARIO";

    /// Reads a scenario; JSON is YAML. Patterns with look-around are refused.
    pub fn parse(text: &str) -> Result<Self, LoadScenarioError> {
        let file: ScenarioFile = serde_saphyr::from_str(text)
            .map_err(|error| LoadScenarioError::Format(error.to_string()))?;
        Ok(Self(Arc::new(file)))
    }

    /// Reads a scenario from a file, once for each file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadScenarioError> {
        let path = path.as_ref();
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded.get(path) {
            return Ok(known.clone());
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| LoadScenarioError::Unreadable {
                path: path.display().to_string(),
                message: error.to_string(),
            })?;
        let scenario = Self::parse(&text)?;
        loaded.insert(path.to_owned(), scenario.clone());
        Ok(scenario)
    }

    /// The file that is meant: the one that the model of the configuration names, if there is one,
    /// or the one in [`LoadScenario::VARIABLE`].
    pub fn locate(model: &str, variables: &Variables<'_>) -> Result<PathBuf, LoadScenarioError> {
        let named = Path::new(model);
        if named.is_file() {
            return Ok(named.to_owned());
        }
        let variable = variables(Self::VARIABLE).filter(|path| !path.is_empty());
        variable.map(PathBuf::from).ok_or(LoadScenarioError::Unnamed)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn default_latency_ms(&self) -> u64 {
        self.0.default_latency_ms
    }

    /// What an agent answers to a prompt, and the number of the state unless it is the default.
    pub(super) fn state(
        &self,
        agent: &str,
        prompt: &str,
        consumed: impl Fn(usize) -> bool,
    ) -> Result<(Option<usize>, &State), String> {
        let Some(states) = self.0.agents.get(agent) else {
            let known: Vec<&str> = self.0.agents.keys().map(String::as_str).collect();
            return Err(format!(
                "the scenario {:?} has no agent {agent:?}; it has {}",
                self.0.name,
                known.join(", ")
            ));
        };
        let fits = |(index, state): &(usize, &State)| {
            !consumed(*index) && state.when.as_ref().is_none_or(|when| when.holds(prompt))
        };
        let found = states.states.iter().enumerate().find(fits);
        Ok(match found {
            Some((index, state)) => {
                tracing::debug!(agent, state = state.id, "a state is played");
                (Some(index), state)
            }
            None => (None, &states.default),
        })
    }
}
