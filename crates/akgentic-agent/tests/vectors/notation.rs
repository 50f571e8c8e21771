//! The notation in which traces show prompts, messages and telemetry.

use std::collections::HashMap;
use std::sync::Arc;

use akgentic_agent::{AgentMessage, AgentState};
use akgentic_core::Message;
use akgentic_core::message::{
    ErrorMessage, EventMessage, HandledMessage, NotificationMessage, ProcessedMessage,
    ReceivedMessage, SentMessage, StartMessage, StateChangedMessage, StopMessage, WarningMessage,
};
use akgentic_llm::{
    LlmEvent, MessageState, ModelMessage, Outcome, RequestPart, ResponsePart, RetryCause, ToolArgs,
    ToolReturnPart, UserContent, UserItem,
};
use akgentic_mailbox::{ABSORBED_PREFIX, ARRIVAL_CLOSING};
use akgentic_tool_core::CommandsAnnouncedEvent;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Names of messages: those of the input, and numbers for all others.
#[derive(Default)]
pub(crate) struct Labels {
    pub(crate) known: HashMap<Uuid, String>,
    counts: HashMap<String, usize>,
}

impl Labels {
    fn of(&self, id: Uuid) -> String {
        self.known.get(&id).cloned().unwrap_or_else(|| format!("unknown {id}"))
    }

    fn sent(&mut self, id: Uuid, sender: &str) -> String {
        if let Some(label) = self.known.get(&id) {
            return label.clone();
        }
        let count = self.counts.entry(sender.to_owned()).or_default();
        *count += 1;
        let label = format!("{sender}#{count}");
        self.known.insert(id, label.clone());
        label
    }
}

/// Telemetry by sender, in order.
pub(crate) fn events(records: &[Arc<Message>], labels: &mut Labels) -> Map<String, Value> {
    let mut by_sender: Map<String, Value> = Map::new();
    for record in records {
        let Some(sender) = record.sender.as_ref().map(|sender| sender.name().to_owned()) else {
            continue;
        };
        if let Some(event) = event(record, &sender, labels) {
            let list = by_sender.entry(sender).or_insert_with(|| json!([]));
            list.as_array_mut().expect("a list").push(event);
        }
    }
    by_sender
}

fn event(record: &Message, sender: &str, labels: &mut Labels) -> Option<Value> {
    if record.body::<StartMessage>().is_some() {
        return Some(json!(["Start"]));
    }
    if record.body::<StopMessage>().is_some() {
        return Some(json!(["Stop"]));
    }
    if let Some(body) = record.body::<StateChangedMessage>() {
        let state = (*body.state.0).as_any().downcast_ref::<AgentState>()?;
        let seq = state.tool_state.get().context_update_seq;
        return Some(json!(["StateChanged", {"context_update_seq": seq}]));
    }
    if let Some(body) = record.body::<ReceivedMessage>() {
        return Some(json!(["Received", labels.of(body.message_id)]));
    }
    if let Some(body) = record.body::<ProcessedMessage>() {
        return Some(json!(["Processed", labels.of(body.message_id)]));
    }
    if let Some(body) = record.body::<HandledMessage>() {
        return Some(json!(["Handled", labels.of(body.message_id)]));
    }
    if let Some(body) = record.body::<SentMessage>() {
        return Some(json!(["Sent", sent(body, sender, labels)]));
    }
    if record.body::<ErrorMessage>().is_some() {
        return Some(json!(["Error", {"kind": kind(record.body::<NotificationMessage>()?)}]));
    }
    if record.body::<WarningMessage>().is_some() {
        return Some(json!(["Warning", {"kind": kind(record.body::<NotificationMessage>()?)}]));
    }
    let event = &record.body::<EventMessage>()?.event;
    if event.downcast::<CommandsAnnouncedEvent>().is_some() {
        return Some(json!(["CommandsAnnounced"]));
    }
    Some(match LlmEvent::from_value(event)? {
        LlmEvent::Message(event) => json!(["LlmMessage", message(&event.message)]),
        LlmEvent::ToolCall(event) => {
            let args: Value = serde_json::from_str(&event.arguments).unwrap_or_default();
            json!(["ToolCall", {"args": args, "id": event.tool_call_id, "name": event.tool_name}])
        }
        LlmEvent::ToolReturn(event) => json!(["ToolReturn",
            {"id": event.tool_call_id, "name": event.tool_name, "success": event.success}]),
        LlmEvent::Usage(event) => {
            json!(["Usage", {"input": event.input_tokens, "output": event.output_tokens}])
        }
        LlmEvent::SystemPrompt(event) => {
            let names = event.parts.iter().map(|part| json!(part.dynamic_ref));
            json!(["SystemPrompt", {"parts": names.collect::<Vec<_>>()}])
        }
        LlmEvent::Cleared(event) => {
            json!(["ContextCleared", {"count": event.cleared_message_count}])
        }
        LlmEvent::Compacted(_) => json!(["ContextCompacted"]),
    })
}

fn kind(notification: &NotificationMessage) -> &str {
    match notification.content_type.as_deref().unwrap_or_default() {
        "WarningError" => "usage_limit",
        "RunInterruptedError" => "run_interrupted",
        "ToolRetriesExhausted" => "tool_retries_exhausted",
        "OutputRetriesExhausted" => "output_retries_exhausted",
        "ToolCrashed" => "tool_crash",
        other => other,
    }
}

fn sent(body: &SentMessage, sender: &str, labels: &mut Labels) -> Value {
    let message = &body.message;
    let mut shown = json!({
        "class": message.class_name(),
        "label": labels.sent(message.id, sender),
        "to": body.recipient.name(),
    });
    if let Some(said) = message.body::<AgentMessage>() {
        let (content, failed) = masked(&said.content);
        shown["content"] = json!(content);
        shown["type"] = json!(said.intent);
        if failed {
            shown["command_failed"] = json!(true);
        }
    }
    if let Some(parent) = message.parent_id {
        shown["parent"] = json!(labels.of(parent));
    }
    shown
}

/// A text with what varies replaced, and whether it tells of a failed command.
fn masked(text: &str) -> (String, bool) {
    if let Some(rest) = text.strip_prefix("Command '")
        && let Some((name, _)) = rest.split_once("' failed: ")
    {
        return (format!("Command '{name}' failed: <reason>"), true);
    }
    if let Some(rest) = text.strip_prefix("Cleared ") {
        let count = rest.split(' ').next().unwrap_or_default();
        return (format!("<cleared {count}>"), false);
    }
    if let Some(rest) = text.strip_prefix("Hired ")
        && let Some((name, role)) = rest.split_once(" (role: ")
    {
        return (format!("<ActorAddress {} {name} (id)>", role.trim_end_matches(')')), false);
    }
    let mask = match text {
        "Nothing to compact." => "<nothing to compact>",
        _ if text.starts_with("**Team members") => "<team roster>",
        _ if text.contains(" reached its ") => "<usage limit notice>",
        _ => text,
    };
    (mask.to_owned(), false)
}

pub(crate) fn message(message: &ModelMessage) -> Value {
    let (kind, parts, state): (&str, Vec<Value>, MessageState) = match message {
        ModelMessage::Request(request) => (
            "request",
            request.parts.iter().map(|part| request_part(part, true)).collect(),
            request.state,
        ),
        ModelMessage::Response(response) => {
            ("response", response.parts.iter().map(response_part).collect(), response.state)
        }
    };
    let mut shown = json!({"kind": kind, "parts": parts});
    if state == MessageState::Interrupted {
        shown["state"] = json!("interrupted");
    }
    shown
}

/// The kinds of the parts of a message.
pub(crate) fn outline(message: &ModelMessage) -> Value {
    let request = |part: &RequestPart| match part {
        RequestPart::SystemPrompt(_) => "system",
        RequestPart::UserPrompt(_) => "user",
        RequestPart::ToolReturn(_) => "tool_return",
        RequestPart::RetryFeedback(_) | RequestPart::RetryPrompt(_) => "retry",
        _ => "other",
    };
    let response = |part: &ResponsePart| match response_part(part) {
        part if part.get("output").is_some() => "output",
        part if part.get("text").is_some() => "text",
        part if part.get("tool_call").is_some() => "tool_call",
        _ => "other",
    };
    let (kind, parts): (&str, Vec<&str>) = match message {
        ModelMessage::Request(message) => ("request", message.parts.iter().map(request).collect()),
        ModelMessage::Response(message) => {
            ("response", message.parts.iter().map(response).collect())
        }
    };
    json!({"kind": kind, "parts": parts})
}

/// A part as it is stored, or as it is sent.
pub(crate) fn request_part(part: &RequestPart, stored: bool) -> Value {
    match part {
        RequestPart::SystemPrompt(part) => {
            let name = part.dynamic_ref.as_deref().unwrap_or_default();
            if name == "current_date" {
                json!({"system": name})
            } else {
                json!({"system": name, "text": part.content})
            }
        }
        RequestPart::UserPrompt(part) => user(&part.content),
        RequestPart::ToolReturn(part) => tool_return(part),
        RequestPart::RetryFeedback(part) => {
            let cause = part.retry.as_ref().map(|retry| cause(retry.cause));
            if stored { json!({"retry": cause}) } else { json!({"user": [{"feedback": cause}]}) }
        }
        other => json!({"unexpected": format!("{other:?}")}),
    }
}

fn cause(cause: RetryCause) -> &'static str {
    match cause {
        RetryCause::ValidationError => "validation_error",
        RetryCause::ModelRetry => "model_retry",
        RetryCause::NoOutput => "no_output",
        RetryCause::UnknownTool => "unknown_tool",
        RetryCause::UnavailableTool => "unavailable_tool",
    }
}

fn tool_return(part: &ToolReturnPart) -> Value {
    let outcome = match part.outcome {
        Outcome::Success => "success",
        Outcome::Retried => "retried",
        Outcome::Interrupted => "interrupted",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
    };
    let mut shown =
        json!({"name": part.tool_name, "outcome": outcome, "tool_return": part.tool_call_id});
    let asked = part.retry.as_ref().is_some_and(|retry| retry.cause == RetryCause::ModelRetry);
    if part.outcome == Outcome::Success || asked {
        let text = match serde_json::to_value(&part.content) {
            Ok(Value::String(text)) => text,
            other => format!("{other:?}"),
        };
        shown["content"] = match text.as_str() {
            skipped if skipped.starts_with("The tool was not executed") => json!("<skipped>"),
            _ if part.tool_name == "read_mailbox" => json!("<acknowledged>"),
            text => json!(text),
        };
    }
    shown
}

fn response_part(part: &ResponsePart) -> Value {
    match part {
        ResponsePart::Text(part) => match serde_json::from_str::<Value>(&part.content) {
            Ok(output @ Value::Object(_)) => json!({"output": output}),
            _ => json!({"text": part.content}),
        },
        ResponsePart::ToolCall(call) => {
            let args = match &call.args {
                ToolArgs::Object(map) => Value::Object(map.clone()),
                other => json!(other.to_text()),
            };
            json!({"args": args, "name": call.tool_name, "tool_call": call.tool_call_id})
        }
        other => json!({"unexpected": format!("{other:?}")}),
    }
}

fn user(content: &UserContent) -> Value {
    match content {
        UserContent::Text(text) => json!({"user": pieces(text)}),
        UserContent::Items(items) => {
            let mut shown = Vec::new();
            for item in items {
                match item {
                    UserItem::Text(text) => shown.extend(pieces(text)),
                    UserItem::Binary(binary) => shown.push(json!(
                        {"binary": binary.media_type, "bytes": binary.data.len()}
                    )),
                    UserItem::Other(other) => shown.push(json!({"unexpected": other})),
                }
            }
            json!({"multipart": true, "user": shown})
        }
    }
}

const ACTION: &str = "**User action** - ";
const UPDATE: &str = "**Context update ";
const FRAME: &str = "You received a";
const ABSORBED: &str = ABSORBED_PREFIX;
const TRIAGE: &str = "Incident reported by ";

/// The pieces that a prompt was put together from.
fn pieces(text: &str) -> Vec<Value> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = if let Some(after) = rest.strip_prefix(ACTION) {
            action(after)
        } else if let Some(after) = rest.strip_prefix(UPDATE) {
            let (block, after) = until_next(after);
            let number: i64 = block.split("**").next().and_then(|n| n.parse().ok()).unwrap_or(-1);
            let mode = if block.contains("current state.") { "full" } else { "delta" };
            (json!({"context_update": number, "mode": mode}), after)
        } else if let Some(after) = rest.strip_prefix(FRAME) {
            (framed(after), "")
        } else if let Some(after) = rest.strip_prefix(ABSORBED) {
            let after = after.trim_start();
            (json!({"absorbed": framed(after.strip_prefix(FRAME).unwrap_or(after))}), "")
        } else if let Some((count, lines)) = notice(rest) {
            let (lines, closing) = lines.rsplit_once('\n').unwrap_or((lines, ""));
            let closing = if closing == ARRIVAL_CLOSING { "with_ids" } else { "without_ids" };
            let lines: Vec<&str> = lines.split('\n').collect();
            (json!({"notice": {"closing": closing, "count": count, "lines": lines}}), "")
        } else if let Some(after) = rest.strip_prefix(TRIAGE) {
            let (name, after) = after.split_once(":\n\n").unwrap_or((after, ""));
            let (incident, _) = after.rsplit_once("\n\n").unwrap_or((after, ""));
            (json!({"triage": {"incident": incident, "reported_by": name}}), "")
        } else if rest.starts_with("Your budget for this task is spent") {
            (json!({"conclusion_prompt": true}), "")
        } else {
            (json!({"text": rest}), "")
        };
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The number of messages that a notice tells of, and what follows its first line.
fn notice(text: &str) -> Option<(u64, &str)> {
    let (head, lines) = text.split_once(" arrived:\n")?;
    let count = head.strip_suffix(" new messages").or_else(|| head.strip_suffix(" new message"))?;
    Some((count.parse().ok()?, lines))
}

/// A value with the labels of messages in the place of their ids.
pub(crate) fn with_labels(value: &Value, labels: &Labels) -> Value {
    let mut text = value.to_string();
    for (id, label) in &labels.known {
        text = text.replace(&id.to_string(), label);
    }
    serde_json::from_str(&text).expect("as it was")
}

fn action(text: &str) -> (Value, &str) {
    let (who, after) = text.split_once(" ran \"").unwrap_or((text, ""));
    let (command, after) = after.split_once("\". \nResult:\n").unwrap_or((after, ""));
    let (result, after) = until_next(after);
    let mut shown = json!({"command": command, "result": masked(result).0});
    if who != "The human" {
        shown["who"] = json!(who);
    }
    (json!({"user_action": shown}), after)
}

/// `You received a|an TYPE from SENDER. GUIDANCE`, a blank line, the content.
fn framed(text: &str) -> Value {
    let text = text.strip_prefix("n ").or_else(|| text.strip_prefix(' ')).unwrap_or(text);
    let (head, content) = text.split_once("\n\n").unwrap_or((text, ""));
    let (kind, after) = head.split_once(" from ").unwrap_or((head, ""));
    let (sender, _) = after.split_once(". ").unwrap_or((after, ""));
    json!({"message": {"content": content, "sender": sender, "type": kind}})
}

fn until_next(text: &str) -> (&str, &str) {
    let starts = [ACTION, UPDATE, FRAME, TRIAGE];
    let next = starts.iter().filter_map(|start| text.find(&format!("\n\n{start}"))).min();
    match next {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 2..).unwrap_or_default()),
        None => (text, ""),
    }
}
