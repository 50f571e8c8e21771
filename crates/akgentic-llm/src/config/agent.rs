//! The configuration of a whole agent.

use std::collections::HashSet;

use akgentic_core::coerce::{Coercer, FieldError, Loc, Options};
use akgentic_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{
    below, compaction_rules, inside, model_rules, rename, rename_nested_attempts,
    rename_request_limit,
};
use super::{
    AgentUsageLimits, CompactionConfig, ConfigRecord, ModelConfig, RunUsageLimits, RuntimeConfig,
};

/// What an agent is made of: its model and those it may switch to, how its runs go, what it may
/// consume, how its history is shortened.
///
/// Read with [`ConfigRecord::from_json`], a list of models as `model_cfg` becomes the roster and
/// its first entry the active model, and `usage_limits` is the old name of `run_usage_limits`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReactAgentConfig {
    /// The active model.
    pub model_cfg: ModelConfig,
    /// The models the agent may switch to, the active one among them; empty for none.
    pub model_roster: Vec<ModelConfig>,
    /// How runs go.
    pub runtime_cfg: RuntimeConfig,
    /// What one run may consume.
    pub run_usage_limits: RunUsageLimits,
    /// What the agent may consume in its life.
    pub agent_usage_limits: AgentUsageLimits,
    /// How its history is shortened.
    pub compaction_cfg: CompactionConfig,
    /// Keep system prompts and only the newest other messages, so many in all.
    #[schemars(range(min = 0))]
    pub max_messages: Option<u64>,
}

payload!(ReactAgentConfig = "akgentic.llm.config.ReactAgentConfig",
    aliases: ["akgentic.llm.ReactAgentConfig"]);

impl ConfigRecord for ReactAgentConfig {
    fn from_json(mut value: Value) -> Result<Self, Vec<FieldError>> {
        let listed = Self::modernize(&mut value)?;
        let read = Coercer::of::<Self>().parse::<Self>(value.clone(), Options::RECORD);
        let config = read.map_err(|mut errors| {
            // the first entry of a list stands in two places; one report is enough
            let copy = Loc::Key("model_cfg".to_owned());
            errors.retain(|error| !listed || error.loc.first() != Some(&copy));
            errors
        })?;
        config.check_parts(&value)?;
        config.check().map_err(|message| vec![FieldError::whole("value_error", message, value)])?;
        Ok(config)
    }
}

impl ReactAgentConfig {
    /// Puts a configuration as people may write it, or wrote it once, into the form that is read: a
    /// list of models becomes the roster, old names become new ones. Says whether there was a list.
    ///
    /// Records of other crates with these fields do it before they are read.
    pub fn modernize(value: &mut Value) -> Result<bool, Vec<FieldError>> {
        let listed = fold_model_list(value)?;
        if rename(value, "usage_limits", "run_usage_limits")? {
            tracing::warn!("the setting usage_limits is deprecated; use run_usage_limits");
            inside(value, "run_usage_limits", rename_request_limit)?;
        }
        inside(value, "runtime_cfg", rename_nested_attempts)?;
        Ok(listed)
    }

    /// Checks what no field can check alone: window against compaction, compaction against limits,
    /// the roster.
    pub fn check(&self) -> Result<(), String> {
        if self.max_messages.is_some() && self.compaction_cfg.auto_trigger {
            return Err("max_messages and automatic compaction exclude each other; set \
                        compaction_cfg.auto_trigger to false or leave max_messages out"
                .to_owned());
        }
        self.check_bounds(&self.model_cfg)?;
        let mut keys = HashSet::new();
        if let Some(twice) =
            self.model_roster.iter().map(ModelConfig::key).find(|key| !keys.insert(key.clone()))
        {
            return Err(format!("model_roster has two entries for {twice}"));
        }
        let active = self.model_cfg.key();
        if !keys.is_empty() && !keys.contains(&active) {
            return Err(format!("model_cfg {active} is not in model_roster"));
        }
        Ok(())
    }

    /// Whether compaction of a history of `model` starts before a run reaches its token limits.
    pub fn check_bounds(&self, model: &ModelConfig) -> Result<(), String> {
        let Some(threshold) = self.compaction_cfg.threshold(model) else { return Ok(()) };
        let limits = [
            ("input_tokens_limit", self.run_usage_limits.input_tokens_limit),
            ("total_tokens_limit", self.run_usage_limits.total_tokens_limit),
        ];
        for (name, limit) in limits {
            if let Some(limit) = limit.filter(|limit| threshold >= *limit) {
                return Err(format!(
                    "{} is compacted above {threshold} input tokens, but run_usage_limits.{name} \
                     ends a run at {limit}; raise the limit or lower context_length",
                    model.key()
                ));
            }
        }
        Ok(())
    }

    /// The models the agent may be switched to, or its only one.
    pub fn models(&self) -> &[ModelConfig] {
        if self.model_roster.is_empty() {
            std::slice::from_ref(&self.model_cfg)
        } else {
            &self.model_roster
        }
    }

    fn check_parts(&self, input: &Value) -> Result<(), Vec<FieldError>> {
        model_rules(&self.model_cfg, input)
            .map_err(|errors| below(&["model_cfg".into()], errors))?;
        for (index, model) in self.model_roster.iter().enumerate() {
            model_rules(model, input)
                .map_err(|errors| below(&["model_roster".into(), index.into()], errors))?;
        }
        compaction_rules(&self.compaction_cfg, input)
            .map_err(|errors| below(&["compaction_cfg".into()], errors))
    }
}

/// A list of models becomes the roster, its first entry the active model. Says whether there was
/// one.
fn fold_model_list(value: &mut Value) -> Result<bool, Vec<FieldError>> {
    let Value::Object(fields) = value else { return Ok(false) };
    let Some(Value::Array(models)) = fields.get("model_cfg") else { return Ok(false) };
    let wrong = match models.first() {
        None => "model_cfg is an empty list; name at least one model",
        Some(_) if fields.contains_key("model_roster") => {
            "a list as model_cfg is the roster itself; leave model_roster out"
        }
        Some(first) => {
            let (first, models) = (first.clone(), models.clone());
            fields.insert("model_cfg".to_owned(), first);
            fields.insert("model_roster".to_owned(), Value::Array(models));
            return Ok(true);
        }
    };
    Err(vec![FieldError::whole("value_error", wrong, value.clone())])
}
