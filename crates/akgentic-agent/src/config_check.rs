//! Old names in configurations, and what is doubtful about one.

use std::fmt;

use akgentic_core::coerce::{FieldError, Listed};
use akgentic_core::wire::{LeftOut, LoadError, WireType as _, left_out, load_record};
use akgentic_llm::{ConfigRecord as _, ReactAgentConfig, RunUsageLimits};
use serde_json::{Map, Value};

use crate::config::AgentConfig;

/// Something about a configuration that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFault {
    /// A key that means nothing; the path to it.
    UnknownKey(String),
    /// A card in a list of cards that nothing is known of and that the agent goes without.
    UnknownCard {
        /// The path to it.
        path: String,
        /// The marker that names it.
        class: String,
    },
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
            Self::UnknownCard { path, class } => {
                write!(f, "{path} is left out: nothing is registered as {class:?}")
            }
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
                faults.extend(passed_over(written));
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

/// What is written and has no effect. Old names are read, under their new ones.
fn passed_over(written: &Value) -> Vec<ConfigFault> {
    let mut written = written.clone();
    let old_limits = written.get("usage_limits").is_some();
    let listed = written.get("model_cfg").is_some_and(Value::is_array);
    if let (true, Some(fields)) = (listed, written.as_object_mut())
        && let Some(models) = fields.shift_remove("model_cfg")
    {
        // a list of models is read as the roster
        fields.insert("model_roster".to_owned(), models);
    }
    rename_old(&mut written);
    let found = left_out(AgentConfig::PATH, &written).unwrap_or_default();
    let place = |path: String| {
        for (renamed, now, was) in [
            (listed, "model_roster.", "model_cfg."),
            (old_limits, "run_usage_limits.", "usage_limits."),
        ] {
            if let (true, Some(rest)) = (renamed, path.strip_prefix(now)) {
                return format!("{was}{rest}");
            }
        }
        path
    };
    let faults = found.into_iter().filter_map(|found| match found {
        LeftOut::Key(path) => Some(ConfigFault::UnknownKey(place(path))),
        LeftOut::Element { path, class } => Some(ConfigFault::UnknownCard { path, class }),
        _ => None,
    });
    faults.collect()
}

/// Puts new names in the place of the old ones.
fn rename_old(written: &mut Value) {
    let rename = |fields: Option<&mut Value>, old: &str, new: &str| {
        if let Some(fields) = fields.and_then(Value::as_object_mut)
            && let Some(value) = fields.shift_remove(old)
        {
            fields.insert(new.to_owned(), value);
        }
    };
    rename(written.pointer_mut("/usage_limits"), "request_limit", "run_request_limit");
    rename(Some(written), "usage_limits", "run_usage_limits");
    let http = written.pointer_mut("/runtime_cfg/http_client_config");
    rename(http, "max_attempts", "max_retries");
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
