//! Every text of the mailbox that a model or a person reads.

/// Name of the tool that takes a waiting message on.
pub const READ_MAILBOX: &str = "read_mailbox";

/// Name of its only argument.
pub const MESSAGE_ID: &str = "message_id";

/// Most characters of a message's content that a notice shows.
pub const PREVIEW_LIMIT: usize = 120;

/// The line of a waiting message that cannot be taken on.
pub const UNOFFERABLE_LINE: &str = "- Message cannot be handled in the run";

/// The last line of a notice that offers at least one message.
pub const ARRIVAL_CLOSING: &str = "Call `read_mailbox` with one of the ids above to take that \
    message on now. That is worth it when it may add to or change what you are working on: a \
    correction only helps before the work is finished. Otherwise go on; you get your mail right \
    after the current work.";

/// The last line of a notice that offers nothing.
pub(crate) const CLOSING_WITHOUT_IDS: &str =
    "Finish what you are working on first; you get this mail right after it.";

/// What stands before a message that was taken on.
pub const ABSORBED_PREFIX: &str = "Additional work that you have taken on in the middle of this \
    run; it does not replace what you were asked before. It may be a separate request: then answer \
    both before you end, with one message for each. Or it adds to or corrects the one in progress: \
    then one message answers both. When you are not sure, answer separately.";

/// What `read_mailbox` answers, whatever the id.
pub const ACKNOWLEDGEMENT: &str = "Noted. A waiting message with this id is now yours to handle \
    in this run: its content comes separately, and it will not arrive again.";

/// What `/stop` answers while nothing runs.
pub const NO_RUN: &str = "There is no run to cancel.";

/// What a person is told of a run that was cancelled.
pub const RUN_INTERRUPTED: &str = "Run interrupted.";

/// What `read_mailbox` is, to the model.
pub(crate) const READ_DESCRIPTION: &str = "Takes one waiting message on in this run. Give the id \
    exactly as the notice about new messages gave it. The message becomes part of your current \
    work, so handle it before you end: it does not come again as a turn of its own. Messages you do \
    not name stay in the queue and come afterwards. The result is only a confirmation; the content \
    of the message follows separately.";

/// What `/stop` is, to people.
pub(crate) const STOP_DESCRIPTION: &str = "Cancels what the agent is working on: while it is \
    busy, the run is interrupted at its next step or before. While it is idle the answer is that \
    there is nothing to cancel.";
