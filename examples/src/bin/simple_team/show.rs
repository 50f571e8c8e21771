//! Prints what happens in the team and keeps what the program wants to know of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use akgentic::core::message::{
    ErrorMessage, EventMessage, HandledMessage, ProcessedMessage, SentMessage, StartMessage,
    WarningMessage,
};
use akgentic::core::orchestrator::Watched;
use akgentic::core::wire::AnyValue;
use akgentic::llm::{LlmUsageEvent, ToolCallEvent, ToolReturnEvent};
use akgentic::prelude::*;
use akgentic::tool::{CommandDescriptor, CommandsAnnouncedEvent};
use tokio::sync::watch;
use uuid::Uuid;

use crate::shared::say;
use crate::team::MANAGER;
use crate::usage::Usage;

/// How far the team is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Messages that were sent and that nobody is done with.
    pub(crate) open: usize,
    /// How many messages the person got.
    pub(crate) heard: u64,
    /// The first turn that failed.
    pub(crate) failed: Option<String>,
}

/// Prints every message and tool call.
#[derive(Default)]
pub(crate) struct Show {
    kept: Mutex<Kept>,
    progress: watch::Sender<Progress>,
}

#[derive(Default)]
struct Kept {
    open: HashSet<Uuid>,
    usage: Usage,
    commands: Option<Arc<[CommandDescriptor]>>,
}

impl Show {
    /// What the agents consumed so far.
    pub(crate) fn usage(&self) -> Usage {
        self.kept().usage.clone()
    }

    /// How far the team is, and whenever that changes.
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The manager's commands, as it announced them.
    pub(crate) fn commands(&self) -> Arc<[CommandDescriptor]> {
        self.kept().commands.clone().unwrap_or_default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self, sender: &ActorAddress, sent: &SentMessage) {
        let SentMessage { message, recipient } = sent;
        if let Some(content) = message.body.content_text() {
            let kind = message.body::<AgentMessage>();
            let kind = kind.map_or(message.class_name(), |said| said.intent.as_str());
            let (from, to) = (sender.name(), recipient.name());
            say!("\n{from} → {to} [{kind}]\n{}\n", printable(content));
        }
        let open = {
            let mut kept = self.kept();
            kept.open.insert(message.id);
            kept.open.len()
        };
        self.progress.send_modify(|progress| {
            progress.open = open;
            progress.heard += u64::from(recipient.is_user_proxy());
        });
    }

    fn closed(&self, message: Uuid) {
        let open = {
            let mut kept = self.kept();
            kept.open.remove(&message);
            kept.open.len()
        };
        self.progress.send_modify(|progress| progress.open = open);
    }

    fn event(&self, agent: &ActorAddress, event: &AnyValue) {
        if let Some(call) = event.downcast::<ToolCallEvent>() {
            let arguments = shortened(&printable(&call.arguments));
            say!("  {} calls {}({arguments})", agent.name(), call.tool_name);
        } else if let Some(done) = event.downcast::<ToolReturnEvent>() {
            let ended = if done.success { "done" } else { "failed" };
            say!("  {} {} {ended}", agent.name(), done.tool_name);
        } else if let Some(usage) = event.downcast::<LlmUsageEvent>() {
            self.kept().usage.add(agent.name(), usage);
        } else if let Some(announced) = event.downcast::<CommandsAnnouncedEvent>()
            && agent.name() == MANAGER
        {
            self.kept().commands = Some(Arc::clone(&announced.commands));
        }
    }
}

impl Subscriber for Show {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        let Some(sender) = &message.sender else { return Ok(()) };
        if let Some(start) = message.body::<StartMessage>() {
            let hirer = start.parent.as_ref().filter(|parent| parent.role() != "Orchestrator");
            let by = hirer.map_or_else(String::new, |hirer| format!(", hired by {}", hirer.name()));
            say!("+ {} ({}) joined{by}", sender.name(), sender.role());
        } else if let Some(sent) = message.body::<SentMessage>() {
            self.sent(sender, sent);
        } else if let Some(processed) = message.body::<ProcessedMessage>() {
            self.closed(processed.message_id);
        } else if let Some(handled) = message.body::<HandledMessage>() {
            self.closed(handled.message_id);
        } else if let Some(event) = message.body::<EventMessage>() {
            self.event(sender, &event.event);
        } else if let Some(error) = message.body::<ErrorMessage>() {
            let reason = format!("{}: {}", sender.name(), printable(&error.notification.content));
            say!("! {reason}");
            self.progress.send_modify(|progress| {
                progress.failed.get_or_insert(reason);
            });
        } else if let Some(warning) = message.body::<WarningMessage>() {
            say!("! {}: {}", sender.name(), printable(&warning.notification.content));
        }
        Ok(())
    }
}

/// A text that does nothing to a terminal.
fn printable(text: &str) -> String {
    let shown = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().map(|letter| if shown(letter) { letter } else { '\u{fffd}' }).collect()
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 200;
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(SHOWN).collect();
    match characters.count() {
        0 => beginning,
        more => format!("{beginning}… {more} more characters"),
    }
}
