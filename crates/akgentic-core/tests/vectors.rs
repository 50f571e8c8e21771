//! Replays the golden vectors of this crate.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

#[cfg(test)]
#[path = "vectors/support.rs"]
mod support;

#[cfg(test)]
#[path = "vectors/registry.rs"]
mod registry;

#[cfg(test)]
mod vectors {
    #[path = "actors.rs"]
    mod actors;
    #[path = "address.rs"]
    mod address;
    #[path = "agent_card.rs"]
    mod agent_card;
    #[path = "message_json.rs"]
    mod message_json;
    #[path = "pure.rs"]
    mod pure;
    #[path = "serialize_values.rs"]
    mod serialize_values;
}
