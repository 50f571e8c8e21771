//! `workspace_glob` and `workspace_grep`.

use akgentic_tool_core::{Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Hand, failed, tool};
use crate::glob::{Pattern, find_files};
use crate::grep::{GrepError, Query, search};
use crate::params::{WorkspaceGlob, WorkspaceGrep};
use crate::spelling;

#[derive(Deserialize, JsonSchema)]
struct GlobArgs {
    /// The pattern, relative to the directory that is searched, such as `**/*.py`.
    pattern: String,
    /// Directory to search, relative to the workspace; empty for the workspace itself.
    #[serde(default, deserialize_with = "crate::spelling::given")]
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct GrepArgs {
    /// Regular expression; every line is matched on its own.
    pattern: String,
    /// Directory or file to search, relative to the workspace; empty for the workspace itself.
    #[serde(default, deserialize_with = "crate::spelling::given")]
    path: String,
    /// Pattern for the files to search, such as `*.py` or `src/**/*.{rs,toml}`; empty for all.
    #[serde(default)]
    include: String,
}

/// Limits of a card are at least 1.
fn most(limit: i64) -> usize {
    usize::try_from(limit).unwrap_or(1).max(1)
}

/// `workspace_glob`
pub(crate) fn glob(hand: &Hand, param: &WorkspaceGlob) -> Tool {
    let most = most(param.max_results);
    let description = format!(
        "Finds files of the workspace by name. `*`, `?` and `[…]` stand for characters of one name, \
         hidden names too, in either case; `**` for any number of directories; `{{a,b}}` for \
         alternatives. Gives paths relative to the workspace, one per line, the newest file first, at \
         most {most} of them and then a notice with the total: narrow the pattern or name a directory in \
         `path`. Ignored files are found as well. Fails for a pattern that is absolute or holds `..`, \
         and for a path outside the workspace."
    );
    let tool =
        tool(hand, "workspace_glob", description, json!({}), move |hand, args: GlobArgs, stop| {
            let pattern = Pattern::new(&args.pattern).map_err(|error| {
                let shown = spelling::visible(crate::text::clip(&args.pattern, 200));
                ToolError::retriable(format!("The pattern `{shown}` cannot be used: {error}."))
            })?;
            let found = find_files(hand.tree.files(), &pattern, &args.path, most, stop);
            found.map(|found| found.text()).map_err(|error| failed(&error))
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_grep`
pub(crate) fn grep(hand: &Hand, param: &WorkspaceGrep) -> Tool {
    let (most, length) = (most(param.max_results), most(param.max_line_length));
    let description = format!(
        "Searches the contents of files of the workspace for lines that a regular expression matches. \
         Gives `PATH:NUMBER: LINE`, the newest file first, at most {most} lines and then a notice with \
         the total: narrow the expression, or name a directory in `path` or files in `include`. A line \
         is cut after {length} characters. Hidden and ignored files are searched too, `.git` and binary \
         files are not. Fails for an expression that cannot be read, and for a path outside the \
         workspace."
    );
    let tool =
        tool(hand, "workspace_grep", description, json!({}), move |hand, args: GrepArgs, stop| {
            let query = Query {
                pattern: &args.pattern,
                path: &args.path,
                include: &args.include,
                max_results: most,
                max_line_length: length,
            };
            match search(hand.tree.files(), &query, stop) {
                Ok(matches) => Ok(matches.text()),
                Err(GrepError::File(error)) => Err(failed(&error)),
                Err(GrepError::Include(error)) => {
                    let shown = spelling::visible(crate::text::clip(&args.include, 200));
                    let text =
                        format!("The pattern `{shown}` in `include` cannot be used: {error}.");
                    Err(ToolError::retriable(text))
                }
                Err(GrepError::Regex(error)) => Err(ToolError::retriable(error.to_string())),
            }
        });
    tool.with_instructions(param.instructions.as_deref())
}
