//! What a reply of the model leads to.

use super::output::{Reading, Source};
use super::{Action, Node, Phase, Run};
use crate::config::EndStrategy;
use crate::error::{BoxError, RunError, UnexpectedBehavior};
use crate::feedback::{Feedback, RetryCause, RetryInfo};
use crate::message::{FinishReason, MessageState, ModelResponse};
use crate::output::{Output, OutputMode};
use crate::part::{RequestPart, ResponsePart, RetryFeedbackPart, ToolArgs, ToolCallPart};

/// Most tool calls of one reply; a reply with more ends the run.
pub const MOST_CALLS: usize = 10_000;

/// What a reply holds.
#[derive(Debug)]
pub(super) struct Reply {
    text: String,
    calls: Vec<ToolCallPart>,
    finish_reason: Option<FinishReason>,
}

impl Run {
    pub(super) fn on_response(&mut self, mut response: ModelResponse) -> Action {
        self.stamp(&mut response);
        self.usage.add_response(&response.usage);
        let calls = response.tool_calls().count();
        if calls > MOST_CALLS {
            // Calls that nobody executes are not kept, or each later request would hold them all.
            response.parts.retain(|part| !matches!(part, ResponsePart::ToolCall(_)));
            response.state = MessageState::Interrupted;
            self.add(response);
            let error = UnexpectedBehavior::TooManyToolCalls { calls };
            return self.end(Err(RunError::UnexpectedModelBehavior(error)));
        }
        let reply = Reply {
            text: response.text(),
            calls: response.tool_calls().cloned().collect(),
            finish_reason: response.finish_reason,
        };
        let mut within_limits = self.options.limits.check_tokens(&self.usage);
        if self.options.final_answer_may_exceed && within_limits.is_err() && self.is_final(&reply) {
            within_limits = Ok(());
        }
        if within_limits.is_err() {
            response.state = MessageState::Interrupted;
        }
        self.add(response);
        if let Err(breach) = within_limits {
            return self.end(Err(RunError::RunUsageLimit(breach)));
        }
        self.phase = Phase::Reply(reply);
        Action::Enter(Node::CallTools)
    }

    /// Whether nothing has to be done for a reply to be the output.
    fn is_final(&self, reply: &Reply) -> bool {
        if !reply.calls.is_empty() || reply.text.is_empty() || !self.output.allows_text() {
            return false;
        }
        self.output.schema.as_ref().is_none_or(|schema| schema.read_text(&reply.text).is_ok())
    }

    pub(super) fn read_reply(&mut self, reply: Reply) -> Action {
        let Reply { text, calls, finish_reason } = reply;
        if !calls.is_empty() {
            return match self.output_beside_calls(&text) {
                Ok(output) => self.plan_calls(calls, output),
                Err(error) => self.end(Err(RunError::Hook(error))),
            };
        }
        if text.is_empty() {
            return self.on_empty_reply(finish_reason);
        }
        if self.output.schema.is_none() {
            return self.settle(Output::Text(text));
        }
        match self.read_output(&ToolArgs::Text(text), Source::Text) {
            Ok(Reading::Value(value)) => self.settle(Output::Json(value)),
            Ok(Reading::Wrong(feedback, cause)) => self.retry_output(feedback, cause),
            Err(error) => self.end(Err(RunError::Hook(error))),
        }
    }

    fn stamp(&self, response: &mut ModelResponse) {
        response.run_id = Some(self.id.to_string());
        response.conversation_id = Some(self.conversation_id.clone());
        response.timestamp.get_or_insert_with(|| self.now());
        for part in &mut response.parts {
            if let ResponsePart::ToolCall(call) = part
                && call.tool_call_id.is_empty()
            {
                call.tool_call_id = format!("pyd_ai_{}", (self.stamps.call_id)().simple());
            }
        }
    }

    /// With the early strategy a valid native output wins over the calls beside it.
    fn output_beside_calls(&self, text: &str) -> Result<Option<Output>, BoxError> {
        let early = self.options.end_strategy == EndStrategy::Early;
        if !early || self.output.mode != OutputMode::Native || text.is_empty() {
            return Ok(None);
        }
        Ok(match self.read_output(&ToolArgs::Text(text.to_owned()), Source::Text)? {
            Reading::Value(value) => Some(Output::Json(value)),
            Reading::Wrong(..) => None,
        })
    }

    fn on_empty_reply(&mut self, finish_reason: Option<FinishReason>) -> Action {
        match finish_reason {
            Some(FinishReason::Length) => {
                let error = UnexpectedBehavior::Length;
                self.end(Err(RunError::UnexpectedModelBehavior(error)))
            }
            Some(FinishReason::ContentFilter) => self.end(Err(RunError::ContentFilter)),
            _ => {
                let text = self.no_output_text();
                self.retry_output(Feedback::Text(text), RetryCause::NoOutput)
            }
        }
    }

    /// Asks for one of the things that are possible now.
    fn no_output_text(&self) -> String {
        let mut possible = Vec::new();
        if self.output.allows_text() {
            possible.push(match self.output.mode {
                OutputMode::Native => "answer with JSON of the required schema".to_owned(),
                _ => "answer with text".to_owned(),
            });
        }
        if let Some(tool) = self.output.tool() {
            possible.push(format!("call the tool '{}' with the final answer", tool.name));
        }
        if !self.definitions.is_empty() {
            possible.push("call another tool".to_owned());
        }
        format!("The reply was empty. Please {}.", possible.join(" or "))
    }

    fn retry_output(&mut self, content: Feedback, cause: RetryCause) -> Action {
        let max_retries = self.options.retries;
        self.output_retries += 1;
        if self.output_retries > max_retries {
            let error = UnexpectedBehavior::OutputRetries { max: max_retries };
            return self.end(Err(RunError::UnexpectedModelBehavior(error)));
        }
        let retry = RetryInfo { cause, attempt: self.output_retries, max_retries };
        let part = RetryFeedbackPart { content, retry: Some(retry), timestamp: self.now() };
        self.add_request(vec![RequestPart::RetryFeedback(part)], MessageState::Complete);
        self.enter_model_step()
    }
}
