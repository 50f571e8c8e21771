//! Replays the golden vectors of the team part.

#[cfg(test)]
#[path = "vectors/cards.rs"]
mod cards;
#[cfg(test)]
#[path = "vectors/hire_fire.rs"]
mod hire_fire;
#[cfg(test)]
#[path = "vectors/states.rs"]
mod states;
#[cfg(test)]
#[path = "it/world.rs"]
mod world;

#[cfg(test)]
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

const ACTIVITY: &str = "the activity report is not in this version";

#[test]
fn vectors() {
    akgentic_testkit::Suite {
        part: "team",
        claimed: &[
            ("cards", cards::cards),
            ("hire_fire", hire_fire::hire_fire),
            ("role_catalog_state", states::role_catalog_state),
            ("roster_state", states::roster_state),
            ("tool_schemas", cards::tool_schemas),
        ],
        elsewhere: &[
            ("activity", ACTIVITY),
            ("activity_summaries", ACTIVITY),
            ("summary_cache", ACTIVITY),
            ("summary_worker", ACTIVITY),
            ("truncate", ACTIVITY),
        ],
        skipped: &[(
            "hire_fire",
            "command name not a string",
            "the typed call cannot carry a number as a name",
        )],
    }
    .replay();
}
