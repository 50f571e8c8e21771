//! Replays the golden vectors of the tool layer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[cfg(test)]
mod vectors {
    mod cards;
    mod commands;
    mod context;
    mod deferred;
    mod wire;

    use akgentic_testkit::Suite;

    #[test]
    fn all() {
        Suite {
            part: "tool-core",
            claimed: &[
                ("command_descriptors", commands::descriptors),
                ("command_dispatch", commands::dispatch),
                ("command_registry", commands::registry),
                ("command_tokens", commands::tokens),
                ("context_update", context::update),
                ("deferred_cache", deferred::cache),
                ("expose_normalize", cards::expose_normalize),
                ("factory", cards::factory),
                ("instructions", cards::instructions),
                ("param_resolve", cards::param_resolve),
                ("poll_deferred", deferred::poll),
                ("retry", cards::retry),
                ("state_and_events_json", wire::state_and_events),
                ("topo_sort", cards::topo_sort),
            ],
            elsewhere: &[],
            skipped: &[],
        }
        .replay();
    }
}
