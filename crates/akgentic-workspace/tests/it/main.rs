//! Behaviour of the workspace crate.
#![allow(clippy::disallowed_methods, reason = "tests stand outside of the root")]

#[cfg(test)]
mod batches;
#[cfg(test)]
mod changing;
#[cfg(test)]
mod deprecated;
#[cfg(test)]
#[cfg(feature = "docs")]
mod documents;
#[cfg(test)]
mod editing;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod git_patches;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod hostile_tools;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod lease;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod mentions;
#[cfg(test)]
mod patching;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod ripgrep;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod searching;
#[cfg(test)]
mod serial;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod spelling;
#[cfg(test)]
mod team;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod tree;
#[cfg(test)]
#[cfg(feature = "vision")]
mod viewing;
#[cfg(test)]
mod writing;
