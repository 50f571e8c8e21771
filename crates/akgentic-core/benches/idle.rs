//! Resident memory of idle actors: members of a team that have started and wait.
//!
//! Prints the figure and fails above 100 MiB for 10 000 of them. Linux only; elsewhere it says so.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that prints its result and ends when it cannot be made"
)]

use std::fs;

use akgentic_core::prelude::*;

const ACTORS: usize = 10_000;
const LIMIT: usize = 100 * 1024 * 1024;

struct Idle;
agent_type!(Idle = "bench.idle.Idle");

impl Actor for Idle {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, _, _| Box::pin(async { Ok(Outcome::done()) }));
    }
}

struct Ping;

impl Handle<Ping> for Idle {
    type Reply = ();

    async fn handle(&mut self, _: Ping, _: &mut Context) -> Result<(), ActorError> {
        Ok(())
    }
}

/// Resident bytes of this process.
fn resident() -> Option<usize> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

fn main() {
    // `cargo bench` says so; a test runner that only looks for tests finds none.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new();
        let team = system.create_team(BaseConfig::default(), Origin::default()).unwrap();
        // What the first actor of a kind brings with it is not what the next ones cost.
        team.create_actor::<Idle>(BaseConfig::new("@first", "Idle")).await.unwrap();
        let Some(before) = resident() else {
            println!("idle actors: resident memory is not known on this system");
            return;
        };
        let mut members = Vec::with_capacity(ACTORS);
        for number in 0..ACTORS {
            let config = BaseConfig::new(format!("@m{number}"), "Idle");
            members.push(team.create_actor::<Idle>(config).await.unwrap());
        }
        for member in &members {
            member.ask(Ping).await.unwrap();
        }
        team.get_team().await.unwrap();
        let used = resident().unwrap_or(before).saturating_sub(before);
        println!(
            "{ACTORS} idle actors: {} KiB resident, {} bytes each",
            used / 1024,
            used / ACTORS
        );
        assert!(used <= LIMIT, "more than {LIMIT} bytes");
    });
}
