//! Topic `hooks`: the hook between an inbox and a queue.

use std::collections::HashMap;
use std::sync::Arc;

use akgentic_core::wire::load_record;
use akgentic_mailbox::{
    ABSORBED_PREFIX, ARRIVAL_CLOSING, HookOptions, MailboxError, MailboxHook, MailboxTool,
};
use akgentic_testkit::{Case, known_keys, same};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::classes::message;
use crate::plain::{check_notice, with_labels};
use crate::world::{Inbox, Queue};

pub(crate) fn hooks(case: &Case) -> Result<(), String> {
    for arrivals in [None, Some(std::sync::Mutex::new(0))] {
        let inbox = Inbox { arrivals, ..Inbox::default() };
        replay(case, inbox)?;
    }
    Ok(())
}

fn replay(case: &Case, inbox: Inbox) -> Result<(), String> {
    known_keys("input", &case.input, &["card", "ops"])?;
    let card = load_record::<MailboxTool>(case.input["card"].clone());
    let card = card.map_err(|error| error.to_string())?;
    let mut world = World {
        hook: MailboxHook::new(&card, HookOptions::default()),
        inbox,
        queue: Queue::default(),
        labels: HashMap::new(),
    };
    let mut wanted = case.expect["results"].as_array().expect("results").iter();
    for op in case.input["ops"].as_array().expect("ops") {
        let Some(got) = world.run(op)? else { continue };
        let wanted = wanted.next().ok_or_else(|| format!("no result for {op}"))?;
        world.check(&got, wanted).map_err(|error| format!("{op}: {error}"))?;
    }
    wanted.next().map_or(Ok(()), |left| Err(format!("nothing gave {left}")))
}

struct World {
    hook: MailboxHook<u32>,
    inbox: Inbox,
    queue: Queue,
    labels: HashMap<Uuid, String>,
}

/// What one step of the hook did.
struct Step {
    op: &'static str,
    interrupted: bool,
    /// What came into the queue.
    enqueued: Vec<String>,
}

impl World {
    fn run(&mut self, op: &Value) -> Result<Option<Step>, String> {
        let known = [
            "op", "class", "label", "content", "type", "sender", "reply_to", "tool", "args",
            "form", "end", "text", "priority",
        ];
        known_keys("op", op, &known)?;
        self.inbox.handled.lock().expect("lock").clear();
        let before = self.queue.items.borrow().last().map_or(0, |item| item.0 + 1);
        let mut interrupted = false;
        let name = match op["op"].as_str().expect("an op") {
            "handling" => {
                let class = op["class"].as_str();
                let current = class.map(|class| Arc::new(message(&json!({}), class)));
                *self.inbox.current.lock().expect("lock") = current;
                return Ok(None);
            }
            "arrive" => {
                let message = message(op, "AgentMessage");
                let label = op["label"].as_str().unwrap_or_default();
                self.labels.insert(message.id, label.to_owned());
                let is_awaited = op.get("reply_to").is_some_and(|reply| reply != false);
                self.inbox.arrive(message, is_awaited);
                return Ok(None);
            }
            "deliver" => {
                self.queue.deliver();
                return Ok(None);
            }
            "foreign_enqueue" => {
                let text = op["text"].as_str().unwrap_or_default().to_owned();
                self.queue.put(text, op["priority"] != "when_idle");
                return Ok(None);
            }
            "dequeue" => {
                self.inbox.pending.lock().expect("lock").remove(0);
                return Ok(None);
            }
            "run_start" => {
                self.hook.before_run();
                "run_start"
            }
            "before_request" => {
                match self.hook.before_model_request(&self.inbox, &self.queue) {
                    Ok(()) => {}
                    Err(MailboxError::Interrupted(_)) => interrupted = true,
                    Err(error) => return Err(error.to_string()),
                }
                "before_request"
            }
            "tool_done" => {
                let tool = op["tool"].as_str().expect("a tool");
                let args = self.args(op);
                self.hook.after_tool_execute(tool, &args, &self.inbox, &self.queue);
                "tool_done"
            }
            "node_done" => {
                self.hook.after_node_run(op["end"] == true, &self.queue);
                "node_done"
            }
            other => return Err(format!("no op {other}")),
        };
        let items = self.queue.items.borrow();
        let enqueued = items.iter().filter(|item| item.0 >= before);
        let enqueued = enqueued.map(|item| item.1.clone()).collect();
        Ok(Some(Step { op: name, interrupted, enqueued }))
    }

    /// The arguments with ids in the place of labels.
    fn args(&self, op: &Value) -> Value {
        let mut args = op["args"].clone();
        for value in args.as_object_mut().into_iter().flatten().map(|(_, value)| value) {
            let label = value.as_str().and_then(|text| text.strip_prefix('$'));
            let Some(label) = label else { continue };
            let id = self.labels.iter().find(|(_, known)| *known == label);
            let id = id.map_or_else(Uuid::new_v4, |(id, _)| *id);
            *value = json!(match op["form"].as_str() {
                None => id.to_string(),
                Some("simple") => id.simple().to_string(),
                Some("braced") => id.braced().to_string(),
                Some("urn") => id.urn().to_string(),
                Some("upper") => id.to_string().to_uppercase(),
                Some("padded") => format!(" {id} "),
                Some("quoted") => format!("\"{id}\""),
                Some(other) => panic!("no form {other}"),
            });
        }
        args
    }

    fn check(&self, got: &Step, wanted: &Value) -> Result<(), String> {
        let known = [
            "op",
            "interrupted",
            "notice",
            "enqueued",
            "queue",
            "handled",
            "mailbox",
            "result_unchanged",
        ];
        known_keys("result", wanted, &known)?;
        same("op", &json!(got.op), &wanted["op"])?;
        same("interrupted", &got.interrupted, &(wanted["interrupted"] == true))?;
        let labels =
            |ids: Vec<Uuid>| -> Value { ids.iter().map(|id| json!(self.labels[id])).collect() };
        if let Some(handled) = wanted.get("handled") {
            let got = self.inbox.handled.lock().expect("lock").clone();
            same("handled", &labels(got), handled)?;
        }
        if let Some(mailbox) = wanted.get("mailbox") {
            same("mailbox", &labels(self.inbox.waiting()), mailbox)?;
        }
        if let Some(queue) = wanted.get("queue") {
            let items = self.queue.items.borrow();
            let texts: Vec<Value> = items.iter().map(|item| json!(kind(&item.1))).collect();
            let wanted = queue.as_array().into_iter().flatten();
            let wanted = wanted.map(|text| {
                let text = text.as_str().unwrap_or_default();
                let bare = text.trim_start_matches('<').trim_end_matches('>');
                json!(bare.split(' ').next())
            });
            same("queue", &json!(texts), &wanted.collect())?;
        }
        if got.op == "before_request" {
            let notice = wanted.get("notice").filter(|notice| !notice.is_null());
            let got = match &got.enqueued[..] {
                [] => None,
                [one] => Some(one),
                more => return Err(format!("several: {more:?}")),
            };
            match (got, notice) {
                (None, None) => {}
                (Some(got), Some(wanted)) => {
                    let labels = self.labels.iter().map(|(id, label)| (*id, label.clone()));
                    check_notice(&with_labels(got, labels), wanted, ARRIVAL_CLOSING)?;
                }
                (got, wanted) => return Err(format!("notice {got:?}, wanted {wanted:?}")),
            }
        }
        if got.op == "tool_done" {
            let wanted = wanted.get("enqueued").filter(|wanted| !wanted.is_null());
            match (&got.enqueued[..], wanted) {
                ([], None) => {}
                ([one], Some(wanted)) => {
                    let prefix = format!("{ABSORBED_PREFIX}\n\n");
                    let bare = one.strip_prefix(&prefix);
                    same("prefixed", &json!(bare.is_some()), &wanted["prefixed"])?;
                    same("rendering", &json!(bare.unwrap_or(one)), &wanted["rendering"])?;
                    same("priority", &json!("asap"), &wanted["priority"])?;
                }
                (got, wanted) => return Err(format!("enqueued {got:?}, wanted {wanted:?}")),
            }
        }
        Ok(())
    }
}

fn kind(text: &str) -> &str {
    if text.starts_with(ABSORBED_PREFIX) {
        "absorbed"
    } else if text.contains(" arrived:\n") {
        "notice"
    } else {
        text
    }
}
