//! The program `akgentic`: tool cards from the command line.

#![expect(clippy::print_stderr, reason = "a command line program tells its failures")]

mod call;
mod cards;
mod interrupt;
mod lines;
mod output;
mod session;
mod tools;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Tool cards from the command line.
#[derive(Debug, Parser)]
#[command(name = "akgentic", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Lists what the cards offer: tools with their parameters, commands, context, prompts.
    Tools {
        /// A file with a list of cards, JSON or YAML; `-` for standard input.
        cards: PathBuf,
        /// Prints everything as JSON, the schemas of the parameters included.
        #[arg(long)]
        json: bool,
    },
    /// Runs one tool or command, or one for each line of standard input.
    #[command(override_usage = "akgentic call <CARDS> <TOOL> [ARGUMENTS]\n       \
                                akgentic call <CARDS> --jsonl")]
    Call {
        /// A file with a list of cards, JSON or YAML; `-` for standard input, unless it has requests.
        cards: PathBuf,
        /// The tool, or a command with all it is given: '/hire_member Analyst'.
        #[arg(required_unless_present = "jsonl")]
        tool: Option<String>,
        /// Its arguments, a JSON object; none when left out.
        #[arg(conflicts_with = "jsonl")]
        arguments: Option<String>,
        /// Reads requests from standard input, one JSON object a line, and answers each with a line.
        #[arg(long, conflicts_with = "tool")]
        jsonl: bool,
    },
}

/// How long what is still going on may take to end, once the team has stopped.
const END: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let arguments = Arguments::parse();
    if let Task::Call { cards, jsonl: true, .. } = &arguments.task
        && cards == Path::new("-")
    {
        let text = "with --jsonl standard input has the requests; put the cards into a file";
        Arguments::command().error(clap::error::ErrorKind::ArgumentConflict, text).exit();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| {
        let outcome = runtime.block_on(async {
            match arguments.task {
                Task::Tools { cards, json } => tools::run(&cards, json).await,
                Task::Call { cards, tool: Some(tool), arguments, .. } => {
                    call::run(&cards, &tool, arguments.as_deref()).await
                }
                Task::Call { cards, .. } => lines::run(&cards).await,
            }
        });
        // A read of standard input may go on for ever.
        runtime.shutdown_timeout(END);
        outcome
    });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("akgentic: {error:#}");
            ExitCode::FAILURE
        }
    }
}
