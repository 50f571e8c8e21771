//! Behaviour of agents in teams.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod config;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod guards;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod models;
#[cfg(test)]
mod options;
#[cfg(test)]
mod players;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod slow_cards;
#[cfg(test)]
mod soak;
mod toolsets;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod world;
