//! What an agent does beyond the common behaviour.

use akgentic_mailbox::{CancelPolicy, HookOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cancel::CancelGranularity;

/// Behaviour beyond the common one; each is off, or as it was, unless a configuration asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct AgentOptions {
    /// Unknown `@Name` recipients are reported like roles that cannot be hired: in a warning, and to
    /// the model with its next turn. Otherwise they are logged.
    pub report_unknown_members: bool,
    /// A request whose turn sent nothing and hired nobody is logged; after a conclusion the human is
    /// told, too.
    pub notify_on_empty_answer: bool,
    /// A turn that fails, because of a model or a tool, is told to the human; otherwise it is on
    /// record only.
    pub notify_on_failure: bool,
    /// A final answer stands although its own tokens are above a limit of the run.
    pub final_answer_may_exceed: bool,
    /// A message that came when the agent's budget was spent is kept in the conversation, marked as
    /// not answered.
    pub keep_refused_messages: bool,
    /// Names or roles of those whose `/` text is run as a command; from others it is an ordinary
    /// message. Without a list everybody's is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_senders: Option<Vec<String>>,
    /// Commands that people ran before the first turn are kept in the state, so that a restart does
    /// not lose them.
    pub persist_operator_actions: bool,
    /// After a restart the prompt of the configuration wins over the one that was stored.
    pub refresh_backstory_on_restore: bool,
    /// Where in a run a pending cancel acts.
    #[serde(skip_serializing_if = "is_usual")]
    pub cancel: CancelGranularity,
    /// Whose messages cancel a run.
    #[serde(skip_serializing_if = "is_usual")]
    pub cancelled_by: CancelPolicy,
    /// After a run was cancelled the model is told so with the next turn.
    #[serde(skip_serializing_if = "is_usual")]
    pub tell_cancelled_turns: bool,
    /// Most new messages that get a line in one notice, the others are counted; all of them without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice_max_lines: Option<u32>,
    /// A read of the mailbox that took nothing on is told so; otherwise every one is acknowledged.
    #[serde(skip_serializing_if = "is_usual")]
    pub tell_failed_reads: bool,
    /// Most messages in a row, each sent while the one before it was handled and none of them by a
    /// person, after which the model is not asked any more: the human is told instead. No bound
    /// without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<u32>,
    /// Notices for the human go to the person whose message led to the one being handled, when there
    /// is one; otherwise to the first of the team.
    #[serde(skip_serializing_if = "is_usual")]
    pub notify_who_asked: bool,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl AgentOptions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What the mailbox does differently.
    pub(crate) fn mailbox(&self) -> HookOptions {
        let lines = self.notice_max_lines;
        HookOptions {
            notice_max_lines: lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX)),
            tell_failed_reads: self.tell_failed_reads,
            ..HookOptions::default()
        }
    }

    /// Whether `/` text of this sender may be run; nobody in particular is everybody.
    pub(crate) fn may_command(&self, name: &str, role: &str) -> bool {
        let senders = self.command_senders.as_ref();
        senders.is_none_or(|senders| senders.iter().any(|sender| sender == name || sender == role))
    }
}
