//! Requests from standard input, one a line, each answered by one line.

use std::path::Path;
use std::process::ExitCode;

use akgentic::tool::{Content, ToolError};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::cards;
use crate::interrupt::unless_told;
use crate::session::{Session, dispatch};

/// Longest line that is read; a longer one is answered as no request.
const MAX_LINE: usize = 16 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default = "default_agent")]
    agent: String,
    tool: Option<String>,
    arguments: Option<Value>,
    command: Option<String>,
}

fn default_agent() -> String {
    "@host".to_owned()
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Content { ok: bool, content: Content },
    Failure { ok: bool, kind: &'static str, message: String },
}

impl Answer {
    fn content(content: impl Into<Content>) -> Self {
        Self::Content { ok: true, content: content.into() }
    }

    fn failure(kind: &'static str, message: impl Into<String>) -> Self {
        Self::Failure { ok: false, kind, message: message.into() }
    }

    fn tool_error(error: &ToolError) -> Self {
        let kind = if error.is_retriable() { "retriable" } else { "fatal" };
        Self::failure(kind, error.to_string())
    }
}

/// Answers every line of standard input until it ends, then stops the team.
pub(crate) async fn run(path: &Path) -> anyhow::Result<ExitCode> {
    let mut session = Session::start(cards::load(path)?.told())?;
    let outcome = unless_told(serve(&mut session)).await;
    session.stop().await?;
    match outcome? {
        Ok(served) => served.map(|()| ExitCode::SUCCESS),
        Err(told) => Ok(told),
    }
}

async fn serve(session: &mut Session) -> anyhow::Result<()> {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut output = tokio::io::stdout();
    loop {
        let answer = match next_line(&mut input).await? {
            Line::End => return Ok(()),
            Line::TooLong => Answer::failure("request", "the line is longer than 16 MiB"),
            Line::Text(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(line) => answer(session, &line).await,
        };
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        output.write_all(&line).await.context("nobody reads the answers")?;
        output.flush().await.context("nobody reads the answers")?;
    }
}

async fn answer(session: &mut Session, line: &[u8]) -> Answer {
    let request = match request(line) {
        Ok(request) => request,
        Err(reason) => return Answer::failure("request", reason),
    };
    let host = match session.host(&request.agent).await {
        Ok(host) => host,
        Err(error) => return Answer::failure("fatal", format!("{error:#}")),
    };
    match (request.tool, request.command) {
        (Some(tool), None) => {
            let arguments = request.arguments.unwrap_or_else(|| json!({}));
            match host.call(&tool, arguments).await {
                Ok(content) => Answer::content(content),
                Err(error) => Answer::tool_error(&error),
            }
        }
        (None, Some(_)) if request.arguments.is_some() => {
            Answer::failure("request", "a command takes no arguments beside its text")
        }
        (None, Some(command)) => match dispatch(&host, &command).await {
            Ok(content) => Answer::content(content),
            Err(refused) => Answer::failure(refused.kind, refused.message),
        },
        _ => Answer::failure("request", "a request has either a tool or a command"),
    }
}

/// The request in a line, or what is wrong with it.
fn request(line: &[u8]) -> Result<Request, String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err("no request: the line is no JSON object".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| match error.classify() {
        Category::Data => format!("no request: {error}"),
        _ => format!("no request: the line is no JSON: {error}"),
    })
}

enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

/// The next line, without holding more of it than is allowed.
async fn next_line(input: &mut BufReader<tokio::io::Stdin>) -> std::io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let read = input.fill_buf().await?;
        if read.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Text(line),
            });
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = end.map_or(read, |end| read.split_at(end).0);
        too_long |= line.len() + piece.len() > MAX_LINE;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Text(line) });
        }
    }
}
