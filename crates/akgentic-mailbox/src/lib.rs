#![doc = include_str!("../README.md")]

mod access;
mod cancel;
mod card;
mod error;
mod hook;
mod id;
mod message;
mod notice;
mod offer;
mod params;
mod preview;
mod texts;

pub use access::{InjectionQueue, MailboxAccess};
pub use cancel::{CancelPolicy, asks_to_stop, is_cancel};
pub use card::{MailboxTool, StopRun};
pub use error::{MailboxError, MailboxRender, RunInterrupted};
pub use hook::{HookOptions, MailboxHook, Read, purge_cancels};
pub use message::MailboxMessage;
pub use notice::{NoticeOptions, render_arrival_notice};
pub use offer::offerable;
pub use params::{ReadMailbox, Stop};
pub use preview::{preview, single_line};
pub use texts::{
    ABSORBED_PREFIX, ACKNOWLEDGEMENT, ARRIVAL_CLOSING, MESSAGE_ID, NO_RUN, PREVIEW_LIMIT,
    READ_MAILBOX, RUN_INTERRUPTED, UNOFFERABLE_LINE,
};

/// Registers the types of this crate; see [`akgentic_core::register`].
pub fn register() {
    akgentic_core::register();
    std::hint::black_box(<MailboxTool as akgentic_core::wire::WireType>::PATH);
}
