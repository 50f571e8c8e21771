//! The tool calls of one reply: planned as a whole, executed, answered in order.

use std::collections::HashSet;
use std::time::Duration;

use akgentic_core::wire::Timestamp;
use akgentic_tool_core::{Tool, ValidArgs};
use serde_json::Value;

use super::calls::{CallOutcome, PlannedCall, ToolBatch, ToolsReport};
use super::output::{Reading, Source};
use super::{Action, Phase, Run};
use crate::content::ToolContent;
use crate::error::{BoxError, RunError, UnexpectedBehavior};
use crate::feedback::{Feedback, RetryCause, RetryInfo, ValidationError, errors_json, shortened};
use crate::message::MessageState;
use crate::output::{OUTPUT_TOOL, Output};
use crate::part::{RequestPart, ToolArgs, ToolCallPart, ToolReturnPart, UserPromptPart};

/// A batch that is being executed.
#[derive(Debug)]
pub(super) struct Pending {
    slots: Vec<(ToolCallPart, Slot)>,
    output: Option<Output>,
    function_calls_failed: bool,
}

/// What became, or is to become, of one call.
#[derive(Debug)]
enum Slot {
    /// The next call of the batch.
    Execute,
    /// Answered without executing anything.
    Answered(ToolContent),
    /// Not usable.
    Rejected(Value, RetryCause),
    /// The output of the run.
    Output,
}

/// Why a call is not executed.
enum Rejection {
    /// The model is told.
    Call(Value, RetryCause),
    /// A hook ends the run.
    Run(BoxError),
}

impl Rejection {
    fn errors(errors: &[ValidationError]) -> Self {
        Self::Call(errors_json(errors), RetryCause::ValidationError)
    }
}

impl From<BoxError> for Rejection {
    fn from(error: BoxError) -> Self {
        Self::Run(error)
    }
}

fn read_args(tool: &Tool, args: &ToolArgs) -> Result<ValidArgs, Vec<ValidationError>> {
    let parsed = args
        .parse()
        .map_err(|error| vec![ValidationError::invalid_json(&args.to_text(), &error)])?;
    tool.validate(parsed).map_err(|errors| errors.into_iter().map(Into::into).collect())
}

impl Run {
    /// Plans all calls of a reply. `text_output` is an output that came beside them.
    pub(super) fn plan_calls(
        &mut self,
        calls: Vec<ToolCallPart>,
        text_output: Option<Output>,
    ) -> Action {
        let mut seen = HashSet::new();
        if let Some(twice) = calls.iter().find(|call| !seen.insert(call.tool_call_id.as_str())) {
            let id = twice.tool_call_id.clone();
            let error = UnexpectedBehavior::DuplicateToolCallIds { id };
            return self.break_off(Vec::new(), RunError::UnexpectedModelBehavior(error));
        }
        let functions = calls.iter().filter(|call| !self.is_output_call(call)).count();
        let functions = u64::try_from(functions).unwrap_or(u64::MAX);
        if let Err(breach) = self.options.limits.check_tool_calls(&self.usage, functions) {
            return self.break_off(Vec::new(), RunError::RunUsageLimit(breach));
        }

        let mut pending = Pending {
            slots: Vec::with_capacity(calls.len()),
            output: text_output,
            function_calls_failed: false,
        };
        let mut batch = Vec::new();
        let early = self.options.end_strategy == crate::config::EndStrategy::Early;
        let outputs = match self.read_outputs(&calls, early, &mut pending.output) {
            Ok(outputs) => outputs,
            Err(error) => return self.break_off(Vec::new(), RunError::Hook(error)),
        };
        let skip_functions = early && pending.output.is_some();
        for (call, output) in calls.into_iter().zip(outputs) {
            let slot = match output {
                Some(slot) => slot,
                None if skip_functions => Slot::Answered(FUNCTION_SKIPPED.into()),
                None => match self.plan_function(&call) {
                    Ok(planned) => {
                        self.executed.insert(call.tool_call_id.clone());
                        batch.push(planned);
                        Slot::Execute
                    }
                    Err(Rejection::Call(content, cause)) => {
                        pending.function_calls_failed |= cause != RetryCause::UnknownTool;
                        Slot::Rejected(content, cause)
                    }
                    Err(Rejection::Run(error)) => {
                        return self.break_off(Vec::new(), RunError::Hook(error));
                    }
                },
            };
            pending.slots.push((call, slot));
        }
        if early {
            // outputs are dealt with first, and answered first
            pending.slots.sort_by_key(|(call, _)| !self.is_output_call(call));
        }
        if batch.is_empty() {
            return self.on_tools(pending, ToolsReport { outcomes: Vec::new(), stopped: None });
        }
        self.phase = Phase::Tools(pending);
        Action::CallTools(ToolBatch { calls: batch })
    }

    /// Turns the ended calls into the next request, or into the end of the run.
    pub(super) fn on_tools(&mut self, mut pending: Pending, mut report: ToolsReport) -> Action {
        if let Some(error) = report.stopped.take() {
            let parts = self.answer_stopped(pending, report);
            return self.break_off(parts, error);
        }
        let broken = report.outcomes.iter().any(CallOutcome::ends_the_run);
        if broken {
            return self.on_broken_call(&pending, report);
        }
        let retried =
            |outcome: &CallOutcome| matches!(outcome, CallOutcome::Retry(_) | CallOutcome::Busy(_));
        pending.function_calls_failed |= report.outcomes.iter().any(retried);
        let output = pending.output.take().filter(|_| !pending.function_calls_failed);
        let attempts = match self.count_failures(&pending, &report, output.is_some()) {
            Ok(attempts) => attempts,
            Err(error) => return self.on_exhausted_retries(pending, report, error),
        };
        let parts = self.answer_calls(pending, report, &attempts, output.is_some());
        self.add_request(parts, MessageState::Complete);
        match output {
            Some(output) => self.settle(output),
            None => self.enter_model_step(),
        }
    }

    fn is_output_call(&self, call: &ToolCallPart) -> bool {
        call.tool_name == OUTPUT_TOOL && self.output.tool().is_some()
    }

    /// Reads the calls of the output tool, in order; the first that fits is the output.
    fn read_outputs(
        &self,
        calls: &[ToolCallPart],
        early: bool,
        output: &mut Option<Output>,
    ) -> Result<Vec<Option<Slot>>, BoxError> {
        let read = |call: &ToolCallPart| {
            if !self.is_output_call(call) {
                return Ok(None);
            }
            if early && output.is_some() {
                return Ok(Some(Slot::Answered(OUTPUT_SKIPPED.into())));
            }
            Ok(Some(match self.read_output(&call.args, Source::Call)? {
                Reading::Value(_) if output.is_some() => Slot::Answered(OUTPUT_NOT_FINAL.into()),
                Reading::Value(value) => {
                    *output = Some(Output::Json(value));
                    Slot::Output
                }
                Reading::Wrong(Feedback::Errors(errors), cause) => {
                    Slot::Rejected(errors_json(&errors), cause)
                }
                Reading::Wrong(Feedback::Text(text), cause) => Slot::Rejected(text.into(), cause),
            }))
        };
        calls.iter().map(read).collect()
    }

    fn plan_function(&self, call: &ToolCallPart) -> Result<PlannedCall, Rejection> {
        let Some(tool) = self.tools.get(&call.tool_name) else {
            let text = self.unknown_tool(&call.tool_name);
            return Err(Rejection::Call(text.into(), RetryCause::UnknownTool));
        };
        if self.executed.contains(&call.tool_call_id) {
            let id = shortened(&call.tool_call_id);
            return Err(Rejection::Call(used_before(&id).into(), RetryCause::ModelRetry));
        }
        let args = self.valid_args(tool, call)?;
        let retry = self.tool_retries.get(&call.tool_name).copied().unwrap_or(0);
        Ok(PlannedCall { call: call.clone(), tool: tool.clone(), args, retry })
    }

    /// The arguments of a call, with the hooks around their validation.
    fn valid_args(&self, tool: &Tool, call: &ToolCallPart) -> Result<ValidArgs, Rejection> {
        if self.hooks.is_empty() {
            return read_args(tool, &call.args).map_err(|errors| Rejection::errors(&errors));
        }
        let context = self.context();
        let mut seen = call.clone();
        for hook in self.hooks.iter() {
            hook.before_tool_validate(&context, &mut seen)?;
        }
        match read_args(tool, &seen.args) {
            Ok(args) => {
                for hook in self.hooks.iter().rev() {
                    hook.after_tool_validate(&context, &seen)?;
                }
                Ok(args)
            }
            Err(mut errors) => {
                for hook in self.hooks.iter().rev() {
                    hook.on_tool_validate_error(&context, &seen, &mut errors)?;
                }
                Err(Rejection::errors(&errors))
            }
        }
    }

    fn unknown_tool(&self, name: &str) -> String {
        let output = self.output.tool().map(|tool| tool.name);
        let name = shortened(name);
        let names = self.tools.names().map(str::to_owned).chain(output);
        let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
        if names.is_empty() {
            return format!("There is no tool named '{name}'; no tools are available.");
        }
        format!("There is no tool named '{name}'. Available tools: {}", names.join(", "))
    }

    /// Counts failures per tool, once for each reply; a reply with successes only resets.
    fn count_failures(
        &mut self,
        pending: &Pending,
        report: &ToolsReport,
        has_output: bool,
    ) -> Result<Attempts, UnexpectedBehavior> {
        let mut outcomes = report.outcomes.iter();
        let mut results: Vec<(&str, bool)> = Vec::new();
        let mut outputs_failed = false;
        for (call, slot) in &pending.slots {
            let failed = match slot {
                Slot::Execute => match outcomes.next() {
                    // Neither a failure of the model nor a success.
                    Some(CallOutcome::Busy(_)) => continue,
                    outcome => {
                        matches!(outcome, Some(CallOutcome::Retry(_) | CallOutcome::TimedOut(_)))
                    }
                },
                Slot::Rejected(..) => true,
                Slot::Answered(_) | Slot::Output => continue,
            };
            if self.is_output_call(call) {
                outputs_failed |= failed;
            } else {
                results.push((&call.tool_name, failed));
            }
        }
        let failed: HashSet<&str> =
            results.iter().filter(|(_, failed)| *failed).map(|(name, _)| *name).collect();
        let max = self.options.retries;
        let mut counted = HashSet::new();
        for (name, _) in results {
            if !counted.insert(name) {
                continue;
            }
            if !failed.contains(name) {
                self.tool_retries.remove(name);
                continue;
            }
            let count = self.tool_retries.entry(name.to_owned()).or_default();
            *count += 1;
            if *count > max {
                return Err(UnexpectedBehavior::ToolRetries { tool: name.to_owned(), max });
            }
        }
        if outputs_failed {
            self.output_retries += 1;
            if self.output_retries > max && !has_output {
                return Err(UnexpectedBehavior::OutputRetries { max });
            }
        }
        Ok(Attempts { output: self.output_retries })
    }

    fn answer_calls(
        &mut self,
        pending: Pending,
        report: ToolsReport,
        attempts: &Attempts,
        is_final: bool,
    ) -> Vec<RequestPart> {
        let now = self.now();
        let max_retries = self.options.retries;
        let mut outcomes = report.outcomes.into_iter();
        let mut parts = Vec::with_capacity(pending.slots.len());
        for (call, slot) in pending.slots {
            let attempt = if self.is_output_call(&call) {
                attempts.output
            } else {
                self.tool_retries.get(&call.tool_name).copied().unwrap_or(0)
            };
            let retry = |cause| RetryInfo { cause, attempt, max_retries };
            let part = match slot {
                Slot::Execute => match outcomes.next() {
                    Some(CallOutcome::Returned(content)) => self.returned(&call, content),
                    Some(CallOutcome::Retry(text) | CallOutcome::Busy(text)) => {
                        ToolReturnPart::retried(&call, text, retry(RetryCause::ModelRetry), now)
                    }
                    Some(CallOutcome::NotStarted) => {
                        ToolReturnPart::interrupted(&call, NOT_STARTED, now)
                    }
                    Some(CallOutcome::TimedOut(limit)) => {
                        ToolReturnPart::interrupted(&call, timed_out(limit), now)
                    }
                    _ => ToolReturnPart::interrupted(&call, INTERRUPTED_IN_WORK, now),
                },
                Slot::Answered(content) => ToolReturnPart::success(&call, content, now),
                Slot::Rejected(content, cause) => {
                    ToolReturnPart::retried(&call, content, retry(cause), now)
                }
                Slot::Output if is_final => ToolReturnPart::success(&call, OUTPUT_PROCESSED, now),
                Slot::Output => ToolReturnPart::success(&call, OUTPUT_SUPERSEDED, now),
            };
            let id = part.tool_call_id.clone();
            parts.push(RequestPart::ToolReturn(part));
            parts.extend(self.injected_during(&id, now));
        }
        parts
    }

    /// What was injected during a call goes right after its answer.
    fn injected_during(&self, call: &str, now: Timestamp) -> impl Iterator<Item = RequestPart> {
        let items = self.queue.take_of_call(call).into_iter();
        items.map(move |item| RequestPart::UserPrompt(UserPromptPart::new(item.content, now)))
    }

    /// Counts a call that gave a result, and cuts a result that is too long for the conversation.
    fn returned(&mut self, call: &ToolCallPart, content: ToolContent) -> ToolReturnPart {
        self.usage.tool_calls += 1;
        let content = match self.options.result_characters {
            Some(max) => content.capped(max),
            None => content,
        };
        ToolReturnPart::success(call, content, self.now())
    }

    /// Answers every call of a stopped batch, so that nothing has to be made up later.
    fn answer_stopped(&mut self, mut pending: Pending, report: ToolsReport) -> Vec<RequestPart> {
        for (_, slot) in &mut pending.slots {
            if matches!(slot, Slot::Output) {
                *slot = Slot::Answered(OUTPUT_SUPERSEDED.into());
            }
        }
        let attempts = Attempts { output: self.output_retries };
        self.answer_calls(pending, report, &attempts, false)
    }

    /// Retries are used up: what executed calls gave is recorded, the run ends.
    fn on_exhausted_retries(
        &mut self,
        pending: Pending,
        report: ToolsReport,
        error: UnexpectedBehavior,
    ) -> Action {
        let executed = pending.slots.iter().filter(|(_, slot)| matches!(slot, Slot::Execute));
        let gave: HashSet<String> = executed
            .zip(&report.outcomes)
            .filter(|(_, outcome)| matches!(outcome, CallOutcome::Returned(_)))
            .map(|((call, _), _)| call.tool_call_id.clone())
            .collect();
        let attempts = Attempts { output: self.output_retries };
        let mut parts = self.answer_calls(pending, report, &attempts, false);
        parts.retain(|part| part.answers().is_none_or(|id| gave.contains(id)));
        self.break_off(parts, RunError::UnexpectedModelBehavior(error))
    }

    /// The answer to a call that the model may make again.
    fn retried(
        &self,
        call: &ToolCallPart,
        text: String,
        counted: u32,
        now: Timestamp,
    ) -> ToolReturnPart {
        let before = self.tool_retries.get(&call.tool_name).copied().unwrap_or(0);
        let retry = RetryInfo {
            cause: RetryCause::ModelRetry,
            attempt: before + counted,
            max_retries: self.options.retries,
        };
        ToolReturnPart::retried(call, text, retry, now)
    }

    /// A call failed for good: what others gave is recorded, the run ends with the failure.
    fn on_broken_call(&mut self, pending: &Pending, report: ToolsReport) -> Action {
        let now = self.now();
        let mut parts = Vec::new();
        let mut error = None;
        let calls = pending.slots.iter().filter(|(_, slot)| matches!(slot, Slot::Execute));
        for ((call, _), outcome) in calls.zip(report.outcomes) {
            let tool = || call.tool_name.clone();
            let part = match outcome {
                CallOutcome::Returned(content) => self.returned(call, content),
                CallOutcome::Retry(text) => self.retried(call, text, 1, now),
                CallOutcome::Busy(text) => self.retried(call, text, 0, now),
                CallOutcome::Interrupted => {
                    ToolReturnPart::interrupted(call, INTERRUPTED_IN_WORK, now)
                }
                CallOutcome::TimedOut(limit) => {
                    ToolReturnPart::interrupted(call, timed_out(limit), now)
                }
                CallOutcome::NotStarted => ToolReturnPart::interrupted(call, NOT_STARTED, now),
                CallOutcome::Failed(source) => {
                    error = error.or(Some(RunError::Tool { tool: tool(), source }));
                    continue;
                }
                CallOutcome::Aborted(source) => {
                    error = error.or(Some(RunError::Hook(source)));
                    continue;
                }
                CallOutcome::Panicked(message) => {
                    error = error.or(Some(RunError::ToolPanicked { tool: tool(), message }));
                    continue;
                }
            };
            let id = part.tool_call_id.clone();
            parts.push(RequestPart::ToolReturn(part));
            parts.extend(self.injected_during(&id, now));
        }
        self.break_off(parts, error.unwrap_or(RunError::Cancelled))
    }
}

fn used_before(id: &str) -> String {
    format!(
        "The call was not executed: a call with the id '{id}' was executed in this run already. \
         Use its result, or make a new call with an id of its own."
    )
}

fn timed_out(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("The call was cut off after {seconds} s; it may have had effects.")
}

#[derive(Debug)]
struct Attempts {
    output: u32,
}

const OUTPUT_PROCESSED: &str = "The final result was processed.";
const OUTPUT_NOT_FINAL: &str = "The output was processed, but an earlier one is the final result.";
const OUTPUT_SKIPPED: &str = "This output was skipped: the final result was given already.";
const OUTPUT_SUPERSEDED: &str = "The output was set aside: a tool call beside it has to be \
    corrected first. Give the output again afterwards.";
const FUNCTION_SKIPPED: &str = "The tool was not executed: the final result was given already.";
const NOT_STARTED: &str = "The call was not started: the run was stopped before.";
const INTERRUPTED_IN_WORK: &str =
    "The call was interrupted while it was running; it may have had effects.";
