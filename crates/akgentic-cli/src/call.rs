//! Running one tool.

use std::path::Path;
use std::process::ExitCode;

use akgentic::tool::Part;
use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cards;
use crate::interrupt::unless_told;
use crate::output::print;
use crate::session::Session;

/// Runs the tool and prints what it gives: texts as they stand, media as one JSON line each.
pub(crate) async fn run(
    path: &Path,
    tool: &str,
    arguments: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let arguments: Value = match arguments {
        Some(text) => serde_json::from_str(text).context("the arguments are no JSON")?,
        None => json!({}),
    };
    let mut session = Session::start(cards::load(path)?)?;
    let host = session.host("@host").await?;
    let answer = unless_told(host.call(tool, arguments)).await;
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
