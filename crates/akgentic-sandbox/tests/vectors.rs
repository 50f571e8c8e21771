//! Replays the golden vectors of this crate.

#[cfg(test)]
#[path = "vectors/backends.rs"]
mod backends;
#[cfg(test)]
#[path = "vectors/commands.rs"]
mod commands;
#[cfg(test)]
#[path = "vectors/docker.rs"]
mod docker;
#[cfg(test)]
#[path = "vectors/records.rs"]
mod records;
#[cfg(test)]
#[path = "vectors/runs.rs"]
mod runs;

#[cfg(test)]
mod serial {
    #[test]
    fn vectors() {
        akgentic_testkit::Suite {
            part: "sandbox",
            claimed: &[
                ("allowlist", super::commands::allowlist),
                ("argv", super::commands::argv),
                ("auto_mode", super::backends::auto_mode),
                ("docker_lifecycle", super::docker::docker_lifecycle),
                ("exec_runs", super::runs::exec_runs),
                ("local_env", super::backends::local_env),
                ("models", super::records::models),
                ("naming", super::records::naming),
                ("seatbelt_policy", super::backends::seatbelt_policy),
            ],
            elsewhere: &[],
            skipped: &[],
        }
        .replay();
    }
}
