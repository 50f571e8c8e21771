//! Why a hook ends a run.

use uuid::Uuid;

/// The run was cancelled by a message.
///
/// What runs the agent turns it into a word to a person and a default output; it does not leave a
/// handler otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the run was cancelled by a message")]
pub struct RunInterrupted;

/// A message was offered that cannot be taken on; a defect of whoever offered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {0} was offered to the run and cannot be read in it")]
pub struct MailboxRender(pub Uuid);

/// Why a hook ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MailboxError {
    /// It was cancelled.
    #[error(transparent)]
    Interrupted(#[from] RunInterrupted),
    /// A notice could not be written.
    #[error(transparent)]
    Render(#[from] MailboxRender),
}
