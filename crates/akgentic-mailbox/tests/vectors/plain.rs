//! Topics without state: `is_cancel`, `arrival_notice`, `offerable`, `mailbox_message`.

use std::collections::HashSet;
use std::sync::Arc;

use akgentic_core::Message;
use akgentic_mailbox::{
    ARRIVAL_CLOSING, MailboxMessage, NoticeOptions, is_cancel, offerable, render_arrival_notice,
};
use akgentic_testkit::{Case, known_keys, same};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::classes::message;
use crate::world::Inbox;

pub(crate) fn cancel(case: &Case) -> Result<(), String> {
    let message = message(&case.input, "AgentMessage");
    same("cancel", &json!(is_cancel(&message)), &case.expect["cancel"])
}

pub(crate) fn arrival_notice(case: &Case) -> Result<(), String> {
    let known = ["empty", "first_line", "lines", "closing", "last_line", "error"];
    known_keys("expect", &case.expect, &known)?;
    let given = case.input["messages"].as_array().expect("messages");
    let messages: Vec<Message> = given.iter().map(|one| message(one, "AgentMessage")).collect();
    let offered: HashSet<Uuid> = messages
        .iter()
        .zip(given)
        .filter(|(_, given)| given["offer"] == true)
        .map(|(message, _)| message.id)
        .collect();
    let closing = case.input["closing"].as_str().unwrap_or(ARRIVAL_CLOSING);
    let options = NoticeOptions { closing, ..NoticeOptions::default() };
    let notice = match render_arrival_notice(messages.iter(), &offered, options) {
        Ok(notice) => notice,
        Err(error) => {
            return same(&error.to_string(), &json!("render_error"), &case.expect["error"]);
        }
    };
    if case.expect["empty"] == true {
        return same("notice", notice.as_str(), "");
    }
    if let Some(error) = case.expect.get("error") {
        return Err(format!("{error} was expected"));
    }
    let labels = messages.iter().enumerate().map(|(at, one)| (one.id, format!("#{at}")));
    check_notice(&with_labels(&notice, labels), &case.expect, closing)
}

/// Puts labels in the place of ids.
pub(crate) fn with_labels(text: &str, labels: impl Iterator<Item = (Uuid, String)>) -> String {
    labels.fold(text.to_owned(), |text, (id, label)| text.replace(&id.to_string(), &label))
}

/// Compares the lines of a notice whose ids are labels.
pub(crate) fn check_notice(notice: &str, expect: &Value, closing: &str) -> Result<(), String> {
    let mut lines: Vec<&str> = notice.split('\n').collect();
    let last = lines.pop().unwrap_or_default();
    if let Some(wanted) = expect.get("last_line") {
        same("last line", &json!(last), wanted)?;
    }
    if let Some(wanted) = expect.get("closing") {
        let kind = if last == closing { "with_ids" } else { "without_ids" };
        same("closing", &json!(kind), wanted)?;
        if kind == "without_ids" && (last.is_empty() || last.contains("read_mailbox")) {
            return Err(format!("an odd closing line: {last}"));
        }
    }
    if let Some(wanted) = expect.get("first_line") {
        same("first line", &json!(lines.first()), wanted)?;
        same("lines", &json!(lines.get(1..)), &expect["lines"])?;
    }
    Ok(())
}

pub(crate) fn offers(case: &Case) -> Result<(), String> {
    let inbox = Inbox::default();
    *inbox.current.lock().expect("lock") = case.input["handling"].as_str().map(|class| {
        let content = case.input["handling_content"].as_str().unwrap_or("x");
        Arc::new(message(&json!({"class": class, "content": content}), class))
    });
    for one in case.input["pending"].as_array().expect("pending") {
        let is_awaited = one.get("reply_to").is_some_and(|reply| reply != false);
        inbox.arrive(message(one, "AgentMessage"), is_awaited);
    }
    let pending = inbox.pending.lock().expect("lock").clone();
    let offered = offerable(&inbox, &pending);
    let offered = pending.iter().enumerate().filter(|(_, one)| offered.contains(&one.message.id));
    let offered: Vec<usize> = offered.map(|(at, _)| at).collect();
    same("offered", &json!(offered), &case.expect["offerable"])
}

pub(crate) fn mailbox_message(case: &Case) -> Result<(), String> {
    let class = match case.input["class"].as_str().expect("a class") {
        "base" => {
            return case.not_applicable("a type without the two methods does not compile");
        }
        "agent_message" => "AgentMessage",
        "triage" => "TriageMessage",
        "other" => "OtherMail",
        other => return Err(format!("no class {other}")),
    };
    let message = message(&json!({}), class);
    let readable = message.facet::<dyn MailboxMessage>();
    same("readable", &json!(readable.is_some()), &case.expect["is_mailbox_message"])?;
    for (key, answer) in [
        ("rendering", readable.map(|mail| mail.rendering(&message))),
        ("rendering_preview", readable.map(|mail| mail.rendering_preview(&message))),
    ] {
        let answer = answer.map(|text| if text.is_empty() { "empty" } else { "ok" });
        same(key, &json!(answer), &case.expect[key])?;
    }
    Ok(())
}
