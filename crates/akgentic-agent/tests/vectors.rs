//! Replays the golden vectors of the agent part.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

#[path = "vectors/agents.rs"]
mod agents;
#[path = "vectors/assembly.rs"]
mod assembly;
#[path = "vectors/config.rs"]
mod config;
#[path = "vectors/notation.rs"]
mod notation;
#[path = "vectors/plain.rs"]
mod plain;
#[path = "vectors/recipients.rs"]
mod recipients;
#[path = "vectors/restore.rs"]
mod restore;
#[path = "vectors/traces.rs"]
mod traces;
#[path = "vectors/triage.rs"]
mod triage;
#[path = "vectors/world.rs"]
mod world;

/// Runs on a paused clock, where a moment's sleep ends only when nobody has anything to do.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

#[test]
fn vectors() {
    akgentic_agent::register();
    akgentic_testkit::Suite {
        part: "agent",
        claimed: &[
            ("agent_config", config::agent_config),
            ("agent_message", plain::agent_message),
            ("agent_state", plain::agent_state),
            ("assembly", assembly::assembly),
            ("preview", plain::preview),
            ("recipients", recipients::recipients),
            ("record_schemas", config::record_schemas),
            ("rendering", plain::rendering),
            ("reply_protocols", plain::reply_protocols),
            ("restore", restore::restore),
            ("structured_output", plain::structured_output),
            ("traces", traces::traces),
            ("triage", triage::triage),
        ],
        elsewhere: &[],
        skipped: &[(
            "agent_state",
            "baseline_gone_class",
            "a baseline is a memory: one that no longer loads is left out with a warning",
        )],
    }
    .replay();
}
