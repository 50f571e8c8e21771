//! What happens around the steps of a run: the decisions, without any model.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::access::{InjectionQueue, MailboxAccess};
use crate::cancel::is_cancel;
use crate::card::MailboxTool;
use crate::error::{MailboxError, RunInterrupted};
use crate::id;
use crate::message::MailboxMessage;
use crate::notice::{NoticeOptions, render_arrival_notice};
use crate::offer::{may_take_on, offerable};
use crate::texts::{ABSORBED_PREFIX, ARRIVAL_CLOSING, MESSAGE_ID, READ_MAILBOX};

/// What may be set about the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookOptions {
    /// What stands before a message that was taken on; may be empty.
    pub absorbed_prefix: String,
    /// The last line of a notice that offers messages; may be empty.
    pub arrival_closing: String,
    /// Most messages that get a line in one notice, all of them by default.
    pub notice_max_lines: Option<usize>,
    /// Whether a read that took nothing on is told so; by default each is acknowledged.
    pub tell_failed_reads: bool,
}

impl Default for HookOptions {
    fn default() -> Self {
        Self {
            absorbed_prefix: ABSORBED_PREFIX.to_owned(),
            arrival_closing: ARRIVAL_CLOSING.to_owned(),
            notice_max_lines: None,
            tell_failed_reads: false,
        }
    }
}

/// What became of a call of `read_mailbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The call was one of another tool.
    OtherTool,
    /// The message was taken on; its content goes with the next request.
    TakenOn(Uuid),
    /// The argument names no message.
    NoId,
    /// No such message waits; it may have been taken on before.
    NotWaiting(Uuid),
    /// It waits, and this run cannot take it on; it gets a turn of its own.
    LeftWaiting(Uuid),
}

impl Read {
    /// What the model is told of a read that took nothing on.
    pub fn failure(self) -> Option<String> {
        match self {
            Self::OtherTool | Self::TakenOn(_) => None,
            Self::NoId => Some(
                "Nothing was taken on: this is no message id. Use an id exactly as the notice \
                 about new messages gave it."
                    .to_owned(),
            ),
            Self::NotWaiting(id) => Some(format!(
                "Nothing was taken on: no message {id} is waiting. You may have read it before."
            )),
            Self::LeftWaiting(id) => Some(format!(
                "Nothing was taken on: message {id} cannot be handled in this run. You get it \
                 right after the current work."
            )),
        }
    }
}

/// The hook around an agent's runs: cancels at the next step, tells of new mail, takes on what the
/// model names.
///
/// `I` is the identity of injected content. The state is that of one run at a time.
#[derive(Clone, Debug)]
pub struct MailboxHook<I> {
    options: HookOptions,
    notice_enabled: bool,
    announced: HashSet<Uuid>,
    notices: Vec<I>,
    /// How much mail had ever come in when there was nothing left to do about it.
    settled_at: Option<u64>,
}

impl<I: Copy + PartialEq> MailboxHook<I> {
    /// The hook of an agent with this card.
    pub fn new(card: &MailboxTool, options: HookOptions) -> Self {
        Self {
            options,
            notice_enabled: card.serves_reading(),
            announced: HashSet::new(),
            notices: Vec::new(),
            settled_at: None,
        }
    }

    /// What is set.
    pub fn options(&self) -> &HookOptions {
        &self.options
    }

    /// Whether runs are told of new mail.
    pub fn notice_enabled(&self) -> bool {
        self.notice_enabled
    }

    /// A run begins.
    pub fn before_run(&mut self) {
        self.announced.clear();
        self.notices.clear();
        self.settled_at = None;
    }

    /// A model request would follow: the run ends if a cancel waits. What
    /// [`before_model_request`](Self::before_model_request) does first, for a moment before it.
    pub fn check_cancel(&self, mail: &dyn MailboxAccess) -> Result<(), RunInterrupted> {
        let arrivals = mail.arrivals();
        let settled = arrivals.is_some() && arrivals == self.settled_at;
        if !settled && purge_cancels(mail) { Err(RunInterrupted) } else { Ok(()) }
    }

    /// A model request is about to be made: the run ends if a cancel waits, else mail it does not
    /// know yet is announced.
    pub fn before_model_request(
        &mut self,
        mail: &dyn MailboxAccess,
        queue: &impl InjectionQueue<Id = I>,
    ) -> Result<(), MailboxError> {
        // Asked before the look: what comes in between is looked at next time.
        let arrivals = mail.arrivals();
        if arrivals.is_some() && arrivals == self.settled_at {
            return Ok(());
        }
        let mut pending = mail.get_mailbox();
        // What was announced was looked at before, and was no cancel.
        pending.retain(|one| !self.announced.contains(&one.message.id));
        if purge(mail, pending.iter().map(|one| &one.message)) {
            return Err(RunInterrupted.into());
        }
        if self.notice_enabled && !pending.is_empty() {
            let offered = offerable(mail, &pending);
            let options = NoticeOptions {
                closing: &self.options.arrival_closing,
                max_lines: self.options.notice_max_lines,
            };
            let messages = pending.iter().map(|one| &*one.message);
            let notice = render_arrival_notice(messages, &offered, options)?;
            self.notices.extend(queue.enqueue(notice));
            self.announced.extend(pending.iter().map(|one| one.message.id));
        }
        self.settled_at = arrivals;
        Ok(())
    }

    /// A stage of the run is over; `at_end` when the run has its result.
    ///
    /// A notice nobody has read yet is taken back then: its mail waits anyway, and left in place it
    /// would make the run throw the result away and ask the model again.
    pub fn after_node_run(&mut self, at_end: bool, queue: &impl InjectionQueue<Id = I>) {
        if at_end && !self.notices.is_empty() {
            queue.remove(&std::mem::take(&mut self.notices));
        }
    }

    /// A tool gave a result: the message that `read_mailbox` names is taken on, if it may be.
    pub fn after_tool_execute(
        &mut self,
        tool: &str,
        args: &Value,
        mail: &dyn MailboxAccess,
        queue: &impl InjectionQueue<Id = I>,
    ) -> Read {
        if tool != READ_MAILBOX {
            return Read::OtherTool;
        }
        let read = self.read(args, mail, queue);
        if let Read::TakenOn(id) = read {
            tracing::debug!(%id, "a message was taken on");
        } else {
            tracing::info!(?read, "a read took nothing on");
        }
        read
    }

    fn read(
        &mut self,
        args: &Value,
        mail: &dyn MailboxAccess,
        queue: &impl InjectionQueue<Id = I>,
    ) -> Read {
        let text = args.get(MESSAGE_ID).and_then(Value::as_str);
        let Some(id) = text.and_then(|text| id::named(text, &self.announced)) else {
            return Read::NoId;
        };
        let pending = mail.get_mailbox();
        let Some(one) = pending.iter().find(|one| one.message.id == id) else {
            return Read::NotWaiting(id);
        };
        let current = mail.current_message();
        if !current.is_some_and(|current| may_take_on(mail, &current, one)) {
            return Read::LeftWaiting(id);
        }
        let Some(readable) = one.message.facet::<dyn MailboxMessage>() else {
            return Read::LeftWaiting(id);
        };
        let rendering = readable.rendering(&one.message);
        let text = format!("{}\n\n{rendering}", self.options.absorbed_prefix);
        // First the place where it is kept, then out of the inbox: it is never nowhere. Its identity
        // is not kept with those of the notices, so that it is never taken back.
        let Some(kept) = queue.enqueue(text) else { return Read::LeftWaiting(id) };
        if mail.consume_mailbox(&[id]).is_empty() {
            queue.remove(&[kept]);
            return Read::NotWaiting(id);
        }
        Read::TakenOn(id)
    }
}

/// Takes out every waiting cancel; `true` when there was one, also one that could not be taken out
/// because its sender waits.
pub fn purge_cancels(mail: &dyn MailboxAccess) -> bool {
    purge(mail, mail.get_mailbox().iter().map(|one| &one.message))
}

fn purge<'m>(
    mail: &dyn MailboxAccess,
    pending: impl Iterator<Item = &'m Arc<akgentic_core::Message>>,
) -> bool {
    let cancels = pending.filter(|message| is_cancel(message) && mail.may_cancel(message));
    let cancels: Vec<Uuid> = cancels.map(|message| message.id).collect();
    if cancels.is_empty() {
        return false;
    }
    let purged = mail.consume_mailbox(&cancels).len();
    tracing::debug!(recognised = cancels.len(), purged, "the run is cancelled");
    true
}
