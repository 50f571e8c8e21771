//! The mailbox card: the tool that takes a waiting message on, and the command that cancels.

use std::future::ready;
use std::sync::LazyLock;

use akgentic_tool_core::{
    BindError, BoundCard, BoxFuture, Capability, Channel, Command, CommandArgs, CommandShape,
    Observer, Tool, ToolCall, ToolCard, ToolError, ToolParam as _, ToolShape, tool_card,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::{ReadMailbox, Stop};
use crate::texts::{ACKNOWLEDGEMENT, NO_RUN, READ_DESCRIPTION, READ_MAILBOX, STOP_DESCRIPTION};

/// Lets an agent take waiting messages on in the middle of a run, and people cancel the run.
///
/// The card only says what is offered: looking into the inbox, announcing and cancelling is the
/// work of the [`MailboxHook`](crate::MailboxHook) around the agent's runs. Keys that older cards
/// had are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MailboxTool {
    /// Reading: the tool `read_mailbox`, and the notice of new messages.
    pub read_mailbox: Capability<ReadMailbox>,
    /// The command `/stop`. Without it a pending `/stop` cancels a run all the same.
    pub stop: Capability<Stop>,
}
tool_card!(MailboxTool = "akgentic.tool.mailbox.mailbox.MailboxTool",
    aliases: ["akgentic.tool.mailbox.MailboxTool"],
    capabilities: [read_mailbox, stop]);

impl MailboxTool {
    /// Whether the model has the tool, so that telling it of new messages makes sense.
    pub fn serves_reading(&self) -> bool {
        self.read_mailbox.on(Channel::ToolCall).is_some()
    }

    fn read_tool(&self, observer: &Observer) -> Option<Tool> {
        let param = self.read_mailbox.on(Channel::ToolCall)?;
        let observer = observer.clone();
        let tool = Tool::shaped(&READ, move |_: ReadArgs, _: ToolCall| {
            // The hook does the work; this only answers.
            let alive = observer.context();
            ready(alive.map(|_| ACKNOWLEDGEMENT).map_err(ToolError::from))
        });
        Some(tool.with_instructions(param.instructions()))
    }

    fn stop_command(&self) -> Option<Command> {
        let param = self.stop.on(Channel::Command)?;
        // Holds no agent: it answers also when the agent has gone.
        let command = Command::shaped(&STOP, |_: StopRun| ready(Ok(NO_RUN.to_owned())));
        Some(command.with_instructions(param.instructions()))
    }
}

impl ToolCard for MailboxTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        let mut bound = BoundCard::new();
        bound.tools.extend(self.read_tool(observer));
        bound.commands.extend(self.stop_command());
        Box::pin(ready(Ok(bound)))
    }
}

static READ: LazyLock<ToolShape> =
    LazyLock::new(|| ToolShape::of::<ReadArgs>(READ_MAILBOX, READ_DESCRIPTION));

static STOP: LazyLock<CommandShape> =
    LazyLock::new(|| CommandShape::of::<StopRun>(STOP_DESCRIPTION));

/// Which message to take on.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadArgs {
    /// The id of the message, exactly as the notice gave it.
    #[serde(rename = "message_id")]
    _message_id: String,
}

/// Cancel what the agent is working on.
///
/// A command only runs while nothing else does, so it answers that there is nothing to cancel; a
/// `/stop` that waits while the agent is busy is seen by the hook.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct StopRun {}

impl CommandArgs for StopRun {
    const NAME: &'static str = "stop";
    type Output = String;
}
