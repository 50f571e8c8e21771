//! Tests that start processes: one at a time.

mod actor;
mod bwrap;
mod local;
mod output;
