//! Tests that start processes: one at a time.

mod actor;
mod bwrap;
#[cfg(feature = "docker")]
mod docker;
mod local;
mod output;
mod plain_user;
