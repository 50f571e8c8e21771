//! `workspace_read` and `workspace_list`.

use std::borrow::Cow;
use std::io::Read;

use akgentic_tool_core::{CallStopped, Tool, ToolCall, ToolError, arguments_schema};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Documents, Hand, aside, failed, tool, tool_with_body};
use crate::error::{FileError, FileFault, PAGED_MAX};
use crate::gate::{Digesting, Observation, Shown};
use crate::kinds::{FileKind, suffix};
use crate::list::list_directory;
use crate::params::{WorkspaceList, WorkspaceRead};
use crate::read::{Page, PageLimits, Window, read_page};
use crate::refusal;

#[derive(Deserialize, JsonSchema)]
struct ReadArgs {
    /// Path of the file, relative to the workspace.
    #[serde(deserialize_with = "crate::spelling::given")]
    path: String,
    /// First line to show, counted from 1.
    #[serde(default = "one")]
    offset: i64,
    /// Most lines to show.
    #[serde(default = "one")] // the default of the card takes its place
    limit: i64,
    /// Convert a document anew although a conversion is there.
    #[serde(default)]
    force_document_regeneration: bool,
}

#[derive(Deserialize, JsonSchema)]
struct ListArgs {
    /// Path of the directory, relative to the workspace; empty for the workspace itself.
    #[serde(default, deserialize_with = "crate::spelling::given")]
    path: String,
    /// 1 for the entries of the directory, 0 for the whole tree, N for a tree of N levels.
    #[serde(default = "one")] // the default of the card takes its place
    depth: i64,
}

fn one() -> i64 {
    1
}

/// `workspace_read`; without `documents` only text is read.
pub(crate) fn read(hand: &Hand, documents: Option<Documents>, param: &WorkspaceRead) -> Tool {
    let limits = PageLimits::default();
    let usual = param.default_limit;
    let description = format!(
        "Reads a file of the workspace. Gives numbered lines, at most {usual} unless `limit` says \
         otherwise, and a notice with the number of lines when there are more: go on with `offset`. \
         A line is cut after {} characters, an answer ends at {} bytes. {} Fails for a missing file, a \
         directory, a path outside the workspace, and any other file that is not UTF-8 text.",
        limits.line_chars,
        limits.page_bytes,
        documents.as_ref().map_or(
            "PDF, office and image files cannot be read here: do not try, it ends the run.",
            Documents::description
        ),
    );
    let defaults = json!({
        "limit": usual,
        "force_document_regeneration": param.force_document_regeneration,
    });
    let parameters = arguments_schema::<ReadArgs>();
    let hand = hand.clone();
    let body = move |args: ReadArgs, call: ToolCall| -> BoxFuture<'static, _> {
        let (hand, documents) = (hand.clone(), documents.clone());
        Box::pin(async move {
            let is_text = FileKind::of(&args.path) == FileKind::Text;
            let window = window(&args, usual);
            match documents {
                _ if is_text => {
                    aside(&call, move |stop| read_text(&hand, &args.path, window?, stop)).await
                }
                Some(documents) => {
                    let anew = args.force_document_regeneration;
                    call.bound(documents.read(&args.path, window?, anew)).await
                }
                None => Err(switched_off(&args.path)),
            }
        })
    };
    let tool = tool_with_body("workspace_read", description, parameters, defaults, body);
    tool.with_instructions(param.instructions.as_deref())
}

fn switched_off(path: &str) -> ToolError {
    ToolError::fatal(format!(
        "{path}: reading {} files is switched off; set `document_reader` on the card",
        suffix(path)
    ))
}

fn window(args: &ReadArgs, usual: i64) -> Result<Window, ToolError> {
    match u64::try_from(args.limit) {
        Ok(limit) if limit > 0 => {
            Ok(Window { offset: u64::try_from(args.offset).unwrap_or(0).max(1), limit })
        }
        _ => Err(ToolError::retriable(format!(
            "`limit` is {}, and at least one line has to be shown. Leave it out for {usual} lines.",
            args.limit
        ))),
    }
}

fn read_text(
    hand: &Hand,
    path: &str,
    window: Window,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    if let Some((file, size)) = hand.tree.run_output(path) {
        return Ok(page(&mut file.take(size), path, window, stop)?.text);
    }
    let moment = hand.tree.moment();
    let open = hand.tree.files().open(path).map_err(|error| failed(&error))?;
    if open.size > PAGED_MAX {
        let fault = FileFault::TooLarge { size: open.size, most: PAGED_MAX };
        return Err(failed(&FileError::new(path, fault)));
    }
    // What is appended meanwhile belongs to the next read.
    let mut source = Digesting::new(open.file.take(open.size), open.size);
    let page = page(&mut source, path, window, stop)?;
    let sha = source.finish().map_err(|error| failed(&FileError::new(path, error.into())))?;
    let seen = Observation { sha, full: page.full };
    let shown = Shown { lines: page.shown, total: page.total };
    hand.tree.saw(&hand.agent, open.rel, seen, &shown, moment);
    Ok(page.text)
}

fn page(
    source: &mut dyn Read,
    path: &str,
    window: Window,
    stop: &dyn Fn() -> bool,
) -> Result<Page, ToolError> {
    let page = read_page(source, window, PageLimits::default(), stop);
    page.map_err(|fault| failed(&FileError::new(path, fault)))
}

/// `workspace_list`
pub(crate) fn list(hand: &Hand, param: &WorkspaceList) -> Tool {
    let usual = match param.max_depth {
        0 => Cow::Borrowed("the whole tree"),
        1 => Cow::Borrowed("its entries"),
        levels => Cow::Owned(format!("a tree of {levels} levels")),
    };
    let description = format!(
        "Lists a directory of the workspace: {usual} unless `depth` says otherwise. A depth of 1 gives \
         one line per entry, directories first, as `name/` or `name (N bytes)`; 0 gives the whole tree, \
         any other number a tree of so many levels. Links are shown and never entered. Fails for a \
         missing directory and a path outside the workspace."
    );
    let defaults = json!({"depth": param.max_depth});
    let tool = tool(hand, "workspace_list", description, defaults, |hand, args: ListArgs, stop| {
        list_directory(hand.tree.files(), &args.path, args.depth, stop).map_err(|error| match error
            .fault
        {
            FileFault::Cancelled => CallStopped::Cancelled.into(),
            _ => ToolError::retriable(refusal::describe_directory(&error)),
        })
    });
    tool.with_instructions(param.instructions.as_deref())
}
