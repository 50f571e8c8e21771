#![doc = include_str!("../README.md")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program reports")]

mod bench;
mod coverage;
mod deny;
mod deps;
mod each;
mod edges;
mod gate;
mod lint;
mod llvm;
mod shell;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::shell::Shell;
use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Gates and chores of the workspace.")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the whole gate
    Ci {
        /// Leave out the plain test run: the coverage run executes the same tests
        #[arg(long)]
        tests_under_coverage: bool,
    },
    /// Check formatting, clippy and rustdoc
    Lint,
    /// Check the edges between crates and the size of Cargo.lock
    Deps,
    /// Check each crate alone, without and with its features
    Each,
    /// Run every test and documentation example
    Test,
    /// Measure line coverage against its floor
    Coverage,
    /// Check licences, banned crates and sources
    Deny,
    /// Check the rules about files
    Tidy,
    /// Run the benchmarks one by one
    Bench {
        /// Run only the targets whose crate or name contains this
        filter: Option<String>,
        /// Measure fast and roughly
        #[arg(long)]
        quick: bool,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    let workspace = Workspace::load()?;
    let shell = Shell::new(&workspace.root);
    match task {
        Task::Ci { tests_under_coverage } => gate::run(&workspace, *tests_under_coverage),
        Task::Lint => {
            lint::fmt(&workspace, &shell)?;
            lint::clippy(&workspace, &shell)?;
            lint::rustdoc(&workspace, &shell).map(drop)
        }
        Task::Test => {
            test::nextest(&workspace, &shell)?;
            test::doctest(&workspace, &shell).map(drop)
        }
        Task::Deps => deps::run(&workspace, &shell).map(|done| done.print()),
        Task::Each => each::run(&workspace, &shell).map(|done| done.print()),
        Task::Coverage => coverage::run(&workspace, &shell).map(|done| done.print()),
        Task::Deny => deny::run(&workspace, &shell).map(|done| done.print()),
        Task::Tidy => tidy::run(&workspace, &shell).map(|done| done.print()),
        Task::Bench { filter, quick } => bench::run(&workspace, &shell, filter.as_deref(), *quick),
    }
}
