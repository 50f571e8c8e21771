//! Reading and checking configuration records.

use akgentic_core::coerce::{Coercer, FieldError, Loc, Options};
use serde_json::{Map, Value};

use super::{
    AgentUsageLimits, CompactionConfig, HttpClientConfig, ModelConfig, OpenRouterRouting, Provider,
    RunUsageLimits, RuntimeConfig, UsageLimits,
};

/// Reads and checks a configuration record: numbers may come as text, unknown keys are ignored,
/// every wrong field is reported.
pub trait ConfigRecord: Sized {
    /// Reads it.
    fn from_json(value: Value) -> Result<Self, Vec<FieldError>>;
}

macro_rules! config_record {
    ($($type:ty $(, old names: $renamed:path)? $(, rules: $rules:path)?;)*) => {$(
        impl ConfigRecord for $type {
            #[allow(unused_mut, reason = "only records with old names change their input")]
            fn from_json(mut value: Value) -> Result<Self, Vec<FieldError>> {
                $( $renamed(&mut value)?; )?
                let record: Self = Coercer::of::<Self>().parse(value.clone(), Options::RECORD)?;
                $( $rules(&record, &value)?; )?
                Ok(record)
            }
        }
    )*};
}

config_record! {
    ModelConfig, rules: model_rules;
    CompactionConfig, rules: compaction_rules;
    OpenRouterRouting;
    RunUsageLimits;
    AgentUsageLimits;
    HttpClientConfig, old names: rename_attempts;
    RuntimeConfig, old names: rename_nested_attempts;
}

impl ConfigRecord for UsageLimits {
    fn from_json(mut value: Value) -> Result<Self, Vec<FieldError>> {
        rename_request_limit(&mut value)?;
        tracing::warn!("the record UsageLimits is deprecated; use RunUsageLimits");
        RunUsageLimits::from_json(value).map(Self)
    }
}

/// Moves the value of `old` to `new`; both together are refused. Says whether there was one.
pub(super) fn rename(value: &mut Value, old: &str, new: &str) -> Result<bool, Vec<FieldError>> {
    let Value::Object(fields) = value else { return Ok(false) };
    if !fields.contains_key(old) {
        return Ok(false);
    }
    if fields.contains_key(new) {
        let message = format!("{old} and {new} are two names of one setting; give one of them");
        return Err(vec![FieldError::whole("value_error", message, value.clone())]);
    }
    // the place in the order decides nothing, so it may be the last one
    let moved = fields.shift_remove(old).unwrap_or_default();
    fields.insert(new.to_owned(), moved);
    Ok(true)
}

/// The old name of the limit on requests, with a notice.
pub(super) fn rename_request_limit(value: &mut Value) -> Result<(), Vec<FieldError>> {
    if rename(value, "request_limit", "run_request_limit")? {
        tracing::warn!("the setting request_limit is deprecated; use run_request_limit");
    }
    Ok(())
}

fn rename_attempts(value: &mut Value) -> Result<(), Vec<FieldError>> {
    rename(value, "max_attempts", "max_retries").map(drop)
}

pub(super) fn rename_nested_attempts(value: &mut Value) -> Result<(), Vec<FieldError>> {
    inside(value, "http_client_config", rename_attempts)
}

/// Changes the field `key`, when there is one; what is wrong with it is located there.
pub(super) fn inside(
    value: &mut Value,
    key: &str,
    change: impl FnOnce(&mut Value) -> Result<(), Vec<FieldError>>,
) -> Result<(), Vec<FieldError>> {
    let field = value.as_object_mut().and_then(|fields: &mut Map<_, _>| fields.get_mut(key));
    field.map_or(Ok(()), |field| change(field).map_err(|errors| below(&[key.into()], errors)))
}

/// The same errors, one or more steps further in.
pub(super) fn below(steps: &[Step<'_>], mut errors: Vec<FieldError>) -> Vec<FieldError> {
    for error in &mut errors {
        let prefix = steps.iter().map(|step| match step {
            Step::Key(key) => Loc::Key((*key).to_owned()),
            Step::Index(index) => Loc::Index(*index),
        });
        error.loc.splice(0..0, prefix);
    }
    errors
}

/// One step of the way to a value.
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

pub(super) fn model_rules(config: &ModelConfig, input: &Value) -> Result<(), Vec<FieldError>> {
    let wrong = |message| vec![FieldError::whole("value_error", message, input.clone())];
    for (index, fallback) in config.fallback_models.iter().enumerate() {
        check_model(fallback)
            .map_err(|message| below(&["fallback_models".into(), index.into()], wrong(message)))?;
    }
    check_model(config).map_err(wrong)
}

pub(super) fn compaction_rules(
    config: &CompactionConfig,
    input: &Value,
) -> Result<(), Vec<FieldError>> {
    let Some(model) = &config.summary_model_cfg else { return Ok(()) };
    model_rules(model, input).map_err(|errors| below(&["summary_model_cfg".into()], errors))
}

/// The rules about a whole model, fallbacks taken as checked.
fn check_model(config: &ModelConfig) -> Result<(), String> {
    if config.openrouter_provider.is_some() && config.provider != Provider::OpenRouter {
        return Err("openrouter_provider is for the provider openrouter only".to_owned());
    }
    if config.fallback_models.iter().any(|fallback| !fallback.fallback_models.is_empty()) {
        return Err("a fallback model has no fallbacks of its own".to_owned());
    }
    let native = config.native_output();
    let differing: Vec<String> = config
        .fallback_models
        .iter()
        .filter(|fallback| fallback.native_output() != native)
        .map(|fallback| format!("{}/{}", fallback.provider.as_str(), fallback.model))
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "fallback models must support native structured output like the model itself: {}",
        differing.join(", ")
    ))
}
