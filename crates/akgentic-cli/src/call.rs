//! Running one tool or command.

use std::path::Path;
use std::process::ExitCode;

use akgentic::tool::Part;
use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::cards;
use crate::interrupt::unless_told;
use crate::output::print;
use crate::session::{Session, dispatch};

/// Runs the tool, or the command when `tool` begins with a slash, and prints what it gives: texts as they stand, media as one JSON line each.
pub(crate) async fn run(
    path: &Path,
    tool: &str,
    arguments: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let is_command = tool.starts_with('/');
    let arguments: Value = match arguments {
        Some(_) if is_command => {
            bail!("a command is written in one with what it is given, such as '/name first second'")
        }
        Some(text) => serde_json::from_str(text).context("the arguments are no JSON")?,
        None => json!({}),
    };
    let mut session = Session::start(cards::load(path)?.told())?;
    let host = session.host("@host").await?;
    let call = async {
        if is_command {
            dispatch(&host, tool).await.map_err(|refused| refused.message)
        } else {
            host.call(tool, arguments).await.map_err(|error| error.to_string())
        }
    };
    let answer = unless_told(call).await;
    session.stop().await?;
    let answer = match answer? {
        Ok(answer) => answer,
        Err(told) => return Ok(told),
    };
    match answer {
        Ok(content) => {
            for part in &content.parts {
                match part {
                    Part::Text(text) => print(&format!("{text}\n"))?,
                    media @ Part::Media(_) => print(&(serde_json::to_string(media)? + "\n"))?,
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("akgentic: {tool}: {error}");
            Ok(ExitCode::FAILURE)
        }
    }
}
