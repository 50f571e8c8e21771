//! `workspace_read` and `workspace_list`.

use std::borrow::Cow;
use std::io::Read;

use akgentic_tool_core::{CallStopped, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Hand, failed, tool};
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
    path: String,
    /// First line to show, counted from 1.
    #[serde(default = "one")]
    offset: i64,
    /// Most lines to show.
    #[serde(default = "one")] // the default of the card takes its place
    limit: i64,
    /// Convert a document anew although a conversion is there.
    #[serde(default)]
    #[expect(dead_code, reason = "a document is not converted in this version")]
    force_document_regeneration: bool,
}

#[derive(Deserialize, JsonSchema)]
struct ListArgs {
    /// Path of the directory, relative to the workspace; empty for the workspace itself.
    #[serde(default)]
    path: String,
    /// 1 for the entries of the directory, 0 for the whole tree, N for a tree of N levels.
    #[serde(default = "one")] // the default of the card takes its place
    depth: i64,
}

fn one() -> i64 {
    1
}

/// `workspace_read`
pub(crate) fn read(hand: &Hand, param: &WorkspaceRead) -> Tool {
    let limits = PageLimits::default();
    let usual = param.default_limit;
    let documents = param.document_reader.is_on();
    let description = format!(
        "Reads a text file of the workspace. Gives numbered lines, at most {usual} unless `limit` says \
         otherwise, and a notice with the number of lines when there are more: go on with `offset`. \
         A line is cut after {} characters, an answer ends at {} bytes. Fails for a missing file, a \
         directory, a path outside the workspace, and a file that is not UTF-8 text. {}",
        limits.line_chars,
        limits.page_bytes,
        if documents {
            "PDF, office and image files cannot be read yet."
        } else {
            "PDF, office and image files cannot be read here: do not try, it ends the run."
        },
    );
    let defaults = json!({
        "limit": usual,
        "force_document_regeneration": param.force_document_regeneration,
    });
    let tool =
        tool(hand, "workspace_read", description, defaults, move |hand, args: ReadArgs, stop| {
            read_file(hand, &args, usual, documents, stop)
        });
    tool.with_instructions(param.instructions.as_deref())
}

fn read_file(
    hand: &Hand,
    args: &ReadArgs,
    usual: i64,
    documents: bool,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    let path = args.path.as_str();
    let kind = FileKind::of(path);
    if kind != FileKind::Text && !documents {
        let text = format!(
            "{path}: reading {} files is switched off; set `document_reader` on the card",
            suffix(path)
        );
        return Err(ToolError::fatal(text));
    }
    let limit = match u64::try_from(args.limit) {
        Ok(limit) if limit > 0 => limit,
        _ => {
            return Err(ToolError::retriable(format!(
                "`limit` is {}, and at least one line has to be shown. Leave it out for {usual} lines.",
                args.limit
            )));
        }
    };
    let window = Window { offset: u64::try_from(args.offset).unwrap_or(0).max(1), limit };
    if let Some((file, size)) = hand.tree.run_output(path) {
        return Ok(page(&mut file.take(size), path, window, stop)?.text);
    }
    let moment = hand.tree.moment();
    let open = hand.tree.files().open(path).map_err(|error| failed(&error))?;
    match kind {
        FileKind::Text => {}
        FileKind::Document => {
            return Err(ToolError::retriable(format!(
                "{path} is a document of {} bytes, and {} files cannot be read in this version. Look for \
             the same content as text, or go on without it.",
                open.size,
                suffix(path)
            )));
        }
        FileKind::Image => {
            return Err(ToolError::retriable(format!(
                "{path} is an image of {} bytes, not text, and images cannot be looked at in this version. \
             Go on without it.",
                open.size
            )));
        }
    }
    if open.size > PAGED_MAX {
        let fault = FileFault::TooLarge { size: open.size, most: PAGED_MAX };
        return Err(failed(&FileError::new(path, fault)));
    }
    // What is appended meanwhile belongs to the next read.
    let mut source = Digesting::new(open.file.take(open.size));
    let page = page(&mut source, path, window, stop)?;
    let seen = Observation { sha: source.finish(), full: page.full };
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
