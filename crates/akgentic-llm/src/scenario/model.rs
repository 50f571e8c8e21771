//! The model that plays a role of a scenario.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use minijinja::Value;
use regex::Regex;

use super::Script;
use super::file::{Call, Step, Turn, When};
use super::scene::{Scene, note_place};
use super::template::{MAX_TEXT, too_long};
use crate::error::ModelError;
use crate::message::{FinishReason, ModelMessage, ModelResponse};
use crate::model::{Model, ModelInput, OutputRequest};
use crate::output::OUTPUT_TOOL;
use crate::part::{RequestPart, ResponsePart, TextPart, ThinkingPart, ToolCallPart};
use crate::usage::RequestUsage;

/// A model that plays one role of a [`Scenario`](super::Scenario).
///
/// It keeps nothing between requests: what it says follows from the conversation alone, so it goes
/// on where it was after a restore, and one model can serve several agents.
#[derive(Clone)]
pub struct ScriptedModel {
    script: Arc<Script>,
    role: String,
    served: String,
    name: String,
}

impl ScriptedModel {
    pub(super) fn new(script: Arc<Script>, role: &str, served: &str) -> Self {
        let name = format!("scenario:{}", script.name);
        Self { script, role: role.to_owned(), served: served.to_owned(), name }
    }

    /// The role it plays.
    pub fn role(&self) -> &str {
        &self.role
    }

    fn answer(&self, input: &ModelInput) -> Result<ModelResponse, ModelError> {
        let scene = Scene::read(&input.messages);
        let turns = self.script.roles.get(&self.served).map(Vec::as_slice).unwrap_or_default();
        let (turn, step) = self.next_step(turns, &scene)?;
        let played = turns.get(turn).and_then(|turn| turn.steps.get(step));
        let played = played.ok_or_else(|| self.wrong("", "there is no such step"))?;
        let place = format!("roles.{}[{turn}].steps[{step}]", self.served);
        let parts = self.play(played, &place, &scene, &input.output)?;
        let mut response = ModelResponse::new(parts);
        let calls = response.tool_calls().next().is_some();
        response.finish_reason =
            Some(if calls { FinishReason::ToolCall } else { FinishReason::Stop });
        response.model_name = Some(self.name.clone());
        response.provider_name = Some("scenario".to_owned());
        response.usage = estimate(&input.messages, &response);
        note_place(&mut response, turn, step);
        Ok(response)
    }

    /// The step to play: the next one of the turn in play whose condition holds, the last one again
    /// when there is none, or the first of the first turn that fits the message.
    fn next_step(&self, turns: &[Turn], scene: &Scene) -> Result<(usize, usize), ModelError> {
        let context = scene.context(&self.role, &[]);
        let (turn, from, fallback) = match scene.played {
            Some((turn, step)) => (turn, step + 1, Some(step)),
            None => (self.fitting_turn(turns, scene, &context)?, 0, None),
        };
        let steps = turns.get(turn).map(|turn| turn.steps.as_slice()).unwrap_or_default();
        for (index, step) in steps.iter().enumerate().skip(from) {
            let place = format!("roles.{}[{turn}].steps[{index}].if", self.served);
            if self.holds(step.condition.as_deref(), &place, &context)? {
                return Ok((turn, index));
            }
        }
        match fallback {
            Some(step) => Ok((turn, step)),
            None => Err(self.wrong(
                &format!("roles.{}[{turn}].steps", self.served),
                "no step can be played: the condition of none holds",
            )),
        }
    }

    fn fitting_turn(
        &self,
        turns: &[Turn],
        scene: &Scene,
        context: &Value,
    ) -> Result<usize, ModelError> {
        for (index, turn) in turns.iter().enumerate() {
            let place = format!("roles.{}[{index}].when", self.served);
            if self.fits(&turn.when, &place, scene, context)? {
                return Ok(index);
            }
        }
        let seen: String = scene.message.chars().take(200).collect();
        Err(self.wrong(
            &format!("roles.{}", self.served),
            &format!("no turn fits turn {} with the message {seen:?}", scene.turn),
        ))
    }

    fn fits(
        &self,
        when: &When,
        place: &str,
        scene: &Scene,
        context: &Value,
    ) -> Result<bool, ModelError> {
        if let Some(wanted) = &when.contains {
            let message = scene.message.to_lowercase();
            if !wanted.iter().all(|text| message.contains(&text.to_lowercase())) {
                return Ok(false);
            }
        }
        if let Some(pattern) = &when.matches {
            let pattern = Regex::new(pattern)
                .map_err(|error| self.wrong(&format!("{place}.matches"), &error.to_string()))?;
            if !pattern.is_match(&scene.message) {
                return Ok(false);
            }
        }
        if when.turn.is_some_and(|turn| turn != scene.turn) {
            return Ok(false);
        }
        self.holds(when.condition.as_deref(), &format!("{place}.if"), context)
    }

    fn play(
        &self,
        step: &Step,
        place: &str,
        scene: &Scene,
        output: &OutputRequest,
    ) -> Result<Vec<ResponsePart>, ModelError> {
        let names = scene.context(&self.role, &[]);
        let text = |key: &str, template: &str| {
            let rendered = self.script.templates.text(template, &names);
            rendered.map_err(|message| self.wrong(&format!("{place}.{key}"), &message))
        };
        if let Some(reason) = &step.fail {
            let message = text("fail", reason)?;
            return Err(ModelError::Connection { model: self.name.clone(), message });
        }
        let mut parts = Vec::new();
        if let Some(thought) = &step.think {
            let content = text("think", thought)?;
            parts.push(ResponsePart::Thinking(ThinkingPart { content, ..ThinkingPart::default() }));
        }
        if let Some(words) = &step.say {
            parts.push(ResponsePart::Text(TextPart::new(text("say", words)?)));
        }
        for (key, call) in step.calls() {
            let place = format!("{place}.{key}");
            parts.extend(
                self.make_calls(call, &place, scene)?.into_iter().map(ResponsePart::ToolCall),
            );
        }
        if let Some(template) = &step.output {
            let value = self.script.templates.json(template, &names);
            let value =
                value.map_err(|message| self.wrong(&format!("{place}.output"), &message))?;
            let value = match &output.schema {
                Some(schema) => schema.wrap_value(value),
                None => value,
            };
            parts.push(if output.tool().is_some() {
                ResponsePart::ToolCall(ToolCallPart::new(OUTPUT_TOOL, value.to_string(), ""))
            } else {
                ResponsePart::Text(TextPart::new(value.to_string()))
            });
        }
        Ok(parts)
    }

    fn make_calls(
        &self,
        call: &Call,
        place: &str,
        scene: &Scene,
    ) -> Result<Vec<ToolCallPart>, ModelError> {
        let wrong = |key: &str, message: &str| self.wrong(&format!("{place}.{key}"), message);
        let templates = &self.script.templates;
        let contexts: Vec<Value> = match call.each() {
            None => vec![scene.context(&self.role, &[])],
            Some(each) => {
                let (name, list) = each.map_err(|message| wrong("for", message))?;
                let outer = scene.context(&self.role, &[]);
                let items =
                    templates.list(list, &outer).map_err(|message| wrong("for", &message))?;
                items.into_iter().map(|item| scene.context(&self.role, &[(name, item)])).collect()
            }
        };
        let mut calls = Vec::with_capacity(contexts.len());
        let mut bytes = 0;
        for context in contexts {
            if !self.holds(call.condition.as_deref(), &format!("{place}.if"), &context)? {
                continue;
            }
            let tool =
                templates.text(&call.tool, &context).map_err(|message| wrong("tool", &message))?;
            let mut args = serde_json::Map::new();
            for (name, template) in &call.args {
                let value = templates.json(template, &context);
                let value = value.map_err(|message| wrong(&format!("args.{name}"), &message))?;
                args.insert(name.clone(), value);
            }
            let args = serde_json::Value::Object(args).to_string();
            bytes += tool.len() + args.len();
            if bytes > MAX_TEXT {
                return Err(wrong("args", &too_long()));
            }
            calls.push(ToolCallPart::new(tool, args, ""));
        }
        Ok(calls)
    }

    fn holds(
        &self,
        condition: Option<&str>,
        place: &str,
        context: &Value,
    ) -> Result<bool, ModelError> {
        match condition {
            None => Ok(true),
            Some(condition) => {
                let holds = self.script.templates.holds(condition, context);
                holds.map_err(|message| self.wrong(place, &message))
            }
        }
    }

    fn wrong(&self, place: &str, message: &str) -> ModelError {
        ModelError::Usage(format!("scenario {:?}, {place}: {message}", self.script.name))
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        ready(self.answer(&input)).boxed()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("scenario", &self.script.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// Tokens as anybody would guess them: four bytes each.
fn estimate(messages: &[Arc<ModelMessage>], response: &ModelResponse) -> RequestUsage {
    let tokens = |bytes: usize| u64::try_from(bytes / 4).unwrap_or(u64::MAX);
    let seen = messages.iter().map(|message| match &**message {
        ModelMessage::Request(request) => request.parts.iter().map(request_bytes).sum(),
        ModelMessage::Response(response) => response_bytes(response),
    });
    RequestUsage::tokens(tokens(seen.sum()), tokens(response_bytes(response)))
}

fn request_bytes(part: &RequestPart) -> usize {
    match part {
        RequestPart::SystemPrompt(part) => part.content.len(),
        RequestPart::UserPrompt(part) => part.content.text().len(),
        RequestPart::ToolReturn(part) => part.content.to_text().len(),
        RequestPart::RetryFeedback(_) | RequestPart::RetryPrompt(_) | RequestPart::Other(_) => 0,
    }
}

fn response_bytes(response: &ModelResponse) -> usize {
    let bytes = response.parts.iter().map(|part| match part {
        ResponsePart::Text(part) => part.content.len(),
        ResponsePart::Thinking(part) => part.content.len(),
        ResponsePart::ToolCall(part) => part.tool_name.len() + part.args.to_text().len(),
        ResponsePart::Other(_) => 0,
    });
    bytes.sum()
}
