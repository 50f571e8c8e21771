#![doc = include_str!("../README.md")]

mod actor;
mod backend;
mod bwrap;
mod command;
mod docker;
mod enforcement;
mod error;
mod folder;
mod limits;
mod local;
mod output;
mod place;
mod private;
mod process;
mod records;
mod registry;
mod requests;
mod run;
mod sandbox;
mod seatbelt;

pub use actor::SandboxActor;
pub use backend::{Backend, PROBE_TIMEOUT, Place, Session};
pub use bwrap::{Bwrap, Repositories};
#[cfg(target_os = "linux")]
pub use bwrap::{PATH as BWRAP_PATH, WORKSPACE, command_line as bwrap_command_line};
pub use command::{
    AllowedCommand, CommandError, CommandPolicy, DEFAULT_PROGRAMS, Operator, SplitError, Words,
    redact, split,
};
pub use docker::{
    ContainerSpec, DEFAULT_IMAGE, Docker, Engine, FoundContainer, IMAGE_VARIABLE, MOUNT, bring_up,
    container_name, image,
};
pub use enforcement::{Enforcement, Level, Measure};
pub use error::{BackendError, RunError};
pub use folder::{Folder, FolderError, RelFolder, Root};
pub use limits::{Limit, Limits};
pub use local::{DEFAULT_PATH, Fence, LOCAL_FENCE, Local, Network, filtered_env};
pub use output::{Output, OutputLimits, SpillDirectory, SpillFile, SpillStore, Spilled, Stream};
pub use place::{
    ACTOR_PREFIX, ACTOR_ROLE, PlaceError, WORKSPACES_ROOT, actor_name, check_workspace_name,
    workspace_dir, workspace_name,
};
pub use records::{DEFAULT_MODE, ExecResult, SandboxConfig, SandboxState};
pub use registry::{
    ALLOW_LOCAL, AUTO, Refusals, Refused, Registry, Resolution, ResolveError,
    unisolated_allowed_by_env,
};
pub use requests::{Describe, Ready, Running, Sandboxed, StartRun, StartedRun, StopRun};
pub use run::{DEFAULT_TIMEOUT, Ended, Outcome, Run, STOPPED, TIMED_OUT};
pub use sandbox::{Sandbox, SandboxError};
pub use seatbelt::{SEATBELT_PROBE, Seatbelt, SeatbeltHost, seatbelt_policy};

/// Registers the types of this crate; call it where nothing else of the crate is used.
pub fn register() {
    akgentic_tool_core::register();
}
