#![doc = include_str!("../README.md")]

mod admission;
mod card;
mod error;
mod filesystem;
mod kinds;
pub mod list;
mod location;
pub mod params;
pub mod read;
pub mod refusal;
mod resource;
mod root;
mod staging;
pub mod text;
mod tools;
pub mod write;

pub use admission::RelPath;
pub use card::WorkspaceTool;
pub use error::{
    EscapeRoute, FileError, FileFault, LINKS_MAX, NAME_MAX, PATH_MAX, READ_MAX, SpecialFile,
};
pub use filesystem::{FileEntry, Filesystem, OpenFile};
pub use kinds::{DOCUMENT_EXTENSIONS, FileKind, TEXT_EXTENSIONS, suffix};
pub use location::{BASE_VARIABLE, DEFAULT_BASE, WorkspaceNameError, check_name, workspace_path};
pub use resource::{Resource, ResourceError, ResourceType};
pub use root::Root;
pub use staging::{STEM_BYTES, is_staging_name};

/// Registers the types of this crate; call it where nothing else of the crate is used.
pub fn register() {
    akgentic_tool_core::register();
}
