//! A team's records on disk, and teams brought back from them.

mod data;
mod open_work;
mod read;
mod restore;
mod write;

pub use read::{BadLine, LogContents, LogError, LogHeader};
pub use restore::{RestoreError, RestoreReport, RestoredTeam, restore_team};
pub use write::{EventLog, Fsync, LogStatus};
