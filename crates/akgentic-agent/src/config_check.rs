//! Old names in configurations, and what is doubtful about one.

use std::fmt;

use akgentic_core::coerce::{FieldError, Listed};
use akgentic_core::wire::{LoadError, MODEL_KEY, Record as _, WireType as _, load_record};
use akgentic_llm::{ConfigRecord as _, ReactAgentConfig, RunUsageLimits};
use serde_json::{Map, Value};

use crate::config::AgentConfig;

/// Something about a configuration that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFault {
    /// A key that means nothing; the path to it.
    UnknownKey(String),
    /// An old name: what it is called now.
    Deprecated {
        /// The name that was used.
        name: &'static str,
        /// The name to use.
        instead: &'static str,
    },
    /// It does not load, or does not start.
    Wrong(String),
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey(path) => write!(f, "{path} is no setting and changes nothing"),
            Self::Deprecated { name, instead } => {
                write!(f, "{name} is deprecated; write {instead}")
            }
            Self::Wrong(reason) => f.write_str(reason),
        }
    }
}

impl AgentConfig {
    /// What keeps an agent of this configuration from starting, as far as it can be told without
    /// starting it: a prompt without its parameters, colliding limits, a roster that does not fit.
    pub fn check(&self) -> Vec<ConfigFault> {
        let prompt = self.prompt.render().map(drop).map_err(|error| error.to_string());
        let faults = [prompt, self.check_react()].into_iter().filter_map(Result::err);
        faults.map(ConfigFault::Wrong).collect()
    }

    fn check_react(&self) -> Result<(), String> {
        let written = serde_json::to_value(self.react()).map_err(|error| error.to_string())?;
        let read = ReactAgentConfig::from_json(written);
        read.map(drop).map_err(|errors| Listed(&errors).to_string())
    }

    /// The same for a configuration as people write it; also tells keys that mean nothing and names
    /// that are old.
    ///
    /// ```
    /// # use akgentic_agent::{AgentConfig, ConfigFault};
    /// let written = serde_json::json!({"run_usage_limits": {"request_limit": 5}});
    /// let faults = AgentConfig::check_json(&written);
    /// assert_eq!(faults, [ConfigFault::UnknownKey("run_usage_limits.request_limit".into())]);
    /// ```
    pub fn check_json(written: &Value) -> Vec<ConfigFault> {
        let mut faults = deprecations(written);
        match load_record::<Self>(written.clone()) {
            Ok(config) => {
                let mut unknown = Vec::new();
                unknown_keys(written, &config.to_json(), &mut String::new(), &mut unknown);
                faults.extend(unknown.into_iter().map(ConfigFault::UnknownKey));
                faults.extend(config.check());
            }
            Err(error) => faults.push(ConfigFault::Wrong(error.to_string())),
        }
        faults
    }
}

/// The old names in a configuration.
fn deprecations(written: &Value) -> Vec<ConfigFault> {
    let mut found = Vec::new();
    if let Some(limits) = written.get("usage_limits") {
        found.push(ConfigFault::Deprecated { name: "usage_limits", instead: "run_usage_limits" });
        if limits.get("request_limit").is_some() {
            let (name, instead) = ("request_limit", "run_request_limit");
            found.push(ConfigFault::Deprecated { name, instead });
        }
    }
    if written.pointer("/runtime_cfg/http_client_config/max_attempts").is_some() {
        found.push(ConfigFault::Deprecated { name: "max_attempts", instead: "max_retries" });
    }
    found
}

/// Old names that are read all the same.
const OLD: [&str; 3] = ["usage_limits", "request_limit", "max_attempts"];

/// Keys of `written` that are not in what was read from it.
fn unknown_keys(written: &Value, read: &Value, path: &mut String, unknown: &mut Vec<String>) {
    let step = |path: &mut String, name: &str| {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        length
    };
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            for (key, value) in written {
                if key == MODEL_KEY || (OLD.contains(&key.as_str()) && path.is_empty()) {
                    continue;
                }
                let back = step(path, key);
                match read.get(key) {
                    Some(read) => unknown_keys(value, read, path, unknown),
                    None if key == "max_attempts" || is_left_out(key) => {}
                    None => unknown.push(path.clone()),
                }
                path.truncate(back);
            }
        }
        (Value::Array(written), Value::Array(read)) if written.len() == read.len() => {
            for (index, (value, read)) in written.iter().zip(read).enumerate() {
                let back = step(path, &index.to_string());
                unknown_keys(value, read, path, unknown);
                path.truncate(back);
            }
        }
        _ => {}
    }
}

/// Settings that are written only when they say something.
fn is_left_out(key: &str) -> bool {
    matches!(
        key,
        "model_roster"
            | "options"
            | "command_senders"
            | "cancel"
            | "cancelled_by"
            | "tell_cancelled_turns"
            | "notice_max_lines"
            | "tell_failed_reads"
            | "max_hops"
            | "notify_who_asked"
    )
}

/// What is done to the fields of a configuration before they are read.
pub(crate) fn refine(fields: &mut Map<String, Value>) -> Result<(), LoadError> {
    let invalid = |errors| LoadError::Invalid { class: AgentConfig::PATH.to_owned(), errors };
    if let Some(limits) = fields.get("usage_limits")
        && !fields.contains_key("run_usage_limits")
    {
        // what is wrong with limits under the old name is located within them
        read_old_limits(limits.clone()).map_err(invalid)?;
    }
    let mut value = Value::Object(std::mem::take(fields));
    let modernized = ReactAgentConfig::modernize(&mut value);
    if let Value::Object(modern) = value {
        *fields = modern;
    }
    modernized.map(drop).map_err(invalid)
}

fn read_old_limits(mut limits: Value) -> Result<(), Vec<FieldError>> {
    if let Some(limits) = limits.as_object_mut()
        && !limits.contains_key("run_request_limit")
        && let Some(old) = limits.shift_remove("request_limit")
    {
        limits.insert("run_request_limit".to_owned(), old);
    }
    RunUsageLimits::from_json(limits).map(drop)
}
