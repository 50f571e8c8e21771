//! The scenario format.

use indexmap::IndexMap;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::ScenarioError;
use super::template::Templates;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioFile {
    #[serde(default)]
    pub name: String,
    pub roles: IndexMap<String, Vec<Turn>>,
}

/// What a role does about one kind of message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    #[serde(default)]
    pub when: When,
    pub steps: Vec<Step>,
}

/// When a turn is played; all that is given must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub contains: Option<OneOrMany>,
    pub matches: Option<String>,
    pub turn: Option<u64>,
    #[serde(rename = "if")]
    pub condition: Option<String>,
}

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// One answer of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    #[serde(rename = "if")]
    pub condition: Option<String>,
    pub think: Option<String>,
    pub say: Option<String>,
    pub call: Option<Call>,
    #[serde(default)]
    pub calls: Vec<Call>,
    pub output: Option<Value>,
    pub fail: Option<String>,
}

/// A tool call, or one for each element of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    #[serde(rename = "for")]
    pub each: Option<String>,
    #[serde(rename = "if")]
    pub condition: Option<String>,
    pub tool: String,
    #[serde(default)]
    pub args: IndexMap<String, Value>,
}

impl OneOrMany {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(text) => std::slice::from_ref(text).iter(),
            Self::Many(texts) => texts.iter(),
        }
        .map(String::as_str)
    }
}

impl Step {
    /// The calls, single or listed.
    pub(super) fn calls(&self) -> impl Iterator<Item = (String, &Call)> {
        let listed = self.calls.iter().enumerate();
        let listed = listed.map(|(index, call)| (format!("calls[{index}]"), call));
        self.call.iter().map(|call| ("call".to_owned(), call)).chain(listed)
    }
}

impl Call {
    /// Name and expression of a `for`.
    pub(super) fn each(&self) -> Option<Result<(&str, &str), &'static str>> {
        let each = self.each.as_deref()?;
        Some(match each.split_once(" in ") {
            Some((name, list)) if is_name(name.trim()) => Ok((name.trim(), list.trim())),
            _ => Err("a `for` reads `NAME in LIST`"),
        })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|next| next.is_alphanumeric() || next == '_')
}

impl ScenarioFile {
    /// Compiles everything that can be compiled before the first use.
    pub(super) fn check(&self, templates: &Templates) -> Result<(), ScenarioError> {
        if self.roles.is_empty() {
            return Err(wrong("roles", "a scenario needs at least one role"));
        }
        for (role, turns) in &self.roles {
            if turns.is_empty() {
                return Err(wrong(&format!("roles.{role}"), "a role needs at least one turn"));
            }
            for (index, turn) in turns.iter().enumerate() {
                turn.check(&format!("roles.{role}[{index}]"), templates)?;
            }
        }
        Ok(())
    }
}

impl Turn {
    fn check(&self, place: &str, templates: &Templates) -> Result<(), ScenarioError> {
        if let Some(pattern) = &self.when.matches {
            let place = format!("{place}.when.matches");
            Regex::new(pattern).map_err(|error| wrong(&place, &error))?;
        }
        if let Some(condition) = &self.when.condition {
            expression(templates, &format!("{place}.when.if"), condition)?;
        }
        if self.steps.is_empty() {
            return Err(wrong(&format!("{place}.steps"), "a turn needs at least one step"));
        }
        for (index, step) in self.steps.iter().enumerate() {
            step.check(&format!("{place}.steps[{index}]"), templates)?;
        }
        Ok(())
    }
}

impl Step {
    fn check(&self, place: &str, templates: &Templates) -> Result<(), ScenarioError> {
        let silent = self.say.is_none() && self.output.is_none() && self.fail.is_none();
        if silent && self.calls().next().is_none() {
            return Err(wrong(place, "a step says, calls, outputs or fails"));
        }
        if let Some(condition) = &self.condition {
            expression(templates, &format!("{place}.if"), condition)?;
        }
        for (key, text) in [("think", &self.think), ("say", &self.say), ("fail", &self.fail)] {
            if let Some(text) = text {
                template(templates, &format!("{place}.{key}"), text)?;
            }
        }
        if let Some(output) = &self.output {
            check_json(templates, &format!("{place}.output"), output)?;
        }
        for (key, call) in self.calls() {
            let place = format!("{place}.{key}");
            if let Some(each) = call.each() {
                let place = format!("{place}.for");
                let (_, list) = each.map_err(|message| wrong(&place, message))?;
                expression(templates, &place, list)?;
            }
            if let Some(condition) = &call.condition {
                expression(templates, &format!("{place}.if"), condition)?;
            }
            template(templates, &format!("{place}.tool"), &call.tool)?;
            for (name, arg) in &call.args {
                check_json(templates, &format!("{place}.args.{name}"), arg)?;
            }
        }
        Ok(())
    }
}

fn check_json(templates: &Templates, place: &str, value: &Value) -> Result<(), ScenarioError> {
    match value {
        Value::String(text) => template(templates, place, text),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            check_json(templates, &format!("{place}[{index}]"), item)
        }),
        Value::Object(map) => map
            .iter()
            .try_for_each(|(key, item)| check_json(templates, &format!("{place}.{key}"), item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn template(templates: &Templates, place: &str, text: &str) -> Result<(), ScenarioError> {
    templates.check_template(text).map_err(|message| wrong(place, &message))
}

fn expression(templates: &Templates, place: &str, text: &str) -> Result<(), ScenarioError> {
    templates.check_expression(text).map_err(|message| wrong(place, &message))
}

fn wrong(place: &str, message: &(impl ToString + ?Sized)) -> ScenarioError {
    ScenarioError::Template { place: place.to_owned(), message: message.to_string() }
}
