//! What is announced, and what a read takes on.

use std::sync::{Arc, Mutex};

use akgentic_core::{Message, PendingMail};
use akgentic_mailbox::{
    ABSORBED_PREFIX, ARRIVAL_CLOSING, HookOptions, InjectionQueue, MailboxAccess, MailboxError,
    MailboxHook, MailboxTool, Read, UNOFFERABLE_LINE,
};
use serde_json::json;
use uuid::Uuid;

use crate::mail;
use crate::world::{Inbox, Queue};

fn hook(options: HookOptions) -> MailboxHook<u32> {
    MailboxHook::new(&MailboxTool::default(), options)
}

/// An inbox while a message of the usual type is handled.
fn busy() -> Inbox {
    let inbox = Inbox { arrivals: Some(Mutex::new(0)), ..Inbox::default() };
    *inbox.current.lock().expect("lock") = Some(Arc::new(mail("the work")));
    inbox
}

fn arrive(inbox: &Inbox, text: &str) -> Uuid {
    let message = mail(text);
    let id = message.id;
    inbox.arrive(message, false);
    id
}

/// An inbox whose `/go` is a command, and whose `/stop` of this text cancels nothing.
struct Commanded(Inbox);

impl MailboxAccess for Commanded {
    fn get_mailbox(&self) -> Vec<PendingMail> {
        self.0.get_mailbox()
    }

    fn consume_mailbox(&self, ids: &[Uuid]) -> Vec<Arc<Message>> {
        self.0.consume_mailbox(ids)
    }

    fn current_message(&self) -> Option<Arc<Message>> {
        self.0.current_message()
    }

    fn is_command(&self, message: &Message) -> bool {
        message.body.content_text().is_some_and(|text| text.starts_with("/go"))
    }

    fn may_cancel(&self, message: &Message) -> bool {
        message.body.content_text() != Some("/stop of a stranger")
    }
}

#[test]
fn commands_are_announced_without_id_and_never_taken_on() {
    let inbox = Commanded(busy());
    let id = arrive(&inbox.0, "/go away");
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    hook.before_run();
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    let notice = queue.deliver().pop().expect("a notice");
    assert!(notice.contains(UNOFFERABLE_LINE) && !notice.contains("/go"), "{notice}");
    let read = hook.after_tool_execute("read_mailbox", &json!({"message_id": id}), &inbox, &queue);
    assert_eq!(read, Read::LeftWaiting(id));
    assert_eq!(inbox.0.waiting(), [id]);
}

#[test]
fn a_guessed_id_takes_no_cancel_and_no_awaited_message_on() {
    let inbox = busy();
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    hook.before_run();
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    let stop = arrive(&inbox, "/stop");
    let asked = mail("I wait");
    let asked_id = asked.id;
    inbox.arrive(asked, true);
    for id in [stop, asked_id] {
        let args = json!({"message_id": id});
        let read = hook.after_tool_execute("read_mailbox", &args, &inbox, &queue);
        assert_eq!(read, Read::LeftWaiting(id));
    }
    assert!(queue.deliver().is_empty(), "nothing was put before the model");
    let interrupted = hook.before_model_request(&inbox, &queue);
    assert!(matches!(interrupted, Err(MailboxError::Interrupted(_))));
    assert_eq!(inbox.waiting(), [asked_id]);
}

#[test]
fn a_message_somebody_waits_on_is_announced_without_id() {
    let inbox = busy();
    inbox.arrive(mail("I wait"), true);
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    hook.before_run();
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    let notice = queue.deliver().pop().expect("a notice");
    assert!(notice.contains(UNOFFERABLE_LINE) && !notice.contains("I wait"), "{notice}");
}

#[test]
fn a_cancel_somebody_waits_on_interrupts_and_stays() {
    let inbox = busy();
    inbox.arrive(mail("/stop"), true);
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    for _ in 0..2 {
        hook.before_run();
        assert!(hook.before_model_request(&inbox, &queue).is_err(), "recognised is interrupted");
    }
    assert_eq!(inbox.waiting().len(), 1);
    assert!(inbox.handled.lock().expect("lock").is_empty());
}

#[test]
fn a_stranger_cancels_nothing_where_the_policy_says_so() {
    let inbox = Commanded(busy());
    arrive(&inbox.0, "/stop of a stranger");
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    hook.before_run();
    hook.before_model_request(&inbox, &queue).expect("not cancelled");
    let notice = queue.deliver().pop().expect("a notice");
    assert!(notice.contains(UNOFFERABLE_LINE), "it is not taken on either: {notice}");
}

#[test]
fn texts_can_be_replaced_and_may_be_empty() {
    let inbox = busy();
    let id = arrive(&inbox, "hello");
    let options = HookOptions {
        absorbed_prefix: String::new(),
        arrival_closing: String::new(),
        ..HookOptions::default()
    };
    let (mut hook, queue) = (hook(options), Queue::default());
    hook.before_run();
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    let notice = queue.deliver().pop().expect("a notice");
    assert!(notice.ends_with(&format!("(id: {id})\n")), "{notice:?}");
    hook.after_tool_execute("read_mailbox", &json!({"message_id": id}), &inbox, &queue);
    assert_eq!(queue.deliver(), ["\n\nMail: hello"]);
}

#[test]
fn a_long_backlog_is_counted_after_the_first_lines() {
    let inbox = busy();
    for number in 0..10 {
        arrive(&inbox, &format!("mail {number}"));
    }
    let options = HookOptions { notice_max_lines: Some(3), ..HookOptions::default() };
    let (mut hook, queue) = (hook(options), Queue::default());
    hook.before_run();
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    let notice = queue.deliver().pop().expect("a notice");
    let lines: Vec<&str> = notice.lines().collect();
    assert_eq!(lines[0], "10 new messages arrived:");
    assert!(lines[3].contains("mail 2"), "{notice}");
    assert_eq!(lines[4..], ["- and 7 more", ARRIVAL_CLOSING]);
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    assert!(queue.deliver().is_empty(), "the rest was counted and is not announced again");
}

#[test]
fn a_read_that_takes_nothing_on_can_be_told() {
    let inbox = busy();
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    hook.before_run();
    let id = Uuid::from_u128(7);
    let mut read = |args| hook.after_tool_execute("read_mailbox", &args, &inbox, &queue);
    let unknown = read(json!({"message_id": id}));
    assert!(unknown.failure().expect("told").contains(&id.to_string()));
    let malformed = read(json!({"message_id": "the first one"}));
    assert!(malformed.failure().expect("told").contains("no message id"));
    assert_eq!(hook.after_tool_execute("echo", &json!({}), &inbox, &queue).failure(), None);
}

#[test]
fn the_beginning_of_an_announced_id_is_enough() {
    let inbox = busy();
    let id = arrive(&inbox, "hello");
    let short: String = id.simple().to_string().chars().take(8).collect();
    let (mut hook, queue) = (hook(HookOptions::default()), Queue::default());
    hook.before_run();
    let read = |hook: &mut MailboxHook<u32>| {
        hook.after_tool_execute("read_mailbox", &json!({"message_id": short}), &inbox, &queue)
    };
    assert_eq!(read(&mut hook), Read::NoId, "it was not announced");
    hook.before_model_request(&inbox, &queue).expect("no cancel");
    assert_eq!(read(&mut hook), Read::TakenOn(id));
}

/// A queue whose run has ended.
struct Closed;

impl InjectionQueue for Closed {
    type Id = u32;

    fn enqueue(&self, _: String) -> Option<u32> {
        None
    }

    fn remove(&self, _: &[u32]) {}
}

#[test]
fn nothing_is_taken_on_when_nobody_would_read_it() {
    let inbox = busy();
    let id = arrive(&inbox, "hello");
    let mut hook = hook(HookOptions::default());
    hook.before_run();
    hook.before_model_request(&inbox, &Closed).expect("no cancel");
    let read = hook.after_tool_execute("read_mailbox", &json!({"message_id": id}), &inbox, &Closed);
    assert_eq!(read, Read::LeftWaiting(id));
    assert_eq!(inbox.waiting(), [id], "it gets its own turn");
}

#[test]
fn texts_say_what_they_have_to_say() {
    assert!(ARRIVAL_CLOSING.contains("`read_mailbox`"));
    assert!(ABSORBED_PREFIX.starts_with("Additional work"));
    assert!(ABSORBED_PREFIX.contains("does not replace"));
}
