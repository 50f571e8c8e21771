//! Commands of the agent itself: they work on its conversation.

use std::sync::LazyLock;

use akgentic_core::ActorError;
use akgentic_tool_core::{Command, CommandArgs, CommandShape, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};

/// Label of commands that belong to the agent itself.
pub(super) const OWNER: &str = "BaseAgent";

/// Arguments of `/compact`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct Compact {}

impl CommandArgs for Compact {
    const NAME: &'static str = "compact";
    type Output = String;
}

/// Arguments of `/clear`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct Clear {}

impl CommandArgs for Clear {
    const NAME: &'static str = "clear";
    type Output = String;
}

static COMPACT: LazyLock<CommandShape> =
    LazyLock::new(|| CommandShape::of::<Compact>("Shortens the conversation with the model now."));

static CLEAR: LazyLock<CommandShape> = LazyLock::new(|| {
    CommandShape::of::<Clear>("Drops the conversation with the model; the agent begins anew.")
});

/// What such a command wants done to the conversation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chore {
    Compact,
    Clear,
}

/// A chore, and where its outcome goes.
pub(super) type ChoreRequest = (Chore, oneshot::Sender<Result<String, ActorError>>);

/// The commands, and where their chores arrive.
///
/// A command borrows nothing of its agent: it asks, and the agent does it while it waits for the
/// command to answer.
pub(super) fn own_commands() -> (Vec<Command>, mpsc::Receiver<ChoreRequest>) {
    let (ask, chores) = mpsc::channel(1);
    let for_clear = ask.clone();
    let compact = Command::shaped(&COMPACT, move |_: Compact| {
        let ask = ask.clone();
        async move { done(ask, Chore::Compact).await }
    });
    let clear = Command::shaped(&CLEAR, move |_: Clear| {
        let ask = for_clear.clone();
        async move { done(ask, Chore::Clear).await }
    });
    (vec![compact, clear], chores)
}

async fn done(ask: mpsc::Sender<ChoreRequest>, chore: Chore) -> Result<String, ToolError> {
    let busy = || ToolError::retriable("the agent is busy; run it as a message of its own");
    let (reply, outcome) = oneshot::channel();
    ask.try_send((chore, reply)).map_err(|_| busy())?;
    match outcome.await {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(ToolError::fatal(error.to_string())),
        Err(_) => Err(busy()),
    }
}
