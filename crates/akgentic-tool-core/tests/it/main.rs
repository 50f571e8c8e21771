//! Behaviour of bound cards, commands, hosts and deferred work in a running team.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

#[cfg(test)]
mod cards;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod context;
#[cfg(test)]
mod deferred;
#[cfg(test)]
mod host;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod state;
