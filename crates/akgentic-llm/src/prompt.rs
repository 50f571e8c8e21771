//! Prompt templates and named system prompts.

use std::fmt;
use std::sync::Arc;

use akgentic_core::payload;
use indexmap::IndexMap;
use jiff::ZonedDateTime;
use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RunError;

/// A text with named places: `{name}` is replaced, `{{` and `}}` stand for single braces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PromptTemplate {
    /// The text.
    pub template: String,
    /// Values by name.
    pub params: IndexMap<String, String>,
}

payload!(PromptTemplate = "akgentic.llm.prompts.PromptTemplate",
    aliases: ["akgentic.llm.PromptTemplate"]);

/// Why a template does not render.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A place has no value.
    #[error("the template needs the parameter {0:?}")]
    MissingParameter(String),
    /// The text is not a template.
    #[error("bad template: {0}")]
    BadTemplate(&'static str),
}

impl Default for PromptTemplate {
    fn default() -> Self {
        Self { template: "You are a useful assistant".to_owned(), params: IndexMap::new() }
    }
}

impl PromptTemplate {
    /// The text with every place filled; values are not searched for places.
    pub fn render(&self) -> Result<String, TemplateError> {
        let mut text = String::with_capacity(self.template.len());
        let mut rest = self.template.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            text.push_str(before);
            if let Some(after) = brace.strip_prefix("{{") {
                text.push('{');
                rest = after;
            } else if let Some(after) = brace.strip_prefix("}}") {
                text.push('}');
                rest = after;
            } else if let Some(after) = brace.strip_prefix('{') {
                let (name, after) = after
                    .split_once('}')
                    .ok_or(TemplateError::BadTemplate("a place is not closed"))?;
                text.push_str(self.value(name)?);
                rest = after;
            } else {
                return Err(TemplateError::BadTemplate("a closing brace closes nothing"));
            }
        }
        text.push_str(rest);
        Ok(text)
    }

    fn value(&self, name: &str) -> Result<&str, TemplateError> {
        if name.contains('{') {
            return Err(TemplateError::BadTemplate("a place is not closed"));
        }
        if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(TemplateError::BadTemplate("places need names"));
        }
        if let Some(value) = self.params.get(name) {
            return Ok(value);
        }
        let base = name.split(['.', '[', '!', ':']).next().unwrap_or(name);
        if base.len() < name.len() && self.params.contains_key(base) {
            return Err(TemplateError::BadTemplate("a place is a name and nothing else"));
        }
        Err(TemplateError::MissingParameter(base.to_owned()))
    }
}

/// Tells a model to answer with JSON and nothing around it.
pub const JSON_ONLY_PROMPT: &str = "Answer with one JSON object and nothing else: no explanation \
    before or after it, and no code fence around it.";

/// Tells a model the local date and time, to the minute.
pub fn current_date_prompt() -> String {
    date_prompt(ZonedDateTime::now().datetime())
}

fn date_prompt(now: DateTime) -> String {
    let (hour, minute) = (now.hour(), now.minute());
    format!("The current date and time is {} {hour:02}:{minute:02}.", now.date())
}

type Render = dyn Fn() -> Option<String> + Send + Sync;

/// System prompts with the functions that render them, in order.
#[derive(Clone, Default)]
pub struct SystemPrompts {
    prompts: IndexMap<String, Arc<Render>>,
}

impl SystemPrompts {
    /// Adds a prompt. `name` is stored in the history and must be unique and stable; a function
    /// that gives nothing renders as empty text.
    pub fn add<F>(&mut self, name: impl Into<String>, render: F) -> Result<(), RunError>
    where
        F: Fn() -> Option<String> + Send + Sync + 'static,
    {
        let name = name.into();
        if self.prompts.contains_key(&name) {
            return Err(RunError::Usage(format!("there are two system prompts named {name}")));
        }
        self.prompts.insert(name, Arc::new(render));
        Ok(())
    }

    /// Renders every prompt: names and texts in order.
    pub fn render(&self) -> Vec<(String, String)> {
        let rendered = self.prompts.iter();
        rendered.map(|(name, render)| (name.clone(), render().unwrap_or_default())).collect()
    }
}

impl fmt::Debug for SystemPrompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.prompts.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_the_time_to_the_minute() {
        let prompt = date_prompt(DateTime::constant(2026, 1, 2, 3, 4, 59, 0));
        assert_eq!(prompt, "The current date and time is 2026-01-02 03:04.");
        let now = current_date_prompt();
        assert_eq!(now.len(), prompt.len(), "{now}");
    }

    #[test]
    fn the_reminder_asks_for_json_without_a_fence() {
        assert!(JSON_ONLY_PROMPT.contains("JSON object"));
        assert!(JSON_ONLY_PROMPT.contains("no code fence"));
    }

    #[test]
    fn system_prompts_have_unique_names() {
        let mut prompts = SystemPrompts::default();
        prompts.add("a", || Some("x".to_owned())).unwrap();
        prompts.add("b", || None).unwrap();
        let error = prompts.add("a", || None).unwrap_err();
        assert!(error.to_string().contains("named a"), "{error}");
        let rendered = prompts.render();
        assert_eq!(rendered, [("a".to_owned(), "x".to_owned()), ("b".to_owned(), String::new())]);
    }
}
