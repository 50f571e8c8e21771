//! The tools that change files; all of them go through [`mutate`].

use akgentic_tool_core::{Tool, ToolError, arguments_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{tool, tool_with_parameters};
use crate::admission::RelPath;
use crate::batch::{Change, WriteEntry};
use crate::diff::describe;
use crate::edit::{Edited, Miss, Strategy, substitute};
use crate::error::FileFault;
use crate::filesystem::Filesystem;
use crate::mutation::{Live, Plan, failed, mutate};
use crate::params::{
    WorkspaceDelete, WorkspaceEdit, WorkspaceMkdir, WorkspaceMultiEdit, WorkspacePatch,
    WorkspaceWrite,
};
use crate::patch::{PatchError, PatchFailure, closest, plan_patch};
use crate::write::with_ending_of_file;

/// Most bytes of the diff of one file.
const DIFF_BYTES: usize = 64 * 1024;

#[derive(Deserialize, JsonSchema)]
struct WriteArgs {
    /// Path of the file, relative to the workspace; missing directories are created.
    path: String,
    /// The whole content of the file.
    content: String,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteArgs {
    /// Path of the file, relative to the workspace.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct MkdirArgs {
    /// Path of the directory, relative to the workspace; missing parents are created.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct EditArgs {
    /// Path of the file, relative to the workspace.
    path: String,
    /// The text to replace, as it stands in the file, without line numbers.
    old_string: String,
    /// The text that takes its place.
    new_string: String,
    /// Replace every place where the text stands, not the first one alone.
    #[serde(default)]
    replace_all: bool,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditItem {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// The text to replace, as it stands in the file.
    pub old_string: String,
    /// The text that takes its place.
    pub new_string: String,
    /// Replace every place where the text stands, not the first one alone.
    #[serde(default)]
    pub replace_all: bool,
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

/// `workspace_write`
pub(crate) fn write(files: &Filesystem, param: &WorkspaceWrite) -> Tool {
    let description = "Writes a whole text file in the workspace: creates it, with missing \
        directories, or replaces all that is in it. Read a file before you replace it. The line ending \
        of an existing file is kept. Fails for a directory and a path outside the workspace.";
    let tool =
        tool(files, "workspace_write", description, json!({}), |files, args: WriteArgs, stop| {
            mutate(files, stop, |live| {
                let text =
                    with_ending_of_file(live.files, &args.path, &args.content, live.is_cancelled);
                let data = text.map_err(|error| failed(&error))?.into_owned().into_bytes();
                let entry = WriteEntry { path: args.path.clone(), data };
                let answer = format!("Written: {}", args.path);
                Ok(Plan { changes: vec![Change::Write(entry)], answer })
            })
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_delete`
pub(crate) fn delete(files: &Filesystem, param: &WorkspaceDelete) -> Tool {
    let description = "Deletes one file of the workspace; of a link the link itself. Read the whole \
        file first. Fails for a missing file, a directory and a path outside the workspace.";
    let tool =
        tool(files, "workspace_delete", description, json!({}), |files, args: DeleteArgs, stop| {
            mutate(files, stop, |live| {
                live.files.removable(&args.path).map_err(|error| failed(&error))?;
                let answer = format!("Deleted: {}", args.path);
                Ok(Plan { changes: vec![Change::Delete(args.path.clone())], answer })
            })
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_mkdir`
pub(crate) fn mkdir(files: &Filesystem, param: &WorkspaceMkdir) -> Tool {
    let description = "Creates a directory in the workspace, with its parents; one that is there \
        already is fine. Fails where a file has the name, and for a path outside the workspace. Files \
        need no directory made for them: workspace_write makes it.";
    let tool =
        tool(files, "workspace_mkdir", description, json!({}), |files, args: MkdirArgs, stop| {
            mutate(files, stop, |_| {
                let answer = format!("Created: {}", args.path);
                Ok(Plan { changes: vec![Change::MakeDirectory(args.path.clone())], answer })
            })
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_edit`
pub(crate) fn edit(files: &Filesystem, param: &WorkspaceEdit) -> Tool {
    let description = "Replaces a text in a file of the workspace by another one, and answers with \
        the diff. The way to change a part of a file: read it first and copy the text to replace as it \
        stands there, with enough lines around it to be unique. Where it does not stand as written, \
        white space, escapes and single lines that differ are forgiven if one place alone is meant, and \
        the answer says so. If the file was changed since you read it, only the exact text is found. \
        Line endings of the file are kept. Fails for a missing file and a path outside the workspace.";
    let tool =
        tool(files, "workspace_edit", description, json!({}), |files, args: EditArgs, stop| {
            let EditArgs { path, old_string, new_string, replace_all } = args;
            let item = EditItem { path, old_string, new_string, replace_all };
            mutate(files, stop, |live| {
                let edits = run_edits(live, std::slice::from_ref(&item))?;
                Ok(edits.plan(&format!("(no change) {}", item.path)))
            })
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_multi_edit`
pub(crate) fn multi_edit(files: &Filesystem, param: &WorkspaceMultiEdit) -> Tool {
    let description = "Makes several replacements in files of the workspace, all of them or none, and \
        answers with the diffs. They run in the order given, and each sees the results of those before \
        it. Each works as one call of workspace_edit does; when one fails, no file is changed.";
    let mut parameters = arguments_schema::<MultiEditArgs>();
    if let Some(items) = parameters.pointer_mut("/properties/edits/items") {
        let item = std::mem::replace(items, json!({"$ref": "#/$defs/EditItem"}));
        parameters["$defs"] = json!({"EditItem": item});
    }
    let tool = tool_with_parameters(
        files,
        "workspace_multi_edit",
        description,
        parameters,
        json!({}),
        |files, args: MultiEditArgs, stop| {
            mutate(files, stop, |live| {
                Ok(run_edits(live, &args.edits)?.plan("(no changes applied)"))
            })
        },
    );
    tool.with_instructions(param.instructions.as_deref())
}

/// `workspace_patch`
pub(crate) fn patch(files: &Filesystem, param: &WorkspacePatch) -> Tool {
    let description = "Applies a unified diff to files of the workspace, all of it or nothing: \
        updates files, creates them (`--- /dev/null`) and deletes them (`+++ /dev/null`). Write \
        `--- a/PATH`, `+++ b/PATH`, then hunks `@@ -LINE,COUNT +LINE,COUNT @@` whose lines begin with a \
        blank, `-` or `+`; the counts have to fit. A hunk is applied only where its context and removed \
        lines stand; the line number helps to choose. Answers with one line per file, or with \
        `[ERROR]`, the file and the reason, and then nothing was changed.";
    let tool =
        tool(files, "workspace_patch", description, json!({}), |files, args: PatchArgs, stop| {
            mutate(files, stop, |live| match plan_patch(live, &args.patch_text) {
                Ok(plan) => Ok(plan),
                Err(PatchFailure::File(error)) if matches!(error.fault, FileFault::Cancelled) => {
                    Err(failed(&error))
                }
                Err(PatchFailure::Text(error @ PatchError::OtherDialect(_))) => {
                    Err(ToolError::retriable(format!("The patch was not applied: {error}.")))
                }
                Err(failure) => Ok(Plan { changes: Vec::new(), answer: failure.answer() }),
            })
        });
    tool.with_instructions(param.instructions.as_deref())
}

/// A file that is being edited.
struct EditedFile {
    rel: RelPath,
    /// As the first edit spells it.
    path: String,
    before: String,
    text: String,
    notes: Vec<String>,
}

/// What a list of edits comes to.
enum Edits {
    Done(Vec<EditedFile>),
    /// An edit failed in a way that is answered, not refused.
    Failed(String),
}

impl Edits {
    fn plan(self, unchanged: &str) -> Plan {
        let files = match self {
            Self::Done(files) => files,
            Self::Failed(answer) => return Plan { changes: Vec::new(), answer },
        };
        let (mut changes, mut diffs, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            let diff = describe(&file.path, &file.before, &file.text, DIFF_BYTES);
            if !diff.is_empty() {
                diffs.push(diff);
                let data = file.text.into_bytes();
                changes.push(Change::Write(WriteEntry { path: file.path, data }));
            }
            notes.extend(file.notes);
        }
        if diffs.is_empty() {
            diffs.push(unchanged.to_owned());
        }
        diffs.extend(notes);
        Plan { changes, answer: diffs.join("\n") }
    }
}

/// Runs edits in order on texts in memory.
fn run_edits(live: &Live<'_>, items: &[EditItem]) -> Result<Edits, ToolError> {
    let mut files: Vec<EditedFile> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let rel = live.files.root().resolve(&item.path).map_err(|error| failed(&error))?;
        let known = files.iter().position(|file| file.rel == rel);
        let at = known.unwrap_or(files.len());
        if known.is_none() {
            let (rel, before) = live.text(&item.path).map_err(|error| failed(&error))?;
            let text = before.clone();
            let path = item.path.clone();
            files.push(EditedFile { rel, path, before, text, notes: Vec::new() });
        }
        let Some(file) = files.get_mut(at) else { continue };
        let EditItem { old_string, new_string, replace_all, .. } = item;
        match substitute(&file.text, old_string, new_string, *replace_all, false) {
            Ok(edited) => {
                if edited.text != file.text {
                    file.notes.extend(note(&edited, items.len() > 1, index, *replace_all));
                }
                file.text = edited.text;
            }
            Err(Miss::NotFound) => {
                return Ok(Edits::Failed(not_found(&file.text, item, items.len(), index)));
            }
            Err(miss) => return Err(ToolError::retriable(refused(item, &miss))),
        }
    }
    Ok(Edits::Done(files))
}

/// What the model is told of an edit besides the diff.
fn note(edited: &Edited, several: bool, index: usize, all: bool) -> Option<String> {
    let which = if several { format!("edit {}: ", index + 1) } else { String::new() };
    let (first, last) = edited.lines;
    let lines =
        if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
    let text = if !edited.verbatim {
        let more = if edited.replaced > 1 {
            format!("{} places, the first at {lines}", edited.replaced)
        } else {
            lines
        };
        format!(
            "old_string does not stand in the file as written; {} matched {more}",
            edited.strategy
        )
    } else if all {
        match edited.replaced {
            1 => return None,
            replaced => format!("replaced in {replaced} places"),
        }
    } else if edited.places > 1 {
        format!(
            "old_string stands in {} places; the first one, {lines}, was replaced. Use more of the text \
             around it for another one, replace_all for all",
            edited.places
        )
    } else {
        return None;
    };
    Some(format!("[... {which}{text} ...]"))
}

fn not_found(text: &str, item: &EditItem, edits: usize, index: usize) -> String {
    let which = if edits > 1 {
        format!("edit {} of {edits}, so no file was changed. ", index + 1)
    } else {
        String::new()
    };
    let more = match closest(text, &item.old_string) {
        Some(best) => best.to_string().trim_start().to_owned(),
        None => {
            "None of its lines stands in the file. Read the file and copy the text as it stands \
                 there"
                .to_owned()
        }
    };
    format!("[ERROR] old_string not found in {}\n[... {which}{more} ...]", item.path)
}

fn refused(item: &EditItem, miss: &Miss) -> String {
    let path = &item.path;
    match miss {
        Miss::Blank if item.old_string.is_empty() => format!(
            "old_string is empty, and {path} is not: there is no place to replace. Give the text to replace; \
             to write the whole file use workspace_write."
        ),
        Miss::Ambiguous { strategy, count, lines } => {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let all = if *strategy == Strategy::Fuzzy { "" } else { ", or set replace_all" };
            format!(
                "ambiguous_match: old_string does not stand in {path} as written, and {count} places are \
                 like it ({strategy}, lines {}). Nothing was changed. Copy the text as it stands at the \
                 place you mean, with lines around it{all}.",
                lines.join(", ")
            )
        }
        _ => format!(
            "old_string is blank and does not stand in {path} like that. Give the text to replace with the \
             lines around it."
        ),
    }
}
