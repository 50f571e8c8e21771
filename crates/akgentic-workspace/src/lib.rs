#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as akgentic_workspace;

mod actor;
mod admission;
mod batch;
mod cache;
mod card;
pub mod diff;
pub mod documents;
pub mod edit;
mod error;
mod exec_tool;
mod filesystem;
pub mod gate;
pub mod glob;
pub mod grep;
mod heavy;
pub mod image;
pub mod journal;
mod kinds;
pub mod lease;
mod lines;
pub mod list;
mod location;
pub mod media;
mod models;
pub mod params;
pub mod patch;
mod publish;
pub mod read;
pub mod refusal;
mod resource;
mod root;
pub mod similarity;
mod spelling;
mod staging;
mod sweep;
pub mod text;
mod tools;
pub mod tree;
pub mod write;

pub use actor::{ACTOR_PREFIX, ACTOR_ROLE, NoRun, OwnedTree, StartRun, StartedRun, WorkspaceActor};
pub use admission::RelPath;
pub use batch::WriteEntry;
pub use card::{UNATTACHED, WorkspaceTool};
pub use error::{
    EscapeRoute, FileError, FileFault, LINKS_MAX, NAME_MAX, PAGED_MAX, PATH_MAX, READ_MAX,
    SpecialFile,
};
pub use exec_tool::{ExecCommand, ExecTool};
pub use filesystem::{FileEntry, Filesystem, OpenFile};
pub use kinds::{DOCUMENT_EXTENSIONS, FileKind, TEXT_EXTENSIONS, suffix};
pub use location::{BASE_VARIABLE, DEFAULT_BASE, WorkspaceNameError, check_name, workspace_path};
pub use models::{EditItem, MutationOutcome, MutationStatus, WorkspaceConfig, WorkspaceState};
pub use resource::{Resource, ResourceError, ResourceType};
pub use root::Root;
pub use staging::{STEM_BYTES, is_staging_name, staging_name_with};
pub use sweep::ABANDONED_AFTER;

/// Registers the types of this crate; call it where nothing else of the crate is used.
pub fn register() {
    akgentic_sandbox::register();
}
