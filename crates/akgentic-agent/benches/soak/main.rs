//! A long soak of teams of agents: `cargo bench -p akgentic-agent --bench soak -- [SECONDS] [AGENTS]`, ten
//! minutes and 200 agents unless said otherwise.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal")]

mod life;

use std::process::ExitCode;
use std::time::Duration;

use life::{Soak, soak};

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let seconds = numbers.next().unwrap_or(600);
    let agents = numbers.next().unwrap_or(200);
    let plan = Soak {
        duration: Duration::from_secs(seconds),
        agents: usize::try_from(agents).unwrap(),
        half_life: Duration::from_secs(5.min(seconds.div_ceil(2))),
        seed: u64::from(std::process::id()),
    };
    println!("{plan:?}");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    match runtime.block_on(soak(plan, dir.path())) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            println!("it did not hold: {wrong}");
            ExitCode::FAILURE
        }
    }
}
