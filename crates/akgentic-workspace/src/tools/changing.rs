//! The tools that change files; all of them go through the gate of the tree.

use akgentic_tool_core::{CallStopped, Tool, ToolError, arguments_schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Hand, refused, tool, tool_with_parameters};
use crate::models::EditItem;
use crate::params::{
    WorkspaceDelete, WorkspaceEdit, WorkspaceMkdir, WorkspaceMultiEdit, WorkspacePatch,
    WorkspaceWrite,
};
use crate::tree::{Stop, Verb};

#[derive(Deserialize, JsonSchema)]
struct WriteArgs {
    /// Path of the file, relative to the workspace; missing directories are created.
    #[serde(deserialize_with = "crate::spelling::given")]
    path: String,
    /// The whole content of the file.
    content: String,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteArgs {
    /// Path of the file, relative to the workspace.
    #[serde(deserialize_with = "crate::spelling::given")]
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct MkdirArgs {
    /// Path of the directory, relative to the workspace; missing parents are created.
    #[serde(deserialize_with = "crate::spelling::given")]
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct EditArgs {
    /// Path of the file, relative to the workspace.
    #[serde(deserialize_with = "crate::spelling::given")]
    path: String,
    /// The text to replace, as it stands in the file, without line numbers.
    old_string: String,
    /// The text that takes its place.
    new_string: String,
    /// Replace every place where the text stands, not the first one alone.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize, JsonSchema)]
struct MultiEditArgs {
    /// The replacements in order; each sees the results of those before it.
    edits: Vec<EditItem>,
}

#[derive(Deserialize, JsonSchema)]
struct PatchArgs {
    /// A unified diff; several files may be in it.
    patch_text: String,
}

/// What the model is told of a change: what failed is an answer, what is refused an error.
fn answer(outcome: Result<String, Stop>) -> Result<String, ToolError> {
    match outcome {
        Ok(answer) => Ok(answer),
        Err(Stop::Failed(failure)) => Ok(failure.to_string()),
        Err(Stop::Refused(refusal)) => Err(refused(&refusal)),
        Err(Stop::Cancelled) => Err(CallStopped::Cancelled.into()),
    }
}

/// `workspace_write`
pub(crate) fn write(hand: &Hand, param: &WorkspaceWrite) -> Tool {
    let description = "Writes a whole text file in the workspace: creates it, with missing \
        directories, or replaces all that is in it. Refused for a file that you did not read, read in \
        part, or that somebody changed since: the refusal shows what would be lost; read it again, look \
        at your change, write again. The line ending of an existing file is kept. Fails for a directory \
        and a path outside the workspace.";
    let tool =
        tool(hand, "workspace_write", description, json!({}), |hand, args: WriteArgs, stop| {
            let WriteArgs { path, content } = args;
            let written = hand.tree.change_unless(&hand.agent, Verb::Write, stop, |change| {
                change.write(&path, &content)
            });
            answer(written.map(|_| format!("Written: {path}")))
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_delete`
pub(crate) fn delete(hand: &Hand, param: &WorkspaceDelete) -> Tool {
    let description = "Deletes one file of the workspace; of a link the link itself. Refused unless \
        you have read the whole file and nobody changed it since. Fails for a missing file, a directory \
        and a path outside the workspace.";
    let tool =
        tool(hand, "workspace_delete", description, json!({}), |hand, args: DeleteArgs, stop| {
            let DeleteArgs { path } = args;
            let deleted = hand
                .tree
                .change_unless(&hand.agent, Verb::Delete, stop, |change| change.delete(&path));
            answer(deleted.map(|()| format!("Deleted: {path}")))
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_mkdir`
pub(crate) fn mkdir(hand: &Hand, param: &WorkspaceMkdir) -> Tool {
    let description = "Creates a directory in the workspace, with its parents; one that is there \
        already is fine. Fails where a file has the name, and for a path outside the workspace. Files \
        need no directory made for them: workspace_write makes it.";
    let tool = tool(hand, "workspace_mkdir", description, json!({}), |hand, args: MkdirArgs, _| {
        answer(hand.tree.mkdir(&args.path).map(|()| format!("Created: {}", args.path)))
    });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_edit`
pub(crate) fn edit(hand: &Hand, param: &WorkspaceEdit) -> Tool {
    let description = "Replaces a text in a file of the workspace by another one, and answers with \
        the diff. The way to change a part of a file: read it first and copy the text to replace as it \
        stands there, with enough lines around it to be unique. Where it does not stand as written, \
        white space, escapes and single lines that differ are forgiven if one place alone is meant, and \
        the answer says so. Changes elsewhere in the file do no harm: if it was changed since you read \
        it, the edit is made where the exact text still stands. Line endings of the file are kept. Fails \
        for a missing file and a path outside the workspace.";
    let tool =
        tool(hand, "workspace_edit", description, json!({}), |hand, args: EditArgs, stop| {
            let EditArgs { path, old_string, new_string, replace_all } = args;
            let item = EditItem { path, old_string, new_string, replace_all };
            answer(hand.tree.edit_unless(&hand.agent, &item, stop))
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_multi_edit`
pub(crate) fn multi_edit(hand: &Hand, param: &WorkspaceMultiEdit) -> Tool {
    let description = "Makes several replacements in files of the workspace, all of them or none, and \
        answers with the diffs. They run in the order given, and each sees the results of those before \
        it. Each works as one call of workspace_edit does; when one fails, no file is changed.";
    let mut parameters = arguments_schema::<MultiEditArgs>();
    if let Some(items) = parameters.pointer_mut("/properties/edits/items") {
        let item = std::mem::replace(items, json!({"$ref": "#/$defs/EditItem"}));
        parameters["$defs"] = json!({"EditItem": item});
    }
    let tool = tool_with_parameters(
        hand,
        "workspace_multi_edit",
        description,
        parameters,
        json!({}),
        |hand, args: MultiEditArgs, stop| {
            answer(hand.tree.multi_edit_unless(&hand.agent, &args.edits, stop))
        },
    );
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_patch`
pub(crate) fn patch(hand: &Hand, param: &WorkspacePatch) -> Tool {
    let description = "Applies a unified diff to files of the workspace, all of it or nothing: \
        updates files, creates them (`--- /dev/null`) and deletes them (`+++ /dev/null`). Write \
        `--- a/PATH`, `+++ b/PATH`, then hunks `@@ -LINE,COUNT +LINE,COUNT @@` whose lines begin with a \
        blank, `-` or `+`; the counts have to fit. A hunk is applied only where its context and removed \
        lines stand; the line number helps to choose. Read the files first, those to be deleted as a \
        whole. Answers with one line per file, or with `[ERROR]`, the file and the reason, and then \
        nothing was changed.";
    let tool =
        tool(hand, "workspace_patch", description, json!({}), |hand, args: PatchArgs, stop| {
            answer(hand.tree.patch_unless(&hand.agent, &args.patch_text, stop))
        });
    tool.with_instructions(param.instructions.as_deref())
}
